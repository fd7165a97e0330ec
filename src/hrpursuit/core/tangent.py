"""Stage Two: Riemannian projected subgradient along the tangent space of an anchor."""

import numpy as np

from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import OrthogonalGroup
from hrpursuit.core.objectives import L1Norm
from hrpursuit.core.protocols import Array, Callback, Iterate, Manifold, Rows, SolverResult

STAGE_TWO = "Stage Two"


def tangent_descent(
    rows: Rows,
    R: Array,
    *,
    manifold: Manifold | None = None,
    step_size: float = 0.1,
    decay: float = 0.8,
    n_steps: int = 49,
    n_rounds: int = 1,
    callback: Callback | None = None,
) -> SolverResult:
    """Minimise the l1 norm of the codes per sample in the tangent space at R, lines 9 to 14 of Algorithm 1.

    W <- W - tau P_R(subgradient), tau = step_size * decay^t in the unit of the data, then projection onto the manifold.
    Each further round starts at the point that the last one reached, as its new anchor, with the step size at which the
    last one was half way: one anchor alone leaves an error of about 1e-4, since the tangent space at R leaves the
    manifold to second order.
    """
    manifold = manifold or OrthogonalGroup()
    n_samples = rows.n_samples or 1
    objective = L1Norm()
    n_iter, step, stop = 0, np.inf, False
    for round_ in range(n_rounds):
        W, tau = R, step_size * decay ** (round_ * n_steps / 2)
        for _ in range(n_steps):
            value, G = value_and_grad(rows, W, objective)
            move = tau * manifold.tangent(R, G / n_samples)
            step = float(np.linalg.norm(move) / len(W))
            n_iter += 1
            stop = bool(
                callback is not None
                and callback(Iterate(STAGE_TWO, n_iter, W, value / n_samples, step, n_rounds * n_steps))
            )
            W = W - move
            tau *= decay
            if stop:
                break
        R = manifold.project(W)
        if stop:
            break
    return SolverResult(R, n_iter, converged=not stop, step=step)
