"""Densities fitted to code columns: mixtures of Gaussians on a fixed grid, weights by EM on a histogram.

With a grid of scales fixed in advance the weights alone are unknown, and maximum likelihood for them is a concave
problem (Kiefer & Wolfowitz 1956; "ash" of Stephens 2017). All densities are symmetric about zero.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from hrpursuit.core.density_kernels import EDGES, N_BINS, score_and_count
from hrpursuit.core.protocols import Array

_EM_STEPS = 100  # from uniform weights; the likelihood per code then rises by less than 1e-4 per step
_EM_STEPS_AGAIN = 15  # from the weights of a dictionary nearby
_RENEWED = 0.1  # share of the weights that is spread evenly before EM goes on, so that none is lost for good
_MOST_POOLED = 5.0  # counts of the pooled histogram that are added at the most, per count of the column's own
_STATISTICS = (np.log(EDGES), np.sqrt(EDGES), EDGES)  # of the magnitude of codes, in which columns are compared
_SPREAD_OF_UNITS = 0.75  # variance of the log of a column's rms times the rows, for codes of kurtosis 4
#: Mean square of codes in units of their column, from which on it is said to have heavy tails. With 2,000 samples it is
#: 1.0 for Laplace codes, 1.2 for Student's t with 3 degrees of freedom, 3 with 1.5, and 10 to 40 with 1 (median over
#: the columns).
_HEAVY_TAILS = 2.0
_TINY = 1e-300  # keeps logarithms and quotients of a density finite


def _mean_log(shares: Array, density: Array) -> Array:
    return np.asarray(np.sum(shares * np.log(density + _TINY), axis=0))


class _Family:
    """Gaussians with means +-mean and the given standard deviations, all in units of a column."""

    def __init__(self, means: Array, stds: Array) -> None:
        self.means, self.stds = means, stds
        self.density, self.slope = self._at(EDGES)

    def _at(self, y: Array) -> tuple[Array, Array]:
        """Density and minus its derivative at y >= 0, of each component; (len(y), n_components)."""
        scale = 0.5 / (self.stds * np.sqrt(2 * np.pi))
        above, below = (y[:, None] - self.means) / self.stds, (y[:, None] + self.means) / self.stds
        right, left = scale * np.exp(-0.5 * above**2), scale * np.exp(-0.5 * below**2)
        return right + left, (right * above + left * below) / self.stds

    def fit(self, shares: Array, weights: Array, n_steps: int) -> tuple[Array, Array]:
        """Weights (n_components, n_columns) after steps of EM, and the mean log density of each column.

        `shares` are the histograms (n_edges, n_columns), each column with sum 1; a weight of zero stays zero.
        """
        seen = shares.any(axis=1)
        shares, density = shares[seen], self.density[seen]
        for _ in range(n_steps):
            weights = weights * (density.T @ (shares / (density @ weights + _TINY)))
        weights = weights / np.maximum(weights.sum(axis=0), _TINY)
        return weights, _mean_log(shares, density @ weights)

    def mean_log_density(self, shares: Array, weights: Array) -> Array:
        """Of each column."""
        return _mean_log(shares, self.density @ weights)

    def score_ratio(self, weights: Array) -> Array:
        """Score divided by y at the edges, (n_columns, n_edges)."""
        return ((self.slope @ weights) / (self.density @ weights + _TINY) / EDGES[:, None]).T


# Sparse and heavy-tailed columns: zero means, scales from 2^-13 (noise at 70 dB) to 2^10 units (tails of a Cauchy
# density), two per octave.
SUPER_GAUSSIAN = _Family(np.zeros(47), 2.0 ** np.arange(-13, 10.25, 0.5))
# Flat and bimodal columns: pairs at 0 to 2 units with a spread of .3 units, and two Gaussians for the tails.
SUB_GAUSSIAN = _Family(np.r_[np.arange(0, 2.01, 0.25), 0, 0], np.r_[np.full(9, 0.3), 0.7, 1])


@lru_cache(maxsize=1)
def _hyperbolic_secant() -> Array:
    """Weights, as a column, of the super-Gaussian mixture nearest to the density 1 / (pi cosh y), with score tanh y."""
    between = np.sqrt(EDGES[1:] * EDGES[:-1])
    mass = np.diff(np.arctan(np.exp(np.minimum(np.r_[0.0, between, np.inf], 50.0))))
    broad = (SUPER_GAUSSIAN.stds > 0.3).astype(float)[:, None]  # narrower components would only roughen the score
    return SUPER_GAUSSIAN.fit(mass[:, None] / mass.sum(), broad / broad.sum(), 10 * _EM_STEPS)[0]


@dataclass(frozen=True)
class Densities:
    """A density for each code column.

    Attributes
    ----------
    units : array of shape (n_columns,)
        Scale of the grids of each column: the rms of its codes, outliers clipped.
    weights : pair of arrays of shape (n_components, n_columns)
        Of the super-Gaussian and the sub-Gaussian mixture.
    is_sub_gaussian : bool array of shape (n_columns,)
        Which of the two is likelier and in force.
    log_likelihood : array of shape (n_columns,)
        Mean log density of the codes that the densities were fitted to; 0 for a column of zeros.
    is_dead : bool array of shape (n_columns,)
        Columns whose codes are all zero: their score is zero.
    finest : array of shape (n_columns,)
        Scale below which the codes do not tell super-Gaussian components apart, in units of the columns.
    """

    units: Array
    weights: tuple[Array, Array]
    is_sub_gaussian: Array
    log_likelihood: Array
    is_dead: Array
    finest: Array

    @cached_property
    def tables(self) -> tuple[Array, Array]:
        """Score divided by y at the lower edge of each bin and its slope, in units of the columns; float32."""
        weights, weights_sub = self.weights
        sub = self.is_sub_gaussian[:, None]
        ratios = np.where(sub, SUB_GAUSSIAN.score_ratio(weights_sub), SUPER_GAUSSIAN.score_ratio(weights))
        ratios[self.is_dead] = 0
        slopes = np.diff(ratios, axis=1) / np.diff(EDGES)
        return ratios[:, :-1].astype(np.float32, order="C"), slopes.astype(np.float32, order="C")  # as kernels expect

    def smoothed(self, counts: Array) -> "Densities":
        """With the density of the score tanh for all columns that are not sub-Gaussian."""
        weights = np.repeat(_hyperbolic_secant(), len(self.units), axis=1)
        return replace(self, weights=(weights, self.weights[1])).evaluated(counts)

    def evaluated(self, counts: Array) -> "Densities":
        """The same densities, with the log-likelihood of other codes, given as their histogram."""
        shares = _shares(counts)
        values = [
            family.mean_log_density(shares, weights)
            for family, weights in zip((SUPER_GAUSSIAN, SUB_GAUSSIAN), self.weights, strict=True)
        ]
        value = np.where(self.is_sub_gaussian, values[1], values[0]) - np.log(self.units)
        return replace(self, log_likelihood=np.where(self.is_dead, 0.0, value))

    def log_density(self, S: Array) -> Array:
        """Log density at each entry of the codes S, from the mixtures themselves."""
        out = np.empty(S.shape)
        for j, unit in enumerate(self.units):
            family = SUB_GAUSSIAN if self.is_sub_gaussian[j] else SUPER_GAUSSIAN
            density, _ = family._at(np.abs(S[:, j] / unit))
            out[:, j] = np.log(density @ self.weights[int(self.is_sub_gaussian[j])][:, j] + _TINY) - np.log(unit)
        return out

    def refitted(self, counts: Array, n_samples: int, finest: float = 0.0) -> "Densities":
        """Densities for new codes, given as the histogram of `score_sums`; the units stay.

        `finest` is the scale of the narrowest component that may be used, in units of the columns.
        """
        shares = _shares(counts)
        limits = _finest_scales(shares, n_samples)
        allowed = _allowed_scales(limits, finest)
        starts = [
            (1 - _RENEWED) * before * mask + _RENEWED * mask / mask.sum(axis=0)
            for before, mask in zip(self.weights, (allowed, np.ones_like(self.weights[1])), strict=True)
        ]
        return _fitted(shares, n_samples, self.units, self.is_dead, limits, starts, _EM_STEPS_AGAIN)


def fit_densities(counts: Array, units: Array, n_samples: int, finest: float = 0.0) -> Densities:
    """Fit a density to each column from its histogram.

    Parameters
    ----------
    counts : array of shape (n_columns, n_edges)
        Histogram of the codes divided by `units`, from `score_sums`.
    units : array of shape (n_columns,)
        From `column_units`; 0 marks a column of zeros.
    n_samples : int
        Codes per column behind the histogram: the more, the finer the scales that are told apart.
    finest : float, default=0
        Scale of the narrowest component that may be used, in units of the columns.
    """
    shares = _shares(counts)
    limits = _finest_scales(shares, n_samples)
    allowed = _allowed_scales(limits, finest)
    n_sub = len(SUB_GAUSSIAN.means)
    starts = [allowed / allowed.sum(axis=0), np.full((n_sub, len(units)), 1 / n_sub)]
    return _fitted(shares, n_samples, np.where(units > 0, units, 1.0), units <= 0, limits, starts, _EM_STEPS)


def _fitted(
    shares: Array, n_samples: int, units: Array, is_dead: Array, finest: Array, starts: list[Array], n_steps: int
) -> Densities:
    weights, value = SUPER_GAUSSIAN.fit(shares, starts[0], n_steps)
    weights_sub, value_sub = SUB_GAUSSIAN.fit(shares, starts[1], n_steps)
    is_sub = value_sub > value + 2 / max(1, n_samples)  # twice a log-likelihood of 1: no choice by a coincidence
    log_likelihood = np.where(is_dead, 0.0, np.where(is_sub, value_sub, value) - np.log(units))
    return Densities(units, (weights, weights_sub), is_sub, log_likelihood, is_dead, finest)


def _shares(counts: Array) -> Array:
    """Histograms (n_edges, n_columns) with sum 1, shrunk to their mean over the columns as far as the columns agree.

    As many counts of the mean are added as the James-Stein rule asks for: the variance within columns over that between
    them, the least over three statistics of the codes. Near-Gaussian columns of few rows would otherwise be fitted to
    their own noise: pooling lowers the error by 5 to 15% at 0 dB, and does nothing where columns differ.
    """
    n_samples = np.maximum(counts.sum(axis=1), 1.0)
    shares = counts.T / n_samples
    if len(counts) < 2:
        return shares
    n_added = _MOST_POOLED * float(n_samples.mean())
    for statistic in _STATISTICS:
        mean = statistic @ shares
        within = float(np.mean(statistic**2 @ shares - mean**2))
        between = float(np.var(mean, ddof=1)) - within / float(n_samples.mean())
        if between > 0:
            n_added = min(n_added, within / between)
    return (counts.T + n_added * shares.mean(axis=1, keepdims=True)) / (n_samples + n_added)


def _finest_scales(shares: Array, n_samples: int) -> Array:
    """The quantile of each column below which 2.5 n^(-1/3) of its codes lie, the rate at which a monotone density is
    estimated: narrower components would put peaks on single codes.
    """
    share = min(0.3, 2.5 * max(1, n_samples) ** (-1 / 3))
    return EDGES[np.argmax(np.cumsum(shares, axis=0) >= share, axis=0)]


def _allowed_scales(limits: Array, finest: float) -> Array:
    """Which components of the super-Gaussian family may be used, 1.0 or 0.0; (n_components, n_columns)."""
    stds = SUPER_GAUSSIAN.stds[:, None]
    return (stds >= np.clip(limits, finest, stds[-1])).astype(np.float64)


def column_units(S: Array) -> Array:
    """Rms of each column of codes with magnitudes above their 99.5% quantile clipped to it; 0 for a column of zeros."""
    size = np.abs(S).astype(np.float64)
    k = int(0.995 * (len(size) - 1))
    limit = np.partition(size, k, axis=0)[k]
    limit = np.where(limit > 0, limit, size.max(axis=0))  # fewer than .5% of the codes are not zero
    units = limit * np.sqrt(np.mean(np.square(np.minimum(size / np.where(limit > 0, limit, 1.0), 1.0)), axis=0))
    return np.where(np.isfinite(units) & (units > np.finfo(np.float64).tiny), units, 0.0)


def has_heavy_tails(S: Array) -> bool:
    """Whether in some column of codes a few are so large that they make up most of its sum of squares."""
    return bool((np.mean(np.square(in_units_of_columns(S)), axis=0) > _HEAVY_TAILS).any())


def in_units_of_columns(S: Array) -> Array:
    return np.asarray(S / safe_units(S))


def safe_units(S: Array) -> Array:
    """`column_units`, and one for a column of zeros."""
    units = column_units(S)
    return np.where(units > 0, units, 1.0)


def shrunk_units(units: Array, n_samples: int) -> Array:
    """Units with their logarithms shrunk to their mean as far as the columns agree (James-Stein): those of few rows
    differ by chance. Columns of zeros stay.
    """
    alive = units > 0
    if np.count_nonzero(alive) < 4:
        return units
    logs = np.log(units[alive])
    by_chance = _SPREAD_OF_UNITS / max(1, n_samples)
    factor = max(0.0, 1 - by_chance / max(float(np.var(logs, ddof=1)), by_chance))
    shrunk = np.zeros_like(units)
    shrunk[alive] = np.exp(logs.mean() + factor * (logs - logs.mean()))
    return shrunk


def score_sums(Y: Array, ratios: Array, slopes: Array) -> tuple[Array, Array, Array, Array]:
    """Sums over one block of codes Y in units of their columns, float32.

    Returns
    -------
    products : array of shape (n_columns, n_columns)
        Score of column i times code of column j.
    derivatives, squares : arrays of shape (n_columns,)
        Derivative of the score; squared codes.
    counts : array of shape (n_columns, n_edges)
        The histogram.
    """
    n = Y.shape[1]
    scores, derivatives, squares = np.empty_like(Y), np.zeros(n), np.zeros(n)
    counts = np.zeros((n, N_BINS + 1))
    score_and_count(Y, Y.view(np.int32), ratios, slopes, scores, counts, derivatives, squares)
    return scores.T.astype(np.float64) @ Y.astype(np.float64), derivatives, squares, counts


def histogram(Y: Array) -> Array:
    """Histogram of a block of codes Y in units of their columns, float32; (n_columns, n_edges)."""
    no_score = np.zeros((Y.shape[1], N_BINS), np.float32)
    counts = np.zeros((Y.shape[1], N_BINS + 1))
    unused = np.zeros(Y.shape[1])
    score_and_count(Y, Y.view(np.int32), no_score, no_score, np.empty_like(Y), counts, unused, unused.copy())
    return counts
