"""The kernels of the codec, compiled before the first table."""

from functools import lru_cache

from hrpursuit.compiled import announced
from hrpursuit.compression.chunks.warmup import run_all_kernels
from hrpursuit.compression.kernels.compiled import IS_PLAIN


@lru_cache(maxsize=1)
def compile_kernels() -> None:
    """Run every kernel once on a tiny table; later processes read the cache on disk."""
    if IS_PLAIN:
        return
    with announced("the codec", "about half a minute"):
        run_all_kernels()
