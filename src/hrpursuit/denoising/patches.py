"""All overlapping patches of an image as rows, and an image again as the weighted mean of its patches."""

import numpy as np
from numba import njit
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Plane = NDArray[np.float32]  # one channel of an image, or rows of patches of one


def patches_of(plane: Plane, size: int) -> Plane:
    """All patches of `size` x `size` pixels in the order of their upper left corners, one a row."""
    return np.ascontiguousarray(sliding_window_view(plane, (size, size)).reshape(-1, size * size))


def mean_of_patches(patches: Plane, weights: Plane, shape: tuple[int, int], size: int) -> Plane:
    """The image whose pixels are the means of what all patches over them say.

    `patches` are in the order of `patches_of` and multiplied by their weights already; a patch may have weight 0 where
    others cover its pixels.
    """
    total = np.zeros(shape, np.float32)
    weight = np.zeros(shape, np.float32)
    _add_patches(patches, weights, size, total, weight)
    return total / weight


@njit(cache=True, nogil=True, fastmath=True)
def _add_patches(patches, weights, size, total, weight):
    n_columns = total.shape[1] - size + 1
    for i in range(len(patches)):
        y, x = divmod(i, n_columns)
        patch = patches[i]
        w = weights[i]
        for r in range(size):
            line = total[y + r, x : x + size]
            line_weight = weight[y + r, x : x + size]
            for c in range(size):
                line[c] += patch[r * size + c]
                line_weight[c] += w
