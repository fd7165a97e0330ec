"""Exact polish: from a dictionary that is nearly right to one that is right to rounding.

All small codes at once are driven to zero: with S = X W^T and the mask M of the entries with |s| < t, Gauss-Newton for
the matrix E that makes || M o (S - S E^T) || least, W <- (I - E) W, by preconditioned conjugate gradients in float32 (E
only steers: the codes are computed anew in double), with a threshold t for each atom that follows the size of its small
codes down. For an orthogonal dictionary E is skew; for a complete one it is free but for its diagonal, and each atom
has a system of its own.

Compiled but for the loop over the levels: for a few dozen features calls would cost more than the arithmetic. Kernels
are loops rather than array expressions and write to arrays that they are given, since all else takes long to compile.
"""

import numpy as np
from numba import njit

from hrpursuit.compiled import kernel
from hrpursuit.core.products import product, product_of_transposed, product_with_transposed
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
def _correct(  # type: ignore[no-untyped-def]
    codes, t, free, max_iter, tol, E,
    S, M, squares, shifts, H, half, residual, direction, active, first, size, bend,
):  # fmt: skip
    """Conjugate gradients for E, in place: one system for a skew matrix, or one for each row of a free one.

    Its rows are zero where there is nothing to correct or too little to hold on to. Returns its largest magnitude. The
    arguments from S on are room: four matrices like the codes, four like E, and four vectors.
    """
    m, n = codes.shape
    for i in range(n):
        active[i] = 0.0  # the number of small codes; below 1 for rows that are worked on, else 0
    for k in range(m):
        for i in range(n):
            exact = codes[k, i]
            small = f4(1) if abs(exact) < t[i] else f4(0)
            code = f4(exact)
            active[i] += small
            S[k, i] = code
            M[k, i] = small
            squares[k, i] = code * code
            shifts[k, i] = small * code
    product_of_transposed(M, 0, squares, E)  # the weights, for now
    product_of_transposed(shifts, 0, S, half)
    ridge = f4(1e-30)  # no division by zero where no code is small
    for i in range(n):
        for j in range(n):
            weight = f4(1e-6) * E[i, j]
            ridge = weight if weight > ridge else ridge
    for i in range(n):
        for j in range(n):
            weight = E[i, j] + ridge
            rest = half[i, j]
            if not free:
                weight += E[j, i] + ridge
                rest -= half[j, i]
            elif i == j:
                rest = f4(0)
            H[i, j] = weight
            residual[i, j] = rest
            direction[i, j] = rest / weight
    _row_sums(residual, direction, free, first)
    for i in range(n):
        size[i] = first[i]
        active[i] = first[i] > 0 and (not free or active[i] >= n)
        for j in range(n):
            E[i, j] = 0
    for _ in range(max_iter):
        product_with_transposed(S, 0, direction, shifts)
        for k in range(m):
            for i in range(n):
                shifts[k, i] *= M[k, i]
        product_of_transposed(shifts, 0, S, half)
        for i in range(n):
            half[i, i] = 0
            if not free:
                for j in range(i):
                    skew = half[i, j] - half[j, i]
                    half[i, j] = skew
                    half[j, i] = -skew
        _row_sums(direction, half, free, bend)
        for i in range(n):
            if not bend[i] > 1e-30 * first[i]:  # a direction that the small codes do not see
                active[i] = 0.0
            step = f4(size[i] / bend[i]) if active[i] > 0 else f4(0)
            for j in range(n):
                E[i, j] += step * direction[i, j]
                rest = residual[i, j] - step * half[i, j]
                residual[i, j] = rest
                half[i, j] = rest / H[i, j]
            bend[i] = size[i]
        _row_sums(residual, half, free, size)
        n_active = 0.0
        for i in range(n):
            if not size[i] > tol * tol * first[i]:
                active[i] = 0.0
            n_active += active[i]
            ratio = f4(size[i] / bend[i]) if active[i] > 0 else f4(0)
            for j in range(n):
                direction[i, j] = ratio * direction[i, j] + half[i, j]
        if n_active == 0:
            break
    largest = f4(0)
    for i in range(n):
        for j in range(n):
            turn = abs(E[i, j])
            largest = turn if turn > largest else largest
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
def _turn(X, W, S, E, moved, defect, correction):  # type: ignore[no-untyped-def]
    """W <- (I - E) W with its codes S, in place, made orthogonal by Newton-Schulz steps; the rest is room."""
    n = W.shape[0]
    for i in range(n):
        for j in range(n):
            defect[i, j] = -E[i, j]
        defect[i, i] += 1
    product(defect, 0, W, moved)
    for _ in range(12):
        product_with_transposed(moved, 0, moved, defect)
        size = 0.0
        for i in range(n):
            defect[i, i] -= 1
            for j in range(n):
                one = abs(defect[i, j])
                size = one if one > size else size
        if not size < 1:
            break
        product(defect, 0, moved, correction)
        for i in range(n):
            for j in range(n):
                moved[i, j] -= 0.5 * correction[i, j]
        if size < 1e-8:
            break
    for i in range(n):
        for j in range(n):
            W[i, j] = moved[i, j]
    product_with_transposed(X, 0, W, S)


