"""The finish for a fixed number of nonzeros a row (T0): codes and dictionary fitted in turn, the reconstruction error
falling.
"""

import numpy as np

from hrpursuit.core.coding import codes_block
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.procrustes import hard_threshold_procrustes
from hrpursuit.core.protocols import Array, Iterate, Rows
from hrpursuit.schemes.stages import StageLog, Stopper

T0_PROCRUSTES = "T0 Procrustes"
T0_LEAST_SQUARES = "T0 least squares"


def _error_block(X: Array, encoder: Array, components: Array, n_nonzero: int, refit: bool) -> tuple[float, float]:
    S = codes_block(X, encoder, n_nonzero, refit=components if refit else None)
    return float(np.sum(np.square(X - S @ components, dtype=np.float64))), float(np.sum(np.square(X, dtype=np.float64)))


def relative_error(rows: Rows, components: Array, encoder: Array, n_nonzero: int, *, refit: bool) -> float:
    """|X - S W| / |X| for the codes S with `n_nonzero` nonzeros a row; one pass."""
    error, total = rows.sum(_error_block, encoder.astype(rows.dtype), components.astype(rows.dtype), n_nonzero, refit)
    return float(np.sqrt(error / total)) if total > 0 else 0.0


def alternate_orthogonal(rows: Rows, W: Array, n_nonzero: int, max_iter: int, stopper: Stopper, log: StageLog) -> Array:
    """Hard threshold to `n_nonzero` a row and Procrustes, in turn; W itself where the error does not fall."""
    before = relative_error(rows, W, W.T, n_nonzero, refit=False)
    if before < 1e-7:  # the codes are that sparse already
        return W
    result = hard_threshold_procrustes(rows, W, n_nonzero=n_nonzero, max_iter=max_iter, callback=stopper.callback)
    after = relative_error(rows, result.components, result.components.T, n_nonzero, refit=False)
    log.add(T0_PROCRUSTES, result.n_iter, before, min(before, after))
    return result.components if after < before else W


def _normal_block(X: Array, encoder: Array, components: Array, n_nonzero: int) -> tuple[Array, Array]:
    S = codes_block(X, encoder, n_nonzero, refit=components)
    return S.T @ S, S.T @ X


def alternate_complete(rows: Rows, W: Array, n_nonzero: int, max_iter: int, stopper: Stopper, log: StageLog) -> Array:
    """Refitted codes with `n_nonzero` a row and the least squares dictionary, in turn, while the error falls."""
    error = before = relative_error(rows, W, np.linalg.inv(W), n_nonzero, refit=True)
    n_iter = 0
    while n_iter < max_iter and error > 1e-7 and not stopper.stopped:
        n_iter += 1
        dtype = rows.dtype
        gram, products = rows.sum(_normal_block, np.linalg.inv(W).astype(dtype), W.astype(dtype), n_nonzero)
        ridge = 1e-10 * np.trace(gram) / len(gram)
        W_next = normalize_rows(np.linalg.solve(gram + ridge * np.eye(len(gram)), products))
        if np.linalg.cond(W_next) > 1e8:
            break
        error_next = relative_error(rows, W_next, np.linalg.inv(W_next), n_nonzero, refit=True)
        if error_next >= error:
            break
        step = float(np.linalg.norm(W_next - W) / np.sqrt(len(W)))
        W, gain, error = W_next, 1 - error_next / error, error_next
        if stopper.callback is not None:
            stopper.callback(Iterate(T0_LEAST_SQUARES, n_iter, W, error, step, max_iter))
        if gain < 1e-4:
            break
    if n_iter:
        log.add(T0_LEAST_SQUARES, n_iter, before, error)
    return W
