"""Exact polish: from a dictionary that is nearly right to one that is right to rounding.

All small codes at once are driven to zero: with S = X W^T and the mask M of the entries with |s| < t, Gauss-Newton for
the matrix E that makes || M o (S - S E^T) || least, W <- (I - E) W, by preconditioned conjugate gradients in float32 (E
only steers: the codes are computed anew in double), with a threshold t for each atom that follows the size of its small
codes down. For an orthogonal dictionary E is skew; for a complete one it is free but for its diagonal, and each atom
has a system of its own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hrpursuit.core.manifolds import polar_near
from hrpursuit.core.protocols import Array

LEVELS = 14
_FEW_ROWS_FROM = 2  # from this level on a polish to rounding needs only so many rows ...
_ZEROS_PER_FEATURE, _NONZEROS = 3, 30  # ... that each code column has this many zeros a feature, and other codes


@njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _small_scale(S, t, scale):  # type: ignore[no-untyped-def]
    """scale[i] = (mean sqrt|s|)^2 over the codes of atom i below t[i], about their median; returns the smallest number
    of such codes.
    """
    m, n = S.shape
    count = np.zeros(n, np.int64)
    scale[:] = 0.0
    for k in range(m):
        for i in range(n):
            v = abs(S[k, i])
            if v < t[i]:
                count[i] += 1
                scale[i] += np.sqrt(v)
    for i in range(n):
        scale[i] = (scale[i] / max(count[i], 1)) ** 2
    return count.min()


def _normal_equations(M: Array, S: Array, E: Array) -> Array:
    """Gradient of half the masked squares at S E^T: (M o (S E^T))^T S."""
    product = S @ E.T
    product *= M
    return np.asarray(product.T @ S)


@njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
def _skew_correction(codes, t, max_iter, tol):  # type: ignore[no-untyped-def]
    """Conjugate gradients for a skew E, compiled: for a few dozen features the calls would cost more than the
    arithmetic.

    Returns E, zero when there is nothing to correct.
    """
    m, n = codes.shape
    f4 = np.float32
    S = np.empty((m, n), f4)
    M = np.empty((m, n), f4)
    for k in range(m):
        for i in range(n):
            S[k, i] = codes[k, i]
            M[k, i] = f4(1) if abs(codes[k, i]) < t[i] else f4(0)
    weights = np.dot(M.T, S * S)
    gradient = np.dot((M * S).T, S)
    ridge = f4(2e-6) * weights.max()
    H = np.empty((n, n), f4)
    E = np.zeros((n, n), f4)
    residual = np.empty((n, n), f4)
    direction = np.empty((n, n), f4)
    size = 0.0
    for i in range(n):
        for j in range(n):
            H[i, j] = weights[i, j] + weights[j, i] + ridge
            residual[i, j] = gradient[i, j] - gradient[j, i]
            direction[i, j] = residual[i, j] / H[i, j]
            size += residual[i, j] * direction[i, j]
    first = size
    if not first > 0:
        return E
    product = np.empty(S.shape, f4)
    half = np.empty((n, n), f4)
    for _ in range(max_iter):
        np.dot(S, direction.T, product)
        product *= M
        np.dot(product.T, S, half)
        curvature = 0.0
        for i in range(n):
            for j in range(n):
                curvature += direction[i, j] * (half[i, j] - half[j, i])
        if not curvature > 0:  # a direction that the small codes do not see
            break
        step = f4(size / curvature)
        previous = size
        size = 0.0
        for i in range(n):
            for j in range(n):
                E[i, j] += step * direction[i, j]
                residual[i, j] -= step * (half[i, j] - half[j, i])
                size += residual[i, j] * residual[i, j] / H[i, j]
        if size < tol * tol * first:
            break
        ratio = f4(size / previous)
        for i in range(n):
            for j in range(n):
                direction[i, j] = ratio * direction[i, j] + residual[i, j] / H[i, j]
    return E


def _free_correction(codes: Array, t: Array, max_iter: int, tol: float) -> Array:
    """Conjugate gradients for the rows of E, each by itself, with a zero diagonal; rows with few small codes stay."""
    S = codes.astype(np.float32)
    M = (np.abs(codes) < t).astype(np.float32)
    H = M.T @ (S * S)
    H += np.float32(1e-6) * H.max()
    residual = (M * S).T @ S
    np.fill_diagonal(residual, 0)
    E = np.zeros_like(H)
    z = residual / H
    direction = z.copy()
    size = first = np.sum(residual * z, axis=1)
    active = (M.sum(axis=0) >= len(E)) & (first > 0)
    for _ in range(max_iter):
        curvature = _normal_equations(M, S, direction)
        np.fill_diagonal(curvature, 0)
        bend = np.sum(direction * curvature, axis=1)
        active &= bend > 1e-6 * np.sum(
            direction * direction * H, axis=1
        )  # else a direction that the small codes do not see
        step = np.divide(size, bend, out=np.zeros_like(bend), where=active)[:, None]
        E += step * direction
        residual -= step * curvature
        z = residual / H
        previous, size = size, np.sum(residual * z, axis=1)
        active &= size > tol**2 * first
        if not active.any():
            break
        direction *= np.divide(size, previous, out=np.zeros_like(size), where=active)[:, None]
        direction += z
    return E


def _descend(
    X: Array,
    W: Array,
    correction: Callable[[Array, Array, int, float], Array],
    retract: Callable[[Array, Array, Array, Array], tuple[Array, Array]],
    zero_level: float,
    start: float,
) -> Array:
    """Levels of falling thresholds; `start` is the first one as a share of the rms of a column."""
    n = len(W)
    S = X @ W.T
    rms = np.sqrt(np.mean(S * S, axis=0))
    t, scale, last = start * rms, np.empty(n), np.inf
    fine = start < 0.1
    for level in range(LEVELS):
        if level == _FEW_ROWS_FROM and zero_level < 1e-8:
            shares = (np.abs(S) < t).mean(axis=0)
            enough = max(_ZEROS_PER_FEATURE * n / max(shares.min(), 0.1), _NONZEROS / max(1 - shares.max(), 1e-3))
            X, S = X[: int(enough) + 1], S[: int(enough) + 1]
        max_iter = 30 if level > 1 or fine else 10
        tol = 1e-3 if level > 3 or fine else 0.02 if level > 1 else 0.1
        E = correction(S, t, max_iter, tol)
        size = float(np.abs(E).max())
        if not size < 1:
            break
        W, S = retract(X, W, S, E.astype(np.float64))
        if size < 2e-12:
            break
        if _small_scale(S, t, scale) < n // 2:
            break
        largest = float(np.max(scale / np.maximum(rms, 1e-300)))
        if level >= 3 and 1e-13 < 0.7 * last < largest:
            break
        last = largest
        t = np.maximum(np.minimum(t / 2, 8 * scale), np.maximum(zero_level * np.linalg.norm(W, axis=1), 1e-10 * rms))
    return W


def _retract_orthogonal(X: Array, W: Array, S: Array, E: Array) -> tuple[Array, Array]:
    W = polar_near(W - E @ W)
    return W, np.asarray(X @ W.T)


def _retract_free(X: Array, W: Array, S: Array, E: Array) -> tuple[Array, Array]:
    """Each atom moves only if the l1/l2 ratio of its codes falls; its codes keep their l2 norm."""
    moved = W - E @ W
    S_moved = X @ moved.T
    norms, norms_moved = np.linalg.norm(S, axis=0), np.linalg.norm(S_moved, axis=0)
    gain = norms / np.maximum(norms_moved, 1e-300)
    better = (np.abs(S_moved).sum(axis=0) * gain <= np.abs(S).sum(axis=0)) & (norms_moved > 0)
    keep = np.where(better, gain, 0.0)
    return np.where(better[:, None], moved * keep[:, None], W), np.where(better, S_moved * keep, S)


def has_small_codes(S: NDArray[Any], share: float = 0.2) -> bool:
    """Whether every column has that share of entries below .15 rms (Gaussian codes: .12); else a polish has nothing to
    hold on to.
    """
    rms = np.sqrt(np.mean(S * S, axis=0))
    return bool((np.abs(S) < 0.15 * rms).mean(axis=0).min() >= share)


def polish_orthogonal(X: Array, W: Array, zero_level: float, start: float = 0.3) -> Array:
    """Orthogonal dictionary near W whose small codes on the sample X are as near to zero as rounding allows."""
    return _descend(X, W, _skew_correction, _retract_orthogonal, zero_level, start)


def polish_free(X: Array, W: Array, zero_level: float, start: float = 0.3) -> Array:
    """As `polish_orthogonal`, each row of W by itself, without orthogonality."""
    return _descend(X, W, _free_correction, _retract_free, zero_level, start)
