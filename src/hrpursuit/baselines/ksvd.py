"""Baseline 1: approximate K-SVD with Batch-OMP."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hrpursuit.baselines.atom_update import SparseCodes, code_all, magnitudes, replace_atoms, room_for, update_atoms
from hrpursuit.baselines.base import constraints, in_memory, suitable_unit
from hrpursuit.baselines.overcomplete import OvercompleteBaseline
from hrpursuit.core.protocols import Array, Callback, Iterate, Rows, SolverResult
from hrpursuit.estimators.checks import check_n_nonzero
from hrpursuit.validation import Interval


def relative_error(X: Array, codes: SparseCodes) -> float:
    """Of the reconstruction; rounding leaves 1e-8, as squares are subtracted."""
    norm = float(np.linalg.norm(X.astype(np.float64, copy=False)))
    return float(np.sqrt(codes.left.sum())) / norm if norm > 0 else 0.0


def ksvd(
    X: Array,
    W: Array,
    rng: np.random.Generator,
    *,
    n_nonzero: int | None,
    error_tol: float | None,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> SolverResult:
    """From unit atoms W: code all samples, update the atoms and their codes in random order, replace idle atoms."""
    codes = room_for(X, W, n_nonzero)
    for n_iter in range(1, max_iter + 1):
        W_next = W.copy()
        products = code_all(X, W, error_tol, codes)
        error = relative_error(X, codes)
        n_users = update_atoms(X, W_next, codes, products, rng.permutation(len(W)))
        replace_atoms(X, W_next, n_users, codes.left)
        step = float(np.linalg.norm(W_next - W) / np.sqrt(len(W)))
        stop = callback is not None and callback(Iterate("K-SVD", n_iter, W, error, step, max_iter))
        W = W_next
        if step <= tol or stop:
            break
    return SolverResult(W, n_iter, converged=step <= tol, step=step)


class KSVD(OvercompleteBaseline):
    """Approximate K-SVD: orthogonal matching pursuit of all samples, then one power step for each atom, and so on.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Maximum number of nonzero codes per sample, in the fit and in `transform`. None sets no limit if there is an
        `error_tol`, else a tenth of the features, at least one.
    n_components : int or None, default=None
        Number of atoms, more or fewer than features; None takes as many as features.
    error_tol : float or None, default=None
        A sample gets no more codes once the norm of its residual is at most this, in the unit of X. None sets no such
        target.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-4
        Stop when `norm(W_next - W) / sqrt(n_components)` is at most `tol`.
    dict_init : array-like of shape (n_components, n_features) or None, default=None
        Dictionary to start from, one atom per row, scaled to unit norm; None draws samples that are not zero.
    random_state : int, RandomState instance or None, default=None
        Draws the start and the order in which atoms are updated.
    verbose : int, default=0
        2 shows a bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called with an :class:`~hrpursuit.core.protocols.Iterate` at each iteration, whose value is the relative
        reconstruction error; returning True ends the fit.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The atoms, one per row, of unit norm; by the mean magnitude of their codes, largest first, and with the signs of
        :class:`~hrpursuit.HRP`.
    n_iter_ : int
    objective_ : float
        Relative reconstruction error of the samples by the final dictionary: minus `score(X)`, to 1e-8.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Defined when X has feature names that are all strings.

    Notes
    -----
    As in KSVD-Box, atoms that fewer than four samples use, and one of two atoms whose cosine exceeds 0.99, are replaced
    by the samples that are represented worst (with fewer than four samples per atom, only those that nobody uses).
    All samples are held in memory.

    References
    ----------
    Rubinstein, Zibulevsky and Elad, "Efficient implementation of the K-SVD algorithm using batch orthogonal matching
    pursuit", Technion, technical report CS-2008-08, 2008.

    Examples
    --------
    >>> from hrpursuit.baselines import KSVD
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(5000, 10, sparsity=0.2, random_state=0)
    >>> model = KSVD(n_nonzero_coefs=2, random_state=0).fit(X)
    >>> dictionary_error(model.components_, components) < 0.05
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = constraints(
        "n_nonzero_coefs",
        "n_components",
        "max_iter",
        "tol",
        "dict_init",
        "random_state",
        "verbose",
        "callback",
        error_tol=[Interval(Real, 0, None, closed="left"), None],
    )

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        n_components: int | None = None,
        error_tol: float | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        dict_init: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.n_components = n_components
        self.error_tol = error_tol  # type: ignore[misc]
        self.max_iter = max_iter
        self.tol = tol
        self.dict_init = dict_init
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _n_nonzero(self, n_features: int) -> int | None:
        if self.n_nonzero_coefs is None and self.error_tol is None:
            return max(1, n_features // 10)
        return self.n_nonzero_coefs

    def _learn(self, rows: Rows, rng: np.random.Generator) -> SolverResult:
        check_n_nonzero(self.n_nonzero_coefs, rows.n_features)
        unit, n_nonzero = suitable_unit(rows), self._n_nonzero(rows.n_features)
        X = in_memory(rows) if unit == 1 else in_memory(rows) / unit
        error_tol = None if self.error_tol is None else self.error_tol / unit
        result = ksvd(
            X,
            self._start(X, rng),
            rng,
            n_nonzero=n_nonzero,
            error_tol=error_tol,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=self._stopper.callback,
        )
        W = result.components
        codes = room_for(X, W, n_nonzero)
        code_all(X, W, error_tol, codes)
        self.objective_ = relative_error(X, codes)
        self._set_dictionary(W, magnitudes(codes, len(W)), rows.dtype)
        return result
