"""Missing pixels of patches, from their observed pixels and from the codes of similar patches: compiled kernels."""

import numpy as np
from numba import njit

from hrpursuit.compiled import kernel


@njit(nogil=True, fastmath=True, error_model="numpy")
def _solve(M, n, x):
    """Solve M x = b in place of x = b by Cholesky; of M only the lower triangle is read, and overwritten."""
    for i in range(n):
        for j in range(i + 1):
            rest = M[i, j]
            for k in range(j):
                rest -= M[i, k] * M[j, k]
            M[i, j] = rest / M[j, j] if j < i else np.sqrt(rest)
    for i in range(n):
        for k in range(i):
            x[i] -= M[i, k] * x[k]
        x[i] /= M[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= M[i, i]
        for k in range(i):
            x[k] -= M[i, k] * x[i]


@njit(nogil=True, fastmath=True, error_model="numpy")
def _second_moments(A, n, weights, M):
    """Lower triangle of A diag(weights) A^T for the first n rows of A."""
    n_atoms = A.shape[1]
    row = np.empty(n_atoms)
    for i in range(n):
        for k in range(n_atoms):
            row[k] = A[i, k] * weights[k]
        for j in range(i + 1):
            total = 0.0
            for k in range(n_atoms):
                total += row[k] * A[j, k]
            M[i, j] = total


@kernel(nogil=True, fastmath=True, error_model="numpy")
def add_fills(pixels, missing, codes, atoms, groups, corners, offsets, floor, noise, total, weight):
    """Add to `total` what each patch says of its missing pixels, and to `weight` how many patches do.

    The codes of a patch are taken as Gaussian: mean and variance of each are those of its group, the variance raised
    by `floor`. What is added is the mean of the missing pixels given the observed ones, in which there may be white
    noise of variance `noise`. `pixels`, `missing`, `total` and `weight` are flat; a patch with the corner at position
    `corners[g]` has its pixels at `corners[g] + offsets`.
    """
    n_nearest = groups.shape[1]
    n = len(offsets)
    mean = np.empty(n)
    variance = np.empty(n)
    inverse = np.empty(n)
    observed_atoms = np.empty((n, n))  # one pixel a row
    missing_atoms = np.empty((n, n))
    where = np.empty(n, np.int64)
    values = np.empty(n)
    codes_found = np.empty(n)
    M = np.empty((n, n))
    for g in range(len(groups)):
        for k in range(n):
            mean[k] = 0.0
            variance[k] = 0.0
        for j in range(n_nearest):
            code = codes[groups[g, j]]
            for k in range(n):
                mean[k] += code[k]
                variance[k] += code[k] * code[k]
        for k in range(n):
            mean[k] /= n_nearest
            variance[k] = max(variance[k] / n_nearest - mean[k] * mean[k], 0.0) + floor
        n_observed = 0
        n_missing = 0
        for i in range(n):
            position = corners[g] + offsets[i]
            expected = 0.0
            if missing[position]:
                for k in range(n):
                    missing_atoms[n_missing, k] = atoms[k, i]
                where[n_missing] = position
                n_missing += 1
            else:
                for k in range(n):
                    observed_atoms[n_observed, k] = atoms[k, i]
                    expected += atoms[k, i] * mean[k]
                values[n_observed] = pixels[position] - expected
                n_observed += 1
        if n_missing == 0:
            continue
        if noise > 0.0 or n_observed <= n_missing:  # by the covariance of the observed pixels
            _second_moments(observed_atoms, n_observed, variance, M)
            for i in range(n_observed):
                M[i, i] += noise
            _solve(M, n_observed, values)
            for k in range(n):
                codes_found[k] = 0.0
            for i in range(n_observed):
                for k in range(n):
                    codes_found[k] += values[i] * observed_atoms[i, k]
            for k in range(n):
                codes_found[k] *= variance[k]
            for i in range(n_missing):
                fill = 0.0
                for k in range(n):
                    fill += missing_atoms[i, k] * (mean[k] + codes_found[k])
                total[where[i]] += fill
                weight[where[i]] += 1.0
        else:  # the same by the precision of the missing ones, of which there are fewer
            for k in range(n):
                inverse[k] = 1.0 / variance[k]
                codes_found[k] = 0.0
            for i in range(n_observed):
                for k in range(n):
                    codes_found[k] -= values[i] * observed_atoms[i, k]
            for i in range(n_missing):
                rest = 0.0
                for k in range(n):
                    rest += missing_atoms[i, k] * inverse[k] * codes_found[k]
                values[i] = rest
            _second_moments(missing_atoms, n_missing, inverse, M)
            _solve(M, n_missing, values)
            for i in range(n_missing):
                fill = values[i]
                for k in range(n):
                    fill += missing_atoms[i, k] * mean[k]
                total[where[i]] += fill
                weight[where[i]] += 1.0
