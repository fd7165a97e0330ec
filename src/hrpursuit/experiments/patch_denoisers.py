"""Denoising by patches without groups, to compare with: cosines, principal components, K-SVD, scikit-learn's learner.

All work on every overlapping patch of 8 x 8 pixels. Thresholds were chosen on the tuning images:
`python benchmarks/denoising_settings.py`.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.exceptions import ConvergenceWarning

from hrpursuit.baselines import KSVD
from hrpursuit.experiments.photographs import Image
from hrpursuit.images.learning import dct_atoms
from hrpursuit.images.patches import Plane, mean_of_patches, patches_of

SIZE = 8
HARD, HARD_PCA = 2.6, 2.6  # in standard deviations of the noise
HARD_FIRST, WIENER = 2.7, 0.9  # of two passes
#: Elad and Aharon's: redundancy, gain of the error, iterations, most patches to learn from, weight of the noisy image.
KSVD_SIDE, KSVD_GAIN, KSVD_ITERATIONS, KSVD_PATCHES, KSVD_WEIGHT = 16, 1.15, 10, 65_000, 30
LEARNER_ATOMS, LEARNER_PATCHES, LEARNER_PENALTY = 100, 5000, 8.0
LEARNER_NONZERO = {10: 4, 15: 3, 25: 2, 50: 1}  # atoms per patch, by sigma


def _hard_thresholded(codes: Plane, level: float, n_kept: int) -> Plane:
    """Small codes set to zero in place, but for the first `n_kept` of each row; weights of the patches come back."""
    rest = codes[:, n_kept:]
    rest[np.abs(rest) < level] = 0
    return (1 / np.maximum(np.count_nonzero(codes, axis=1), 1)).astype(np.float32)


def cosines(noisy: Image, sigma: float, seed: int = 0, *, hard: float = HARD) -> Image:
    """Cosine coefficients of all patches, hard threshold, weighted mean."""
    atoms = dct_atoms(SIZE)
    codes = patches_of(noisy.astype(np.float32), SIZE) @ atoms.T
    weights = _hard_thresholded(codes, hard * sigma, 1)
    return _mean(codes @ atoms, weights, noisy)


def cosines_twice(
    noisy: Image, sigma: float, seed: int = 0, *, hard: float = HARD_FIRST, wiener: float = WIENER
) -> Image:
    """As `cosines`, then a Wiener filter with its result as what is expected."""
    atoms = dct_atoms(SIZE)
    expected = patches_of(cosines(noisy, sigma, hard=hard).astype(np.float32), SIZE) @ atoms.T
    gain = expected**2 / (expected**2 + np.float32((wiener * sigma) ** 2))
    gain[:, 0] = 1
    codes = patches_of(noisy.astype(np.float32), SIZE) @ atoms.T
    return _mean((gain * codes) @ atoms, 1 / np.sum(gain**2, axis=1), noisy)


def principal_components(noisy: Image, sigma: float, seed: int = 0, *, hard: float = HARD_PCA) -> Image:
    """Principal components of all patches, hard threshold, weighted mean."""
    patches = patches_of(noisy.astype(np.float32), SIZE)
    mean = patches.mean(axis=0)
    patches -= mean
    axes = np.linalg.eigh(patches.T @ patches)[1]
    codes = patches @ axes
    weights = _hard_thresholded(codes, hard * sigma, 0)
    return _mean(codes @ axes.T + mean, weights, noisy)


def ksvd(noisy: Image, sigma: float, seed: int = 0) -> Image:
    """Elad and Aharon, "Image denoising via sparse and redundant representations over learned dictionaries", 2006: 256
    atoms learned on the noisy patches less their means, codes until the error is that of the noise.
    """
    patches = patches_of(noisy.astype(np.float32), SIZE)
    means = patches.mean(axis=1, keepdims=True)
    patches -= means
    sample = _sample(patches, KSVD_PATCHES, seed)
    model = KSVD(
        n_components=KSVD_SIDE**2,
        error_tol=KSVD_GAIN * sigma * SIZE,
        max_iter=KSVD_ITERATIONS,
        tol=0,
        dict_init=redundant_cosines(SIZE, KSVD_SIDE),
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is to make this many iterations
        model.fit(sample)
    clean = model.inverse_transform(model.transform(patches)) + means
    mean = _mean(clean, np.ones(len(clean)), noisy)
    covers = [np.convolve(np.ones(length - SIZE + 1), np.ones(SIZE)) for length in noisy.shape]
    cover, weight = np.outer(*covers), KSVD_WEIGHT / sigma
    return (weight * noisy + cover * mean) / (weight + cover)


def redundant_cosines(size: int, n_waves: int) -> NDArray[np.float64]:
    """`n_waves` x `n_waves` products of cosines of rising frequency, more than there are pixels, one per row; those
    that vary along an axis have mean 0 on it.
    """
    waves = np.cos(np.pi / n_waves * np.outer(np.arange(n_waves), np.arange(size)))
    waves[1:] -= waves[1:].mean(axis=1, keepdims=True)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    return np.kron(waves, waves)


def learner(noisy: Image, sigma: float, seed: int = 0, *, n_nonzero: int | None = None) -> Image:
    """scikit-learn's MiniBatchDictionaryLearning as in its denoising example, matching pursuit with few atoms per
    patch, but learned on noisy patches less their means, in the unit of sigma: the example learns from a clean half.
    """
    n_nonzero = LEARNER_NONZERO[min(LEARNER_NONZERO, key=lambda s: abs(s - sigma))] if n_nonzero is None else n_nonzero
    patches = patches_of((noisy / sigma).astype(np.float32), SIZE)
    means = patches.mean(axis=1, keepdims=True)
    patches -= means
    model = MiniBatchDictionaryLearning(
        LEARNER_ATOMS,
        batch_size=200,
        alpha=LEARNER_PENALTY,
        max_iter=10,
        transform_algorithm="omp",
        transform_n_nonzero_coefs=n_nonzero,
        random_state=seed,
    )
    model.fit(_sample(patches, LEARNER_PATCHES, seed))
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Orthogonal matching pursuit ended prematurely"
        )  # with fewer atoms, then
        clean = model.transform(patches) @ model.components_ + means
    return sigma * _mean(clean, np.ones(len(clean)), noisy)


def _sample(patches: Plane, most: int, seed: int) -> Plane:
    if len(patches) <= most:
        return patches
    return patches[np.random.default_rng(seed).choice(len(patches), most, replace=False)]


def _mean(patches: NDArray, weights: NDArray, noisy: Image) -> Image:
    weights = weights.astype(np.float32, copy=False)
    height, width = noisy.shape
    weighted = (patches * weights[:, None]).astype(np.float32, copy=False)
    return mean_of_patches(weighted, weights, (height, width), SIZE).astype(np.float64)
