"""The runs of a fit: starts, seeds and threads for a scheme, and which run is kept."""

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral

import joblib
import numpy as np
from sklearn.utils import check_random_state

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.manifolds import polar, random_orthogonal
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.team import Team
from hrpursuit.core.tournament import SMALLEST_GROUPED
from hrpursuit.estimators.compilation import compile_gap_kernels, compile_kernels
from hrpursuit.schemes.complete import complete_scheme
from hrpursuit.schemes.exact import Setup, exact_scheme
from hrpursuit.schemes.fixed_sparsity import relative_error
from hrpursuit.schemes.free import free_scheme
from hrpursuit.schemes.gaps import alternate_with_gaps
from hrpursuit.schemes.paper import paper_scheme
from hrpursuit.schemes.stages import Learned, Stage, StageLog, Stopper


def n_threads(n_jobs: int | None, n_features: int) -> int:
    """Threads for the plane search: one in a worker process, and where rounds are too short to share."""
    if n_features < SMALLEST_GROUPED or multiprocessing.parent_process() is not None:
        return 1
    return int(joblib.effective_n_jobs(n_jobs))


def _start(n_features: int, dict_init: Array | None, P: Array | None, seed: int) -> Array:
    """Orthogonal start; for a complete dictionary in whitened coordinates."""
    if dict_init is None:
        with one_blas_thread():  # the search magnifies the last bit of its start
            return random_orthogonal(n_features, np.random.default_rng([seed, 0]))
    if P is None:
        return dict_init
    return polar(np.linalg.inv(dict_init).T @ np.linalg.inv(P))


def draw_seeds(random_state: int | np.random.RandomState | None, n: int) -> list[int]:
    """Seeds for n runs; of a number without the detour through a RandomState, which is slow to make."""
    if isinstance(random_state, Integral):
        return [int(seed) for seed in np.random.SeedSequence(int(random_state)).generate_state(n)]
    return [int(seed) for seed in check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n)]


def _is_better(learned: Learned, best: Learned) -> bool:
    """By reconstruction error with a fixed number of nonzeros (T0), else by l1 norm; a certified one in any case."""
    if learned.error is not None and best.error is not None:
        return learned.error < best.error
    return bool(learned.certificate) or learned.objective < best.objective


def learn(
    rows: Rows,
    *,
    scheme: str,
    P: Array | None,
    free: bool,
    n_nonzero: int | None,
    n_init: int,
    max_iter: int,
    tol: float,
    dict_init: Array | None,
    options: HRPOptions,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
    on_stage: Callable[[Stage], None] | None,
    callback: Callback | None,
    X_gaps: Array | None = None,
) -> tuple[Learned, list[Stage]]:
    """Run the scheme up to `n_init` times and keep the certified run, else the one with the lowest l1 norm; with
    `n_nonzero` the one with the lowest reconstruction error.

    With P, which whitens the rows, the dictionary is a complete one; `free` atoms, which need `n_nonzero`, do without
    P. `X_gaps` are the rows with the gaps that `rows` has filled: with `n_nonzero` the fit
    ends with an alternation that leaves these out.
    """
    if scheme == "exact":
        compile_kernels()
    if free or (X_gaps is not None and n_nonzero is not None):
        compile_gap_kernels()
    stopper = Stopper(callback)
    best: tuple[Learned, list[Stage]] | None = None
    with Team(n_threads(n_jobs, rows.n_features)) as team:
        for seed in draw_seeds(random_state, n_init):
            log = StageLog(on_stage)
            setup = Setup(options, max_iter, tol, seed, team, stopper, log)
            learned = _run(rows, scheme, P, free, n_nonzero, dict_init, setup, X_gaps)
            if n_nonzero is not None and n_init > 1 and learned.error is None:
                error = relative_error(rows, learned.components, learned.encoder, n_nonzero, refit=False)
                learned = replace(learned, error=error)
            if best is None or _is_better(learned, best[0]):
                best = learned, log.stages
            if learned.certificate or learned.error == 0 or stopper.stopped:
                break
            dict_init = None
    assert best is not None
    return best


def _run(
    rows: Rows,
    scheme: str,
    P: Array | None,
    free: bool,
    n_nonzero: int | None,
    dict_init: Array | None,
    setup: Setup,
    X_gaps: Array | None,
) -> Learned:
    """One run from one start."""
    n, warm, stopper, log = rows.n_features, dict_init is not None, setup.stopper, setup.log
    if free:
        assert n_nonzero is not None
        start = _start(n, None if dict_init is None else polar(dict_init), None, setup.seed)
        with one_blas_thread():  # most of the time goes into codes, row by row
            return free_scheme(rows, start, dict_init=dict_init, n_nonzero=n_nonzero, setup=setup, X_gaps=X_gaps)
    W = _start(n, dict_init, P, setup.seed)
    if scheme == "paper":
        return paper_scheme(rows, W, P=P, max_iter=setup.max_iter, tol=setup.tol, stopper=stopper, log=log)
    if P is not None:
        return complete_scheme(rows, W, P, warm=warm, setup=setup)
    learned = exact_scheme(rows, W, warm=warm, n_nonzero=n_nonzero, setup=setup)
    if X_gaps is None or n_nonzero is None or stopper.stopped:
        return learned
    with one_blas_thread():  # most of the time goes into codes, row by row
        return alternate_with_gaps(X_gaps, learned, n_nonzero, setup.options.gap_rounds, stopper=stopper, log=log)
