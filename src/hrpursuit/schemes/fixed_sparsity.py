"""The finish for a fixed number of nonzeros per row (T0): codes and dictionary fitted in turn, the reconstruction error
falling.
"""

import numpy as np

from hrpursuit.core.coding import codes_block
from hrpursuit.core.masked import gap_codes_block
from hrpursuit.core.procrustes import hard_threshold_procrustes
from hrpursuit.core.protocols import Array, Iterate, Rows
from hrpursuit.schemes.stages import StageLog, Stopper

T0_PROCRUSTES = "T0 Procrustes"
T0_LEAST_SQUARES = "T0 least squares"
_RIDGE = 1e-6  # pull towards the present atoms, as a share of the mean squared norm of a code column
_SPARSE_ALREADY = 1e-7  # relative error of codes that are as sparse as asked for
_LEAST_GAIN = 1e-4  # share of the error that a step has to gain for another one


def _error_block(X: Array, encoder: Array, components: Array, n_nonzero: int, refit: bool) -> tuple[float, float]:
    S = codes_block(X, encoder, n_nonzero, refit=components if refit else None)
    return float(np.sum(np.square(X - S @ components, dtype=np.float64))), float(np.sum(np.square(X, dtype=np.float64)))


def relative_error(rows: Rows, components: Array, encoder: Array, n_nonzero: int, *, refit: bool) -> float:
    """|X - S W| / |X| for the codes S with `n_nonzero` nonzeros per row; one pass."""
    error, total = rows.sum(_error_block, encoder.astype(rows.dtype), components.astype(rows.dtype), n_nonzero, refit)
    return float(np.sqrt(error / total)) if total > 0 else 0.0


def alternate_orthogonal(
    rows: Rows, W: Array, n_nonzero: int, max_iter: int, stopper: Stopper, log: StageLog
) -> tuple[Array, float]:
    """Hard threshold to `n_nonzero` per row and Procrustes, in turn; and the error, which does not rise."""
    before = relative_error(rows, W, W.T, n_nonzero, refit=False)
    if before < _SPARSE_ALREADY:
        return W, before
    result = hard_threshold_procrustes(rows, W, n_nonzero=n_nonzero, max_iter=max_iter, callback=stopper.callback)
    after = relative_error(rows, result.components, result.components.T, n_nonzero, refit=False)
    log.add(T0_PROCRUSTES, result.n_iter, before, min(before, after))
    return (result.components, after) if after < before else (W, before)


def _normal_block(X: Array, W: Array, encoder: Array, n_nonzero: int) -> tuple[Array, Array, float, float]:
    """What the least squares dictionary needs, and the squared norms of residual and rows."""
    X = np.asarray(X, dtype=np.float64)
    S = gap_codes_block(X, encoder, W, n_nonzero, refit=W)
    residual = X - S @ W
    return S.T @ S, S.T @ residual, float(np.vdot(residual, residual)), float(np.vdot(X, X))


def alternate_complete(
    rows: Rows, W: Array, n_nonzero: int, max_iter: int, stopper: Stopper, log: StageLog
) -> tuple[Array, float]:
    """Codes with `n_nonzero` nonzeros per row and the least squares dictionary, in turn, while the error falls; and the
    error. Needs only sums over blocks, and no inverse: where the codes say nothing of an atom it stays as it is.
    """

    def look(W: Array) -> tuple[Array, Array, float]:
        gram, products, left, total = rows.sum(_normal_block, W, np.linalg.pinv(W), n_nonzero)
        return gram, products, float(np.sqrt(left / total)) if total > 0 else 0.0

    gram, products, error = look(W)
    before, n_iter = error, 0
    while n_iter < max_iter and error > _SPARSE_ALREADY and not stopper.stopped:
        n_iter += 1
        ridge = _RIDGE * np.trace(gram) / len(gram)
        W_next = W + np.linalg.solve(gram + ridge * np.eye(len(gram)), products)
        norms = np.linalg.norm(W_next, axis=1, keepdims=True)
        W_next = np.where(norms > 0, W_next / np.maximum(norms, np.finfo(float).tiny), W)
        gram, products, error_next = look(W_next)
        if not error_next < error:
            break
        step = float(np.linalg.norm(W_next - W) / np.sqrt(len(W)))
        W, gain, error = W_next, 1 - error_next / error, error_next
        if stopper.callback is not None:
            stopper.callback(Iterate(T0_LEAST_SQUARES, n_iter, W, error, step, max_iter))
        if gain < _LEAST_GAIN:
            break
    if n_iter:
        log.add(T0_LEAST_SQUARES, n_iter, before, error)
    return W, error
