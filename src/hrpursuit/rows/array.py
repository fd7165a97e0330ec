"""Rows that are in memory."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array, Rows, Where

BLOCK_BYTES = 1 << 20  # a block of codes that stays in a core's own cache


class ArrayRows(Rows):
    """The rows of a two-dimensional float array, in blocks whose codes stay in cache.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), float32 or float64
    block_size : int or None, default=None
        Rows per block; None chooses by the number of features.
    feature_names : sequence of str or None, default=None
    is_checked : bool, default=False
        Whether it is known that all entries are finite, or gaps where these are taken.
    """

    def __init__(
        self,
        X: Array,
        block_size: int | None = None,
        feature_names: Sequence[str] | None = None,
        is_checked: bool = False,
    ) -> None:
        self.X = X
        self.n_samples: int | None = X.shape[0]
        self.n_features = X.shape[1]
        self.dtype = X.dtype
        self.block_size = block_size or cache_sized(self.n_features, X.dtype)
        self.feature_names = feature_names
        self.is_checked = is_checked

    def blocks(self) -> Iterator[Array]:
        for start in range(0, len(self.X), self.block_size):
            yield self.X[start : start + self.block_size]

    def sum(self, kernel: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        return sum_of_tuples(kernel(block, *args) for block in self.blocks())

    def map(self, kernel: Callable[..., Array], *args: Any) -> Iterator[Array]:
        for block in self.blocks():
            yield kernel(block, *args)

    def sample(self, n: int, seed: int, where: Where | None = None) -> Array:
        if where is not None:
            return sample_where(self.blocks, n, seed, where)
        chosen = sample_indices(len(self.X), n, seed)
        return self.X if chosen is None else self.X[chosen]


def cache_sized(n_features: int, dtype: np.dtype[Any]) -> int:
    """Rows of a block that stays in cache."""
    return int(np.clip(BLOCK_BYTES // (max(1, n_features) * dtype.itemsize), 256, 8192))


def gather(blocks: Iterator[Array], n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> Array:
    """The blocks in one array, without a second copy of them."""
    out = np.empty((n_rows, n_columns), dtype)
    start = 0
    for block in blocks:
        out[start : start + len(block)] = block
        start += len(block)
    return out


def sum_of_tuples(parts: Iterator[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Item by item, in float64."""
    total = [np.array(item, dtype=np.float64) for item in next(parts)]
    for part in parts:
        for item, more in zip(total, part, strict=True):
            item += more
    return tuple(total)


def sample_indices(n_samples: int, n: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Sorted indices of n rows out of n_samples, without repetition; None stands for all of them."""
    if n >= n_samples:
        return None
    return np.sort(np.random.default_rng(seed).choice(n_samples, n, replace=False, shuffle=False))


def rows_at(blocks: Iterator[Array], chosen: np.ndarray[Any, np.dtype[np.int64]] | None) -> Array:
    """The rows with these sorted indices (None: all) as they come by, copied; stops after the last of them."""
    kept, seen = [], 0
    for block in blocks:
        if chosen is None:
            kept.append(block.copy())
            continue
        first, last = np.searchsorted(chosen, [seen, seen + len(block)])
        kept.append(block[chosen[first:last] - seen])
        seen += len(block)
        if last == len(chosen):
            break
    return np.concatenate(kept)


def sample_where(blocks: Callable[[], Iterator[Array]], n: int, seed: int, where: Where) -> Array:
    """Sample n of the rows for which `where` holds; two passes."""
    n_found = sum(int(where(block).sum()) for block in blocks())
    return rows_at((block[where(block)] for block in blocks()), sample_indices(n_found, n, seed))
