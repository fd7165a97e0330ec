"""Two filters for groups of similar patches, which share one small system per group: compiled kernels.

With k patches of d pixels as rows of X, less their mean, both need the inverse of the k x k matrix X X' + c I. For
c = d v it gives the best affine combinations of the patches (LIChI), for c = k v the Wiener filter of the covariance of
the group without a matrix of pixels by pixels (NL-Bayes), where v is the variance of the noise.
"""

import numpy as np
from numpy.typing import NDArray

from hrpursuit.compiled import kernel
from hrpursuit.images.patches import Plane, means_of_patches, weight_of_pixels

_WIDE = 100.0  # range, in standard deviations of the noise, beyond which the systems need double precision
_LEAST_FALL = 0.001  # in noise, from one step to the next


def filter_groups(
    noisy: Plane, pilot: Plane, mixed: Plane, groups: NDArray[np.int32], size: int, tau: float, *, combine: bool
) -> tuple[Plane, Plane]:
    """A new pilot, and a new mixture of pilot and noisy plane whose noise is `tau` times that of the noisy plane.

    All planes are in units of the noise. Each group of patches of `mixed` is filtered as `pilot` asks for, with the
    noise t that is still in it, as `mixed - noisy` tells; of the result and of what was filtered the mixture has
    shares 1 - tau / t and tau / t. `combine` chooses affine combinations of the patches of the group in place of the
    Wiener filter. Groups must cover the plane.
    """
    removed = noisy - mixed
    means, squares = means_of_patches(removed, size).ravel(), means_of_patches(removed * removed, size).ravel()
    dtype = np.float64 if np.ptp(pilot) > _WIDE else np.float32
    n_members, n_pixels = groups.shape[1], size * size
    constants = dtype(1), dtype(n_members), dtype(n_pixels)
    room = tuple(np.empty((n_members, n_pixels), dtype) for _ in range(3))
    square_room = tuple(np.empty((n_members, n_members), dtype) for _ in range(3))
    next_pilot, next_mixed = np.zeros_like(pilot), np.zeros_like(pilot)
    weights = np.zeros((pilot.shape[0] - size + 1, pilot.shape[1] - size + 1), np.float32)
    _filter_groups(
        pilot, mixed, means, squares, groups, size, dtype(tau), dtype(_LEAST_FALL), 2 * np.finfo(dtype).eps, combine,
        constants, room, square_room, next_pilot, next_mixed, weights.ravel(),
    )  # fmt: skip
    total = weight_of_pixels(weights, size)
    return next_pilot / total, next_mixed / total


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _filter_groups(
    pilot, mixed, means, squares, groups, size, tau, least_fall, least_ridge, combine,
    constants, room, square_room, next_pilot, next_mixed, weights,
):  # fmt: skip
    n_columns = pilot.shape[1] - size + 1
    expected, noisy, filtered = room
    system, first, second = square_room
    n_members, n_pixels = expected.shape
    # numbers of one precision: with an int among them the kernel would run in double
    one, members_of_group, pixels_of_patch = constants
    share_of_one = one / members_of_group
    pivots = np.empty((4, n_members), expected.dtype)
    mean, noisy_mean = np.empty(n_pixels, expected.dtype), np.empty(n_pixels, expected.dtype)
    member_weights = np.ones(n_members, expected.dtype)
    for g in range(len(groups)):
        members = groups[g]
        noise = max(one - _removed(members, means, squares), tau + least_fall)
        _read(pilot, members, n_columns, size, share_of_one, expected, mean)
        _read(mixed, members, n_columns, size, share_of_one, noisy, noisy_mean)
        if not combine:
            noisy_mean[:] = mean
        for m in range(n_members):
            row, other = expected[m], noisy[m]
            for c in range(n_pixels):
                row[c] -= mean[c]
            for c in range(n_pixels):
                other[c] -= noisy_mean[c]
        np.dot(expected, expected.T, system)
        trace = system[0, 0]
        for m in range(1, n_members):
            trace += system[m, m]
        ridge = max(noise * noise * (pixels_of_patch if combine else members_of_group), least_ridge * trace)
        for m in range(n_members):
            system[m, m] += ridge
        _invert(system, pivots)
        if combine:
            _combinations(system, ridge, share_of_one, member_weights)
            np.dot(system, noisy, filtered)
        else:
            # Z X' S X as X + ((Z - X) X' - ridge I) S X, or rounding would be magnified as the system is
            for m in range(n_members):
                row, other, clean_row = filtered[m], noisy[m], expected[m]
                for c in range(n_pixels):
                    row[c] = other[c] - clean_row[c]
            np.dot(filtered, expected.T, first)
            for m in range(n_members):
                first[m, m] -= ridge
            np.dot(first, system, second)
            np.dot(second, expected, filtered)
            for m in range(n_members):
                row, clean_row = filtered[m], expected[m]
                for c in range(n_pixels):
                    row[c] += clean_row[c]
        share = tau / noise
        for m in range(n_members):
            row, other, weight = filtered[m], noisy[m], member_weights[m]
            for c in range(n_pixels):
                clean = row[c]
                other[c] = weight * (clean + share * (other[c] - clean) + noisy_mean[c])
            for c in range(n_pixels):
                row[c] = weight * (row[c] + noisy_mean[c])
            weights[members[m]] += weight
        _add(next_mixed, members, n_columns, size, noisy)
        if tau > 0:
            _add(next_pilot, members, n_columns, size, filtered)
    if tau == 0:
        next_pilot[:] = next_mixed


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _removed(members, means, squares):
    """Standard deviation of what has been taken from the patches of a group so far."""
    mean = square = np.float32(0)
    for member in members:
        mean += means[member]
        square += squares[member]
    share = np.float32(1) / np.float32(len(members))
    mean *= share
    return np.sqrt(max(square * share - mean * mean, np.float32(0)))


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _combinations(inverse, ridge, share, weights):
    """Turn the inverse of the system into I - ridge * inverse, in place, and weigh each row.

    With the mean of the group, which the caller puts back, `share` more in every entry, one over the number of
    patches, each row sums up to one. Its weight is one over its sum of squares, the part of the noise that is left.
    """
    one = share / share
    for m in range(len(inverse)):
        row = inverse[m]
        total = ridge - ridge
        for j in range(len(row)):
            entry = ridge * row[j]
            total += entry * entry
            row[j] = -entry
        weights[m] = one / max(one + share + row[m] + row[m] + total, share)
        row[m] += one


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _invert(matrix, rows):
    """Invert a positive definite matrix in place, by Gauss-Jordan steps of four rows; `rows` is room for four."""
    n = len(matrix)
    block = np.empty((4, 4), matrix.dtype)
    r0, r1, r2, r3 = rows[0], rows[1], rows[2], rows[3]
    p = 0
    while p + 4 <= n:
        for i in range(4):
            for j in range(4):
                block[i, j] = matrix[p + i, p + j]
        for i in range(4):  # as in _sweep, with loops whose length the compiler knows
            scale = 1 / block[i, i]
            block[i, i] = 1
            for k in range(4):
                block[i, k] *= scale
            for j in range(4):
                if j != i:
                    share = block[j, i]
                    block[j, i] = 0
                    for k in range(4):
                        block[j, k] -= share * block[i, k]
        for i in range(4):
            for j in range(4):
                matrix[p + i, p + j] = 0
        m0, m1, m2, m3 = matrix[p], matrix[p + 1], matrix[p + 2], matrix[p + 3]
        for i in range(4):
            row = rows[i]
            b0, b1, b2, b3 = block[i, 0], block[i, 1], block[i, 2], block[i, 3]
            for k in range(n):
                row[k] = b0 * m0[k] + b1 * m1[k] + b2 * m2[k] + b3 * m3[k]
            for j in range(4):
                row[p + j] = block[i, j]
        for i in range(n):
            row = matrix[i]
            if i < p or i >= p + 4:
                a0, a1, a2, a3 = row[p], row[p + 1], row[p + 2], row[p + 3]
                row[p] = 0
                row[p + 1] = 0
                row[p + 2] = 0
                row[p + 3] = 0
                for k in range(n):
                    row[k] -= a0 * r0[k] + a1 * r1[k] + a2 * r2[k] + a3 * r3[k]
        for i in range(4):
            row, swept = matrix[p + i], rows[i]
            for k in range(n):
                row[k] = swept[k]
        p += 4
    while p < n:
        _sweep(matrix, p)
        p += 1


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _sweep(matrix, p):
    """One Gauss-Jordan step: after one for every row the matrix is inverted."""
    pivot = matrix[p]
    one = pivot[p] / pivot[p]
    scale = one / pivot[p]
    pivot[p] = one
    for k in range(len(pivot)):
        pivot[k] *= scale
    for i in range(len(matrix)):
        if i != p:
            row = matrix[i]
            share = row[p]
            row[p] = 0
            for k in range(len(row)):
                row[k] -= share * pivot[k]


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _read(plane, members, n_columns, size, share, patches, mean):
    """The patches of a group, and their mean."""
    mean[:] = 0
    for m in range(len(members)):
        y, x = divmod(members[m], n_columns)
        row = patches[m]
        for r in range(size):
            line = plane[y + r, x : x + size]
            for c in range(size):
                row[r * size + c] = line[c]
        for c in range(len(mean)):
            mean[c] += row[c]
    for c in range(len(mean)):
        mean[c] *= share


@kernel(nogil=True, fastmath=True, error_model="numpy")
def _add(total, members, n_columns, size, patches):
    for m in range(len(members)):
        y, x = divmod(members[m], n_columns)
        row = patches[m]
        for r in range(size):
            line = total[y + r, x : x + size]
            for c in range(size):
                line[c] += row[r * size + c]
