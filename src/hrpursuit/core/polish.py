"""Exact polish: from a dictionary that is nearly right to one that is right to rounding.

All small codes at once are driven to zero: with S = X W^T and the mask M of the entries with |s| < t, Gauss-Newton for
the matrix E that makes || M o (S - S E^T) || least, W <- (I - E) W, by preconditioned conjugate gradients in float32 (E
only steers: the codes are computed anew in double), with a threshold t for each atom that follows the size of its small
codes down. For an orthogonal dictionary E is skew; for a complete one it is free but for its diagonal, and each atom
has a system of its own.

Compiled but for the loop over the levels: for a few dozen features calls would cost more than the arithmetic. Kernels
are loops rather than array expressions, do not call each other, and allocate few arrays of three dimensions, since all
else takes long to compile.
"""

import numpy as np
from numba import njit

from hrpursuit.compiled import kernel
from hrpursuit.core.protocols import Array

_LEVELS = 14
_FEW_ROWS_FROM = 2  # from this level on a polish to rounding needs only so many rows ...
_ZEROS_PER_FEATURE, _NONZEROS = 3, 30  # ... that each code column has this many zeros a feature, and other codes
#: Of the probe: codes below the first share of the rms of their column are next to zero (Gaussian codes: .04 of them);
#: each column needs the second share of such codes, all together the third.
_NEXT_TO_ZERO, _LEAST_SHARE, _MEAN_SHARE = 0.05, 0.1, 0.17
#: A polish ends when the small codes have become fewer than this share of those at its first level. Zeros stay small
#: (half are left where 80% of Gaussian codes are not zero); noise halves with the threshold at each level.
_LASTING = 0.25
f4 = np.float32


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _correct(codes, t, free, max_iter, tol, E):  # type: ignore[no-untyped-def]
    """Conjugate gradients for E, in place: one system for a skew matrix, or one for each row of a free one.

    Its rows are zero where there is nothing to correct or too little to hold on to. Returns its largest magnitude.
    """
    m, n = codes.shape
    tall = np.empty((4, m, n), f4)
    S = tall[0]
    M = tall[1]
    product = tall[2]
    square = np.empty((4, n, n), f4)
    H = square[0]
    half = square[1]
    residual = square[2]
    direction = square[3]
    sums = np.empty((1, 5, n))
    n_small = sums[0, 0]
    active = sums[0, 1]  # 1 or 0
    size = sums[0, 2]
    first = sums[0, 3]
    bend = sums[0, 4]
    for i in range(n):
        n_small[i] = 0.0
    for k in range(m):
        for i in range(n):
            small = abs(codes[k, i]) < t[i]
            n_small[i] += small
            S[k, i] = codes[k, i]
            M[k, i] = f4(small)
            tall[3, k, i] = S[k, i] * S[k, i]
            product[k, i] = M[k, i] * S[k, i]
    np.dot(M.T, tall[3], direction)  # the weights, for now
    np.dot(product.T, S, half)
    ridge = f4(1e-30)  # no division by zero where no code is small
    for i in range(n):
        for j in range(n):
            ridge = max(ridge, f4(1e-6) * direction[i, j])
    for i in range(n):
        for j in range(n):
            H[i, j] = direction[i, j] + ridge if free else direction[i, j] + direction[j, i] + 2 * ridge
            residual[i, j] = (half[i, j] if i != j else f4(0)) if free else half[i, j] - half[j, i]
            E[i, j] = 0
    for i in range(n):
        for j in range(n):
            direction[i, j] = residual[i, j] / H[i, j]
    _row_sums(residual, direction, free, first)
    for i in range(n):
        size[i] = first[i]
        active[i] = first[i] > 0 and (not free or n_small[i] >= n)
    for _ in range(max_iter):
        np.dot(S, direction.T, product)
        for k in range(m):
            for i in range(n):
                product[k, i] *= M[k, i]
        np.dot(product.T, S, half)
        for i in range(n):
            half[i, i] = 0
            if not free:
                for j in range(i):
                    half[i, j] -= half[j, i]
                    half[j, i] = -half[i, j]
        _row_sums(direction, half, free, bend)
        for i in range(n):
            if not bend[i] > 1e-30 * first[i]:  # a direction that the small codes do not see
                active[i] = 0.0
            step = f4(size[i] / bend[i]) if active[i] > 0 else f4(0)
            for j in range(n):
                E[i, j] += step * direction[i, j]
                residual[i, j] -= step * half[i, j]
                half[i, j] = residual[i, j] / H[i, j]
            bend[i] = size[i]
        _row_sums(residual, half, free, size)
        n_active = 0
        for i in range(n):
            if not size[i] > tol * tol * first[i]:
                active[i] = 0.0
            n_active += active[i] > 0
        if n_active == 0:
            break
        for i in range(n):
            ratio = f4(size[i] / bend[i]) if active[i] > 0 else f4(0)
            for j in range(n):
                direction[i, j] = ratio * direction[i, j] + half[i, j]
    largest = f4(0)
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(E[i, j]))
    return largest


