"""Stage One: the generalized power method."""

from dataclasses import replace

import numpy as np

from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import OrthogonalGroup
from hrpursuit.core.objectives import LpNorm
from hrpursuit.core.protocols import Array, Callback, Iterate, Manifold, Objective, Rows, SolverResult

STAGE_ONE = "Stage One"


def gpm(
    rows: Rows,
    W: Array,
    objective: Objective | None = None,
    *,
    manifold: Manifold | None = None,
    max_iter: int = 50,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> SolverResult:
    """Maximise the objective of the codes: W <- Project(gradient), lines 4 to 7 of Algorithm 1.

    Stops when `norm(W_next - W) / len(W)` is at most `tol`, the rule of the paper's code.
    """
    objective = objective or LpNorm(3)
    manifold = manifold or OrthogonalGroup()
    result = SolverResult(W, 0, converged=False, step=np.inf)
    for n_iter in range(1, max_iter + 1):
        value, G = value_and_grad(rows, W, objective)
        W_next = manifold.project(G)
        step = float(np.linalg.norm(W_next - W) / len(W))
        seen = Iterate(STAGE_ONE, n_iter, W, value / (rows.n_samples or 1), step, max_iter)
        stop = callback is not None and callback(seen)
        W = W_next
        result = SolverResult(W, n_iter, converged=step <= tol, step=step)
        if result.converged:
            break
        if stop:
            return replace(result, converged=False)
    return result
