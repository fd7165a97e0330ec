"""Hard threshold and Procrustes in turn: the finish for noisy data, and for a fixed number of nonzeros per row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrpursuit.core.coding import keep_above, keep_largest
from hrpursuit.core.manifolds import polar
from hrpursuit.core.protocols import Array, Callback, Iterate, Rows, SolverResult

PROCRUSTES = "Procrustes"
_TAIL = 0.88  # rms of a unit Gaussian within two standard deviations
_TENTH = 0.1257  # a tenth of a unit Gaussian lies within this distance from zero


def noise_level(S: NDArray[Any], n_iter: int = 10) -> float:
    """Standard deviation of Gaussian noise in sparse codes, from the codes that are small: the rms within two
    deviations, to a fixed point.
    """
    size = np.abs(np.ravel(S)[:200_000])
    sigma = float(np.quantile(size, 0.1)) / _TENTH
    for _ in range(n_iter):
        inside = size[size < 2 * sigma]
        if inside.size == 0:
            break
        sigma = float(np.sqrt(np.mean(inside**2))) / _TAIL
    return sigma


def thresholded_block(X: Array, W: Array, n_nonzero: int | None, threshold: float) -> tuple[Array, float]:
    """H^T X and |H|^2 for the thresholded codes H of a block."""
    S = X @ W.T
    H = keep_above(S, threshold) if n_nonzero is None else keep_largest(S, n_nonzero)
    return H.T @ X, float(np.vdot(H, H))


def hard_threshold_procrustes(
    rows: Rows,
    W: Array,
    *,
    n_nonzero: int | None = None,
    threshold: float = 0.0,
    max_iter: int = 20,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> SolverResult:
    """W <- Polar(H(X W^T)^T X), H the codes above `threshold` or, where given, the `n_nonzero` largest of each row.

    With `n_nonzero` each step lowers the squared reconstruction error or leaves it. Stops when `norm(W_next - W) /
    sqrt(n_features)` is at most `tol`.
    """
    step = np.inf
    for n_iter in range(1, max_iter + 1):
        G, energy = rows.sum(thresholded_block, W.astype(rows.dtype, copy=False), n_nonzero, threshold)
        W_next = polar(G)
        step = float(np.linalg.norm(W_next - W) / np.sqrt(len(W)))
        seen = Iterate(PROCRUSTES, n_iter, W, float(energy) / (rows.n_samples or 1), step, max_iter)
        stop = bool(callback is not None and callback(seen))
        W = W_next
        if step <= tol or stop:
            break
    return SolverResult(W, n_iter, converged=step <= tol, step=step)
