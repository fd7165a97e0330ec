"""Rows that are another source's rows times a matrix: whitening, or coordinates in a subspace."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrpursuit.core.evaluate import gram
from hrpursuit.core.protocols import Array, Rows


@dataclass(frozen=True)
class _AfterProduct:
    """The kernel on block @ A; a class, since a task for another process must be picklable."""

    kernel: Callable[..., Any]

    def __call__(self, X: Array, A: Array, *args: Any) -> Any:
        return self.kernel(X @ A, *args)


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

    def sample(self, n: int, seed: int) -> Array:
        return self.source.sample(n, seed) @ self.A


def whitening(rows: Rows) -> Array:
    """(X^T X / n)^(-1/2), the preconditioner of a complete dictionary; one pass. Needs rows of full rank."""
    values, V = np.linalg.eigh(gram(rows) / (rows.n_samples or 1))
    return np.asarray((V / np.sqrt(values)) @ V.T)