@njit(fastmath=True, nogil=True, error_model="numpy")
def _row_sums(A, B, apart, sums):  # type: ignore[no-untyped-def]
    """Inner products of the rows of A and B; unless they stand apart, of the whole matrices, repeated."""
    n = A.shape[0]
    total = 0.0
    for i in range(n):
        product = 0.0
        for j in range(n):
            product += A[i, j] * B[i, j]
        sums[i] = product
        total += product
    if not apart:
        for i in range(n):
            sums[i] = total


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _move(X, W, S, E, free):  # type: ignore[no-untyped-def]
    """W <- (I - E) W with its codes S, in place: made orthogonal by Newton-Schulz steps; or where E is free, an atom
    moves only if the l1/l2 ratio of its codes falls, and its codes keep their l2 norm.
    """
    m, n = S.shape
    square = np.empty((3, n, n))
    moved = square[0]
    defect = square[1]
    correction = square[2]
    for i in range(n):
        for j in range(n):
            defect[i, j] = (1.0 if i == j else 0.0) - E[i, j]
    np.dot(defect, W, moved)
    if not free:
        for _ in range(12):
            np.dot(moved, moved.T, defect)
            size = 0.0
            for i in range(n):
                defect[i, i] -= 1
                for j in range(n):
                    size = max(size, abs(defect[i, j]))
            if not size < 1:
                break
            np.dot(defect, moved, correction)
            for i in range(n):
                for j in range(n):
                    moved[i, j] -= 0.5 * correction[i, j]
            if size < 1e-8:
                break
        for i in range(n):
            for j in range(n):
                W[i, j] = moved[i, j]
        np.dot(X, W.T, S)
        return
    S_moved = np.empty((1, m, n))[0]
    np.dot(X, moved.T, S_moved)
    for i in range(n):
        l1 = l2 = l1_moved = l2_moved = 0.0
        for k in range(m):
            l1 += abs(S[k, i])
            l2 += S[k, i] ** 2
            l1_moved += abs(S_moved[k, i])
            l2_moved += S_moved[k, i] ** 2
        gain = np.sqrt(l2 / l2_moved) if l2_moved > 0 else 0.0
        if gain > 0 and l1_moved * gain <= l1:
            for k in range(m):
                S[k, i] = gain * S_moved[k, i]
            for j in range(n):
                W[i, j] = gain * moved[i, j]


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _small_codes(S, W, t, rms, zero_level):  # type: ignore[no-untyped-def]
    """Number of codes of an atom below its threshold t, the least and the largest one, and that of all atoms; and the
    largest scale of these codes relative to the rms, where a scale is (mean sqrt|s|)^2, about the median.

    The thresholds are lowered, in place, to what the scales and the zero level ask.
    """
    m, n = S.shape
    least = m
    most = 0
    n_small = 0
    largest = 0.0
    for i in range(n):
        count = 0
        total = 0.0
        for k in range(m):
            v = abs(S[k, i])
            if v < t[i]:
                count += 1
                total += np.sqrt(v)
        least = min(least, count)
        most = max(most, count)
        n_small += count
        scale = (total / max(count, 1)) ** 2
        largest = max(largest, scale / max(rms[i], 1e-300))
        norm = 0.0
        for j in range(n):
            norm += W[i, j] ** 2
        t[i] = max(min(t[i] / 2, 8 * scale), zero_level * np.sqrt(norm), 1e-10 * rms[i])
    return least, most, n_small, largest


