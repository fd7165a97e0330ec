"""The basis over sensors: learned from what is decoded already, by integer Jacobi sweeps, so that it costs no bytes."""

from hrpursuit.compression.kernels.compiled import compiled
from hrpursuit.compression.kernels.constants import TURNS

_HALF = 1 << 23  # of the unit 2^24


@compiled
def _rotate_rows(A, p, q, cosine, sine):
    for i in range(A.shape[1]):
        x, y = A[p, i], A[q, i]
        A[p, i] = (cosine * x - sine * y + _HALF) >> 24
        A[q, i] = (sine * x + cosine * y + _HALF) >> 24


@compiled
def _rotate_columns(A, p, q, cosine, sine):
    for i in range(A.shape[0]):
        x, y = A[i, p], A[i, q]
        A[i, p] = (cosine * x - sine * y + _HALF) >> 24
        A[i, q] = (sine * x + cosine * y + _HALF) >> 24


@compiled
def _sweep(A, basis):
    """One Jacobi sweep over the symmetric A (entries below 2^30); the rows of `basis` turn along. Angles come from a
    table, so they are right to 1/2048: the next sweep mends what is left.
    """
    n = len(A)
    for p in range(n - 1):
        for q in range(p + 1, n):
            twice, gap = 2 * A[p, q], A[q, q] - A[p, p]
            high, low = max(abs(twice), abs(gap)), min(abs(twice), abs(gap))
            if high == 0:
                continue
            index = (low * 1024 + (high >> 1)) // high
            part = 0 if abs(twice) <= abs(gap) else 1
            if part == 0 and index == 0:
                continue
            cosine, sine = TURNS[part, index, 0], TURNS[part, index, 1]
            if (twice < 0) != (gap < 0):
                sine = -sine
            _rotate_rows(A, p, q, cosine, sine)
            _rotate_columns(A, p, q, cosine, sine)
            _rotate_rows(basis, p, q, cosine, sine)


@compiled
def refresh_basis(moments, basis, turned, product, n_sweeps):
    """Turn the rows of `basis` (in 1/2^24) towards the eigenvectors of `moments`, of which the lower half is there,
    largest first.
    """
    n = len(basis)
    trace, shift = 1, 0
    for i in range(n):
        trace += moments[i, i]
        for j in range(i):
            moments[j, i] = moments[i, j]
    while (trace >> shift) >= (1 << 29):
        shift += 1
    for j in range(n):
        for i in range(n):
            product[j, i] = 0
        for k in range(n):
            factor = basis[j, k] >> 8
            for i in range(n):
                product[j, i] += (moments[k, i] >> shift) * factor
        for i in range(n):
            product[j, i] >>= 16
    for i in range(n):
        for j in range(i, n):
            total = 0
            for k in range(n):
                total += (basis[i, k] >> 8) * product[j, k]
            turned[i, j] = total >> 16
            turned[j, i] = turned[i, j]
    for _ in range(n_sweeps):
        _sweep(turned, basis)
    for i in range(1, n):  # insertion sort by eigenvalue; it is nearly in order
        j = i
        while j > 0 and turned[j, j] > turned[j - 1, j - 1]:
            energy = turned[j, j]
            turned[j, j] = turned[j - 1, j - 1]
            turned[j - 1, j - 1] = energy
            for k in range(n):
                entry = basis[j, k]
                basis[j, k] = basis[j - 1, k]
                basis[j - 1, k] = entry
            j -= 1
