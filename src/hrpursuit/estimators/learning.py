"""The runs of a fit: starts, seeds and threads for a scheme, and which run is kept."""

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral

import joblib
import numpy as np
from sklearn.utils import check_random_state

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.team import Team
from hrpursuit.core.tournament import SMALLEST_GROUPED
from hrpursuit.estimators.compilation import compile_gap_kernels, compile_kernels
from hrpursuit.rows import MappedRows
from hrpursuit.schemes.exact import exact_scheme
from hrpursuit.schemes.fixed_sparsity import relative_error
from hrpursuit.schemes.free import free_scheme
from hrpursuit.schemes.gaps import alternate_with_gaps
from hrpursuit.schemes.paper import paper_scheme
from hrpursuit.schemes.setup import Setup
from hrpursuit.schemes.stages import Learned, Stage, StageLog, Stopper


def n_threads(n_jobs: int | None, n_features: int) -> int:
    """Threads for sweeps over pairs of atoms: one in a worker process, and where rounds are too short to share."""
    if n_features < SMALLEST_GROUPED or multiprocessing.parent_process() is not None:
        return 1
    return int(joblib.effective_n_jobs(n_jobs))


def draw_seeds(random_state: int | np.random.RandomState | None, n: int) -> list[int]:
    """Seeds for n runs; of a number without the detour through a RandomState, which is slow to make."""
    if isinstance(random_state, Integral):
        return [int(seed) for seed in np.random.SeedSequence(int(random_state)).generate_state(n)]
    return [int(seed) for seed in check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n)]


def _is_better(learned: Learned, best: Learned) -> bool:
    """By reconstruction error with a fixed number of nonzeros (T0), else by what the finish minimised or the l1 norm; a
    certified one in any case. Where one run found too few rows to fit densities to, the smooth runs count.
    """
    if learned.error is not None and best.error is not None:
        return learned.error < best.error
    if learned.smooth != best.smooth and not learned.certificate:
        return learned.smooth
    if learned.cost is not None and best.cost is not None:
        return learned.cost < best.cost
    return bool(learned.certificate) or learned.objective < best.objective


def learn(
    rows: Rows,
    *,
    scheme: str,
    complete: bool,
    free: bool,
    offset: bool,
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
    sample: Array,
    X_gaps: Array | None = None,
) -> tuple[Learned, list[Stage]]:
    """Run the scheme up to `n_init` times and keep the certified run, else the likeliest or, where no likelihood was
    maximised, the one with the lowest l1 norm; with `n_nonzero` the one with the lowest reconstruction error.

    `free` atoms need `n_nonzero`. `sample` is what `ordering_sample` gave for the rows. `X_gaps` are the rows with the
    gaps that `rows` has filled: with `n_nonzero` the fit ends with an alternation that leaves these out.
    """
    if scheme == "exact":
        compile_kernels()
        if n_nonzero is not None and (free or X_gaps is not None):
            compile_gap_kernels()
    stopper = Stopper(callback)
    best: tuple[Learned, list[Stage]] | None = None
    with Team(n_threads(n_jobs, rows.n_features)) as team:
        for seed in draw_seeds(random_state, n_init):
            setup = Setup(options, seed, team, stopper, StageLog(on_stage))
            if scheme == "paper":
                learned = paper_scheme(
                    rows, dict_init, complete=complete, offset=offset, max_iter=max_iter, tol=tol, seed=seed,
                    stopper=stopper, log=setup.log,
                )  # fmt: skip
            elif free and n_nonzero is not None:
                with one_blas_thread():  # most of the time goes into codes, row by row
                    learned = free_scheme(
                        rows, dict_init, offset=offset, n_nonzero=n_nonzero, setup=setup, X_gaps=X_gaps
                    )
            else:
                learned = exact_scheme(
                    rows, dict_init, complete=complete, offset=offset, n_nonzero=n_nonzero, setup=setup,
                    first=sample, diagnosed=n_nonzero is None and X_gaps is None,
                )  # fmt: skip
                if X_gaps is not None and n_nonzero is not None and not stopper.stopped:
                    with one_blas_thread():
                        learned = alternate_with_gaps(
                            X_gaps, learned, n_nonzero, options.gap_rounds, stopper=stopper, log=setup.log
                        )
            if n_nonzero is not None and n_init > 1 and learned.error is None:
                centred = rows if learned.intercept is None else MappedRows(rows, None, learned.intercept)
                error = relative_error(centred, learned.components, learned.encoder, n_nonzero, refit=False)
                learned = replace(learned, error=error)
            if best is None or _is_better(learned, best[0]):
                best = learned, setup.log.stages
            if learned.certificate or learned.error == 0 or stopper.stopped:
                break
            dict_init = None
    assert best is not None
    return best
