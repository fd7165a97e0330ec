"""Which way the structure of a patch runs, and dictionaries for each direction."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from hrpursuit.images.learning import dct_atoms
from hrpursuit.images.patches import Plane

_ACROSS, _ALONG = 3.0, 50.0  # pixels over which brightness stays alike, across an edge and along it


@lru_cache(maxsize=8)
def directional_atoms(size: int, n_directions: int) -> NDArray[np.float32]:
    """One orthonormal dictionary for each direction of the gradient, of shape (n_directions, size**2, size**2).

    The constant atom, then the principal components of a stationary field whose correlation falls off fast across
    the direction of an edge and slowly along it. The direction of class c is c / n_directions of a half turn from the
    negative y axis.
    """
    y, x = np.divmod(np.arange(size * size), size)
    dy, dx = y[:, None] - y, x[:, None] - x
    cosines = dct_atoms(size).astype(np.float64)
    dictionaries = np.empty((n_directions, size * size, size * size), np.float32)
    for direction, atoms in enumerate(dictionaries):
        angle = (direction / n_directions - 0.5) * np.pi
        across, along = np.cos(angle) * dx + np.sin(angle) * dy, np.cos(angle) * dy - np.sin(angle) * dx
        correlation = np.exp(-np.hypot(across / _ACROSS, along / _ALONG))
        turn = np.linalg.eigh(cosines[1:] @ correlation @ cosines[1:].T)[1]
        atoms[0] = cosines[0]
        atoms[1:] = turn.T[::-1] @ cosines[1:]
    return dictionaries


def directions_of_patches(planes: NDArray[np.float32], size: int, n_directions: int, flat: float) -> NDArray[np.intp]:
    """The class of each patch in the order of `patches_of`: its direction, or `n_directions` where it has none.

    By the structure tensor, summed over the patch and all planes; a patch has no direction if the eigenvalues of its
    mean over the patch differ by less than `flat`.
    """
    # [dx dx, dx dy, dy dy]
    tensor: list[Plane] = [np.zeros(planes.shape[1:], np.float32) for _ in range(3)]
    for plane in planes:
        dy, dx = np.gradient(plane)
        for sums, product in zip(tensor, (dx * dx, dx * dy, dy * dy), strict=True):
            sums += product
    middle = tuple(slice(size // 2, size // 2 + n - size + 1) for n in planes.shape[1:])
    xx, xy, yy = (uniform_filter(sums, size)[middle] for sums in tensor)
    turns = 0.5 * np.arctan2(2 * xy, xx - yy) / np.pi + 0.5
    classes = np.floor(turns * n_directions + 0.5).astype(np.intp) % n_directions
    classes[np.hypot(xx - yy, 2 * xy) < flat] = n_directions
    return classes.ravel()
