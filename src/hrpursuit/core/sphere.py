"""One atom: the same two stages on the sphere, many starts as one matrix, and the exact polish of a single atom."""

import numpy as np

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import Sphere
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.tangent import tangent_descent


def two_stages_on_sphere(
    rows: Rows,
    starts: Array,
    *,
    max_iter: int = 100,
    tol: float = 1e-4,
    step_size: float = 0.1,
    n_rounds: int = 2,
    callback: Callback | None = None,
) -> Array:
    """Stage One and Stage Two from each row of `starts`; returns the unit vectors that they reach, one a row."""
    sphere = Sphere()
    reached = gpm(rows, starts, manifold=sphere, max_iter=max_iter, tol=tol, callback=callback).components
    return tangent_descent(
        rows, reached, manifold=sphere, step_size=step_size, n_rounds=n_rounds, callback=callback
    ).components


def random_on_sphere(n_points: int, n_features: int, rng: np.random.Generator) -> Array:
    """Uniform points of the unit sphere, one a row."""
    return np.asarray(Sphere().project(rng.standard_normal((n_points, n_features))))


def in_good_subset(D: Array, zeta: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each row lies in a good subset: its largest squared entry is at least 1 + zeta times the second largest,
    Definition 1 of the paper for the identity.
    """
    squares = np.sort(np.square(D), axis=1)
    return np.asarray(squares[:, -1] >= (1 + zeta) * squares[:, -2])


def polish_atom(X: Array, w: Array, zero_level: float, n_steps: int = 10) -> Array:
    """Unit vector near w that is orthogonal to the rows whose code is small, with a shrinking threshold; w itself where
    there are too few.
    """
    n = X.shape[1]
    best = np.asarray(w, dtype=np.float64)
    codes = X @ best
    t = 0.3 * float(np.sqrt(np.mean(codes**2)))
    for _ in range(n_steps):
        small = np.flatnonzero(np.abs(codes) < t)[: 8 * n]
        if len(small) < n:
            break
        chosen = X[small]
        v = np.linalg.eigh(chosen.T @ chosen)[1][:, 0]
        if abs(v @ w) < 0.7:
            break
        best = v if v @ w >= 0 else -v
        codes = X @ best
        t_next = max(min(t / 2, 8 * float(np.median(np.abs(codes[small])))), zero_level)
        if t_next >= t:
            break
        t = t_next
    return best if np.abs(codes).sum() < np.abs(X @ w).sum() else np.asarray(w, dtype=np.float64)
