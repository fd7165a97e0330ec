"""The mode `fast`: two passes over single patches."""

import numpy as np
from numpy.typing import NDArray

from hrpursuit.compiled import kernel
from hrpursuit.images.directions import directional_atoms, directions_of_patches
from hrpursuit.images.learning import dct_atoms, learn_atoms
from hrpursuit.images.patches import Plane, add_patches, patches_at, weight_of_pixels

_HARD = 2.7  # in standard deviations of the noise
_WIENER = 0.88  # the noise that the second pass counts on, in units of the real one: the pilot lacks some signal
_MOST_PATCHES = 8000  # to learn from
_N_DIRECTIONS = 12
_FLAT = 0.02  # in variances of the noise, for the structure tensor of the first pass
_BLOCK = 2**18  # values of patches at a time, so that they stay in the cache


def denoise_patches(planes: NDArray[np.float32], sigma: float, size: int, seed: int) -> NDArray[np.float32]:
    """Planes of shape (n_channels, height, width), channels decorrelated, white noise of `sigma` in each.

    First a hard threshold in a dictionary learned on the noisy patches, a weight of 1 / codes kept. Then an empirical
    Wiener filter with what the first pass left, in the same dictionary for patches without a direction and in one for
    the direction of their structure for the others.
    """
    pilots, dictionaries = [], []
    for plane in planes:
        atoms = learn_atoms(sampled_patches(plane, size, _MOST_PATCHES, seed), dct_atoms(size), _HARD * sigma)
        pilots.append(threshold_patches(plane, atoms, _HARD * sigma))
        dictionaries.append(atoms)
    classes = directions_of_patches(np.stack(pilots), size, _N_DIRECTIONS, _FLAT * sigma**2)
    corners = [np.flatnonzero(classes == k) for k in range(_N_DIRECTIONS + 1)]
    directional = directional_atoms(size, _N_DIRECTIONS)
    return np.stack(
        [
            _wiener(plane, pilot, [*directional, atoms], corners, _WIENER * sigma)
            for plane, pilot, atoms in zip(planes, pilots, dictionaries, strict=True)
        ]
    )


def sampled_patches(plane: Plane, size: int, n_most: int, seed: int) -> Plane:
    """All patches, or `n_most` that are drawn without repetition."""
    n_patches = (plane.shape[0] - size + 1) * (plane.shape[1] - size + 1)
    if n_patches <= n_most:
        return patches_at(plane, np.arange(n_patches), size)
    return patches_at(plane, np.random.default_rng(seed).choice(n_patches, n_most, replace=False), size)


def threshold_patches(plane: Plane, atoms: Plane, threshold: float) -> Plane:
    """The mean of all patches with only those codes that reach `threshold`, and that of the first atom."""
    size = round(atoms.shape[1] ** 0.5)
    total = np.zeros_like(plane)
    weights = np.empty((plane.shape[0] - size + 1, plane.shape[1] - size + 1), np.float32)
    flat_weights = weights.ravel()
    for corners in _blocks(np.arange(weights.size), atoms):
        codes = patches_at(plane, corners, size) @ atoms.T
        _keep_large(codes, np.float32(threshold), corners, flat_weights)
        add_patches(total, codes @ atoms, corners, size)
    return total / weight_of_pixels(weights, size)


def _wiener(
    plane: Plane, pilot: Plane, dictionaries: list[Plane], corners_of: list[NDArray[np.intp]], sigma: float
) -> Plane:
    """The mean of all patches, their codes shrunk by the gains that the pilot asks for; a dictionary for each class."""
    size = round(dictionaries[0].shape[1] ** 0.5)
    total = np.zeros_like(plane)
    weights = np.empty((plane.shape[0] - size + 1, plane.shape[1] - size + 1), np.float32)
    flat_weights = weights.ravel()
    for atoms, all_corners in zip(dictionaries, corners_of, strict=True):
        for corners in _blocks(all_corners, atoms):
            codes = patches_at(plane, corners, size) @ atoms.T
            expected = patches_at(pilot, corners, size) @ atoms.T
            _shrink(codes, expected, np.float32(sigma**2), corners, flat_weights)
            add_patches(total, codes @ atoms, corners, size)
    return total / weight_of_pixels(weights, size)


def _blocks(corners: NDArray[np.intp], atoms: Plane) -> list[NDArray[np.intp]]:
    step = max(1, _BLOCK // atoms.shape[1])
    return [corners[i : i + step] for i in range(0, len(corners), step)]


@kernel(nogil=True, fastmath=True)
def _keep_large(codes, threshold, corners, weights):
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
def _shrink(codes, expected, variance, corners, weights):
    """Multiply the codes but the first by their Wiener gains, and each row by its weight."""
    n_codes = codes.shape[1]
    for i in range(len(codes)):
        row, pilot = codes[i], expected[i]
        energy = np.float32(1.5)  # the first atom, and a half against patches of next to nothing
        for k in range(1, n_codes):
            power = pilot[k] * pilot[k]
            gain = power / (power + variance)
            energy += gain * gain
            row[k] *= gain
        weight = np.float32(1) / energy
        for k in range(n_codes):
            row[k] *= weight
        weights[corners[i]] = weight
