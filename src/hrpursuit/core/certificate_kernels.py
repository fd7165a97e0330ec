"""Compiled sums over codes that the certificate is made of."""

import numpy as np
from numba import njit

f4 = np.float32


@njit(nogil=True, cache=True, error_model="numpy")
def count_zeros(S, levels, norms):
    """Rows that are not zero; of these the zeros of each column, and the codes of one to three zero levels.

    A code is zero up to `levels` of its row times `norms` of its column.
    """
    m, n = S.shape
    zeros = np.zeros(n)
    near = np.zeros(n)
    n_live = 0
    for r in range(m):
        level = levels[r]
        live = False
        for j in range(n):
            if abs(S[r, j]) > level * norms[j]:
                live = True
                break
        if live:
            n_live += 1
            for j in range(n):
                limit = level * norms[j]
                size = abs(S[r, j])
                zeros[j] += 1.0 if size <= limit else 0.0
                near[j] += 1.0 if limit < size <= 3 * limit else 0.0
    return n_live, zeros, near


@njit(nogil=True, cache=True, error_model="numpy")
def pair_sums(S, levels, norms):
    """Sums over the rows that have a zero and are not zero, with the codes of each row divided by their norm: the
    number of rows; sgn(s_i) s_j; |s_j| where s_i = 0; common zeros; s_i s_j; |s_i|.
    """
    m, n = S.shape
    zero = np.empty((m, n), f4)
    code = np.empty((m, n), f4)
    sign = np.empty((m, n), f4)
    size = np.empty((m, n), f4)
    k = 0
    for r in range(m):
        n_zeros = 0
        square = 0.0
        for j in range(n):
            value = S[r, j] / norms[j]
            n_zeros += abs(value) <= levels[r]
            square += value * value
        if n_zeros == 0 or n_zeros == n:
            continue
        scale = 1.0 / np.sqrt(square)
        for j in range(n):
            value = S[r, j] / norms[j]
            is_zero = abs(value) <= levels[r]
            zero[k, j] = f4(1) if is_zero else f4(0)
            sign[k, j] = f4(0) if is_zero else (f4(1) if value > 0 else f4(-1))
            code[k, j] = value * scale
            size[k, j] = abs(code[k, j])
        k += 1
    zero = zero[:k]
    code = code[:k]
    size = size[:k]
    l1 = np.zeros(n)
    for r in range(k):
        for j in range(n):
            l1[j] += size[r, j]
    return k, np.dot(sign[:k].T, code), np.dot(zero.T, size), np.dot(zero.T, zero), np.dot(code.T, code), l1


@njit(nogil=True, cache=True, error_model="numpy")
def failing_pairs(m, signed, dead, common, products, l1, zeros, orthogonal, z):
    """Pairs of columns that are not stationary, and that share more zeros than chance explains, as two matrices of
    flags; z is the quantile of the normal distribution that is left to chance.

    The bound on common zeros is a quantile of the hypergeometric distribution, by its spread and its skew. Beside the m
    rows that have a zero it counts those without that independent columns with so many zeros would bring along.
    """
    n = len(zeros)
    total = m
    for _ in range(5):
        without = 1.0
        for i in range(n):
            without *= 1 - min(zeros[i] / total, 1.0)
        total = m / max(1 - without, 0.5)
    unstationary = np.zeros((n, n), np.bool_)
    entangled = np.zeros((n, n), np.bool_)
    for i in range(n):
        p = zeros[i] / total
        for j in range(n):
            if i == j:
                continue
            if not orthogonal:
                slope = abs(signed[i, j] - products[i, j] * l1[i] / products[i, i])
                unstationary[i, j] = slope > 1.0001 * dead[i, j]
            if j > i:
                if orthogonal:
                    unstationary[i, j] = abs(signed[i, j] - signed[j, i]) > 1.0001 * (dead[i, j] + dead[j, i])
                q = zeros[j] / total
                skew = max((1 - 2 * p) * (1 - 2 * q), 0.0)
                chance = z * np.sqrt(total * p * (1 - p) * q * (1 - q)) + skew * (z * z - 1) / 6 + 0.5
                entangled[i, j] = common[i, j] - total * p * q > chance
    return unstationary, entangled
