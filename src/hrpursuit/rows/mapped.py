"""Rows that are another source's rows times a matrix: whitening, or coordinates in a subspace."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array, Rows, Where


@dataclass(frozen=True)
class _AfterProduct:
    """The kernel on block @ A; a class, since a task for another process must be picklable."""

    kernel: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return self.kernel.__name__

    def __call__(self, X: Array, A: Array, *args: Any) -> Any:
        return self.kernel(X @ A, *args)


@dataclass(frozen=True)
class _OfProduct:
    """The condition on block @ A."""

    where: Where
    A: Array

    def __call__(self, X: Array) -> Array:
        return self.where(X @ self.A)


class MappedRows:
    """The rows of `source` times A, computed block by block."""

    def __init__(self, source: Rows, A: Array) -> None:
        self.source = source
        self.A = A.astype(source.dtype, copy=False)
        self.n_samples = source.n_samples
        self.n_features = A.shape[1]
        self.dtype = source.dtype

    def blocks(self) -> Iterator[Array]:
        for block in self.source.blocks():
            yield block @ self.A

    def sum(self, kernel: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        return self.source.sum(_AfterProduct(kernel), self.A, *args)

    def map(self, kernel: Callable[..., Array], *args: Any) -> Iterator[Array]:
        return self.source.map(_AfterProduct(kernel), self.A, *args)

    def sample(self, n: int, seed: int, where: Where | None = None) -> Array:
        return self.source.sample(n, seed, None if where is None else _OfProduct(where, self.A)) @ self.A


def whitening(gram: Array, n_samples: int) -> Array:
    """(X^T X / n)^(-1/2), the preconditioner of a complete dictionary, from X^T X of full rank."""
    values, V = np.linalg.eigh(gram / n_samples)
    return np.asarray((V / np.sqrt(values)) @ V.T)
