"""Groups of patches that look alike, as block matching in BM3D finds them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrpursuit.compiled import kernel
from hrpursuit.images.learning import bounded, dct_atoms
from hrpursuit.images.patches import Plane, patches_at, patches_of

Groups = NDArray[np.int32]  # corners of patches in the order of `patches_of`, one group per row

_N_FEATURES = 16  # strongest cosine coefficients that patches are compared by
_FLOOR = 2.0  # squared distance of 8 x 8 patches, in variances of the noise, that is too small to mean something
_NEAR_PLANES, _REACH_OF_PLANES = 3, 9  # planes before and behind that are searched, and pixels
_STRIP = 16  # rows of patches in memory at a time, where they are `size` squared times the image


def find_groups(
    pilot: Plane, size: int, *, n_members: int, stride: int, seed: int, reach: int = 19, n_planes: int = 1
) -> Groups:
    """Patches that look alike in `pilot`, in units of the noise; the one that the others resemble comes first.

    These first ones lie `stride` pixels apart, or the size of a patch if that is less, down to the last row and column;
    the others at most `reach` pixels away.
    Patches that differ by less than the noise that is left in the pilot are equally good, and drawn at random: the
    very nearest would be those whose noise is alike. Groups of fewer than `n_members` where there are no more patches.

    Of `n_planes` of a volume or film, one below the other in `pilot`, patches of the three before and the three behind
    count too, at most 9 pixels away.
    """
    features = _features(pilot, size)
    draws = np.random.default_rng(seed).random((2 * reach + 1, 2 * reach + 1), dtype=np.float32)
    floor = np.float32(_FLOOR * (size / 8) ** 2)
    spacing = len(pilot) // n_planes
    n_rows, width = spacing - size + 1, features.shape[2]
    of_one = grid((n_rows, width), min(stride, size))
    corners = (np.arange(n_planes)[:, None] * (spacing * width) + of_one).ravel()
    return nearest(features, corners, n_members, reach, floor, draws, Stack(n_planes, spacing, n_rows))


def grid(shape: tuple[int, ...], stride: int) -> NDArray[np.intp]:
    """Corners `stride` pixels apart down and across, and those of the last row and column, of a plane of corners."""
    ys, xs = (np.unique(np.append(np.arange(0, n, stride), n - 1)) for n in shape)
    return (ys[:, None] * shape[1] + xs).ravel()


class Stack(NamedTuple):
    """Planes one below the other: how many, the rows from one to the next, and the rows of corners of each."""

    n_planes: int
    spacing: int
    n_rows: int


def nearest(
    features: Plane,
    corners: NDArray[np.intp],
    n_members: int,
    reach: int,
    floor: np.float32,
    draws: Plane,
    stack: Stack | None = None,
) -> Groups:
    """For each corner the patches with the nearest features, of shape (n_features, height, width), itself first.

    They are at most `reach` pixels away; fewer than `n_members` if a corner of the plane has no more of them. Squared
    distances below `floor` are replaced by `draws`, a number from 0 to 1 for each offset, times `floor`.
    """
    height, width = features.shape[1:]
    stack = stack or Stack(1, height, height)
    n_near = min(_NEAR_PLANES, stack.n_planes - 1)
    near = min(reach, _REACH_OF_PLANES)
    n_there = sum(n * min(stack.n_rows, far + 1) * min(width, far + 1) for n, far in ((1, reach), (n_near, near)))
    groups = np.empty((len(corners), min(n_members, n_there)), np.int32)
    _nearest(features, corners, reach, near, _NEAR_PLANES, tuple(stack), floor, draws, groups)
    return groups


def _features(pilot: Plane, size: int) -> Plane:
    """The mean and the strongest other cosine coefficients of all patches, shape (n_features, height, width)."""
    atoms = dct_atoms(size)
    height, width = pilot.shape[0] - size + 1, pilot.shape[1] - size + 1
    some = bounded(patches_at(pilot, np.arange(0, (1 + (height - 1) // 7 * 7) * width, 7), size) @ atoms[1:].T)
    strongest = 1 + np.argsort(-np.einsum("ij,ij->j", some, some), kind="stable")[: _N_FEATURES - 1]
    chosen = atoms[np.append(0, strongest)]
    features = np.empty((len(chosen), height, width), np.float32)
    for y in range(0, height, _STRIP):
        strip = patches_of(pilot[y : y + size + _STRIP - 1], size)
        features[:, y : y + _STRIP] = (chosen @ strip.T).reshape(len(chosen), -1, width)
    return features


@kernel(nogil=True, fastmath=True)
def _nearest(features, corners, reach, reach_of_planes, n_near, stack, floor, draws, groups):
    n_planes, spacing, n_rows = stack
    n_features, _, width = features.shape
    n_members = groups.shape[1]
    distances = np.empty(2 * reach + 1, np.float32)
    best = np.empty(n_members, np.float32)
    for g in range(len(corners)):
        y, x = divmod(corners[g], width)
        members = groups[g]
        members[0] = corners[g]
        best[0] = -1
        n_found = 1
        worst = np.float32(3e38) if n_members > 1 else best[0]  # not inf, which fastmath may not compare with
        plane, row = divmod(y, spacing)
        for other in range(max(0, plane - n_near), min(n_planes, plane + n_near + 1)):
            far = reach if other == plane else reach_of_planes
            left, right = max(0, x - far), min(width, x + far + 1)
            n_there = right - left
            for there_row in range(max(0, row - far), min(n_rows, row + far + 1)):
                there = other * spacing + there_row
                for i in range(n_there):
                    distances[i] = 0
                for k in range(n_features):
                    here = features[k, y, x]
                    line = features[k, there, left:right]
                    for i in range(n_there):
                        difference = line[i] - here
                        distances[i] += difference * difference
                chances = draws[there_row - row + reach, left - x + reach : right - x + reach]
                for i in range(n_there):
                    distance = distances[i]
                    if distance < floor:
                        distance = floor * chances[i]
                    if distance >= worst or (there == y and left + i == x):
                        continue
                    place = n_found if n_found < n_members else n_members - 1
                    while place > 1 and best[place - 1] > distance:
                        best[place] = best[place - 1]
                        members[place] = members[place - 1]
                        place -= 1
                    best[place] = distance
                    members[place] = there * width + left + i
                    if n_found < n_members:
                        n_found += 1
                    if n_found == n_members:
                        worst = best[n_members - 1]
