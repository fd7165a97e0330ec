"""Work on several chunks at the same time, in threads: kernels do not hold the lock of the interpreter."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from numbers import Integral
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads(n_jobs: Any) -> int:
    """Threads for `n_jobs`: None is 1, -1 as many as there are cores, -2 one less. Raises ValueError otherwise."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a whole number other than 0, or None; got {n_jobs!r}. 1 is one thread, -1 one per core."
        )
    wanted = int(n_jobs)
    return wanted if wanted > 0 else max(1, _n_cores() + 1 + wanted)


def _n_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int) -> Iterator[Result]:
    """`map(function, items)` in threads.

    Results come in the order of the items. No more than `n_jobs` items beyond the one whose result is waited for are
    taken, so that memory stays bounded. What a function raises, or the items, is raised here, at its place.
    """
    if n_jobs == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_jobs, "hrpursuit") as pool:
        left, failure = iter(items), None
        try:
            while True:
                try:
                    item = next(left)
                except StopIteration:
                    break
                except Exception as error:
                    failure = error
                    break
                waiting.append(pool.submit(function, item))
                if len(waiting) > n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
        if failure is not None:
            raise failure
