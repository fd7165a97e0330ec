"""Those rows of another source for which a condition holds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hrpursuit.core.protocols import Array, Rows, Where


@dataclass(frozen=True)
class _OfKept:
    """The kernel on the rows that are kept; a class, since a task for another process must be picklable."""

    kernel: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return self.kernel.__name__

    def __call__(self, X: Array, where: Where, *args: Any) -> Any:
        return self.kernel(X[where(X)], *args)


@dataclass(frozen=True)
class _And:
    first: Where
    second: Where

    def __call__(self, X: Array) -> Array:
        found = self.first(X).copy()
        found[found] = self.second(X[found])
        return found


class KeptRows(Rows):
    """The rows of `source` for which `where` holds, of which there are `n_samples`; picked block by block."""

    def __init__(self, source: Rows, where: Where, n_samples: int) -> None:
        self.source, self.where, self.n_samples = source, where, n_samples
        self.n_features, self.dtype, self.name = source.n_features, source.dtype, source.name

    def blocks(self) -> Iterator[Array]:
        for block in self.source.blocks():
            yield block[self.where(block)]

    def sum(self, kernel: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        return self.source.sum(_OfKept(kernel), self.where, *args)

    def map(self, kernel: Callable[..., Array], *args: Any) -> Iterator[Array]:
        return self.source.map(_OfKept(kernel), self.where, *args)

    def sample(self, n: int, seed: int, where: Where | None = None) -> Array:
        return self.source.sample(n, seed, self.where if where is None else _And(self.where, where))
