"""Data of the paper's model for a trial."""

from collections.abc import Collection

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.experiments.quirks import NOISE


def draw(
    n_samples: int,
    n_features: int,
    sparsity: float,
    seed: int,
    trial: int,
    snr_db: float | None = None,
    quirks: Collection[str] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Samples and their true dictionary; every method sees the same ones in the same trial."""
    entropy = [seed, trial, n_samples, n_features, round(1000 * sparsity)]
    state = np.random.RandomState(np.random.SeedSequence(entropy).generate_state(4))
    X, _, components = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=state)
    if snr_db is not None:
        deviation = float(np.sqrt(np.mean(X**2))) * 10 ** (-snr_db / 20)
        X = X + (deviation**2 if NOISE in quirks else deviation) * state.standard_normal(X.shape)
    return X, components


def bernoulli_gaussian(
    n_samples: int, n_features: int, theta: float, rng: np.random.Generator, W: Array | None = None
) -> Array:
    """Samples of the dictionary W, made in blocks so that no array but the samples is large; without W the codes."""
    X = np.empty((n_samples, n_features))
    for start in range(0, n_samples, 8192):
        shape = (min(8192, n_samples - start), n_features)
        codes = rng.standard_normal(shape) * (rng.random(shape) < theta)
        X[start : start + shape[0]] = codes if W is None else codes @ W
    return X


def fit_seed(seed: int, trial: int) -> int:
    """Seed of a fit, another for each seed and trial."""
    return int(np.random.SeedSequence([seed, trial]).generate_state(1)[0] // 2)


def told(sparsity: float, n_features: int) -> int:
    """The number of nonzeros that K-SVD and TransLearn are told: the true mean, as in the paper."""
    return max(1, round(sparsity * n_features))
