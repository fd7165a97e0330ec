"""Compiled sums over codes that the certificate is made of.

The kernels write to arrays that they are given, and matrix products are left to numpy: to compile these takes longer
than to compile the rest.
"""

from typing import Any

import numpy as np

from hrpursuit.compiled import kernel
from hrpursuit.core.protocols import Array

f4 = np.float32


def count_zeros(S: Array, levels: Array, norms: Array) -> tuple[int, Array, Array]:
    """Rows that are not zero; of these the zeros of each column, and the codes of one to three zero levels.

    A code is zero up to `levels` of its row times `norms` of its column.
    """
    zeros, near = np.zeros((2, S.shape[1]))
    return _count_zeros(S, levels, norms, zeros, near), zeros, near


@kernel(nogil=True, error_model="numpy")
def _count_zeros(S, levels, norms, zeros, near):
    m, n = S.shape
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
    return n_live


def pair_sums(S: Array, levels: Array, norms: Array) -> tuple[Any, ...]:
    """Sums over the rows that have a zero and are not zero, with the codes of each row divided by their norm: the
    number of rows; sgn(s_i) s_j; |s_j| where s_i = 0; common zeros; s_i s_j; |s_i|. Then, for the rows without any
    zero, their number and sgn(s_i) s_j.
    """
    m, n = S.shape
    parts, l1 = np.empty((4, m, n), f4), np.zeros(n)
    k, last = _split(S, levels, norms, parts, l1)
    zero, code, sign, size = parts[:, :k]
    signed_without = parts[2, last:].T @ parts[1, last:]
    return k, sign.T @ code, zero.T @ size, zero.T @ zero, code.T @ code, l1, m - last, signed_without


@kernel(nogil=True, error_model="numpy")
def _split(S, levels, norms, parts, l1):
    """Write zeros (as 1), codes, their signs and magnitudes, those of rows with a zero from the top on, those of rows
    without from the bottom; and add up the magnitudes of the former. Returns where the ones end and the others begin.
    """
    m, n = S.shape
    k = 0
    last = m
    for r in range(m):
        n_zeros = 0
        square = 0.0
        for j in range(n):
            value = S[r, j] / norms[j]
            n_zeros += abs(value) <= levels[r]
            square += value * value
        if n_zeros == n:
            continue
        scale = 1.0 / np.sqrt(square)
        if n_zeros > 0:
            place = k
            k += 1
        else:
            last -= 1
            place = last
        for j in range(n):
            value = S[r, j] / norms[j]
            is_zero = abs(value) <= levels[r]
            scaled = f4(value * scale)
            parts[0, place, j] = f4(1) if is_zero else f4(0)
            parts[1, place, j] = scaled
            parts[2, place, j] = f4(0) if is_zero else (f4(1) if value > 0 else f4(-1))
            parts[3, place, j] = abs(scaled)
            l1[j] += abs(scaled) if n_zeros > 0 else f4(0)
    return k, last


@kernel(nogil=True, error_model="numpy")
def failing_pairs(
    m, signed, dead, common, products, l1, n_without, signed_without, zeros, orthogonal, z, unstationary, entangled
):
    """Flag the pairs of columns that are not stationary, and those that share more zeros than chance explains, in two
    matrices of flags; returns the number of rows without any zero that are outliers. z is the quantile of the normal
    distribution that is left to chance.

    The bound on common zeros is a quantile of the hypergeometric distribution, by its spread and its skew. Rows without
    any zero count as far as independent columns with so many zeros would bring them along; the rest are outliers.
    """
    n = len(zeros)
    total = m
    for _ in range(50):
        without = 1.0
        for i in range(n):
            without *= 1 - min(zeros[i] / total, 1.0)
        total = m / max(1 - without, 0.2)
    expected = 2 * (total - m) + 5
    weight = 1.0 if n_without <= expected else 0.0
    for i in range(n):
        p = zeros[i] / total
        for j in range(n):
            if i == j:
                continue
            one = signed[i, j] + weight * signed_without[i, j]
            if not orthogonal:
                slope = abs(one - products[i, j] * l1[i] / products[i, i])
                unstationary[i, j] = slope > 1.0001 * dead[i, j]
            if j > i:
                if orthogonal:
                    other = signed[j, i] + weight * signed_without[j, i]
                    unstationary[i, j] = abs(one - other) > 1.0001 * (dead[i, j] + dead[j, i])
                q = zeros[j] / total
                skew = max((1 - 2 * p) * (1 - 2 * q), 0.0)
                chance = z * np.sqrt(total * p * (1 - p) * q * (1 - q)) + skew * (z * z - 1) / 6 + 0.5
                entangled[i, j] = common[i, j] - total * p * q > chance
    return 0.0 if n_without <= expected else n_without - (total - m)
