"""Threads that share the tasks of a round of a sweep, or take whole calls in turn."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, Self, TypeVar

Span = tuple[int, int]
Result = TypeVar("Result")


class Team:
    """The calling thread and `n_threads - 1` others; a context manager, since the others have to go home.

    Plain threads around kernels that release the interpreter lock: unlike numba's own, they may be used from several
    threads at once and do not break a forked child.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def run(self, kernel: Callable[[int, int], Any], tasks: tuple[Span, ...]) -> list[Any]:
        """Call `kernel(first, last)` on the tasks, which follow each other, one run of them for each thread."""
        edges = [round(i * len(tasks) / self.n_threads) for i in range(self.n_threads + 1)]
        mine, *others = [(tasks[a][0], tasks[b - 1][1]) for a, b in pairwise(edges) if b > a]
        waiting = [self._pool.submit(kernel, *share) for share in others] if self._pool else []
        return [kernel(*mine), *[future.result() for future in waiting]]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def in_order(
    calls: Iterable[Callable[[], Result]], n_threads: int, cancel: Callable[[], None] | None = None
) -> Generator[Result, None, None]:
    """Results of calls in their order, of which `n_threads` run at a time and as many others wait or are done.

    When the iterator ends, is closed, or is left by an exception (Ctrl-C too), it waits for the calls that still run;
    `cancel` is called before, and may ask these to come to an end.
    """
    if n_threads == 1:
        for call in calls:
            yield call()
        return
    running: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(n_threads)
    try:
        for call in calls:
            if len(running) == 2 * n_threads:
                yield running.popleft().result()
            running.append(pool.submit(call))
        while running:
            yield running.popleft().result()
    finally:
        if cancel is not None:
            cancel()
        pool.shutdown(wait=True, cancel_futures=True)
