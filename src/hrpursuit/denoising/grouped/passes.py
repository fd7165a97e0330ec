"""The passes of the mode `best` over one tile of an image."""

import numpy as np
from numpy.typing import NDArray

from hrpursuit.denoising.learning import dct_atoms, learn_atoms
from hrpursuit.denoising.patches import Plane, mean_of_patches, patches_of

_HARD = 2.7  # in standard deviations of the noise
_MOST_PATCHES = 8000  # to learn from


def denoise_in_groups(planes: NDArray[np.float32], sigma: float, size: int, seed: int) -> NDArray[np.float32]:
    """Planes of shape (n_channels, height, width), channels decorrelated, white noise of `sigma` in each."""
    return np.stack([_pilot(plane, sigma, size, seed) for plane in planes])


def _pilot(plane: Plane, sigma: float, size: int, seed: int) -> Plane:
    patches = patches_of(plane, size)
    sample = patches
    if len(patches) > _MOST_PATCHES:
        sample = patches[np.random.default_rng(seed).choice(len(patches), _MOST_PATCHES, replace=False)]
    atoms = learn_atoms(sample, dct_atoms(size), _HARD * sigma)
    codes = patches @ atoms.T
    codes[:, 1:][np.abs(codes[:, 1:]) < _HARD * sigma] = 0
    weights = (1 / np.maximum(np.count_nonzero(codes, axis=1), 1)).astype(np.float32)
    return mean_of_patches((codes @ atoms) * weights[:, None], weights, plane.shape, size)
