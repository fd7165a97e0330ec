"""A dictionary with free atoms for a fixed number of nonzeros per row (T0): the finish with state per row, its starts,
and what is done where the rows do not fit into memory. Nothing here needs an inverse.
"""

from dataclasses import replace

import numpy as np

from hrpursuit.core.certificate import unchecked
from hrpursuit.core.evaluate import gram, mean
from hrpursuit.core.free_atoms import replace_idle_atoms, update_atoms
from hrpursuit.core.manifolds import normalize_rows, polar
from hrpursuit.core.masked import KICKS, GapTable
from hrpursuit.core.protocols import Array, Iterate, Rows
from hrpursuit.core.search import Outcome
from hrpursuit.rows import ArrayRows, MappedRows
from hrpursuit.schemes.exact import exact_scheme
from hrpursuit.schemes.fixed_sparsity import alternate_complete, relative_error
from hrpursuit.schemes.gaps import alternate_with_gaps
from hrpursuit.schemes.paper import l1_per_row
from hrpursuit.schemes.setup import Setup
from hrpursuit.schemes.stages import Learned, StageLog, Stopper

T0_FREE = "T0 free atoms"
_ROWS_WITH_STATE = 300  # per feature: the most rows without gaps whose codes are kept from round to round
_START_ROUNDS = 10  # of the orthogonal alternation with gaps; what more of them gain, free atoms gain in less time
_PASSES = 8  # over the atoms per round: a pass costs a fraction of coding all rows, and 4 end at higher errors
_KICKS = 2  # per row and round: each round tries two other atoms, which reaches lower errors than none or many
_GREEDY_EVERY = 5  # rounds between two searches from no atom
_LOOK_EVERY = 10  # rounds between two looks at what was gained
_LEAST_GAIN = 1e-3  # share of the error that so many rounds have to gain
_EXACT = 1e-12  # relative error that counts as none
_ROUNDING = 1e3  # relative error, in units of the precision of the data, of codes of exactly sparse rows
_LEAST_EIGENVALUE = 1e-8  # of the correlations of the features, for a direction to be whitened: a condition of 1e4
_UNCHECKED = "a dictionary with free atoms is checked only where its codes leave no error"
_SINGULAR = 1e-10  # share of the largest singular value below which the pseudo-inverse takes a value for zero


def free_encoder(W: Array) -> Array:
    """The encoder of a dictionary with free atoms: its pseudo-inverse."""
    return np.asarray(np.linalg.pinv(W, rcond=_SINGULAR))


def _prepared(table: GapTable, W: Array) -> Array:
    """Unit atoms that are zero in features which were never observed, since nothing is known of them there."""
    return normalize_rows(np.where(table.observed.any(axis=0), W, 0.0))


def alternate_free(
    table: GapTable, starts: list[Array], n_nonzero: int, max_iter: int, stopper: Stopper, log: StageLog
) -> tuple[Array, Array, float]:
    """From the start with the lowest error: passes over the atoms, each fitted with its codes, and codes, in turn.

    Returns atoms, codes (rows in the order of the table) and the relative error on the observed entries, which never
    rises. Atoms have unit norm; in features that were never observed they are zero.
    """
    best = None
    for start in starts:
        W = _prepared(table, start)
        S = table.codes(W, free_encoder(W), n_nonzero)
        error = table.error(S, W)
        if best is None or error < best[2]:
            best = W, S, error
    assert best is not None
    W, S, error = best
    before = last_look = error
    n_iter = 0
    while n_iter < max_iter and error > _EXACT and not stopper.stopped:
        n_iter += 1
        W_before = W.copy()
        replace_idle_atoms(table, S, W)
        for _ in range(_PASSES):
            update_atoms(table, S, W)
        if n_iter % _GREEDY_EVERY == 0:
            table.improve_codes(W, S, n_nonzero, greedy=True)
        is_look = n_iter % _LOOK_EVERY == 0
        is_stuck = is_look and table.error(S, W) > (1 - _LEAST_GAIN) * last_look  # search harder before giving up
        n_kicks = KICKS if is_stuck else _KICKS
        table.improve_codes(W, S, n_nonzero, greedy=False, n_kicks=n_kicks, first_kick=_KICKS * n_iter)
        error = table.error(S, W)
        if stopper.callback is not None:
            step = float(np.linalg.norm(W - W_before) / np.sqrt(len(W)))
            stopper.callback(Iterate(T0_FREE, n_iter, W.copy(), error, step, max_iter))
        if is_look:
            if error > (1 - _LEAST_GAIN) * last_look:
                break
            last_look = error
    if n_iter:
        log.add(T0_FREE, n_iter, before, error)
    return W, S, error


def _finite_atoms(W: Array) -> Array:
    """Atoms of zeros, which no row can use, replaced by the unit vectors of the first features."""
    blank = np.flatnonzero(~W.any(axis=1))
    W[blank, np.arange(len(blank))] = 1.0
    return W


