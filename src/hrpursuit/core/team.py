"""Threads that share the tasks of a round of a sweep."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

Span = tuple[int, int]


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
