"""What the baselines share: validate, hand over to the method's solver, set attributes."""

import warnings
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from hrpursuit.core.atom_order import canonical, ordering_sample
from hrpursuit.core.evaluate import value
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import L1Norm
from hrpursuit.core.protocols import Array, Callback, Rows, SolverResult
from hrpursuit.estimators.base import DictionaryEstimator, SquareDictionary
from hrpursuit.estimators.checks import check_dict_init, check_enough_samples, check_n_nonzero, check_scale
from hrpursuit.estimators.learning import draw_seeds
from hrpursuit.estimators.sources import look_over, remember_features, shown, training_rows
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.stages import Stopper
from hrpursuit.validation import Interval, fit_context

#: Parameters that several baselines have, with what they may be.
CONSTRAINTS: dict[str, list[Any]] = {
    "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "dict_init": ["array-like", None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "callback": [callable, None],
}


def constraints(*names: str, **more: list[Any]) -> dict[str, list[Any]]:
    """The constraints of these shared parameters, and of others."""
    return {name: CONSTRAINTS[name] for name in names} | more


def suitable_unit(rows: Rows) -> float:
    """1, or for values so large or small that powers of their products leave the range of their format the power of two
    nearest to the largest: for methods whose result does not depend on the unit.
    """
    largest = float(np.abs(ordering_sample(rows)).max())
    return 1.0 if largest == 0 or 1e-6 < largest < 1e6 else float(2.0 ** np.round(np.log2(largest)))


def in_memory(rows: Rows) -> Array:
    """All rows as one array, for methods that keep something for each row."""
    return rows.X if isinstance(rows, ArrayRows) else np.concatenate([block.copy() for block in rows.blocks()])


class Baseline(DictionaryEstimator):
    """A method of the comparison. A subclass learns in `_learn`, which sets `components_` and what belongs to it and
    returns how its solver ended.
    """

    n_nonzero_coefs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    callback: Callback | None
    n_iter_: int
    objective_: float
    _saved: ClassVar[dict[str, Any]] = {
        "n_iter_": int,
        "objective_": float,
        "dict_init": Annotated[NDArray[np.float64], None, None] | None,
    }
    _stopper: Stopper  # while fitting: the callback, and whether it has asked to stop

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Learn the dictionary of the samples X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes
            Samples, one per row.
        y : None
            Ignored.

        Returns
        -------
        self : estimator
        """
        rows = training_rows(self, X)
        with shown(rows, self.verbose):
            look_over(rows, bounded=True)
            check_scale(ordering_sample(rows))
            self._stopper = Stopper(self.callback)
            try:
                result = self._learn(rows, np.random.default_rng(draw_seeds(self.random_state, 1)[0]))
                is_stopped = self._stopper.stopped
            finally:
                del self._stopper
        self.n_iter_ = result.n_iter
        remember_features(self, rows)
        if not (result.converged or is_stopped):
            self._warn(result)
        return self

    def _learn(self, rows: Rows, rng: np.random.Generator) -> SolverResult:
        raise NotImplementedError

    def _warn(self, result: SolverResult) -> None:
        """For those that have a tolerance."""
        if hasattr(self, "tol"):
            warnings.warn(
                f"{type(self).__name__} did not reach tol={self.tol:g} in {result.n_iter} iterations "
                f"(last step {result.step:.2g}); increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )


class SquareBaseline(Baseline, SquareDictionary):
    """A baseline with as many atoms as features: `_solve` gives the rows of a matrix W whose codes X @ W.T are sparse,
    orthonormal unless `dictionary` says otherwise.
    """

    dictionary: ClassVar[Literal["orthogonal", "complete"]] = "orthogonal"  # type: ignore[misc]

    def _learn(self, rows: Rows, rng: np.random.Generator) -> SolverResult:
        n_features = rows.n_features
        check_enough_samples(rows.n_samples or 0, n_features, type(self).__name__)
        check_n_nonzero(self.n_nonzero_coefs, n_features)
        W = check_dict_init(getattr(self, "dict_init", None), n_features, orthogonal=True)
        result = self._solve(rows, random_orthogonal(n_features, rng) if W is None else W, rng)
        components, encoder = self._matrices_of(result.components)
        components, encoder = canonical(ordering_sample(rows), components, encoder)
        self.components_ = components.astype(rows.dtype, copy=False)
        self.encoder_ = encoder.astype(rows.dtype, copy=False)
        self.objective_ = value(rows, encoder.T, L1Norm()) / (rows.n_samples or 1)
        return result

    def _matrices_of(self, W: Array) -> tuple[Array, Array]:
        """Atoms and encoder: for orthonormal rows one the transpose of the other."""
        return W, W.T

    def _solve(self, rows: Rows, W: Array, rng: np.random.Generator) -> SolverResult:
        """From the orthogonal start W."""
        raise NotImplementedError
