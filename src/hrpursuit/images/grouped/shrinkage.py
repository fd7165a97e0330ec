"""Hard thresholds of codes: of single patches, and of groups in Haar's transform along the group."""

import numpy as np
from numpy.typing import NDArray

from hrpursuit.compiled import kernel
from hrpursuit.images.patches import Plane


def autocorrelations(atoms: Plane, size: int) -> NDArray[np.float32]:
    """Products of each atom with itself shifted by (dy, dx), shape (2 size - 1, 2 size - 1, n_atoms).

    For white noise these are the correlations of the codes of patches that overlap.
    """
    spectra = np.abs(np.fft.rfft2(atoms.reshape(-1, size, size), s=(2 * size, 2 * size))) ** 2
    shifts = np.arange(1 - size, size)
    products = np.fft.irfft2(spectra, s=(2 * size, 2 * size))[:, shifts][:, :, shifts]
    return np.ascontiguousarray(products.transpose(1, 2, 0), dtype=np.float32)


@kernel(nogil=True, fastmath=True)
def keep_large(codes, threshold, corners, weights):
    """Clear the codes below the threshold but the first, and multiply each row by its weight."""
    n_codes = codes.shape[1]
    for i in range(len(codes)):
        row = codes[i]
        n_kept = 1
        for k in range(1, n_codes):
            if abs(row[k]) >= threshold:
                n_kept += 1
            else:
                row[k] = 0
        weight = np.float32(1) / np.float32(n_kept)
        for k in range(n_codes):
            row[k] *= weight
        weights[corners[i]] = weight


@kernel(nogil=True, fastmath=True)
def keep_strong(codes, groups, places, n_columns, correlations, threshold, sums, weights):
    """Keep the coefficients that reach `threshold` standard deviations, and sum up what is left for each patch.

    `codes` has unit noise. `groups` are rows of `codes`, `places` the corners they come from: patches of a group may
    overlap, and with `correlations` of the atoms the noise of each coefficient is known.
    """
    n_members, n_codes = groups.shape[1], codes.shape[1]
    coefficients = np.empty((n_members, n_codes), np.float32)
    variances = np.empty((n_members, n_codes), np.float32)
    products = np.empty((n_members, n_members, n_codes), np.float32)
    limit = threshold * threshold
    for g in range(len(groups)):
        _gather(codes, groups[g], coefficients)
        _variances(places[g], n_columns, correlations, products, variances)
        noise = np.float32(0.5)  # against groups of next to nothing
        for m in range(n_members):
            line, variance = coefficients[m], variances[m]
            first = 1 if m == 0 else 0  # the mean of the group stays: the result must not depend on the range
            if first:
                noise += variance[0]
            for k in range(first, n_codes):
                kept = np.float32(1) if line[k] * line[k] >= limit * variance[k] else np.float32(0)
                line[k] *= kept
                noise += kept * variance[k]
        _scatter(coefficients, groups[g], np.float32(1) / noise, sums, weights)


@kernel(nogil=True, fastmath=True)
def _gather(codes, members, coefficients):
    """Haar's transform of the codes along the group, in place: what is left of the means stands first."""
    half = np.float32(np.sqrt(0.5))
    n_members, n_codes = coefficients.shape
    for m in range(n_members):
        line, row = coefficients[m], codes[members[m]]
        for k in range(n_codes):
            line[k] = row[k]
    step = 1
    while step < n_members:
        for m in range(0, n_members, 2 * step):
            a, b = coefficients[m], coefficients[m + step]
            for k in range(n_codes):
                total, difference = (a[k] + b[k]) * half, (a[k] - b[k]) * half
                a[k] = total
                b[k] = difference
        step *= 2


@kernel(nogil=True, fastmath=True)
def _scatter(coefficients, members, weight, sums, weights):
    """Undo Haar's transform, and add the codes to those that other groups have for the same patches."""
    half = np.float32(np.sqrt(0.5))
    n_members, n_codes = coefficients.shape
    step = n_members // 2
    while step:
        for m in range(0, n_members, 2 * step):
            a, b = coefficients[m], coefficients[m + step]
            for k in range(n_codes):
                first, second = (a[k] + b[k]) * half, (a[k] - b[k]) * half
                a[k] = first
                b[k] = second
        step //= 2
    for m in range(n_members):
        line, row = coefficients[m], sums[members[m]]
        for k in range(n_codes):
            row[k] += weight * line[k]
        weights[members[m]] += weight


@kernel(nogil=True, fastmath=True)
def _variances(places, n_columns, correlations, products, variances):
    """Variances of the coefficients of a group for white noise of unit variance.

    `products[i, j]`, j >= i, are covariances of the means that Haar's transform has come to, atom by atom.
    """
    size = (correlations.shape[0] + 1) // 2
    n_members, n_codes = variances.shape
    half = np.float32(0.5)
    for i in range(n_members):
        y, x = divmod(places[i], n_columns)
        for j in range(i, n_members):
            dy, dx = places[j] // n_columns - y, places[j] % n_columns - x
            line = products[i, j]
            if abs(dy) < size and abs(dx) < size:
                known = correlations[dy + size - 1, dx + size - 1]
                for k in range(n_codes):
                    line[k] = known[k]
            else:
                for k in range(n_codes):
                    line[k] = 0
    step = 1
    while step < n_members:
        for i in range(0, n_members, 2 * step):
            a, b, both, detail = (
                products[i, i],
                products[i + step, i + step],
                products[i, i + step],
                variances[i + step],
            )
            for k in range(n_codes):
                mean = (a[k] + b[k]) * half
                detail[k] = mean - both[k]
                a[k] = mean + both[k]
            for j in range(i + 2 * step, n_members, 2 * step):
                a, b, c, d = products[i, j], products[i, j + step], products[i + step, j], products[i + step, j + step]
                for k in range(n_codes):
                    a[k] = (a[k] + b[k] + c[k] + d[k]) * half
        step *= 2
    for k in range(n_codes):
        variances[0, k] = products[0, 0, k]
