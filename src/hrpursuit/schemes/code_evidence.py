"""The codes of some rows as evidence on the data: which kind of model suits them, and how much better than chance."""

import numpy as np

from hrpursuit.core.code_density import CodeDensities
from hrpursuit.core.code_models import CodeKind, kind_of_codes
from hrpursuit.core.likelihood import densities_of
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.evidence import distinct_live

#: Log-likelihood over Gaussian codes that chance may reach, per pair of atoms and per atom. Gaussian samples, in which
#: the fit finds nothing but chance, reach at most .71 of it (5 to 50 features, 1.5 to 500 samples per feature).
_CHANCE_PER_PAIR, _CHANCE_PER_ATOM = 2.3, 3.0
#: Variance of the codes in use over that of the noise, below which noise is not told from dense codes: 5.8 at 0 dB with
#: 20% of nonzeros, 3.1 for logistic codes without any noise.
_LEAST_CONTRAST = 4.5
_SKEWED_BELOW = 4.0  # signal-to-noise ratio (6 dB) below which noise is told from skewed dense codes
_DEAD = 1e-9  # share of the largest code, below which a column has none
#: Standard deviations by which the mean square correlation of the codes has to exceed that of independent codes for the
#: atoms not to look orthogonal. Orthogonal dictionaries reach at most 2.2, complete ones of condition 10 at least 21
#: (20 features, 200 samples, noise of 20 dB and less; data as in benchmarks/cases.py).
_CORRELATED = 6.0
_EXPONENT = 30.0  # of the zero level: what is left of exact zeros is below 2^-30 of the codes


def draw_evidence(rows: Rows, n_codes: int) -> tuple[Array, float]:
    """Distinct rows of a sample, and their share of it."""
    X = rows.sample(max(200, n_codes // rows.n_features), 0)
    kept = np.asarray(X[distinct_live(X)], dtype=np.float64)
    return kept, len(kept) / max(1, len(X))


def gain_by_chance(n_columns: int) -> float:
    return _CHANCE_PER_PAIR * n_columns * (n_columns - 1) / 2 + _CHANCE_PER_ATOM * n_columns


class Codes:
    """The codes of some rows, distinct ones of a sample, and which kind of model suits them."""

    def __init__(self, X: Array, encoder: Array, complete: bool, share_distinct: float) -> None:
        self.X, self.encoder, self.share_distinct = X, np.asarray(encoder, dtype=np.float64), share_distinct
        self.units = np.sqrt(np.mean(X * X, axis=0)) if complete else np.ones(X.shape[1])
        self.norms = np.linalg.norm(self.encoder * self.units[:, None], axis=0)
        self.S_all = X @ self.encoder
        largest = np.abs(self.S_all).max(axis=0)
        self.alive = np.flatnonzero(largest > _DEAD * largest.max())
        self.S = self.S_all[:, self.alive]
        self.n_columns = len(self.alive)
        self.kind: CodeKind = kind_of_codes(self.S, self.norms[self.alive], _SKEWED_BELOW)
        power = 1.0 if complete else float(np.mean(self.S**2))
        self.snr = max(power / self.kind.noisy.noise - 1, 1e-3)

    @property
    def is_noisy(self) -> bool:
        contrast = float(np.median(self.kind.noisy.variances)) / self.kind.noisy.noise
        return self.kind.is_noisy and contrast > _LEAST_CONTRAST

    @property
    def are_correlated(self) -> bool:
        """Whether the codes of different atoms are, on average over the pairs, more than independent codes are."""
        S = self.S - self.S.mean(axis=0)
        S = S / (np.abs(S).max(axis=0) + np.finfo(np.float64).tiny)  # fourth powers stay within range
        pairs = np.triu_indices(self.n_columns, 1)
        products, squares = (S.T @ S)[pairs], (S**2).T @ S**2
        ratios = products**2 / np.maximum(squares[pairs], np.finfo(np.float64).tiny)  # of mean 1 if independent
        return len(ratios) > 0 and bool((ratios.mean() - 1) * np.sqrt(len(ratios) / 2) > _CORRELATED)

    def noisy_density(self) -> CodeDensities:
        noisy, scale = self.kind.noisy, self.norms**2
        sparsity, variances = np.full(len(scale), 0.5), np.full(len(scale), noisy.noise)
        sparsity[self.alive], variances[self.alive] = noisy.sparsity, noisy.variances
        return CodeDensities.spike_and_slab(noisy.noise * scale, sparsity, variances * scale)

    def fitted_density(self) -> CodeDensities:
        (densities,) = densities_of(ArrayRows(self.X), self.X, [self.encoder.T])
        least = np.maximum(self.norms, 1.0) * 2.0**-_EXPONENT * (float(np.sqrt(np.mean(self.S**2))) or 1.0)
        return CodeDensities.fitted(densities, least)
