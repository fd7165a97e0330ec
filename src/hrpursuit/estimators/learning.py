"""The runs of a fit: starts, seeds and threads for a scheme, and which run is kept."""

import multiprocessing
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral

import joblib
import numpy as np
from sklearn.utils import check_random_state

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.likelihood import SMOOTH_LIKELIHOOD
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.search import Outcome
from hrpursuit.core.team import Team, in_order
from hrpursuit.core.tournament import SMALLEST_GROUPED
from hrpursuit.rows import ArrayRows, MappedRows
from hrpursuit.schemes.exact import exact_scheme
from hrpursuit.schemes.fixed_sparsity import relative_error
from hrpursuit.schemes.free import free_scheme
from hrpursuit.schemes.gaps import alternate_with_gaps
from hrpursuit.schemes.paper import paper_scheme
from hrpursuit.schemes.setup import Setup
from hrpursuit.schemes.stages import Learned, Stage, StageLog, Stopper


def n_workers(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: one in a worker process, whose siblings have the other cores."""
    return 1 if multiprocessing.parent_process() is not None else int(joblib.effective_n_jobs(n_jobs))


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
    smooth = learned.method == SMOOTH_LIKELIHOOD
    if smooth != (best.method == SMOOTH_LIKELIHOOD) and not learned.certificate:
        return smooth
    if learned.cost is not None and best.cost is not None:
        return learned.cost < best.cost
    return bool(learned.certificate) or learned.objective < best.objective


@dataclass(frozen=True)
class Task:
    """What all runs of a fit have in common.

    Attributes
    ----------
    rows : Rows
    sample : array
        What `ordering_sample` gave for the rows.
    X_gaps : array or None
        The rows with the gaps that `rows` has filled: with `n_nonzero` the fit ends with an alternation that leaves
        these out.
    scheme : str
        "exact" or "paper".
    complete, free, offset : bool
        Whether atoms may be other than orthogonal, whether they are free (which needs `n_nonzero`), and whether an
        offset of the rows is learned.
    n_nonzero : int or None
    max_iter, tol : int, float
        Of Stage One of the paper's scheme.
    dict_init : array or None
        Start of the first run; the others start at random.
    options : HRPOptions
    """

    rows: Rows
    sample: Array
    X_gaps: Array | None
    scheme: str
    complete: bool
    free: bool
    offset: bool
    n_nonzero: int | None
    max_iter: int
    tol: float
    dict_init: Array | None
    options: HRPOptions

    def run(self, start: Array | None, seed: int, team: Team, stopper: Stopper, log: StageLog) -> Learned:
        """Run the scheme once."""
        setup = Setup(self.options, seed, team, stopper, log)
        if self.scheme == "paper":
            return paper_scheme(
                self.rows, start, complete=self.complete, offset=self.offset, max_iter=self.max_iter, tol=self.tol,
                seed=seed, stopper=stopper, log=log,
            )  # fmt: skip
        if self.free and self.n_nonzero is not None:
            with one_blas_thread():  # most of the time goes into codes, row by row
                return free_scheme(
                    self.rows, start, offset=self.offset, n_nonzero=self.n_nonzero, setup=setup, X_gaps=self.X_gaps
                )
        learned = exact_scheme(
            self.rows, start, complete=self.complete, offset=self.offset, n_nonzero=self.n_nonzero, setup=setup,
            first=self.sample, diagnosed=self.n_nonzero is None and self.X_gaps is None,
        )  # fmt: skip
        if self.X_gaps is not None and self.n_nonzero is not None and not stopper.stopped:
            with one_blas_thread():
                return alternate_with_gaps(
                    self.X_gaps, learned, self.n_nonzero, self.options.gap_rounds, stopper=stopper, log=log
                )
        return learned

    def with_error(self, learned: Learned) -> Learned:
        """With a fixed number of codes runs are compared by their error."""
        if self.n_nonzero is None or learned.error is not None:
            return learned
        centred = self.rows if learned.intercept is None else MappedRows(self.rows, None, learned.intercept)
        error = relative_error(centred, learned.components, learned.encoder, self.n_nonzero, refit=False)
        return replace(learned, error=error)


def learn(
    task: Task,
    *,
    n_init: int,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
    on_stage: Callable[[Stage], None] | None,
    callback: Callback | None,
) -> tuple[Learned, list[Stage]]:
    """Run the scheme up to `n_init` times and keep the certified run, else the likeliest or, where no likelihood was
    maximised, the one with the lowest l1 norm; with `n_nonzero` the one with the lowest reconstruction error.

    Runs on rows in memory may share the threads. Their results are taken in the order of the runs, up to the first that
    ends them, so that the one that is kept does not depend on the number of threads.
    """
    n_threads, in_memory = n_workers(n_jobs), isinstance(task.rows, ArrayRows)
    n_parallel = min(n_threads, n_init) if in_memory and callback is None else 1
    n_sweeping = n_threads // n_parallel if task.rows.n_features >= SMALLEST_GROUPED else 1
    ended: list[int] = []  # runs that make those behind them unnecessary; -1 when no result is wanted any more

    def run(index: int, seed: int) -> tuple[Learned, list[Stage], bool]:
        stopper = Stopper(callback, (lambda: min(ended, default=index) < index) if n_parallel > 1 else None)
        log = StageLog(on_stage if n_parallel == 1 else None)
        with Team(n_sweeping) as team:
            learned = task.run(task.dict_init if index == 0 else None, seed, team, stopper, log)
        learned = task.with_error(learned) if n_init > 1 else learned
        if stopper.stopped:
            learned = replace(learned, outcome=Outcome.STOPPED)
        is_last = bool(learned.certificate) or learned.error == 0 or stopper.stopped
        if is_last:
            ended.append(index)
        return learned, log.stages, is_last

    best: tuple[Learned, list[Stage]] | None = None
    calls = (partial(run, index, seed) for index, seed in enumerate(draw_seeds(random_state, n_init)))
    # the last bits of a product depend on its threads: several runs have one each, whether they share the cores or not
    one_thread = one_blas_thread() if n_init > 1 and in_memory else nullcontext()
    with one_thread, closing(in_order(calls, n_parallel, cancel=lambda: ended.append(-1))) as runs:
        for learned, stages, is_last in runs:
            if on_stage is not None and n_parallel > 1:
                for stage in stages:
                    on_stage(stage)
            if best is None or _is_better(learned, best[0]):
                best = learned, stages
            if is_last:
                break
    assert best is not None
    return best
