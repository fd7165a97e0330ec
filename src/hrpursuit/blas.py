"""One thread for the linear algebra library, where its matrices are small."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _libraries() -> list[Any]:
    """The linear algebra libraries that are loaded; to look them up takes longer than a small fit."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


class _SharedLimit:
    """The limit belongs to the process: the first fit that enters sets it, the last one that leaves lifts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._before = [(library, library.num_threads) for library in _libraries()]
                for library, _ in self._before:
                    library.set_num_threads(1)
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                for library, n_threads in self._before:
                    library.set_num_threads(n_threads)


_shared = _SharedLimit()
if hasattr(os, "register_at_fork"):  # a child has none of its parent's other threads, so nobody else is inside
    os.register_at_fork(after_in_child=_shared.__init__)  # type: ignore[misc]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products in one thread, for work on small matrices.

    Those of a working sample are so small that threads cost more than they bring; on a machine that has other work to
    do, where they wait for each other, they were seen to cost a hundred times more. And a search, which magnifies the
    last bit of every product, is the same on machines with different numbers of cores.
    """
    _shared.enter()
    try:
        yield
    finally:
        _shared.leave()
