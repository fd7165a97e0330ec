"""Say so when the kernels are compiled: once on a machine, it takes a while."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from hrpursuit.compression.chunks.warmup import run_all_kernels
from hrpursuit.compression.kernels.compiled import IS_PLAIN

_PATIENCE = 2.0  # seconds; reading the kernels from the cache on disk takes less


def _say() -> None:
    sys.stderr.write("hrpursuit: compiling the codec for this machine, once; this takes about half a minute ...\n")
    sys.stderr.flush()


@contextmanager
def announced() -> Iterator[None]:
    """Tell whoever waits longer than that why."""
    notice = threading.Timer(_PATIENCE, _say)
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()


@lru_cache(maxsize=1)
def compile_kernels() -> None:
    """Run every kernel once on a tiny table; later processes read the cache on disk."""
    if IS_PLAIN:
        return
    with announced():
        run_all_kernels()
