"""The passes of the mode `best` over one tile of an image."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hrpursuit.images.directions import directions_of_patches
from hrpursuit.images.grouped.dictionaries import Groups, dictionaries_of_classes
from hrpursuit.images.grouped.matching import find_groups
from hrpursuit.images.grouped.shrinkage import autocorrelations, keep_strong, shrink_by_pilot
from hrpursuit.images.grouped.subspaces import filter_in_subspaces
from hrpursuit.images.learning import dct_atoms, learn_atoms
from hrpursuit.images.patches import Plane, add_patches, patches_at, weight_of_pixels
from hrpursuit.images.plain import sampled_patches, threshold_patches

_HARD = 2.7  # in standard deviations of the noise
_LEARN = _HARD / 2  # on a pilot, which has less noise
# The noise that Wiener filters count on, in units of the real one: the pilot lacks some signal.
_WIENER_SUBSPACE, _WIENER = 0.8, 0.9
_N_PATCHES = 8000  # most to learn from
_N_DIRECTIONS = 6
_FLAT = 0.02  # in variances of the noise, for the structure tensor
_N_MEMBERS, _N_MEMBERS_OF_SUBSPACE = 16, 32
_STRIDE, _WIDE_STRIDE = 3, 4
_MOST_CODES = 2**25  # at a time; more than a tile has, unless its patches are larger than 10 x 10

Planes = NDArray[np.float32]
#: Noisy plane, pilot, groups and atoms to codes of patches, summed over groups with weights; the weights; the corners.
Shrink = Callable[[Plane, Plane, Groups, Plane], tuple[Plane, Plane, NDArray[np.intp]]]


def denoise_in_groups(planes: Planes, sigma: float, size: int, seed: int) -> Planes:
    """Planes of shape (n_channels, height, width), channels decorrelated, white noise of `sigma` in each.

    Four passes, each guided by what the one before has left. Single patches and a hard threshold in a learned
    dictionary. Groups of similar patches and a hard threshold in dictionaries learned for each direction of structure,
    for two sizes of patches. A Wiener filter in the subspace of each group. A Wiener filter in dictionaries learned
    anew. The result is the mean of the last two, whose errors are not the same ones.
    """
    unit = np.float32(sigma)
    noisy = planes / unit
    pilots = np.stack([_threshold_single_patches(plane, size, seed) for plane in noisy])
    sizes = {size, max(2, 3 * size // 4)}
    pilots = np.mean([_by_direction(noisy, pilots, each, _STRIDE, seed, _threshold) for each in sizes], axis=0)
    in_subspaces = _in_subspaces(noisy, pilots, size, seed)
    by_direction = _by_direction(noisy, in_subspaces, size, _WIDE_STRIDE, seed, _wiener)
    return (in_subspaces + by_direction) * (unit / 2)


def _threshold_single_patches(plane: Plane, size: int, seed: int) -> Plane:
    atoms = learn_atoms(sampled_patches(plane, size, _N_PATCHES, seed), dct_atoms(size), _HARD)
    return threshold_patches(plane, atoms, _HARD)


def _in_subspaces(planes: Planes, pilots: Planes, size: int, seed: int) -> Planes:
    groups = find_groups(pilots[0], size, n_members=_N_MEMBERS_OF_SUBSPACE, stride=_WIDE_STRIDE, seed=seed)
    return np.stack(
        [
            filter_in_subspaces(plane, pilot, groups, size, np.float32(_WIENER_SUBSPACE**2))
            for plane, pilot in zip(planes, pilots, strict=True)
        ]
    )


def _by_direction(planes: Planes, pilots: Planes, size: int, stride: int, seed: int, shrink: Shrink) -> Planes:
    """Shrink groups of patches, each in the dictionary for its direction. All planes have the groups of the first."""
    groups = find_groups(pilots[0], size, n_members=_N_MEMBERS, stride=stride, seed=seed)
    groups = groups[:, : 1 << (groups.shape[1].bit_length() - 1)]  # Haar's transform takes a power of two
    directions = directions_of_patches(pilots[:1], size, _N_DIRECTIONS, _FLAT)[groups[:, 0]]
    classes = [groups[directions == k] for k in range(_N_DIRECTIONS + 1)]
    results = []
    for plane, pilot in zip(planes, pilots, strict=True):
        total = np.zeros_like(plane)
        weights = np.zeros((plane.shape[0] - size + 1, plane.shape[1] - size + 1), np.float32)
        for own, atoms in zip(classes, dictionaries_of_classes(pilot, classes, size, _LEARN, seed), strict=True):
            if len(own) == 0:
                continue
            n_parts = -(-min(own.size, weights.size) * size**2 // _MOST_CODES)
            for part in np.array_split(own, n_parts):
                sums, own_weights, corners = shrink(plane, pilot, part, atoms)
                add_patches(total, sums @ atoms, corners, size)
                weights.ravel()[corners] += own_weights
        results.append(total / weight_of_pixels(weights, size))
    return np.stack(results)


def _threshold(plane: Plane, pilot: Plane, groups: Groups, atoms: Plane) -> tuple[Plane, Plane, NDArray[np.intp]]:
    size = math.isqrt(len(atoms))
    corners, members = _distinct(groups, plane.size)
    codes = patches_at(plane, corners, size) @ atoms.T
    sums, weights = np.zeros_like(codes), np.zeros(len(codes), np.float32)
    correlations = autocorrelations(atoms, size)
    n_columns = plane.shape[1] - size + 1
    keep_strong(codes, members, groups, n_columns, correlations, np.float32(_HARD), sums, weights)
    return sums, weights, corners


def _wiener(plane: Plane, pilot: Plane, groups: Groups, atoms: Plane) -> tuple[Plane, Plane, NDArray[np.intp]]:
    size = math.isqrt(len(atoms))
    corners, members = _distinct(groups, plane.size)
    codes, expected = (patches_at(each, corners, size) @ atoms.T for each in (plane, pilot))
    sums, weights = np.zeros_like(codes), np.zeros(len(codes), np.float32)
    shrink_by_pilot(codes, expected, members, np.float32(_WIENER**2), sums, weights)
    return sums, weights, corners


def _distinct(groups: Groups, n_most: int) -> tuple[NDArray[np.intp], Groups]:
    """The patches that are in some group, and the groups as places among these."""
    is_there = np.zeros(n_most, np.bool_)
    is_there[groups] = True
    corners = np.flatnonzero(is_there)
    place = np.empty(n_most, np.int32)
    place[corners] = np.arange(len(corners), dtype=np.int32)
    return corners, place[groups]