def _move(X: Array, W: Array, S: Array, E: Array) -> None:
    """W <- (I - E) W with its codes S, in place. An atom moves only if the l1/l2 ratio of its codes falls, and its
    codes keep their l2 norm.
    """
    moved = W - E @ W
    _keep_sparser(W, S, moved, X @ moved.T)


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _keep_sparser(W, S, moved, S_moved):  # type: ignore[no-untyped-def]
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
                W[i, j] = gain * moved[i, j]


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _small_codes(S, W, t, rms, zero_level, counts, scales):  # type: ignore[no-untyped-def]
    """Number of codes of an atom below its threshold t, the least and the largest one, and that of all atoms; and the
    largest scale of these codes relative to the rms, where a scale is (mean sqrt|s|)^2, about the median.

    The thresholds are lowered, in place, to what the scales and the zero level ask. `counts` and `scales` are room.
    """
    m, n = S.shape
    for i in range(n):
        counts[i] = 0.0
        scales[i] = 0.0
    for k in range(m):
        for i in range(n):
            size = abs(S[k, i])
            small = 1.0 if size < t[i] else 0.0
            counts[i] += small
            scales[i] += small * np.sqrt(size)
    least = counts[0]
    most = 0.0
    n_small = 0.0
    largest = 0.0
    for i in range(n):
        count = counts[i]
        least = count if count < least else least
        most = count if count > most else most
        n_small += count
        root = scales[i] / count if count > 0 else 0.0
        scale = root * root
        level = rms[i]
        largest = scale / level if scale > largest * level else largest
        norm = 0.0
        for j in range(n):
            entry = W[i, j]
            norm += entry * entry
        floor = zero_level * np.sqrt(norm)
        floor = 1e-10 * level if 1e-10 * level > floor else floor
        limit = t[i] / 2
        limit = 8 * scale if 8 * scale < limit else limit
        t[i] = limit if limit > floor else floor
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
    tall, square = np.empty((4, m, n), np.float32), np.empty((4, n, n), np.float32)
    room, codes_room, turn_room = (*square, *np.empty((4, n))), np.empty((2, n)), np.empty((3, n, n))
    fine, last, share, done = start < 0.1, np.inf, 0.0, True
    for level in range(_LEVELS):
        if level == _FEW_ROWS_FROM and zero_level < 1e-8:
            least, most, _, _ = _small_codes(S, W, t.copy(), rms, zero_level, *codes_room)
            for_zeros = _ZEROS_PER_FEATURE * n / max(least / m, 0.1)
            for_others = _NONZEROS / max(1 - most / m, 1e-3)
            m = min(m, int(max(for_zeros, for_others)) + 1)
            X, S, tall = X[:m], S[:m], tall[:, :m]
        tol = 1e-3 if level > 3 or fine else 0.02 if level > 1 else 0.1
        size = _correct(S, t, free, 30 if level > 1 or fine else 10, tol, E, *tall, *room)
        if not size < 1:
            break
        if free:
            _move(X, W, S, E)
        else:
            _turn(X, W, S, E, *turn_room)
        if probing and level == (1 if free else 0):
            least, most, n_small, _ = _small_codes(S, W, _NEXT_TO_ZERO * rms, rms, zero_level, *codes_room)
            zeros_show = least > _LEAST_SHARE * m and n_small > _MEAN_SHARE * m * n
            done = most > _MEAN_SHARE * m if free else zeros_show
            if not done:
                break
        least, most, _, largest = _small_codes(S, W, t, rms, zero_level, *codes_room)
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
