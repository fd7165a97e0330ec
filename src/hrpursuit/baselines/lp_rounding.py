"""Rounding by a linear programme: from a point near an atom to the atom itself."""

import numpy as np
from scipy.optimize import linprog

from hrpursuit.core.protocols import Array


def round_by_lp(X: Array, r: Array) -> Array | None:
    """Minimiser of norm(X q, 1) over the q with r.q = 1, scaled to unit norm; None where the programme has no usable
    solution.

    It is solved as its dual, which has one equation a feature in place of two inequalities a sample: the largest t with
    X^T y = t r for some y with entries in [-1, 1]. The multipliers of these equations are q.
    """
    n_samples, n_features = X.shape
    X = X / (np.abs(X).max() or 1.0)  # the solver takes entries below 1e-9 for zero and refuses those above 1e15
    cost = np.zeros(n_samples + 1)
    cost[-1] = -1.0
    bounds = np.ones((n_samples + 1, 2)) * [-1.0, 1.0]
    bounds[-1] *= np.inf
    solved = linprog(cost, A_eq=np.column_stack([X.T, -r]), b_eq=np.zeros(n_features), bounds=bounds, method="highs-ds")
    if solved.status != 0:
        return None
    q = np.asarray(solved.eqlin.marginals, dtype=np.float64)
    length = float(np.linalg.norm(q))
    if not np.isfinite(length) or abs(r @ q - 1) > 1e-6:
        return None
    q /= length
    # the minimum is at most the norm at r, and a q with r.q = 1 is no shorter than r: what is above is an error
    return q if np.abs(X @ q).sum() <= np.abs(X @ r).sum() * (1 + 1e-9) else None