def _complete_start(rows: Rows, dict_init: Array | None, setup: Setup) -> Learned | None:
    """The complete dictionary of the span of the rows, with atoms of zeros for the rest; None where all are zero."""
    n, n_samples = rows.n_features, rows.n_samples or 1
    second_moments = gram(rows)
    scale = np.sqrt(np.diag(second_moments))
    unit = np.divide(1.0, scale, out=np.zeros(n), where=scale > 0)
    values, V = np.linalg.eigh(second_moments * np.outer(unit, unit))
    values, V = values[values > _LEAST_EIGENVALUE], V[:, values > _LEAST_EIGENVALUE]
    rank = len(values)
    if rank == 0:
        return None
    inward = (unit[:, None] * V) * np.sqrt(n_samples / values)
    outward = (V * np.sqrt(values / n_samples)).T * scale
    start = dict_init @ inward if dict_init is not None and rank == n else None
    if start is not None and np.linalg.matrix_rank(start) < n:
        start = None
    inside = exact_scheme(
        MappedRows(rows, inward), start, complete=True, offset=False, n_nonzero=None, setup=setup, diagnosed=False
    )
    components = np.zeros((n, n))
    components[:rank] = normalize_rows(inside.components @ outward)
    certificate = inside.certificate if rank == n else unchecked(n, _UNCHECKED)
    return Learned(components, free_encoder(components), certificate, np.inf)


def free_scheme(
    rows: Rows,
    dict_init: Array | None,
    *,
    offset: bool,
    n_nonzero: int,
    setup: Setup,
    X_gaps: Array | None,
) -> Learned:
    """Learn free atoms for codes with `n_nonzero` nonzeros per row.

    Parameters
    ----------
    rows : Rows
        Gaps filled.
    dict_init : array or None
        A dictionary that the answer must not be worse than.
    offset : bool
        Whether the mean of the rows is taken off first; rows with gaps come without their offset.
    n_nonzero : int
    setup : Setup
    X_gaps : array or None
        The rows with their gaps, where there are any.
    """
    if not offset:
        return _free_scheme(rows, dict_init, n_nonzero, setup, X_gaps)
    intercept = mean(rows)
    centred = MappedRows(rows, None, intercept)
    return replace(_free_scheme(centred, dict_init, n_nonzero, setup, X_gaps), intercept=intercept)


def _free_scheme(rows: Rows, dict_init: Array | None, n_nonzero: int, setup: Setup, X_gaps: Array | None) -> Learned:
    stopper, log, options = setup.stopper, setup.log, setup.options
    starts = [] if dict_init is None else [dict_init]
    complete = _complete_start(rows, dict_init, setup)
    outcome = None
    if complete is not None:
        if X_gaps is None and _is_exact(rows, complete, n_nonzero):
            return replace(complete, error=0.0, objective=l1_per_row(rows, complete.encoder.T))
        starts.append(complete.components)
        outcome = Outcome.CERTIFIED if complete.certificate else None
    if not stopper.stopped:
        start = None if dict_init is None else polar(dict_init)
        orthogonal = exact_scheme(
            rows, start, complete=False, offset=False, n_nonzero=n_nonzero, setup=setup, diagnosed=False
        )
        if X_gaps is not None and not stopper.stopped:
            n_rounds = min(_START_ROUNDS, options.gap_rounds)
            orthogonal = alternate_with_gaps(X_gaps, orthogonal, n_nonzero, n_rounds, stopper=stopper, log=log)
        elif _is_exact(rows, orthogonal, n_nonzero):
            return replace(orthogonal, error=0.0)
        outcome = outcome or orthogonal.outcome
        starts.append(orthogonal.components)
    sample = X_gaps
    if sample is None:
        n_kept = _ROWS_WITH_STATE * rows.n_features
        sample = rows.X if isinstance(rows, ArrayRows) and len(rows.X) <= n_kept else rows.sample(n_kept, setup.seed)
    unit = float(np.nanmax(np.abs(sample), initial=0.0)) or 1.0
    table = GapTable(sample / unit)
    W, S, error = alternate_free(table, starts, n_nonzero, options.free_rounds, stopper, log)
    W = _finite_atoms(W)
    if X_gaps is None and len(sample) < (rows.n_samples or 0):
        W, error = alternate_complete(rows, W, n_nonzero, options.alternations, stopper, log)
    encoder = free_encoder(W)
    if X_gaps is None:
        objective = l1_per_row(rows, encoder.T)
    else:
        objective = unit * float(np.abs(table.filled(S, W) @ encoder).sum()) / len(sample)
    return Learned(W, encoder, unchecked(len(W), _UNCHECKED), objective, error, outcome=outcome)


def _is_exact(rows: Rows, learned: Learned, n_nonzero: int) -> bool:
    """Whether the dictionary is certified, and codes with `n_nonzero` nonzeros leave nothing but rounding."""
    if not learned.certificate:
        return False
    error = relative_error(rows, learned.components, learned.encoder, n_nonzero, refit=False)
    return error <= _ROUNDING * float(np.finfo(rows.dtype).eps)
