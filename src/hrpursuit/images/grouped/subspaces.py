"""Groups of patches in their own principal components."""

import numpy as np
from numpy.typing import NDArray

from hrpursuit.compiled import kernel
from hrpursuit.images.patches import Plane

_WIDE = 1000.0  # range, in standard deviations of the noise, beyond which the system needs double precision


def filter_in_subspaces(
    plane: Plane, pilot: Plane, groups: NDArray[np.int32], size: int, variance: np.float32
) -> Plane:
    """Wiener filter each group with the mean and the covariance that its patches have in the pilot.

    With the pilot's centred patches as rows of P, m of them, the covariance is P^T P / m and the filter
    P^T (P P^T + m variance)^-1 P: a small system, and never a matrix of pixels by pixels. Planes are in units of the
    noise.
    """
    total, weight = np.zeros_like(plane), np.zeros_like(plane)
    dtype = np.float64 if np.ptp(pilot) > _WIDE else np.float32
    noisy, centred = (np.empty((groups.shape[1], size * size), dtype) for _ in range(2))
    _filter_groups(plane, pilot, groups, size, dtype(variance), noisy, centred, total, weight)
    return total / weight


@kernel(nogil=True, fastmath=True)
def _filter_groups(plane, pilot, groups, size, variance, noisy, centred, total, weight):
    n_columns = plane.shape[1] - size + 1
    n_members = groups.shape[1]
    mean = np.empty_like(noisy[0])
    for g in range(len(groups)):
        members = groups[g]
        _read(plane, members, n_columns, size, noisy)
        _read(pilot, members, n_columns, size, centred)
        mean[:] = 0
        for m in range(n_members):
            mean += centred[m]
        mean /= n_members
        for m in range(n_members):
            centred[m] -= mean
            noisy[m] -= mean
        system = np.dot(centred, centred.T)
        for m in range(n_members):
            system[m, m] += n_members * variance
        mixing = np.linalg.solve(system, np.dot(centred, noisy.T))
        filtered = np.dot(mixing.T, centred)
        for m in range(n_members):
            y, x = divmod(members[m], n_columns)
            row = filtered[m]
            for r in range(size):
                line, line_weight = total[y + r, x : x + size], weight[y + r, x : x + size]
                for k in range(size):
                    line[k] += row[r * size + k] + mean[r * size + k]
                    line_weight[k] += np.float32(1)


@kernel(nogil=True)
def _read(plane, members, n_columns, size, patches):
    for m in range(len(members)):
        y, x = divmod(members[m], n_columns)
        row = patches[m]
        for r in range(size):
            line = plane[y + r, x : x + size]
            for k in range(size):
                row[r * size + k] = line[k]
