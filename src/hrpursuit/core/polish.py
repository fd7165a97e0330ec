"""Exact polish: from a dictionary that is nearly right to one that is right to rounding.

All small codes at once are driven to zero: with S = X W^T and the mask M of the entries with |s| < t, Gauss-Newton for
the matrix E that makes || M o (S - S E^T) || least, W <- (I - E) W, by preconditioned conjugate gradients in float32 (E
only steers: the codes are computed anew in double), with a threshold t for each atom that follows the size of its small
codes down. For an orthogonal dictionary E is skew; for a complete one it is free but for its diagonal, and each atom
has a system of its own.

Compiled as a whole: for a few dozen features the calls would cost more than the arithmetic. Loops rather than array
expressions, which compile for seconds each.
"""

import numpy as np

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
def _correction(codes, t, free, max_iter, tol):  # type: ignore[no-untyped-def]
    """Conjugate gradients for E: one system for a skew matrix, or one for each row of a free one.

    Returns E; its rows are zero where there is nothing to correct or too little to hold on to.
    """
    m, n = codes.shape
    S = np.empty((m, n), f4)
    M = np.empty((m, n), f4)
    product = np.empty((m, n), f4)
    squares = np.empty((m, n), f4)
    n_small = np.zeros(n)
    for k in range(m):
        for i in range(n):
            small = abs(codes[k, i]) < t[i]
            n_small[i] += small
            S[k, i] = codes[k, i]
            M[k, i] = f4(small)
            squares[k, i] = S[k, i] * S[k, i]
            product[k, i] = M[k, i] * S[k, i]
    weights = np.dot(M.T, squares)
    half = np.dot(product.T, S)
    ridge = f4(1e-30)  # no division by zero where no code is small
    for i in range(n):
        for j in range(n):
            ridge = max(ridge, f4(1e-6) * weights[i, j])
    H = np.empty((n, n), f4)
    E = np.zeros((n, n), f4)
    residual = np.empty((n, n), f4)
    direction = np.empty((n, n), f4)
    for i in range(n):
        for j in range(n):
            H[i, j] = weights[i, j] + ridge if free else weights[i, j] + weights[j, i] + 2 * ridge
            residual[i, j] = (half[i, j] if i != j else f4(0)) if free else half[i, j] - half[j, i]
            direction[i, j] = residual[i, j] / H[i, j]
    size = _row_sums(residual, direction, free)
    first = _row_sums(residual, direction, free)
    active = np.empty(n, np.bool_)
    for i in range(n):
        active[i] = first[i] > 0 and (not free or n_small[i] >= n)
    step = np.zeros(n, f4)
    for _ in range(max_iter):
        np.dot(S, direction.T, product)
        for k in range(m):
            for i in range(n):
                product[k, i] *= M[k, i]
        np.dot(product.T, S, half)
        if free:
            for i in range(n):
                half[i, i] = 0
        else:
            for i in range(n):
                half[i, i] = 0
                for j in range(i):
                    half[i, j] -= half[j, i]
                    half[j, i] = -half[i, j]
        bend = _row_sums(direction, half, free)
        for i in range(n):
            active[i] = active[i] and bend[i] > 1e-30 * first[i]  # else a direction that the small codes do not see
            step[i] = f4(size[i] / bend[i]) if active[i] else f4(0)
        previous = size
        for i in range(n):
            for j in range(n):
                E[i, j] += step[i] * direction[i, j]
                residual[i, j] -= step[i] * half[i, j]
                half[i, j] = residual[i, j] / H[i, j]
        size = _row_sums(residual, half, free)
        n_active = 0
        for i in range(n):
            active[i] = active[i] and size[i] > tol * tol * first[i]
            n_active += active[i]
        if n_active == 0:
            break
        for i in range(n):
            ratio = f4(size[i] / previous[i]) if active[i] else f4(0)
            for j in range(n):
                direction[i, j] = ratio * direction[i, j] + half[i, j]
    return E


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _row_sums(A, B, apart):  # type: ignore[no-untyped-def]
    """Inner products of the rows of A and B; unless they stand apart, of the whole matrices, repeated."""
    n = A.shape[0]
    sums = np.zeros(n)
    total = 0.0
    for i in range(n):
        for j in range(n):
            sums[i] += A[i, j] * B[i, j]
        total += sums[i]
    if not apart:
        for i in range(n):
            sums[i] = total
    return sums


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _orthogonalize(W):  # type: ignore[no-untyped-def]
    """Newton-Schulz steps from a matrix that is nearly orthogonal, in place."""
    n = W.shape[0]
    for _ in range(12):
        defect = np.dot(W.T, W)
        size = 0.0
        for i in range(n):
            defect[i, i] -= 1
            for j in range(n):
                size = max(size, abs(defect[i, j]))
        if not size < 1:
            break
        correction = np.dot(W, defect)
        for i in range(n):
            for j in range(n):
                W[i, j] -= 0.5 * correction[i, j]
        if size < 1e-8:
            break


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _keep_what_is_sparser(S, S_moved, W, W_moved):  # type: ignore[no-untyped-def]
    """Move an atom only if the l1/l2 ratio of its codes falls; its codes keep their l2 norm. In place."""
    m, n = S.shape
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
                W[i, j] = gain * W_moved[i, j]


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _small_scale(S, t, scale):  # type: ignore[no-untyped-def]
    """scale[i] = (mean sqrt|s|)^2 of the codes of atom i below t[i], about their median; returns their least and their
    largest number.
    """
    m, n = S.shape
    least = m
    most = 0
    for i in range(n):
        count = 0
        total = 0.0
        for k in range(m):
            v = abs(S[k, i])
            if v < t[i]:
                count += 1
                total += np.sqrt(v)
        scale[i] = (total / max(count, 1)) ** 2
        least = min(least, count)
        most = max(most, count)
    return least, most


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _enough_rows(S, t):  # type: ignore[no-untyped-def]
    """Rows in which each code column has enough zeros and enough other codes for the fine levels."""
    m, n = S.shape
    fewest = most = 0
    for i in range(n):
        count = 0
        for k in range(m):
            count += 1 if abs(S[k, i]) < t[i] else 0
        fewest = count if i == 0 else min(fewest, count)
        most = max(most, count)
    for_zeros = _ZEROS_PER_FEATURE * n / max(fewest / m, 0.1)
    for_others = _NONZEROS / max(1 - most / m, 1e-3)
    return min(m, int(max(for_zeros, for_others)) + 1)


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _zeros_show(S, rms, anywhere):  # type: ignore[no-untyped-def]
    """Whether enough codes of each column are next to zero, relative to its rms; or those of one column, `anywhere`."""
    m, n = S.shape
    total = 0.0
    for i in range(n):
        count = 0
        for k in range(m):
            count += 1 if abs(S[k, i]) < _NEXT_TO_ZERO * rms[i] else 0
        if anywhere and count > _MEAN_SHARE * m:
            return True
        if not anywhere and count <= _LEAST_SHARE * m:
            return False
        total += count
    return not anywhere and total > _MEAN_SHARE * m * n


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _polish(X, W, free, zero_level, start, probing):  # type: ignore[no-untyped-def]
    """The polished dictionary, and whether it was polished to the end: with `probing` it ends after the first level (a
    free one after the second, since whitening is not exact) where the small codes are not next to zero then.
    """
    n = W.shape[0]
    S = np.dot(X, W.T)
    rms = np.zeros(n)
    for k in range(S.shape[0]):
        for i in range(n):
            rms[i] += S[k, i] ** 2
    t = np.empty(n)
    for i in range(n):
        rms[i] = np.sqrt(rms[i] / S.shape[0])
        t[i] = start * rms[i]
    scale = np.empty(n)
    E = np.empty((n, n))
    fine = start < 0.1
    last = np.inf
    share = 0.0
    for level in range(_LEVELS):
        if level == _FEW_ROWS_FROM and zero_level < 1e-8:
            enough = _enough_rows(S, t)
            X = X[:enough]
            S = S[:enough]
        tol = 1e-3 if level > 3 or fine else 0.02 if level > 1 else 0.1
        steering = _correction(S, t, free, 30 if level > 1 or fine else 10, tol)
        size = 0.0
        for i in range(n):
            for j in range(n):
                E[i, j] = (1.0 if i == j else 0.0) - steering[i, j]
                size = max(size, abs(steering[i, j]))
        if not size < 1:
            break
        moved = np.dot(E, W)
        if free:
            _keep_what_is_sparser(S, np.dot(X, moved.T), W, moved)
        else:
            _orthogonalize(moved)
            W = moved
            S = np.dot(X, W.T)
        if probing and level == (1 if free else 0) and not _zeros_show(S, rms, free):
            return W, False
        least, most = _small_scale(S, t, scale)
        if size < 2e-12 or least < n // 2:
            break
        if level == 0:
            share = most / S.shape[0]
        elif most < _LASTING * share * S.shape[0]:
            break  # small codes get fewer with the threshold: noise, not zeros
        largest = 0.0
        for i in range(n):
            largest = max(largest, scale[i] / max(rms[i], 1e-300))
        if level >= 3 and largest > 1e-13 and largest > 0.7 * last:
            break
        last = largest
        for i in range(n):
            norm = 0.0
            for j in range(n):
                norm += W[i, j] ** 2
            t[i] = max(min(t[i] / 2, 8 * scale[i]), zero_level * np.sqrt(norm), 1e-10 * rms[i])
    return W, True


def polish_orthogonal(X: Array, W: Array, zero_level: float, start: float = 0.3) -> Array:
    """Orthogonal dictionary near W whose small codes on the sample X are as near to zero as rounding allows.

    `start` is the first threshold as a share of the rms of a code column.
    """
    return _run(X, W, False, zero_level, start, False)[0]


def probe_and_polish(X: Array, W: Array, zero_level: float) -> tuple[Array, bool]:
    """The same, unless the first level shows that the small codes are no zeros; and whether it was polished."""
    return _run(X, W, False, zero_level, 0.3, True)


def polish_free(X: Array, W: Array, zero_level: float) -> Array:
    """As `probe_and_polish`, each row of W by itself, without orthogonality; one row with zeros is enough to go on."""
    return _run(X, W, True, zero_level, 0.3, True)[0]


def _run(X: Array, W: Array, free: bool, zero_level: float, start: float, probing: bool) -> tuple[Array, bool]:
    polished, done = _polish(np.ascontiguousarray(X), np.array(W, order="C"), free, zero_level, start, probing)
    if not np.isfinite(polished).all():  # compiled with fast arithmetic, which does not see NaN
        return W, False
    return np.asarray(polished), bool(done)
