"""Baseline 2: online dictionary learning by the SPAMS library."""

from numbers import Integral, Real
from typing import Any, ClassVar

import joblib
import numpy as np
from numpy.typing import ArrayLike

from hrpursuit.baselines.base import constraints, in_memory
from hrpursuit.baselines.overcomplete import OvercompleteBaseline
from hrpursuit.core.protocols import Array, Callback, Iterate, Rows, SolverResult
from hrpursuit.estimators.base import Coder
from hrpursuit.estimators.checks import check_n_nonzero
from hrpursuit.rows import ArrayRows
from hrpursuit.rows.optional import needed
from hrpursuit.validation import Interval


def _library(what_for: str) -> Any:
    return needed("spams", what_for, "peers")


def lasso_block(X: Array, components: Array, lambda1: float, n_threads: int) -> Array:
    """For each sample x the codes s that minimise |x - s @ components|^2 / 2 + lambda1 |s|_1; SPAMS's lasso."""
    spams = _library("codes by the lasso of SPAMS")
    D = np.asfortranarray(components.T.astype(X.dtype, copy=False))
    mode = spams.PENALTY
    return spams.lasso(np.asfortranarray(X.T), D=D, lambda1=lambda1, mode=mode, numThreads=n_threads).toarray().T


def _summary_block(X: Array, W: Array, unit: float, kernel: Coder, *args: Any) -> tuple[Array, float, float]:
    """Sum of the magnitudes of each atom's codes, squared norms of residuals and of samples, both in this unit."""
    X = np.asarray(X, dtype=np.float64)
    codes = kernel(X, *args)
    residual = (X - codes @ W) / unit
    X = X / unit
    return np.abs(codes).sum(axis=0), float(np.vdot(residual, residual)), float(np.vdot(X, X))


class SPAMS(OvercompleteBaseline):
    """Online dictionary learning with an l1 penalty, by the SPAMS library itself: `pip install "hrpursuit[peers]"`.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Nonzero codes per sample that `transform` gives, by orthogonal matching pursuit; None codes with the penalty, as
        learning does.
    n_components : int or None, default=None
        Number of atoms; None takes as many as features.
    lambda1 : float, default=0.15
        Weight of the penalty: a sample x has the codes s that minimise `norm(x - s @ components_)**2 / 2 + lambda1 *
        abs(s).sum()`. It has the unit of X.
    batch_size : int, default=400
        Samples per iteration.
    max_iter : int, default=1000
        Number of iterations; there is no earlier stop.
    dict_init : array-like of shape (n_components, n_features) or None, default=None
        Dictionary to start from, one atom per row, scaled to unit norm; None draws samples that are not zero.
    random_state : int, RandomState instance or None, default=None
        Draws the start. The order in which SPAMS takes the samples is always the same.
    n_jobs : int or None, default=None
        Threads of SPAMS; None means 1, -1 one per core.
    verbose : int, default=0
        2 shows a bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called once, when SPAMS has ended, with an :class:`~hrpursuit.core.protocols.Iterate`: the iterations are one
        call of the library, and cannot be watched.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The atoms, one per row, of norm 1 (SPAMS allows less, for atoms that no sample uses); by the mean magnitude of
        their codes, largest first, and with the signs of :class:`~hrpursuit.HRP`.
    n_iter_ : int
    objective_ : float
        Relative reconstruction error of the samples by the final dictionary: minus `score(X)`.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Defined when X has feature names that are all strings.

    Notes
    -----
    The defaults are those of the example in the documentation of SPAMS that the paper follows; for its sensor readings
    the paper sets `lambda1` to 0.002. That example first takes its mean from each image patch and scales it to unit
    norm. Here the samples are used as they are: on data that has a sparse code, centred and scaled samples no longer
    have it or give a larger error.

    SPAMS has the GNU General Public License, so that it is no dependency of this library. All samples are held in
    memory.

    References
    ----------
    Mairal, Bach, Ponce and Sapiro, "Online learning for matrix factorization and sparse coding", Journal of Machine
    Learning Research 11, 2010.

    Examples
    --------
    >>> from hrpursuit.baselines import SPAMS
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(5000, 10, sparsity=0.2, random_state=0)
    >>> model = SPAMS(max_iter=200, random_state=0).fit(X)  # doctest: +SKIP
    >>> dictionary_error(model.components_, components) < 0.05  # doctest: +SKIP
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = constraints(
        "n_nonzero_coefs",
        "n_components",
        "max_iter",
        "dict_init",
        "random_state",
        "verbose",
        "callback",
        lambda1=[Interval(Real, 0, None, closed="left")],
        batch_size=[Interval(Integral, 1, None, closed="left")],
        n_jobs=[Integral, None],
    )

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        n_components: int | None = None,
        lambda1: float = 0.15,
        batch_size: int = 400,
        max_iter: int = 1000,
        dict_init: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.n_components = n_components
        self.lambda1 = lambda1
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.dict_init = dict_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _coder(self, dtype: np.dtype) -> tuple[Coder, tuple[Any, ...]]:
        if self.n_nonzero_coefs is not None:
            return super()._coder(dtype)
        return lasso_block, (self.components_, self.lambda1, int(joblib.effective_n_jobs(self.n_jobs)))

    def _learn(self, rows: Rows, rng: np.random.Generator) -> SolverResult:
        spams = _library("dictionaries by SPAMS")
        check_n_nonzero(self.n_nonzero_coefs, rows.n_features)
        X = in_memory(rows)
        W = spams.trainDL(
            np.asfortranarray(X.T),
            D=np.asfortranarray(self._start(X, rng).T.astype(X.dtype)),
            lambda1=self.lambda1,
            batchsize=min(self.batch_size, len(X)),
            iter=self.max_iter,
            numThreads=int(joblib.effective_n_jobs(self.n_jobs)),
            verbose=False,
        ).T
        W = np.asarray(W, dtype=np.float64)
        self.components_ = W
        kernel, args = self._coder(np.dtype(np.float64))
        largest = float(np.abs(X).max()) or 1.0  # norms that do not overflow
        magnitude, error, total = ArrayRows(X).sum(_summary_block, W, largest, kernel, *args)
        self.objective_ = float(np.sqrt(error / total)) if total > 0 else 0.0
        self._set_dictionary(W, magnitude, rows.dtype)
        if self._stopper.callback is not None:
            self._stopper.callback(
                Iterate("SPAMS", self.max_iter, self.components_, self.objective_, float("nan"), self.max_iter)
            )
        return SolverResult(self.components_, self.max_iter, converged=True, step=float("nan"))
