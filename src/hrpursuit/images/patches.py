"""Overlapping patches of an image as rows, and an image again as the weighted mean of its patches."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from hrpursuit.compiled import kernel

Plane = NDArray[np.float32]  # one channel of an image, or rows of patches of one


def patches_of(plane: Plane, size: int) -> Plane:
    """All patches of `size` x `size` pixels in the order of their upper left corners, one per row."""
    return np.ascontiguousarray(sliding_window_view(plane, (size, size)).reshape(-1, size * size))


def means_of_patches(plane: Plane, size: int) -> Plane:
    """The mean of each patch, as a plane of corners."""
    middle = tuple(slice(size // 2, size // 2 + n - size + 1) for n in plane.shape)
    return np.ascontiguousarray(uniform_filter(plane, size)[middle])


def mean_of_patches(patches: Plane, weights: Plane, shape: tuple[int, int], size: int) -> Plane:
    """The image whose pixels are the means of what all patches over them say.

    `patches` are in the order of `patches_of` and multiplied by their weights already; a patch may have weight 0 where
    others cover its pixels.
    """
    total = np.zeros(shape, np.float32)
    corners = np.arange(len(patches))
    add_patches(total, patches, corners, size)
    return total / weight_of_pixels(weights.reshape(shape[0] - size + 1, shape[1] - size + 1), size)


def patches_at(plane: Plane, corners: NDArray[np.int64], size: int) -> Plane:
    """The patches with the given corners, which count the patches in the order of `patches_of`."""
    patches = np.empty((len(corners), size * size), np.float32)
    _copy_patches(plane, corners, size, patches)
    return patches


@kernel(nogil=True)
def _copy_patches(plane, corners, size, patches):
    n_columns = plane.shape[1] - size + 1
    for i in range(len(corners)):
        y, x = divmod(corners[i], n_columns)
        patch = patches[i]
        for r in range(size):
            line = plane[y + r, x : x + size]
            for c in range(size):
                patch[r * size + c] = line[c]


@kernel(nogil=True)
def add_patches(total, patches, corners, size):
    """Add patches, multiplied by their weights already, to the image `total`."""
    n_columns = total.shape[1] - size + 1
    for i in range(len(corners)):
        y, x = divmod(corners[i], n_columns)
        patch = patches[i]
        for r in range(size):
            line = total[y + r, x : x + size]
            for c in range(size):
                line[c] += patch[r * size + c]


@kernel(nogil=True)
def weight_of_pixels(weights, size):
    """Sum of the weights of all patches over each pixel, from those of the patches as a plane of corners."""
    height, width = weights.shape
    lines = np.zeros((height, width + size - 1), weights.dtype)
    for y in range(height):
        for x in range(width):
            for c in range(size):
                lines[y, x + c] += weights[y, x]
    sums = np.zeros((height + size - 1, width + size - 1), weights.dtype)
    for y in range(height):
        for r in range(size):
            for x in range(width + size - 1):
                sums[y + r, x] += lines[y, x]
    return sums
