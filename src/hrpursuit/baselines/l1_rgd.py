"""Baseline 5: Riemannian subgradient descent for the l1 norm on the sphere."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from hrpursuit.baselines.base import SquareBaseline, constraints
from hrpursuit.baselines.deflation import complement, in_coordinates
from hrpursuit.baselines.subgradient import Runs, atoms_of, subgradient_descent
from hrpursuit.core.manifolds import polar
from hrpursuit.core.protocols import Array, Callback, Iterate, Rows, SolverResult
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.validation import Interval, StrOptions

SUBGRADIENT = "subgradient descent"
#: |cosine| from which an end is no new atom: atoms found are orthogonal but for the last steps, while mixtures of them,
#: the other points where runs come to rest, are not.
SAME_ATOM = 0.2


class L1RGD(SquareBaseline):
    """Minimise the l1 norm of the codes over the sphere by Riemannian subgradient descent, from many random starts.

    The runs that have come to rest are sorted by the l1 norm of their codes and taken one after another, without those
    that belong to an atom already taken. Atoms that no run has found are sought by further runs in the orthogonal
    complement of those found, and the nearest orthogonal matrix is the dictionary. Steps that fall with 1 / sqrt(t)
    alone leave an error of about half the last step, a few thousandths.

    Parameters
    ----------
    n_nonzero_coefs : int or None, default=None
        Nonzero codes per sample that `transform` keeps, the largest; None keeps all codes.
    recovery : {"runs", "deflation"}, default="runs"
        How the whole dictionary is found: from the ends of many runs, or one atom after another, each the best of a few
        runs in the orthogonal complement of those before it.
    n_runs : int or None, default=None
        Random starts: for all atoms that are missing with "runs", for each atom with "deflation". None means 5 k log k
        for k missing atoms, as in the reference where k = n_features, and 5 log(n_features) for each.
    step_size : float, default=1
        Step t is `step_size / sqrt(t)` times the subgradient of the l1 norm per sample. This is in the unit of X: the
        default is the reference's, where nonzero codes are standard Gaussian; scale X to entries of about that size.
    max_iter : int, default=2000
        Maximum number of iterations of each run.
    tol : float, default=5e-3
        Stop when no run has moved by more than `tol` over 50 iterations, as a distance on the sphere.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.
    verbose : int, default=0
        2 shows a bar for each pass over data that is not in memory.
    callback : callable or None, default=None
        Called with an :class:`~hrpursuit.core.protocols.Iterate` at each iteration, whose `components` are the points
        of all runs, after the atoms found before, and whose `step` is the largest step. Returning True ends the fit
        with what has been found, completed by a random basis of its complement.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The atoms, one per row, orthonormal; in the order and with the signs of :class:`~hrpursuit.HRP`.
    encoder_ : array of shape (n_features, n_features)
        The codes are `X @ encoder_` before any threshold.
    n_iter_ : int
        Iterations, over all rounds of "runs" and all atoms of "deflation".
    objective_ : float
        l1 norm of the codes per sample, before any threshold.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Defined when X has feature names that are all strings.

    References
    ----------
    Bai, Jiang and Sun, "Subgradient descent learns orthogonal dictionaries", International Conference on Learning
    Representations, 2019. The authors' code stops a run at an atom of the true dictionary; this does not know it.

    Examples
    --------
    >>> from hrpursuit.baselines import L1RGD
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> from hrpursuit.metrics import dictionary_error
    >>> X, codes, components = make_sparse_coded(500, 8, sparsity=0.2, random_state=0)
    >>> model = L1RGD(random_state=0).fit(X)
    >>> dictionary_error(model.components_, components) < 0.01
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = constraints(
        "n_nonzero_coefs",
        "max_iter",
        "tol",
        "random_state",
        "verbose",
        "callback",
        recovery=[StrOptions({"runs", "deflation"})],
        n_runs=[Interval(Integral, 1, None, closed="left"), None],
        step_size=[Interval(Real, 0, None, closed="neither")],
    )

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        recovery: Literal["runs", "deflation"] = "runs",
        n_runs: int | None = None,
        step_size: float = 1.0,
        max_iter: int = 2000,
        tol: float = 5e-3,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.recovery = recovery
        self.n_runs = n_runs
        self.step_size = step_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _solve(self, rows: Rows, W: Array, rng: np.random.Generator) -> SolverResult:
        n_features = rows.n_features
        V = W.T  # its columns span what the atoms leave over: all of it, to begin with
        atoms, n_iter, moved, stopped = np.empty((0, n_features)), 0, 0.0, False
        while V.shape[1] > 1 and not stopped:
            starts = random_on_sphere(self._n_starts(n_features, V.shape[1]), V.shape[1], rng)
            runs = self._descend(in_coordinates(rows, V), starts, atoms, V)
            wanted = V.shape[1] if self.recovery == "runs" else 1
            taken = atoms_of(runs, SAME_ATOM, self.tol, at_most=wanted)
            found = runs.points[taken]
            atoms, V = np.vstack([atoms, found @ V.T]), V @ complement(found)
            n_iter, moved, stopped = n_iter + runs.n_iter, max(moved, runs.moved[taken].max()), runs.stopped
        W = polar(np.vstack([atoms, V.T]))
        return SolverResult(W, n_iter, converged=moved <= self.tol and not stopped, step=float(moved))

    def _n_starts(self, n_features: int, n_left: int) -> int:
        n_runs = 5 * n_left * np.log(n_left) if self.recovery == "runs" else 5 * np.log(n_features)
        return self.n_runs or int(np.ceil(n_runs))

    def _descend(self, rows: Rows, starts: Array, atoms: Array, V: Array) -> Runs:
        return subgradient_descent(
            rows,
            starts,
            step_size=self.step_size,
            max_iter=self.max_iter,
            tol=self.tol,
            watch=self._watch(atoms, V),
        )

    def _watch(self, atoms: Array, V: Array) -> Callable[[int, Array, float, float], bool | None] | None:
        """What the descent calls: shows its points after the atoms found, in the features of X."""
        callback = self._stopper.callback
        if callback is None:
            return None

        def watch(n_iter: int, Q: Array, value: float, step: float) -> bool | None:
            return callback(Iterate(SUBGRADIENT, n_iter, np.vstack([atoms, Q @ V.T]), value, step, self.max_iter))

        return watch
