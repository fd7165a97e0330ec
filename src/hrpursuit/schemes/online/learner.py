"""The online learner: Stage One from the first rows on, search on a window of recent rows, then running sums that
follow the dictionary; a change is noticed by its codes, and starts over on rows that come after it.

It moves on at fixed numbers of rows (`OnlineSettings.rows_until_step`), so that its state does not depend on how the
stream was cut into batches.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.atom_order import canonical, ordering_sample
from hrpursuit.core.certificate import same_atoms, unchecked
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.protocols import Array
from hrpursuit.core.search import Outcome
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.fixed_sparsity import relative_error
from hrpursuit.schemes.online.follow import (
    begin_dense,
    begin_fixed,
    begin_noisy,
    fit_noisy_window,
    follow,
    follow_stage_one,
    remember,
    unit_atoms,
)
from hrpursuit.schemes.online.search import Found, search_window, whitening_root, window_has_exact_atom
from hrpursuit.schemes.online.state import OnlineState
from hrpursuit.schemes.online.watch import (
    Sparsity,
    follow_drift,
    follow_level,
    has_lost_zeros,
    is_less_sparse,
    row_norms,
    sparsity,
    zero_sizes,
)

_ROWS_OF_QUICK_SEARCH = 4  # a feature: a first try, for streams that end early
_QUICK_STEPS = 48  # of a search that only looks whether the answer is easy
_PATIENT = 128  # steps between searches from which on noisy data is checked for exact atoms
_FIRST_WAIT, _LONGEST_WAIT = 16, 128  # steps between two searches
_STEPS_BEFORE_FIXED = 20  # of Stage Two on data that is not sparse, which the alternation cannot make up for
_SAME_COSINE = 1 - 1e-6  # of exact atoms that are the same
_SMALLEST_RMS = 1e-90  # of a step; third powers of less leave the range of double
_SPARSE_ALREADY = 1e-7  # relative error of codes that are as sparse as asked for


def take(state: OnlineState, X: Array) -> None:
    """Take rows into account, one after another; any number of them."""
    start = 0
    while start < len(X):
        wanted = state.settings.rows_until_step(state.n_seen)
        if len(X) - start < wanted:
            _collect(state, X[start:])
            return
        with one_blas_thread():
            while len(X) - start >= wanted:
                _collect(state, X[start : start + wanted])
                n_rows, state.n_pending = state.n_pending, 0
                _step(state, state.pending[:n_rows])
                start += wanted
                wanted = state.settings.rows_until_step(state.n_seen)


def _collect(state: OnlineState, rows: Array) -> None:
    state.pending[state.n_pending : state.n_pending + len(rows)] = rows
    state.n_pending += len(rows)
    state.n_seen += len(rows)


def dictionary(state: OnlineState) -> tuple[Array, Array]:
    """Unit atoms and encoder, once n_features rows have been seen."""
    return unit_atoms(state.coder, state.settings.complete)


def _step(state: OnlineState, R: Array) -> None:
    """Move on by the rows R: judge the dictionary by them, follow them, and search where it is due."""
    state.n_steps += 1
    if state.n_steps == 1:
        rng = np.random.default_rng([state.settings.seed, 0])
        state.coder = random_orthogonal(state.settings.n_features, rng)
    S = R @ state.coder
    norms = row_norms(S)
    if not norms.min() > 0:  # a row of zeros says nothing; nor does one whose squares vanish
        live = norms > 0
        R, S, norms = R[live], S[live], norms[live]
    if len(R) == 0 or np.vdot(R, R) < _SMALLEST_RMS**2 * R.size:
        return
    size = np.abs(S)
    now = sparsity(size, norms)
    lost = has_lost_zeros(state, size) if state.mode == "exact" else is_less_sparse(state, now)
    if state.n_judged > 0 or lost:
        follow_drift(state, now, len(R))
    if lost and state.mode != "searching":
        _start_over(state)
        return  # some of these rows may be older than the change
    if state.settings.complete and (state.mode != "exact" or state.in_doubt):
        state.moments, state.moments_weight = remember(
            state.moments, state.moments_weight, R.T @ R, len(R), state.settings.forgetting
        )
    if state.mode == "starting":
        follow_stage_one(state, R, S, whitening_root(state)[0] if state.settings.complete else None)
    elif state.mode != "searching":
        follow_level(state, now)
        if state.has_trial and state.mode != "fixed" and _passes_trial(state, R, now):
            S = R @ state.coder
            size = np.abs(S)
        follow(state, R, S, size)
    state.hold(R)
    if state.mode == "dense" and state.n_judged == _STEPS_BEFORE_FIXED:
        _fix_sparsity(state)
    if _is_search_due(state):
        _search(state)


def _start_over(state: OnlineState) -> None:
    """Forget the rows, not the dictionary: it stays until there is a better one."""
    state.n_changes += 1
    state.wait = state.wait if state.mode == "dense" else 1
    state.mode, state.has_trial, state.in_doubt = "searching", False, False
    state.certificate = unchecked(state.settings.n_features)
    state.forget_rows()
    state.countdown = 0


def _passes_trial(state: OnlineState, R: Array, now: Sparsity) -> bool:
    """Take what the window gave, if its codes on rows that it has not seen are sparser."""
    state.has_trial = False
    S = R @ state.trial
    if not now.is_beaten_by(sparsity(np.abs(S), row_norms(S))):
        return False
    if state.mode == "noisy":  # the window alone is better than all that is remembered: the dictionary drifts
        state.coder = state.trial.copy()
        begin_noisy(state)
        state.wait, state.countdown = 1, 0
    else:
        _replace_dictionary(state, state.trial)
        begin_dense(state)
        _begin_level(state)
    return True


def _is_search_due(state: OnlineState) -> bool:
    """Whether to look for a better dictionary on the window now; failures make the waits longer, so that searches cost
    no more than the steps between them.
    """
    if state.mode == "fixed" or (state.mode == "exact" and not state.in_doubt):
        return False
    if state.n_held < state.settings.search_rows:
        few, n = _ROWS_OF_QUICK_SEARCH, state.settings.n_features
        return state.mode == "starting" and few * n <= state.n_held < 2 * few * n  # once
    state.countdown -= 1
    if state.countdown >= 0:
        return False
    state.wait = min(2 * state.wait, _LONGEST_WAIT)
    state.countdown = state.wait
    return True


def _search(state: OnlineState) -> None:
    if state.settings.complete and not whitening_root(state)[1]:
        return
    mode = state.mode
    if mode == "noisy" and not (state.wait >= _PATIENT and window_has_exact_atom(state)):
        state.trial, state.has_trial = fit_noisy_window(state), True
        return
    is_full = mode in ("starting", "searching") and state.n_held >= state.settings.search_rows
    patience = None if is_full else _QUICK_STEPS
    found = search_window(state, patience, warm=mode in ("searching", "noisy", "exact"))
    if found is None:
        return
    if mode == "exact":
        _resolve_doubt(state, found)
    elif found.is_exact or patience is None or (mode == "dense" and found.outcome is Outcome.NOISY):
        _learn(state, found)


def _resolve_doubt(state: OnlineState, found: Found) -> None:
    """Count a change if the dictionary on rows from after the doubt is another one, or none."""
    if not found.is_exact:
        if not state.certificate:  # it never was certified: zeros that go together, and too few rows to tell
            return
        state.n_changes += 1
        state.mode, state.certificate, state.countdown = "searching", unchecked(state.settings.n_features), 0
        return
    atoms = unit_atoms(found.coder, state.settings.complete)[0]
    if not same_atoms(atoms, dictionary(state)[0], _SAME_COSINE):
        state.n_changes += 1
    _learn(state, found)


def _learn(state: OnlineState, found: Found) -> None:
    """Go on with what a search has found, in the mode that it calls for."""
    state.certificate = found.certificate if found.is_exact else unchecked(state.settings.n_features)
    if found.outcome is Outcome.LOST and state.n_learned > 0:
        state.mode, state.trial, state.has_trial = "dense", found.coder, True
        begin_dense(state)
        _begin_level(state)
        return
    _replace_dictionary(state, found.coder)
    state.n_learned += 1
    if found.is_exact:
        _begin_exact(state)
    elif found.outcome is Outcome.NOISY:
        state.mode = "noisy"
        begin_noisy(state)
    else:
        state.mode = "dense"
        begin_dense(state)
    if state.mode in ("noisy", "dense"):
        state.wait = state.countdown = max(state.wait, _FIRST_WAIT)
    if state.mode != "dense":
        _fix_sparsity(state)
    _begin_level(state)


def _fix_sparsity(state: OnlineState) -> None:
    """Go over to codes with a fixed number of nonzeros, unless none was asked for or the codes are that sparse."""
    n_nonzero = state.settings.n_nonzero
    if n_nonzero is not None:
        atoms, encoder = dictionary(state)
        error = relative_error(ArrayRows(state.held), atoms, encoder, n_nonzero, refit=state.settings.complete)
        if error > _SPARSE_ALREADY:
            state.mode, state.certificate = "fixed", unchecked(state.settings.n_features)  # it moves from here on
            begin_fixed(state)


def _begin_exact(state: OnlineState) -> None:
    state.mode = "exact"
    state.in_doubt = not state.certificate
    if state.certificate:
        state.wait, state.countdown = 1, 0
    state.zero_level = state.certificate.zero_level
    state.zero_share = (np.abs(state.held @ state.coder) < zero_sizes(state)).mean(axis=0)
    state.zero_evidence[:] = 0.0
    state.weight = float(state.n_held)


def _begin_level(state: OnlineState) -> None:
    """The sparsity on the window, until there are rows that the dictionary was not fitted to."""
    S = state.held @ state.coder
    norms = row_norms(S)
    state.level = sparsity(np.abs(S)[norms > 0], norms[norms > 0]).mean
    state.variance, state.n_judged, state.evidence, state.drift = 0.0, 0, 0.0, 0.0


def _replace_dictionary(state: OnlineState, coder: Array) -> None:
    """Take a new dictionary; order and signs of its atoms are those of `canonical` the first time, later those of the
    atoms they replace.

    While a dictionary is followed its atoms stay where they are, so that codes can be compared over time.
    """
    atoms, encoder = unit_atoms(coder, state.settings.complete)
    first = state.n_learned == 0
    wanted = canonical(ordering_sample(ArrayRows(state.held)), atoms, encoder)[0] if first else dictionary(state)[0]
    cosines = wanted @ atoms.T
    order = linear_sum_assignment(-np.abs(cosines))[1]
    flip = np.where(cosines[np.arange(len(order)), order] < 0, -1.0, 1.0)
    state.coder = coder[:, order] * flip
    state.certificate = state.certificate.reordered(order)
