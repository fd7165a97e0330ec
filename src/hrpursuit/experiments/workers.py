"""Processes for trials, one BLAS thread each, that end with their parent and may die without harm to the others."""

import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from hrpursuit.estimators import MisspecifiedWarning
from hrpursuit.experiments.experiment import Config


@dataclass(frozen=True)
class Done:
    """How a trial ended: with rows, or with an error."""

    config: Config
    rows: list[dict[str, Any]]
    seconds: float
    error: str | None = None


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()  # also when it was killed: a worker that waits for work would wait for ever
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    for category in (ConvergenceWarning, MisspecifiedWarning):
        warnings.simplefilter("ignore", category)  # results show how a fit ended
    threadpool_limits(1)


def _perform(run: Callable[..., Any], config: Config) -> Done:
    start = time.perf_counter()
    try:
        found = run(**config)
        rows = [dict(found)] if isinstance(found, dict) else [dict(row) for row in found]
        return Done(config, rows, time.perf_counter() - start)
    except Exception as error:  # whatever went wrong belongs to this trial alone
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})"  # noqa: PTH119
        return Done(config, [], time.perf_counter() - start, said)


class Workers:
    """Context manager: a pool of processes that is made when it is first needed."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(at_once=kind is not None)

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # threads of BLAS do not survive a fork
            self._pool = ProcessPoolExecutor(self.n_jobs, mp_context=context, initializer=_prepare)
        return self._pool

    def _close(self, at_once: bool) -> None:
        if self._pool is None:
            return
        if at_once:
            for process in list((getattr(self._pool, "_processes", None) or {}).values()):
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def perform(self, run: Callable[..., Any], configs: Iterable[Config], at_once: int) -> Iterator[Done]:
        """Run the trials, `at_once` of them at a time, and yield each as it ends."""
        waiting = iter(configs)
        running: dict[Future[Done], Config] = {}
        is_more = True
        while is_more or running:
            while is_more and len(running) < at_once:
                config = next(waiting, None)
                is_more = config is not None
                if config is not None:
                    running[self._open().submit(_perform, run, config)] = config
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                try:
                    done = future.result()
                except BrokenProcessPool:  # one of those that were running has killed its process
                    suspects = list(running.values())
                    running.clear()
                    yield from (self._alone(run, config) for config in suspects)
                    break
                del running[future]
                yield done

    def _alone(self, run: Callable[..., Any], config: Config) -> Done:
        """A trial with nobody beside it, in a new pool."""
        self._close(at_once=True)
        start = time.perf_counter()
        try:
            return self._open().submit(_perform, run, config).result()
        except BrokenProcessPool:
            self._close(at_once=True)
            said = "its process was killed, by the system for lack of memory maybe"
            return Done(config, [], time.perf_counter() - start, said)