def polish_orthogonal(X: Array, W: Array, zero_level: float, start: float = 0.3) -> Array:
    """Orthogonal dictionary near W whose small codes on the sample X are as near to zero as rounding allows.

    `start` is the first threshold as a share of the rms of a code column.
    """
    return _polish(X, W, False, zero_level, start, False)[0]


def probe_and_polish(X: Array, W: Array, zero_level: float) -> tuple[Array, bool]:
    """The same, unless the first level shows that the small codes are no zeros; and whether it was polished."""
    return _polish(X, W, False, zero_level, 0.3, True)


def polish_free(X: Array, W: Array, zero_level: float, start: float = 0.3) -> Array:
    """As `probe_and_polish`, each row of W by itself, without orthogonality; one row with zeros is enough to go on.

    `start` as in `polish_orthogonal`; below 0.1 the small codes are known to be zeros.
    """
    return _polish(X, W, True, zero_level, start, start >= 0.1)[0]


def _polish(X: Array, W: Array, free: bool, zero_level: float, start: float, probing: bool) -> tuple[Array, bool]:
    """The polished dictionary, and whether it was polished to the end: with `probing` it ends after the first level (a
    free one after the second, since whitening is not exact) where the small codes are not next to zero then.
    """
    X, W_given, W = np.ascontiguousarray(X), W, np.array(W, order="C")
    m, n = X.shape
    S = X @ W.T
    rms = np.sqrt(np.einsum("ij,ij->j", S, S) / m)
    t, E = start * rms, np.empty((n, n), np.float32)
    fine, last, share, done = start < 0.1, np.inf, 0.0, True
    for level in range(_LEVELS):
        if level == _FEW_ROWS_FROM and zero_level < 1e-8:
            least, most, _, _ = _small_codes(S, W, t.copy(), rms, zero_level)
            for_zeros = _ZEROS_PER_FEATURE * n / max(least / m, 0.1)
            for_others = _NONZEROS / max(1 - most / m, 1e-3)
            m = min(m, int(max(for_zeros, for_others)) + 1)
            X, S = X[:m], S[:m]
        tol = 1e-3 if level > 3 or fine else 0.02 if level > 1 else 0.1
        size = _correct(S, t, free, 30 if level > 1 or fine else 10, tol, E)
        if not size < 1:
            break
        _move(X, W, S, E, free)
        if probing and level == (1 if free else 0):
            least, most, n_small, _ = _small_codes(S, W, _NEXT_TO_ZERO * rms, rms, zero_level)
            zeros_show = least > _LEAST_SHARE * m and n_small > _MEAN_SHARE * m * n
            done = most > _MEAN_SHARE * m if free else zeros_show
            if not done:
                break
        least, most, _, largest = _small_codes(S, W, t, rms, zero_level)
        if size < 2e-12 or least < n // 2:
            break
        if level == 0:
            share = most / m
        elif most < _LASTING * share * m:
            break  # small codes get fewer with the threshold: noise, not zeros
        if level >= 3 and largest > 1e-13 and largest > 0.7 * last:
            break
        last = largest
    if not np.isfinite(W).all():  # compiled with fast arithmetic, which does not see NaN
        return W_given, False
    return W, done
