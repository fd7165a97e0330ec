"""Baseline 3: learning a sparsifying transform by hard thresholds and conjugate gradients."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dgetrf, dgetri

from hrpursuit.baselines.base import SquareBaseline, constraints
from hrpursuit.blas import one_blas_thread
from hrpursuit.core.coding import codes_block
from hrpursuit.core.evaluate import gram
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array, Callback, Iterate, Rows, SolverResult
from hrpursuit.estimators.base import Coder
from hrpursuit.validation import Interval

_ROUNDING = 1e-12  # of the cost, relative to its largest term


def _sums_block(X: Array, W: Array, n_nonzero: int) -> tuple[Array, float]:
    """Z^T X and the squared norm of the thresholded codes Z of a block."""
    Z = codes_block(X, W.T.astype(X.dtype, copy=False), n_nonzero)
    return Z.T @ X, float(np.vdot(Z, Z))


@dataclass(frozen=True)
class TransformCost:
    """norm(X W^T - Z)^2 + log_det * (-log |det W|) + frobenius * norm(W)^2 as a function of W, for fixed codes Z.

    The samples enter by G = X^T X, C = Z^T X and norm(Z)^2 alone, so that a value or gradient costs as much however
    many there are.
    """

    G: Array
    C: Array
    energy: float
    log_det: float
    frobenius: float

    def value_and_grad(self, W: Array) -> tuple[float, Array]:
        """Infinite where W is singular."""
        lu, pivots, info = dgetrf(W)
        if info != 0:
            return math.inf, W
        gradient = W @ self.G
        gradient -= self.C
        value = float(np.vdot(gradient - self.C, W)) + self.energy
        value += self.frobenius * float(np.vdot(W, W)) - self.log_det * float(np.log(np.abs(lu.diagonal())).sum())
        return value, self._whole(gradient, W, lu, pivots)

    def grad(self, W: Array) -> Array:
        """Undefined everywhere where W is singular."""
        lu, pivots, info = dgetrf(W)
        if info != 0:
            return np.full_like(W, np.nan)
        gradient = W @ self.G
        gradient -= self.C
        return self._whole(gradient, W, lu, pivots)

    def _whole(self, gradient: Array, W: Array, lu: Array, pivots: Array) -> Array:
        """Half the gradient of the fit made into that of the whole cost, in place."""
        gradient += self.frobenius * W
        gradient *= 2
        gradient -= self.log_det * dgetri(lu, pivots, overwrite_lu=1)[0].T
        return gradient


def conjugate_gradients(cost: TransformCost, W: Array, step_size: float, max_iter: int) -> tuple[Array, float, float]:
    """Fletcher and Reeves with a fixed step, from W. A step that would raise the cost starts anew along the gradient;
    where that would raise it too, the step is halved for good. The cost and step size reached come back as well.
    """
    value, gradient = cost.value_and_grad(W)
    direction, size = -gradient, float(np.vdot(gradient, gradient))
    slack = _ROUNDING * (abs(value) + cost.energy)
    for _ in range(max_iter):
        W_next = W + step_size * direction
        value_next, gradient_next = cost.value_and_grad(W_next)
        if not value_next <= value + slack:
            direction, step_size = -gradient, 2 * step_size
            while not value_next <= value + slack:  # ends at the latest when the step has become zero
                step_size /= 2
                W_next = W + step_size * direction
                value_next, gradient_next = cost.value_and_grad(W_next)
        W, value, gradient = W_next, value_next, gradient_next
        size, before = float(np.vdot(gradient, gradient)), size
        if size == 0:
            break
        direction = (size / before) * direction - gradient
    return W, value, step_size


def transform_learning(
    rows: Rows,
    W: Array,
    *,
    n_nonzero: int,
    log_det: float,
    frobenius: float,
    step_size: float,
    max_inner: int,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> SolverResult:
    """From the transform W: threshold the codes, then fit the transform to them, and so on."""
    G = gram(rows)
    with one_blas_thread():  # matrices too small to share
        for n_iter in range(1, max_iter + 1):
            C, energy = rows.sum(_sums_block, W, n_nonzero)
            cost = TransformCost(G, C, float(energy), log_det, frobenius)
            W_next, value, step_size = conjugate_gradients(cost, W, step_size, max_inner)
            step = float(np.linalg.norm(W_next - W) / np.linalg.norm(W))
            W, value = W_next, value / (rows.n_samples or 1)
            stop = callback is not None and callback(Iterate("transform learning", n_iter, W, value, step, max_iter))
            if step <= tol or stop:
                break
    return SolverResult(W, n_iter, converged=step <= tol, step=step)


class TransformLearning(SquareBaseline):
    """Learn a sparsifying transform: keep the largest codes of each sample, fit the transform to them by conjugate
    gradients with a fixed step, and so on.

    With samples X, thresholded codes Z and transform W the cost is `norm(X @ W.T - Z)**2 - log_det_weight *
    log(abs(det(W))) + frobenius_weight * norm(W)**2`.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Nonzero codes per sample, s in the reference, when learning and in `transform`; None takes a tenth of the
        features, at least one.
    log_det_weight : float, default=0.5
        Weight of the logarithm of the determinant, which keeps the transform invertible; lambda in the reference.
    frobenius_weight : float, default=0.25
        Weight of the squared norm of the transform, which bounds its scale; mu in the reference.
    step_size : float, default=0.0001
        Step of the conjugate gradients. What is a good one depends on the data: the gradient grows with the number of
        samples and with the square of their values.
    max_inner_iter : int, default=60
        Steps of conjugate gradients an iteration.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-5
        Stop when `norm(W_next - W) / norm(W)` is at most `tol`.
    dict_init : array-like of shape (n_features, n_features) or None, default=None
        Orthogonal transform to start from; None draws one at random.
    random_state : int, RandomState instance or None, default=None
        Draws the start.
    verbose : int, default=0
        2 shows a bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called with an :class:`~hrpursuit.core.protocols.Iterate` at each iteration, whose components are the rows of
        the transform and whose value is the cost per sample; returning True ends the fit.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The inverse of the transform: atoms, one per row, of unit norm; in the order and with the signs of
        :class:`~hrpursuit.HRP`.
    encoder_ : array of shape (n_features, n_features)
        The transform, transposed, and scaled to unit atoms: the codes are `X @ encoder_` before the threshold.
    n_iter_ : int
    objective_ : float
        l1 norm of the codes per sample, before any threshold.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Defined when X has feature names that are all strings.

    Notes
    -----
    Codes are the largest entries of `X @ encoder_` as they are, without the least squares fit that other estimators
    with a complete dictionary make: this is what the method learns.

    For many samples or large values a fixed step is too long, and the cost would grow without bound. Here a step that
    would raise the cost is taken along the gradient instead, and halved for good until the cost no longer rises; this
    and the stopping rule by `tol` are added to the method.

    References
    ----------
    Ravishankar and Bresler, "Learning sparsifying transforms", IEEE Transactions on Signal Processing 61, 2013.

    Examples
    --------
    >>> from hrpursuit.baselines import TransformLearning
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(500, 8, sparsity=0.15, random_state=0)
    >>> model = TransformLearning(n_nonzero_coefs=2, max_iter=200, tol=1e-3, random_state=0).fit(X)
    >>> dictionary_error(model.components_, components) < 0.1
    True
    """

    dictionary: ClassVar[Literal["orthogonal", "complete"]] = "complete"  # type: ignore[misc]
    _parameter_constraints: ClassVar[dict[str, Any]] = constraints(
        "n_nonzero_coefs",
        "max_iter",
        "tol",
        "dict_init",
        "random_state",
        "verbose",
        "callback",
        log_det_weight=[Interval(Real, 0, None, closed="neither")],
        frobenius_weight=[Interval(Real, 0, None, closed="neither")],
        step_size=[Interval(Real, 0, None, closed="neither")],
        max_inner_iter=[Interval(Integral, 1, None, closed="left")],
    )

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        log_det_weight: float = 0.5,
        frobenius_weight: float = 0.25,
        step_size: float = 1e-4,
        max_inner_iter: int = 60,
        max_iter: int = 1000,
        tol: float = 1e-5,
        dict_init: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.log_det_weight = log_det_weight
        self.frobenius_weight = frobenius_weight
        self.step_size = step_size
        self.max_inner_iter = max_inner_iter
        self.max_iter = max_iter
        self.tol = tol
        self.dict_init = dict_init
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _n_nonzero(self, n_features: int) -> int:
        return max(1, n_features // 10) if self.n_nonzero_coefs is None else self.n_nonzero_coefs

    def _coder(self, dtype: np.dtype) -> tuple[Coder, tuple[Any, ...]]:
        return codes_block, (self.encoder_.astype(dtype, copy=False), self._n_nonzero(len(self.encoder_)))

    def _matrices_of(self, W: Array) -> tuple[Array, Array]:
        atoms = np.linalg.inv(W).T
        return normalize_rows(atoms), W.T * np.linalg.norm(atoms, axis=1)

    def _solve(self, rows: Rows, W: Array, rng: np.random.Generator) -> SolverResult:
        return transform_learning(
            rows,
            W,
            n_nonzero=self._n_nonzero(rows.n_features),
            log_det=self.log_det_weight,
            frobenius=self.frobenius_weight,
            step_size=self.step_size,
            max_inner=self.max_inner_iter,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=self._stopper.callback,
        )
