"""Dictionaries for groups of patches, one for each direction that structure may have."""

from collections.abc import Iterator

import numpy as np

from hrpursuit.images.learning import dct_atoms, learn_atoms
from hrpursuit.images.matching import Groups
from hrpursuit.images.patches import Plane, patches_at

_N_ROWS, _N_ROWS_OF_CLASS = 4000, 2000  # most rows to learn from
_FEWEST_GROUPS = 100  # below, a class has the dictionary of all


def dictionaries_of_classes(
    pilot: Plane, classes: list[Groups], size: int, threshold: float, seed: int
) -> Iterator[Plane]:
    """One dictionary a class, the last of which has no direction, learned on the groups as they look in `pilot`.

    What is learned on is what will be thresholded: patches after Haar's transform along their group. `threshold` is in
    the unit of the pilot.
    """
    rng = np.random.default_rng(seed)
    rows = _transformed(pilot, np.concatenate(classes), size, _N_ROWS, rng)
    common = learn_atoms(rows, dct_atoms(size), threshold)
    for groups in classes[:-1]:
        if len(groups) < _FEWEST_GROUPS:
            yield common
        else:
            rows = _transformed(pilot, groups, size, _N_ROWS_OF_CLASS, rng)
            yield learn_atoms(rows, common, threshold, power_steps=5)
    yield common


def _transformed(pilot: Plane, groups: Groups, size: int, n_most: int, rng: np.random.Generator) -> Plane:
    n_members = groups.shape[1]
    n_groups = min(len(groups), n_most // n_members)
    chosen = groups[rng.choice(len(groups), n_groups, replace=False)]
    patches = patches_at(pilot, chosen.ravel(), size).reshape(n_groups, n_members, -1)
    return np.matmul(haar(n_members), patches).reshape(n_groups * n_members, -1)


def haar(n_members: int) -> Plane:
    """Haar's orthonormal transform for a power of two, one function a row."""
    rows = np.eye(1)
    while len(rows) < n_members:
        details = np.kron(np.eye(len(rows)), [1, -1])
        rows = np.vstack([np.kron(rows, [1, 1]), details]) / np.sqrt(2)
    return rows.astype(np.float32)
