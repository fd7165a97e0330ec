"""Dictionaries of patches: the constant atom stays, the others are learned."""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from hrpursuit.core.gpm import gpm
from hrpursuit.core.procrustes import hard_threshold_procrustes
from hrpursuit.images.patches import Plane
from hrpursuit.rows import ArrayRows

_FEWEST_PATCHES = 10  # to learn from, an atom
# A patch counts as if its norm were at most 1.5 times what 90% of the patches stay below. Chosen on crops of `camera`
# and `astronaut`: a hot pixel costs 0.02 dB instead of 0.4, and images without one lose nothing.
_COMMON, _BOUND = 0.9, 1.5


def dct_atoms(size: int) -> Plane:
    """The two-dimensional cosine transform of `size` x `size` patches, one atom per row, the constant one first."""
    line = dct(np.eye(size), axis=0, norm="ortho")
    return np.kron(line, line).astype(np.float32)


def bounded(rows: Plane) -> Plane:
    """Rows whose norms are bounded by what is common: one hot pixel is in many patches, and far beyond all else."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    bound = _BOUND * np.quantile(norms, _COMMON)
    if bound == 0:
        return rows
    return rows * np.minimum(1, bound / np.maximum(norms, bound))[:, None].astype(np.float32)


def learn_atoms(
    patches: Plane, start: Plane, threshold: float, *, power_steps: int = 10, procrustes_steps: int = 5
) -> Plane:
    """An orthonormal dictionary for patches, from `start`, whose first atom is kept.

    Stage One (the power method on the cubes of the codes), then Procrustes steps on the codes beyond `threshold`. With
    too few patches, which would be learned by heart, it is `start`.
    """
    if len(patches) < _FEWEST_PATCHES * len(start):
        return start
    coordinates = bounded(patches @ start[1:].T)
    scale = float(np.sqrt(np.mean(coordinates**2)))
    if scale == 0:
        return start
    rows = ArrayRows(coordinates / np.float32(scale))
    turn: NDArray[np.float32] = np.eye(len(start) - 1, dtype=np.float32)
    turn = gpm(rows, turn, max_iter=power_steps, tol=0).components
    turn = hard_threshold_procrustes(
        rows, turn, threshold=threshold / scale, max_iter=procrustes_steps, tol=0
    ).components
    return np.vstack([start[:1], turn @ start[1:]]).astype(np.float32)
