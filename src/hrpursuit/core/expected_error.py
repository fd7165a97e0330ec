"""How far a dictionary of maximum likelihood is from the truth, by the Cramer-Rao bound that it attains."""

import numpy as np

from hrpursuit.core.code_density import CodeDensities
from hrpursuit.core.protocols import Array

_LEAST_INFORMATION = 1e-9  # of a pair, so that two Gaussian columns have an error that is large, not infinite


def expected_error(S: Array, density: CodeDensities, components: Array, n_rows: float, *, orthogonal: bool) -> float:
    """Expected relative error (Frobenius norm) of a dictionary fitted by maximum likelihood to `n_rows` rows.

    With I_i the mean squared score and v_i the mean square of code column i, the angle between atoms i and j of an
    orthogonal dictionary has the Fisher information I_i v_j + I_j v_i - 2 per row. For a complete one the coefficient
    by which column j enters column i has the variance I_j v_i / (I_i v_j I_j v_i - 1) per row (Cardoso and Laheld
    1996); the atom j is then off by that much of atom i. It is the error around the right dictionary: atoms that the
    search has mixed up come on top of it.

    Parameters
    ----------
    S : array of shape (n, n_atoms)
        Codes of some rows.
    density : CodeDensities
        That was fitted to them.
    components : array of shape (n_atoms, n_features)
        Unit atoms.
    n_rows : float
        Number of distinct rows that the dictionary was fitted to.
    orthogonal : bool
    """
    energy = np.mean(S * S, axis=0)
    alive = energy > 0
    energy = energy[alive]
    information = np.maximum(np.mean(density.score(S)[:, alive] ** 2, axis=0), 1 / energy)
    products = np.outer(information, energy)
    if orthogonal:
        variance = 1 / np.maximum(products + products.T - 2, _LEAST_INFORMATION)
    else:
        cosines = components[alive] @ components[alive].T
        variance = products.T / np.maximum(products * products.T - 1, _LEAST_INFORMATION) * (1 - cosines**2)
    np.fill_diagonal(variance, 0.0)
    return float(np.sqrt(variance.sum() / (len(energy) * n_rows)))
