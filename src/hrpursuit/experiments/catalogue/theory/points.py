"""What the parts share: data with the identity as dictionary, points of the sphere, gradients, slopes."""

import numpy as np
import pandas as pd

from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import Sphere
from hrpursuit.core.objectives import LpNorm
from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import in_good_subset, random_on_sphere
from hrpursuit.rows.array import ArrayRows

LARGEST_THETA = np.sqrt(np.pi / 2) / 12  # of the convergence lemma and of the theorems
THETA = 0.103  # between 1/10 and that


def gradient(X: Array, D: Array) -> Array:
    """Gradient of f(d) = -mean |d.x|^3 for each row of D; f itself is a third of its product with d."""
    return -3 * value_and_grad(ArrayRows(X), D, LpNorm(3))[1] / len(X)


def on_sphere(D: Array, G: Array) -> Array:
    """Riemannian gradients, from those of the space."""
    return Sphere().tangent(D, G)


def usual_zeta(n_features: int) -> float:
    """Of the good subsets that a random start falls into at least every other time."""
    return 1 / (5 * np.log(n_features))


def starts_in_good_subsets(n_points: int, n_features: int, zeta: float, rng: np.random.Generator) -> Array:
    """Uniform on the union of the good subsets."""
    found = np.empty((0, n_features))
    while len(found) < n_points:
        D = random_on_sphere(2 * n_points, n_features, rng)
        found = np.concatenate([found, D[in_good_subset(D, zeta)]])
    return found[:n_points]


def nearest_atoms(D: Array) -> Array:
    """The signed unit vector of each row's largest entry: the target of its good subset."""
    rows, largest = np.arange(len(D)), np.abs(D).argmax(axis=1)
    E = np.zeros_like(D)
    E[rows, largest] = np.sign(D[rows, largest])
    return E


def slope(x: pd.Series, y: pd.Series) -> float:
    """Of log y against log x."""
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


def power(x: float) -> str:
    """Label of a number of samples."""
    exponent = int(np.floor(np.log10(x) + 1e-9))
    factor = round(x / 10**exponent, 1)
    return f"$10^{exponent}$" if factor == 1 else rf"${factor:g} \times 10^{exponent}$"
