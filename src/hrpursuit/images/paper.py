"""The mode `paper`: Example 2 of Xue, Lau and Cai (2021)."""

import numpy as np

from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.images.patches import Plane, add_patches, patches_at, weight_of_pixels
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.paper import paper_scheme
from hrpursuit.schemes.stages import StageLog, Stopper

N_SAMPLED = 10_000  # patches to learn from; the paper leaves their number open
_THRESHOLD = 2.7  # in standard deviations of the noise; the paper leaves open which codes count as zero


def learn_as_the_paper(patches: Plane, seed: int) -> Plane:
    """The dictionary of Algorithm 1, one atom per row, for noisy patches, one per row, from a random start.

    The patches are taken as they come, with their means. Their unit, which the paper does not say, is their root mean
    square; it matters little, to the step sizes of Stage Two.
    """
    scale = float(np.sqrt(np.mean(patches.astype(np.float64) ** 2)))
    if scale == 0:
        return np.eye(patches.shape[1], dtype=np.float32)
    rows = ArrayRows(patches / np.float32(scale))
    start = random_orthogonal(patches.shape[1], np.random.default_rng(seed))
    learned = paper_scheme(
        rows, start, complete=False, max_iter=50, tol=1e-4, seed=seed, stopper=Stopper(None), log=StageLog()
    )
    return learned.components.astype(np.float32)


def denoise_as_the_paper(plane: Plane, atoms: Plane, sigma: float) -> Plane:
    """All patches with the codes that reach the threshold, averaged where they overlap."""
    size = round(atoms.shape[1] ** 0.5)
    total = np.zeros_like(plane)
    n_down, n_across = plane.shape[0] - size + 1, plane.shape[1] - size + 1
    for y in range(n_down):
        corners = np.arange(y * n_across, (y + 1) * n_across)
        codes = patches_at(plane, corners, size) @ atoms.T
        codes[np.abs(codes) < _THRESHOLD * sigma] = 0
        add_patches(total, codes @ atoms, corners, size)
    return total / weight_of_pixels(np.ones((n_down, n_across), np.float32), size)
