"""The objective of Stage One for infinitely many Bernoulli-Gaussian samples, without sampling: points are rows."""

from functools import lru_cache
from math import gamma as gamma_function
from math import pi, sqrt

import numpy as np

from hrpursuit.core.protocols import Array

LARGEST_ENUMERATION = 10  # 2^N supports; beyond, an integral is as exact and faster


def gamma(p: float) -> float:
    """E|g|^p of a standard Gaussian g."""
    return 2 ** (p / 2) * gamma_function((p + 1) / 2) / sqrt(pi)


@lru_cache(maxsize=32)
def supports(n_features: int, theta: float) -> tuple[Array, Array]:
    """All supports as rows of zeros and ones, and their probabilities."""
    masks = ((np.arange(2**n_features)[:, None] >> np.arange(n_features)) & 1).astype(np.float64)
    sizes = masks.sum(axis=1)
    return masks, theta**sizes * (1 - theta) ** (n_features - sizes)


def moment(D: Array, theta: float, p: float) -> Array:
    """E|d.x|^p = gamma_p E||d_Omega||^p for each row d."""
    masks, weights = supports(D.shape[1], theta)
    return gamma(p) * (weights @ (masks @ np.square(D).T) ** (p / 2))


def mean_norms(D: Array, theta: float) -> Array:
    """E sqrt(d_j^2 + ||d_{Omega without j}||^2) for each entry j of each row d: the norm on supports that hold j."""
    if D.shape[1] <= LARGEST_ENUMERATION:
        return _mean_norms_by_supports(D, theta)
    return np.concatenate([_mean_norms_by_integral(some, theta) for some in np.array_split(D, len(D) // 32 + 1)])


def _mean_norms_by_supports(D: Array, theta: float) -> Array:
    masks, weights = supports(D.shape[1], theta)
    norms = np.sqrt(masks @ np.square(D).T)
    return np.asarray((masks.T @ (weights[:, None] * norms) / theta).T)


def _mean_norms_by_integral(D: Array, theta: float) -> Array:
    """By sqrt(q) = integral of (1 - exp(-q s)) s^(-3/2) ds / (2 sqrt(pi)), whose mean is a product over the entries.

    The trapezoidal rule in log(s): the integrand is smooth and falls like exp(-|log s| / 2) on both sides.
    """
    step = 0.25
    u = np.arange(-72, 72, step)
    decays = -np.square(D)[:, :, None] * np.exp(u)
    logs = np.log1p(theta * np.expm1(decays))
    exponents = decays + logs.sum(axis=1, keepdims=True) - logs
    return np.asarray(-np.expm1(exponents) @ np.exp(-u / 2) * step / (2 * sqrt(pi)))


def population_gradient(D: Array, theta: float) -> Array:
    """Gradient of E f, f(d) = -|d.x|^3, for each row: -3 gamma_3 E[||d_Omega|| d_Omega]."""
    return -3 * gamma(3) * theta * D * mean_norms(D, theta)
