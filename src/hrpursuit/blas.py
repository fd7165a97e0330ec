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
    """The limit belongs to the process: the first fit that enters sets it, the last one that leaves lifts it.

    Ctrl-C may interrupt either at any instruction. So each can be repeated, and `_before` is kept until all of it is
    set again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: set[object] = set()
        self._before: list[tuple[Any, int]] = []

    def enter(self, visitor: object) -> None:
        with self._lock:
            if not self._inside and not self._before:
                threads = [(library, library.num_threads) for library in _libraries()]
                self._before = [(library, n_threads) for library, n_threads in threads if n_threads != 1]
            self._inside.add(visitor)
            for library, _ in self._before:
                library.set_num_threads(1)

    def leave(self, visitor: object) -> None:
        """Also for a visitor that was interrupted when it entered."""
        with self._lock:
            self._inside.discard(visitor)
            if not self._inside:
                for library, n_threads in self._before:
                    library.set_num_threads(n_threads)
                self._before = []


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
    visitor = object()
    try:
        _shared.enter(visitor)
        yield
    finally:
        try:
            _shared.leave(visitor)
        except BaseException:  # an interrupt: the limit is lifted before it goes on
            _shared.leave(visitor)
            raise
