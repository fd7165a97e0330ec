"""The few shapes that everything else is built on: where rows come from, what is optimised, what a solver reports and
returns.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Where = Callable[[Array], Array]  # a condition on rows: block to one bool per row


class Watcher(Protocol):
    """Told of each pass over rows that are not in memory."""

    def begin(self, name: str, n_rows: int | None) -> None:
        """A pass begins, over so many rows where that is known."""
        ...

    def advance(self, n_rows: int) -> None:
        """So many more rows are done."""
        ...

    def end(self) -> None:
        """The pass is over, or was given up."""
        ...


@runtime_checkable
class Rows(Protocol):
    """A source of samples, one per row, that is read in blocks.

    Every pass of a solver needs only sums over blocks of small (features x features) arrays, so memory, disk and
    cluster share every solver. Kernels and conditions must be picklable, and may not keep a block: its memory is used
    again. A class that derives from this one has the defaults below.

    Attributes
    ----------
    n_samples : int or None
        None until the rows have been counted.
    n_features : int
    dtype : dtype
        float32 or float64.
    name : str
        What a message calls the rows.
    feature_names : sequence of str or None
    is_checked : bool
        Whether it is known that all entries are finite, or gaps where these are taken.
    watcher : Watcher or None
        Told how far each pass has come, where rows are not in memory.
    """

    n_samples: int | None
    n_features: int
    dtype: np.dtype[Any]
    name: str = "X"
    feature_names: Sequence[str] | None = None
    is_checked: bool = False
    watcher: Watcher | None = None

    def __str__(self) -> str:
        return self.name

    def blocks(self) -> Iterator[Array]:
        """Yield arrays of shape (b, n_features), in order."""
        ...

    def sum(self, kernel: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        """Add up `kernel(block, *args)` over all blocks, item by item, in float64."""
        ...

    def map(self, kernel: Callable[..., Array], *args: Any) -> Iterator[Array]:
        """Yield `kernel(block, *args)` for each block, in order."""
        ...

    def sample(self, n: int, seed: int, where: Where | None = None) -> Array:
        """Return n rows without repetition (all rows if there are no more), in order of their index.

        Which rows depends on `n_samples` and `seed` alone, not on where they are stored. With `where`, n of those rows
        for which it holds.
        """
        ...


class Objective(Protocol):
    """A function of the codes, summed over all entries, with its derivative."""

    @property
    def degree(self) -> float | None:
        """P where the function is homogeneous, f(c s) = |c|^p f(s); None where it is not."""
        ...

    def value(self, S: Array) -> float:
        """Sum of the function over all entries of S."""
        ...

    def score(self, S: Array, out: Array | None = None) -> Array:
        """Derivative of the function at each entry of S, in `out` where it is given."""
        ...


class Manifold(Protocol):
    """The set that a dictionary lives on."""

    def project(self, A: Array) -> Array:
        """Nearest point of the manifold."""
        ...

    def tangent(self, R: Array, A: Array) -> Array:
        """Projection of A onto the tangent space at R."""
        ...


@dataclass(frozen=True)
class Iterate:
    """What the `callback` of a fit is called with.

    Attributes
    ----------
    stage : str
        Name of the stage that is running.
    n_iter : int
        Number of iterations of this stage so far; of the search, number of steps.
    components : array of shape (n_atoms, n_features)
        The current dictionary, one atom per row.
    value : float
        Objective of this stage at `components`, per sample: in the search the l1 norm of the codes on the working
        sample, in maximum likelihood minus the log-likelihood.
    step : float
        Size of the last step, in the unit of the stopping rule of the stage; NaN if the stage has none.
    max_iter : int
        Maximum number of iterations of the stage.
    """

    stage: str
    n_iter: int
    components: Array
    value: float
    step: float
    max_iter: int


Callback = Callable[[Iterate], bool | None]


@dataclass(frozen=True)
class SolverResult:
    """Where a solver ended.

    Attributes
    ----------
    components : array of shape (n_atoms, n_features)
    n_iter : int
    converged : bool
        Whether the stopping rule was met (False: the iterations ran out, or a callback stopped them).
    step : float
        Size of the last step, in the unit of the stopping rule.
    """

    components: Array
    n_iter: int
    converged: bool
    step: float
