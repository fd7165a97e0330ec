"""Rows that are another source's rows, less an offset, times a matrix: whitening, or coordinates in a subspace."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array, Rows, Where


def _mapped(X: Array, A: Array | None, offset: Array | None) -> Array:
    if offset is not None:
        X = X - offset
    if A is None:
        return X
    return X * A if A.ndim == 1 else X @ A


@dataclass(frozen=True)
class _AfterMap:
    """The kernel on the mapped block; a class, since a task for another process must be picklable."""

    kernel: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return self.kernel.__name__

    def __call__(self, X: Array, A: Array | None, offset: Array | None, *args: Any) -> Any:
        return self.kernel(_mapped(X, A, offset), *args)


@dataclass(frozen=True)
class _OfMap:
    """The condition on the mapped block."""

    where: Where
    A: Array | None
    offset: Array | None

    def __call__(self, X: Array) -> Array:
        return self.where(_mapped(X, self.A, self.offset))


class MappedRows(Rows):
    """The rows of `source`, less `offset`, times A, where these are given; computed block by block.

    A is a matrix, or the diagonal of one.
    """

    def __init__(self, source: Rows, A: Array | None, offset: Array | None = None) -> None:
        self.source = source
        self.A = None if A is None else A.astype(source.dtype, copy=False)
        self.offset = None if offset is None else offset.astype(source.dtype, copy=False)
        self.n_samples = source.n_samples
        self.n_features = source.n_features if A is None else A.shape[-1]
        self.dtype = source.dtype
        self.name = source.name

    def blocks(self) -> Iterator[Array]:
        for block in self.source.blocks():
            yield _mapped(block, self.A, self.offset)

    def sum(self, kernel: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        return self.source.sum(_AfterMap(kernel), self.A, self.offset, *args)

    def map(self, kernel: Callable[..., Array], *args: Any) -> Iterator[Array]:
        return self.source.map(_AfterMap(kernel), self.A, self.offset, *args)

    def sample(self, n: int, seed: int, where: Where | None = None) -> Array:
        chosen = None if where is None else _OfMap(where, self.A, self.offset)
        return _mapped(self.source.sample(n, seed, chosen), self.A, self.offset)


def whitening(gram: Array, n_samples: int) -> Array:
    """(X^T X / n)^(-1/2), the preconditioner of a complete dictionary, from X^T X of full rank."""
    values, V = np.linalg.eigh(gram / n_samples)
    return np.asarray((V / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))) @ V.T)
