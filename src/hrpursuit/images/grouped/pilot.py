"""The first guess: a hard threshold in learned dictionaries, for single patches and then for groups of them."""

import math

import numpy as np
from numpy.typing import NDArray

from hrpursuit.images.directions import directions_of_patches
from hrpursuit.images.grouped.dictionaries import dictionaries_of_classes
from hrpursuit.images.grouped.shrinkage import autocorrelations, keep_large, keep_strong
from hrpursuit.images.learning import dct_atoms, learn_atoms
from hrpursuit.images.matching import Groups, find_groups
from hrpursuit.images.patches import Plane, add_patches, patches_at, weight_of_pixels

HARD = 2.7  # threshold of codes, in standard deviations of the noise
_LEARN = HARD / 2  # on a pilot, which has less noise
_MOST_PATCHES = 8000  # to learn from
_N_DIRECTIONS = 6
_FLAT = 0.02  # in variances of the noise, for the structure tensor
_N_MEMBERS, _STRIDE = 16, 4
_BLOCK = 2**18  # values of single patches at a time, so that they stay in the cache
_MOST_CODES = 2**25  # of groups at a time; more than a tile has, unless its patches are larger than 10 x 10


def threshold_single_patches(plane: Plane, size: int, seed: int, n_planes: int = 1) -> Plane:
    """Each patch by itself, in one dictionary that is learned on the noisy patches. The noise is the unit."""
    atoms = learn_atoms(_sampled_patches(plane, size, seed), dct_atoms(size), HARD)
    return np.concatenate([threshold_patches(one, atoms, HARD) for one in np.split(plane, n_planes)])


def threshold_groups(noisy: Plane, pilots: Plane, size: int, seed: int, n_planes: int = 1) -> Plane:
    """Groups of patches, each in the dictionary for its direction. All planes have the groups of the first."""
    groups = find_groups(pilots[0], size, n_members=_N_MEMBERS, stride=_STRIDE, seed=seed, n_planes=n_planes)
    groups = groups[:, : 1 << (groups.shape[1].bit_length() - 1)]  # Haar's transform takes a power of two
    directions = directions_of_patches(pilots[0], size, _N_DIRECTIONS, _FLAT)[groups[:, 0]]
    classes = [groups[directions == k] for k in range(_N_DIRECTIONS + 1)]
    return np.stack(
        [_threshold_classes(plane, pilot, classes, size, seed) for plane, pilot in zip(noisy, pilots, strict=True)]
    )


def threshold_patches(plane: Plane, atoms: Plane, threshold: float) -> Plane:
    """The mean of all patches with only those codes that reach `threshold`, and that of the first atom."""
    size = math.isqrt(atoms.shape[1])
    total = np.zeros_like(plane)
    weights = np.empty((plane.shape[0] - size + 1, plane.shape[1] - size + 1), np.float32)
    step = max(1, _BLOCK // atoms.shape[1])
    for first in range(0, weights.size, step):
        corners = np.arange(first, min(first + step, weights.size))
        codes = patches_at(plane, corners, size) @ atoms.T
        keep_large(codes, np.float32(threshold), corners, weights.ravel())
        add_patches(total, codes @ atoms, corners, size)
    return total / weight_of_pixels(weights, size)


def _sampled_patches(plane: Plane, size: int, seed: int) -> Plane:
    """All patches, or as many as there are to learn from, drawn without repetition."""
    n_patches = (plane.shape[0] - size + 1) * (plane.shape[1] - size + 1)
    if n_patches <= _MOST_PATCHES:
        return patches_at(plane, np.arange(n_patches), size)
    return patches_at(plane, np.random.default_rng(seed).choice(n_patches, _MOST_PATCHES, replace=False), size)


def _threshold_classes(plane: Plane, pilot: Plane, classes: list[Groups], size: int, seed: int) -> Plane:
    total = np.zeros_like(plane)
    weights = np.zeros((plane.shape[0] - size + 1, plane.shape[1] - size + 1), np.float32)
    for own, atoms in zip(classes, dictionaries_of_classes(pilot, classes, size, _LEARN, seed), strict=True):
        if len(own) == 0:
            continue
        n_parts = -(-min(own.size, weights.size) * size**2 // _MOST_CODES)
        for groups in np.array_split(own, n_parts):
            corners, members = _distinct(groups, weights.size)
            codes = patches_at(plane, corners, size) @ atoms.T
            sums, own_weights = np.zeros_like(codes), np.zeros(len(codes), np.float32)
            keep_strong(
                codes, members, groups, weights.shape[1], autocorrelations(atoms, size), np.float32(HARD), sums,
                own_weights,
            )  # fmt: skip
            add_patches(total, sums @ atoms, corners, size)
            weights.ravel()[corners] += own_weights
    return total / weight_of_pixels(weights, size)


def _distinct(groups: Groups, n_most: int) -> tuple[NDArray[np.intp], Groups]:
    """The patches that are in some group, and the groups as places among these."""
    is_there = np.zeros(n_most, np.bool_)
    is_there[groups] = True
    corners = np.flatnonzero(is_there)
    place = np.empty(n_most, np.int32)
    place[corners] = np.arange(len(corners), dtype=np.int32)
    return corners, place[groups]
