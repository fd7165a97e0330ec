"""Baselines 6 and 7: the generalized power method for the l4 and the l3 norm, without a second stage."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hrpursuit.baselines.base import SquareBaseline, constraints, suitable_unit
from hrpursuit.core.gpm import gpm
from hrpursuit.core.objectives import LpNorm
from hrpursuit.core.protocols import Array, Callback, Rows, SolverResult


@dataclass(frozen=True)
class _InUnit(LpNorm):
    """The lp norm of codes in this unit, for data whose powers would leave the range of their format."""

    unit: float = 1.0

    def score(self, S: Array, out: Array | None = None) -> Array:
        return super().score(np.divide(S, self.unit), out=out)


class _PowerMethod(SquareBaseline):
    """W <- Polar(gradient of the lp norm of the codes), p = `_p`."""

    _p: ClassVar[float]
    max_iter: int
    tol: float
    dict_init: ArrayLike | None

    def _solve(self, rows: Rows, W: Array, rng: np.random.Generator) -> SolverResult:
        unit = suitable_unit(rows)
        objective = LpNorm(self._p) if unit == 1 else _InUnit(self._p, unit)
        return gpm(rows, W, objective, max_iter=self.max_iter, tol=self.tol, callback=self._stopper.callback)


class MSP(_PowerMethod):
    """Maximise the l4 norm of the codes over the orthogonal group by matching, stretching and projection.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Nonzero codes per sample that `transform` keeps, the largest; None keeps all codes.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-4
        Stop when `norm(W_next - W) / n_features` is at most `tol`.
    dict_init : array-like of shape (n_features, n_features) or None, default=None
        Orthogonal dictionary to start from, one atom per row; None draws one at random.
    random_state : int, RandomState instance or None, default=None
        Draws the start.
    verbose : int, default=0
        2 shows a bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called with an :class:`~hrpursuit.core.protocols.Iterate` at each iteration; returning True ends the fit.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The atoms, one per row, orthonormal; in the order and with the signs of :class:`~hrpursuit.HRP`.
    encoder_ : array of shape (n_features, n_features)
        The codes are `X @ encoder_` before any threshold.
    n_iter_ : int
    objective_ : float
        l1 norm of the codes per sample, before any threshold.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Defined when X has feature names that are all strings.

    References
    ----------
    Zhai, Yang, Liao, Wright and Ma, "Complete dictionary learning via l4-norm maximization over the orthogonal group",
    Journal of Machine Learning Research 21, 2020.

    Examples
    --------
    >>> from hrpursuit.baselines import MSP
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(5000, 10, sparsity=0.2, random_state=0)
    >>> model = MSP(random_state=0).fit(X)
    >>> dictionary_error(model.components_, components) < 0.05
    True
    """

    _p = 4.0
    _parameter_constraints: ClassVar[dict[str, Any]] = constraints(
        "n_nonzero_coefs", "max_iter", "tol", "dict_init", "random_state", "verbose", "callback"
    )

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        dict_init: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.max_iter = max_iter
        self.tol = tol
        self.dict_init = dict_init
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback


class L3Stage1(_PowerMethod):
    """Maximise the l3 norm of the codes over the orthogonal group: Stage One of HRP alone.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Nonzero codes per sample that `transform` keeps, the largest; None keeps all codes.
    max_iter : int, default=50
        Most iterations.
    tol : float, default=1e-4
        Stop when `norm(W_next - W) / n_features` is at most `tol`.
    dict_init : array-like of shape (n_features, n_features) or None, default=None
        Orthogonal dictionary to start from, one atom per row; None draws one at random.
    random_state : int, RandomState instance or None, default=None
        Draws the start.
    verbose : int, default=0
        2 shows a bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called with an :class:`~hrpursuit.core.protocols.Iterate` at each iteration; returning True ends the fit.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The atoms, one per row, orthonormal; in the order and with the signs of :class:`~hrpursuit.HRP`.
    encoder_ : array of shape (n_features, n_features)
        The codes are `X @ encoder_` before any threshold.
    n_iter_ : int
    objective_ : float
        l1 norm of the codes per sample, before any threshold.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Defined when X has feature names that are all strings.

    References
    ----------
    Xue, Lau and Cai, "Efficient sparse coding using hierarchical Riemannian pursuit", IEEE Transactions on Signal
    Processing 69, 2021: Stage One of Algorithm 1.

    Examples
    --------
    >>> from hrpursuit.baselines import L3Stage1
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(5000, 10, sparsity=0.2, random_state=0)
    >>> model = L3Stage1(random_state=0).fit(X)
    >>> dictionary_error(model.components_, components) < 0.05
    True
    """

    _p = 3.0
    _parameter_constraints: ClassVar[dict[str, Any]] = MSP._parameter_constraints

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        max_iter: int = 50,
        tol: float = 1e-4,
        dict_init: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.max_iter = max_iter
        self.tol = tol
        self.dict_init = dict_init
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
