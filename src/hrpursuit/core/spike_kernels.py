"""Compiled coordinate sweeps over the codes of each row: posterior means of spike-and-slab codes, and lasso codes.

Both take the products C = X D^-1 A^T of rows and atoms and the Gram matrix A D^-1 A^T, where D are the noise variances
of the features, and keep for each row the correlations of its residual with all atoms.
"""

import numpy as np

from hrpursuit.compiled import kernel

_CONVERGED = 1e-3  # sweeps over a row end when they lower its misfit by less than this, in noise variances
_IMPOSSIBLE = -30.0  # log odds below which a code counts as zero


@kernel(nogil=True, fastmath=True, error_model="numpy")
def spike_slab_codes(C, gram, sparsity, variances, n_sweeps, means, spreads, chosen):
    """Mean-field posterior of codes that are zero, or with probability `sparsity` Gaussian of the given variances.

    `means` (rows, atoms) holds the start and becomes the posterior means. Adds to `spreads` the posterior variances and
    to `chosen` the posterior probabilities of a nonzero code, summed over the rows. Returns the sum of the
    Kullback-Leibler divergences from posterior to prior.
    """
    n_rows, n_atoms = C.shape
    spread = np.empty(n_atoms)
    odds_prior = np.empty(n_atoms)
    for j in range(n_atoms):
        spread[j] = 1 / (gram[j, j] + 1 / variances[j])
        odds_prior[j] = np.log(sparsity[j] / (1 - sparsity[j])) + 0.5 * np.log(spread[j] / variances[j])
    left = np.empty(n_atoms)
    divergence = 0.0
    for i in range(n_rows):
        for k in range(n_atoms):
            left[k] = C[i, k]
        for j in range(n_atoms):
            if means[i, j] != 0:
                for k in range(n_atoms):
                    left[k] -= gram[j, k] * means[i, j]
        for _ in range(n_sweeps + 1):
            moved = 0.0
            for j in range(n_atoms):
                mean = spread[j] * (left[j] + gram[j, j] * means[i, j])
                odds = odds_prior[j] + mean * mean / (2 * spread[j])
                p = 1 / (1 + np.exp(-odds)) if odds > _IMPOSSIBLE else 0.0
                change = p * mean - means[i, j]
                if change != 0:
                    means[i, j] += change
                    moved += change * change * gram[j, j]
                    for k in range(n_atoms):
                        left[k] -= gram[j, k] * change
            if moved < _CONVERGED:
                break
        for j in range(n_atoms):
            mean = spread[j] * (left[j] + gram[j, j] * means[i, j])
            odds = odds_prior[j] + mean * mean / (2 * spread[j])
            p = 1 / (1 + np.exp(-odds)) if odds > _IMPOSSIBLE else 0.0
            chosen[j] += p
            spreads[j] += p * (mean * mean + spread[j]) - (p * mean) ** 2
            means[i, j] = p * mean
            if p > 0:
                slab = np.log(variances[j] / spread[j]) + (spread[j] + mean * mean) / variances[j] - 1
                divergence += p * (np.log(p / sparsity[j]) + 0.5 * slab)
            if p < 1:
                divergence += (1 - p) * np.log((1 - p) / (1 - sparsity[j]))
    return divergence


@kernel(nogil=True, fastmath=True, error_model="numpy")
def lasso_codes(C, gram, penalty, n_sweeps, codes):
    """Coordinate descent for the lasso with unit atoms, in place from `codes`."""
    n_rows, n_atoms = C.shape
    left = np.empty(n_atoms)
    for i in range(n_rows):
        for k in range(n_atoms):
            left[k] = C[i, k]
        for j in range(n_atoms):
            if codes[i, j] != 0:
                for k in range(n_atoms):
                    left[k] -= gram[j, k] * codes[i, j]
        for _ in range(n_sweeps):
            moved = 0.0
            for j in range(n_atoms):
                z = left[j] + codes[i, j]
                change = max(abs(z) - penalty, 0.0) * np.sign(z) - codes[i, j]
                if change != 0:
                    codes[i, j] += change
                    moved += abs(change)
                    for k in range(n_atoms):
                        left[k] -= gram[j, k] * change
            if moved < 1e-3 * penalty:
                break
