"""Compiled sums over codes that the certificate is made of.

The kernels write to arrays that they are given, and matrix products are left to numpy: to compile these takes longer
than to compile the rest.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrpursuit.compiled import kernel
from hrpursuit.core.protocols import Array

f4 = np.float32


def count_zeros(S: Array, levels: Array, norms: Array) -> tuple[int, Array, Array, Array]:
    """Rows that are not zero; of these the zeros of each column, those of them above half the zero level, and the codes
    of one to three zero levels.

    A code is zero up to `levels` of its row times `norms` of its column.
    """
    zeros, wide, near = np.zeros((3, S.shape[1]))
    return _count_zeros(S, levels, norms, zeros, wide, near), zeros, wide, near


@kernel(nogil=True, error_model="numpy")
def _count_zeros(S, levels, norms, zeros, wide, near):
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
                wide[j] += 1.0 if 0.5 * limit < size <= limit else 0.0
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
        level = levels[r]
        n_zeros = 0
        square = 0.0
        for j in range(n):
            value = S[r, j] / norms[j]
            n_zeros += abs(value) <= level
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
            is_zero = abs(value) <= level
            scaled = f4(value * scale)
            parts[0, place, j] = f4(1) if is_zero else f4(0)
            parts[1, place, j] = scaled
            parts[2, place, j] = f4(0) if is_zero else (f4(1) if value > 0 else f4(-1))
            size = abs(scaled)
            parts[3, place, j] = size
            l1[j] += size if n_zeros > 0 else f4(0)
    return k, last


def failing_pairs(
    zeros: Array, sums: tuple[Any, ...], orthogonal: bool, z: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], float]:
    """Which pairs of columns are not stationary, and which share more zeros than chance explains, as two matrices of
    flags, the latter and for an orthogonal dictionary both with flags above the diagonal only; and the number of rows
    without any zero that are outliers.

    `zeros` has the number of zeros of each column, `sums` is what `pair_sums` adds up to, and z is the quantile of the
    normal distribution that is left to chance. The bound on common zeros is a quantile of the hypergeometric
    distribution, by its spread and its skew. Rows without any zero count as far as independent columns with so many
    zeros would bring them along; the rest are outliers.
    """
    m, signed, dead, common, products, l1, n_without, signed_without = sums
    total = before = float(m)
    for _ in range(50):
        without = float(np.prod(1 - np.minimum(zeros / total, 1)))
        before, total = total, m / max(1 - without, 0.2)
        if total == before:
            break
    expected = 2 * (total - m) + 5
    if n_without <= expected:
        signed = signed + signed_without
    if orthogonal:
        unstationary = np.triu(np.abs(signed - signed.T) > 1.0001 * (dead + dead.T), 1)
    else:
        unstationary = np.abs(signed - products * (l1 / np.diag(products))[:, None]) > 1.0001 * dead
        np.fill_diagonal(unstationary, False)
    p = zeros / total
    spread, skew = np.sqrt(p * (1 - p)), 1 - 2 * p
    chance = (z * np.sqrt(total)) * np.outer(spread, spread) + 0.5
    chance += np.maximum(np.outer(skew, skew), 0) * ((z * z - 1) / 6)
    entangled = np.triu(common - total * np.outer(p, p) > chance, 1)
    return unstationary, entangled, 0.0 if n_without <= expected else n_without - (total - m)
