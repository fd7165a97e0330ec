"""The online learner: Stage One from the first rows on, plane search on a window of recent rows, then running sums that
follow the dictionary; a change is noticed by its codes, and starts over on rows that come after it.

It moves on at fixed numbers of rows (`OnlineSettings.rows_until_step`), so that its state does not depend on how the
stream was cut into batches.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.atom_order import canonical
from hrpursuit.core.certificate import unchecked
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.nucleation import Outcome
from hrpursuit.core.protocols import Array
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.fixed_sparsity import relative_error
from hrpursuit.schemes.online_follow import (
    begin_dense,
    begin_fixed,
    begin_noisy,
    fit_noisy_window,
    follow,
    remember,
    set_dictionary,
    unit_atoms,
)
from hrpursuit.schemes.online_search import Found, search_window, whitening_root, window_has_exact_atom
from hrpursuit.schemes.online_state import OnlineState
from hrpursuit.schemes.online_watch import (
    follow_drift,
    follow_level,
    has_lost_zeros,
    is_less_sparse,
    sparsity,
    zero_sizes,
)

_LEAST_ROWS = 4  # a feature, for a first quick search
_QUICK_SWEEPS = 16  # of a search that only looks whether the answer is easy
_PATIENT = 8  # steps between searches from which on noisy data is checked for exact atoms
_LONGEST_WAIT = 128  # steps between two searches
_STEPS_BEFORE_FIXED = 40  # of Stage Two on data that is not sparse, which the alternation cannot make up for
_SMALLEST_RMS = 1e-90  # of a step; third powers of less leave the range of double
_SPARSE_ALREADY = 1e-7  # relative error of codes that are as sparse as asked for


def take(state: OnlineState, X: Array) -> None:
    """Take rows into account, one after another; any number of them."""
    start = 0
    while start < len(X):
        wanted = state.settings.rows_until_step(state.n_seen)
        rows = X[start : start + wanted]
        state.pending[state.n_pending : state.n_pending + len(rows)] = rows
        state.n_pending += len(rows)
        state.n_seen += len(rows)
        start += len(rows)
        if len(rows) == wanted:
            n_rows, state.n_pending = state.n_pending, 0
            with one_blas_thread():
                _step(state, state.pending[:n_rows])


def dictionary(state: OnlineState) -> tuple[Array, Array]:
    """Unit atoms and encoder, once n_features rows have been seen."""
    return unit_atoms(state.coder, state.settings.complete)


def _step(state: OnlineState, R: Array) -> None:
    """Move on by the rows R: judge the dictionary by them, follow them, and search where it is due."""
    state.n_steps += 1
    if state.n_steps == 1:
        start = random_orthogonal(state.settings.n_features, np.random.default_rng([state.settings.seed, 0]))
        set_dictionary(state, start, np.eye(len(start)) if state.settings.complete else None)
    live = R.any(axis=1)
    if not live.all():
        R = R[live]
    if len(R) == 0 or np.vdot(R, R) < _SMALLEST_RMS**2 * R.size:
        return
    S = R @ state.coder
    size = np.abs(S)
    now = sparsity(S, size)
    lost = has_lost_zeros(state, size) if state.mode == "exact" else is_less_sparse(state, now)
    if state.n_judged > 0 or lost:
        follow_drift(state, now, len(R))
    if lost and state.mode not in ("starting", "searching"):
        _start_over(state)
        return  # some of these rows may be older than the change
    if state.mode not in ("starting", "searching"):
        follow_level(state, now)
    P, has_rank = _whitening(state, R)
    if state.has_trial and state.mode != "fixed":
        _judge_trial(state, R, now.mean, P)
        S = R @ state.coder
        size = np.abs(S)
    follow(state, R, S, size, P)
    state.hold(R)
    if state.mode == "dense" and state.n_judged == _STEPS_BEFORE_FIXED:
        _fix_sparsity(state)
    if has_rank:
        _search_if_due(state, P)


def _whitening(state: OnlineState, R: Array) -> tuple[Array | None, bool]:
    """Whitening of a complete dictionary that is not exact yet, and whether the features are independent."""
    if not state.settings.complete:
        return None, True
    state.moments, state.moments_weight = remember(
        state.moments, state.moments_weight, R.T @ R, len(R), state.settings.forgetting
    )
    if state.mode == "fixed" or (state.mode == "exact" and not state.in_doubt):
        return None, True
    return whitening_root(state)


def _start_over(state: OnlineState) -> None:
    """Forget the rows, not the dictionary: it stays until there is a better one."""
    state.n_changes += 1
    state.wait = state.wait if state.mode == "dense" else 1
    state.mode, state.has_trial, state.in_doubt = "searching", False, False
    state.certificate = unchecked(state.settings.n_features)
    state.n_window = 0
    state.moments[:], state.moments_weight = 0.0, 0.0
    state.countdown = 0


def _judge_trial(state: OnlineState, R: Array, present: float, P: Array | None) -> None:
    """Keep what the window gave if its codes on rows that it has not seen are sparser."""
    state.has_trial = False
    coder = state.trial.T if P is None else P @ state.trial.T
    S = R @ coder
    if sparsity(S, np.abs(S)).mean >= present:
        return
    if state.mode == "noisy":  # the window alone is better than all that is remembered: the dictionary drifts
        set_dictionary(state, state.trial, P)
        begin_noisy(state, P)
        state.wait, state.countdown = 1, 0
    else:
        _replace_dictionary(state, state.trial, coder)
        begin_dense(state)
        _begin_level(state)


def _search_if_due(state: OnlineState, P: Array | None) -> None:
    n_held, mode = state.n_held, state.mode
    if mode == "fixed" or (mode == "exact" and not state.in_doubt):
        return
    if mode == "starting" and n_held < state.settings.search_rows:
        if n_held >= _LEAST_ROWS * state.settings.n_features:
            found = search_window(state, P, _QUICK_SWEEPS, warm=False)
            if found is not None and found.outcome is Outcome.CERTIFIED:
                _learn(state, found, P)
        return
    state.countdown -= 1
    if state.countdown >= 0 or n_held < state.settings.search_rows:
        return
    state.wait = min(2 * state.wait, _LONGEST_WAIT)
    state.countdown = state.wait
    if mode in ("starting", "searching"):
        found = search_window(state, P, None, warm=mode == "searching")
        if found is not None:
            _learn(state, found, P)
    elif mode == "dense":
        found = search_window(state, P, max(_QUICK_SWEEPS, state.wait // 2), warm=False)
        if found is not None and found.outcome is not Outcome.LOST:
            _learn(state, found, P)
    elif mode == "exact" or (state.wait >= _PATIENT and window_has_exact_atom(state, P)):
        found = search_window(state, P, _QUICK_SWEEPS, warm=True)
        if found is not None and found.is_exact:
            _learn(state, found, P)
    else:
        state.trial, state.has_trial = fit_noisy_window(state, P), True


def _learn(state: OnlineState, found: Found, P: Array | None) -> None:
    """Go on with what a search has found, in the mode that it calls for."""
    state.certificate = found.certificate
    if found.outcome is Outcome.LOST and state.n_learned > 0:
        state.mode, state.trial, state.has_trial = "dense", found.W.copy(), True
        begin_dense(state)
        _begin_level(state)
        return
    _replace_dictionary(state, found.W, found.coder)
    state.n_learned += 1
    if found.is_exact:
        _begin_exact(state)
    elif found.outcome is Outcome.NOISY:
        state.mode = "noisy"
        begin_noisy(state, P)
    else:
        state.mode = "dense"
        begin_dense(state)
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
            state.mode = "fixed"
            begin_fixed(state)


def _begin_exact(state: OnlineState) -> None:
    state.mode = "exact"
    state.in_doubt = not state.certificate
    if state.certificate:
        state.wait, state.countdown = 1, 0
    state.zero_level = state.certificate.zero_level
    state.zero_share = (np.abs(state.held @ state.coder) < zero_sizes(state)).mean(axis=0)
    state.weight = float(state.n_held)


def _begin_level(state: OnlineState) -> None:
    """The sparsity on the window, until there are rows that the dictionary was not fitted to."""
    S = state.held @ state.coder
    state.level, state.variance, state.n_judged, state.drift = sparsity(S, np.abs(S)).mean, 0.0, 0, 0.0


def _replace_dictionary(state: OnlineState, W: Array, coder: Array) -> None:
    """Take a new dictionary; order and signs of its atoms are those of `canonical` the first time, later those of the
    atoms they replace.

    While a dictionary is followed its atoms stay where they are, so that codes can be compared over time.
    """
    atoms, encoder = unit_atoms(coder, state.settings.complete)
    first = state.n_learned == 0
    wanted = canonical(ArrayRows(state.held), atoms, encoder)[0] if first else dictionary(state)[0]
    cosines = wanted @ atoms.T
    order = linear_sum_assignment(-np.abs(cosines))[1]
    flip = np.where(cosines[np.arange(len(order)), order] < 0, -1.0, 1.0)
    state.W, state.coder = W[order] * flip[:, None], coder[:, order] * flip
    place, pairs = np.argsort(order), state.certificate
    state.certificate = replace(pairs, unstationary=place[pairs.unstationary], entangled=place[pairs.entangled])
