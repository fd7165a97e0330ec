"""Baseline 4: log cosh over the sphere by a trust region method, rounding by a linear programme, and deflation."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from hrpursuit.baselines.base import SquareBaseline, constraints, in_memory
from hrpursuit.baselines.deflation import complement
from hrpursuit.baselines.lp_rounding import round_by_lp
from hrpursuit.baselines.trust_region import AtomResult, MeanLogCosh, trust_region
from hrpursuit.core.manifolds import polar_near
from hrpursuit.core.protocols import Array, Callback, Iterate, Rows, SolverResult
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.validation import Interval

TRUST_REGION = "trust region"
ROUNDING = "rounding"


class LogCoshRTR(SquareBaseline):
    """Minimise log cosh of the codes over the sphere by a Riemannian trust region method, one atom after another.

    Each atom starts at a random point of the sphere in the orthogonal complement of the atoms before it. The trust
    region's end r is rounded: of all q with r.q = 1 the one whose codes have the least l1 norm, a linear programme,
    which gives the atom exactly where r is near one. The last atom is what remains. The samples are held in memory.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Nonzero codes per sample that `transform` keeps, the largest; None keeps all codes.
    mu : float, default=0.01
        The mean over the samples of mu log cosh(code / mu) is minimised; `mu` is in the unit of X. The default is the
        reference's, where nonzero codes are standard Gaussian; it should be small against the nonzero codes.
    n_init : int, default=1
        Starts for each atom; the end whose codes have the least l1 norm is rounded. The reference makes one.
    max_iter : int, default=500
        Maximum number of iterations of the trust region method from each start.
    tol : float, default=1e-6
        Stop a run when the norm of the Riemannian gradient is at most `tol`, in the unit of X.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.
    verbose : int, default=0
        2 shows a bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called with an :class:`~hrpursuit.core.protocols.Iterate` at each iteration of the trust region method, whose
        `components` are the atoms found so far and, last, the present point; and once for each atom after rounding.
        Returning True ends the fit: the atoms found are completed by a random basis of their complement.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The atoms, one per row, orthonormal; in the order and with the signs of :class:`~hrpursuit.HRP`.
    encoder_ : array of shape (n_features, n_features)
        The codes are `X @ encoder_` before any threshold.
    n_iter_ : int
        Iterations of the trust region method, over all atoms and starts.
    n_unrounded_ : int
        Atoms for which the linear programme gave no usable solution; these are the trust region's ends.
    objective_ : float
        l1 norm of the codes per sample, before any threshold.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Defined when X has feature names that are all strings.

    References
    ----------
    Sun, Qu and Wright, "Complete dictionary recovery over the sphere I: overview and the geometric picture" and "II:
    recovery by Riemannian trust-region method", IEEE Transactions on Information Theory 63, 2017. The authors' code
    compares with the true dictionary; this does not know it.

    Examples
    --------
    >>> from hrpursuit.baselines import LogCoshRTR
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(500, 10, sparsity=0.2, random_state=0)
    >>> model = LogCoshRTR(random_state=0).fit(X)
    >>> dictionary_error(model.components_, components) < 1e-10
    True
    """

    _saved: ClassVar[dict[str, Any]] = {"n_unrounded_": int}
    _parameter_constraints: ClassVar[dict[str, Any]] = constraints(
        "n_nonzero_coefs",
        "max_iter",
        "tol",
        "random_state",
        "verbose",
        "callback",
        mu=[Interval(Real, 0, None, closed="neither")],
        n_init=[Interval(Integral, 1, None, closed="left")],
    )
    n_unrounded_: int

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        mu: float = 0.01,
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.mu = mu
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _solve(self, rows: Rows, W: Array, rng: np.random.Generator) -> SolverResult:
        X = np.asarray(in_memory(rows), dtype=np.float64)
        n_features = rows.n_features
        V = W.T  # its columns span what is left: all of it, to begin with
        atoms, n_iter, worst, stopped = np.empty((0, n_features)), 0, 0.0, False
        self.n_unrounded_ = 0
        while V.shape[1] > 1 and not stopped:
            Z = X @ V
            ends = []
            for start in random_on_sphere(self.n_init, V.shape[1], rng):
                end = trust_region(
                    MeanLogCosh(Z, self.mu), start, max_iter=self.max_iter, tol=self.tol, watch=self._watch(atoms, V)
                )
                ends.append(end)
                n_iter += end.n_iter
                if end.stopped:
                    return SolverResult(polar_near(np.vstack([atoms, V.T])), n_iter, converged=False, step=worst)
            best = min(ends, key=lambda end: np.abs(Z @ end.q).sum())
            worst = max(worst, best.gradient_norm)
            q = self._rounded(Z, best)
            atoms, V = np.vstack([atoms, V @ q]), V @ complement(q[None])
            stopped = self._see(ROUNDING, len(atoms), atoms, np.abs(Z @ q).mean(), np.nan, n_features)
        W = polar_near(np.vstack([atoms, V.T]))  # against rounding alone: the rows are orthonormal by construction
        return SolverResult(W, n_iter, converged=worst <= self.tol and not stopped, step=worst)

    def _rounded(self, Z: Array, end: AtomResult) -> Array:
        q = round_by_lp(Z, end.q)
        self.n_unrounded_ += q is None
        return end.q if q is None else q

    def _watch(self, atoms: Array, V: Array) -> Callable[[int, Array, float, float], bool] | None:
        """What the trust region method calls: shows its point among the atoms found, in the features of X."""
        if self._stopper.callback is None:
            return None

        def watch(n_iter: int, q: Array, value: float, size: float) -> bool:
            return self._see(TRUST_REGION, n_iter, np.vstack([atoms, V @ q]), value, size, self.max_iter)

        return watch

    def _see(self, stage: str, n_iter: int, W: Array, value: float, step: float, max_iter: int) -> bool:
        return bool(
            self._stopper.callback is not None
            and self._stopper.callback(Iterate(stage, n_iter, W, float(value), step, max_iter))
        )
