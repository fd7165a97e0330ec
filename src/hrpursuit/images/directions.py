"""Which way the structure of a patch runs."""

import numpy as np
from numpy.typing import NDArray

from hrpursuit.images.patches import Plane, means_of_patches


def directions_of_patches(plane: Plane, size: int, n_directions: int, flat: float) -> NDArray[np.intp]:
    """The class of each patch in the order of `patches_of`: its direction, or `n_directions` where it has none.

    By the structure tensor, summed over the patch; a patch has no direction if the eigenvalues of its mean over the
    patch differ by less than `flat`. The direction of class c is c / n_directions of a half turn from the negative
    y axis.
    """
    dy, dx = (np.asarray(slope, np.float32) for slope in np.gradient(plane))
    xx, xy, yy = (means_of_patches(product, size) for product in (dx * dx, dx * dy, dy * dy))
    turns = 0.5 * np.arctan2(2 * xy, xx - yy) / np.pi + 0.5
    classes = np.floor(turns * n_directions + 0.5).astype(np.intp) % n_directions
    classes[np.hypot(xx - yy, 2 * xy) < flat] = n_directions
    return classes.ravel()
