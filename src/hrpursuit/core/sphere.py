"""One atom: the same two stages on the sphere, many starts as one matrix, and the exact polish of a single atom."""

import numpy as np
from scipy.linalg import eigh

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import Sphere
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.tangent import tangent_descent

_OPEN = 1e-8  # share of the largest eigenvalue: rows with a smaller second one leave two directions open


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
    """Stage One and Stage Two from each row of `starts`; returns the unit vectors that they reach, one per row."""
    sphere = Sphere()
    reached = gpm(rows, starts, manifold=sphere, max_iter=max_iter, tol=tol, callback=callback).components
    return tangent_descent(
        rows, reached, manifold=sphere, step_size=step_size, n_rounds=n_rounds, callback=callback
    ).components


def random_on_sphere(n_points: int, n_features: int, rng: np.random.Generator) -> Array:
    """Uniform points of the unit sphere, one per row."""
    return np.asarray(Sphere().project(rng.standard_normal((n_points, n_features))))


def in_good_subset(D: Array, zeta: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each row lies in a good subset: its largest squared entry is at least 1 + zeta times the second largest,
    Definition 1 of the paper for the identity.
    """
    squares = np.sort(np.square(D), axis=1)
    return np.asarray(squares[:, -1] >= (1 + zeta) * squares[:, -2])


def polish_atom(X: Array, w: Array, zero_level: float, n_steps: int = 30) -> Array:
    """Unit vector near w that is orthogonal to the rows whose code is small, with a shrinking threshold; w itself where
    there are too few.

    Rows of zeros are left out: they are orthogonal to everything. Where the rows below a threshold leave more than one
    direction open, the threshold was lowered too far for the present accuracy, and half of that step (in logarithms)
    is taken back.
    """
    n = X.shape[1]
    live = X[X.any(axis=1)]
    best = start = np.asarray(w, dtype=np.float64)
    codes = live @ start
    least = np.abs(codes).sum()
    t = t_good = 0.3 * float(np.sqrt(np.mean(codes**2)))
    for _ in range(n_steps):
        small = np.flatnonzero(np.abs(codes) < t)[: 8 * n]
        v = _normal_of(live[small])
        if v is None:
            t = float(np.sqrt(t * t_good))
            if t > t_good / 2:
                break
            continue
        if abs(v @ w) < 0.7:
            break
        codes = live @ v
        l1 = np.abs(codes).sum()
        if l1 < least:
            best, least = v if v @ w >= 0 else -v, l1
        t_next = max(min(t / 2, 8 * float(np.median(np.abs(codes[small])))), zero_level)
        if t_next >= t:
            break
        t, t_good = t_next, t
    return best


def _normal_of(X: Array) -> Array | None:
    """The unit vector that is most nearly orthogonal to the rows; None where they leave more than one open."""
    if len(X) < X.shape[1]:
        return None
    gram = X.T @ X
    if len(gram) == 1:
        return np.ones(1)
    values, V = eigh(gram, subset_by_index=(0, 1), check_finite=False)  # half the time of all of them
    is_one = values[1] > _OPEN * np.trace(gram)  # which bounds the largest eigenvalue, and mostly is enough
    return V[:, 0] if is_one or values[1] > _OPEN * np.linalg.eigvalsh(gram)[-1] else None
