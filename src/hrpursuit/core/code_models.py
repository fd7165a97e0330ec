"""Which kind of codes a dictionary has: sparse in noise, or dense. Simple models of all code columns are compared by
the Bayesian information criterion.

Noise: a code is zero, or with a probability of its column Gaussian, and Gaussian noise of one level is added to all of
them. Dense: generalised Gaussian or Student's t densities, which have no zeros; and, where the noise would be as strong
as the codes, asymmetric Laplace densities. Each comes in forms that share more or fewer parameters between columns.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from hrpursuit.core.protocols import Array

_PER_OCTAVE, _OCTAVES = 8, 40  # bins of the magnitudes, down from the largest
_POWERS = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1, 1.2, 1.5, 2, 3, 5, 10])  # p of exp(-|s / scale|^p)
_GAUSSIAN = int(np.flatnonzero(_POWERS == 2)[0])
_DEGREES = np.array([1, 1.5, 2, 3, 4, 6, 10.0])  # of freedom, of Student's t
_SCALE_STEPS = 12  # of EM for the scale of Student's t, from that of the median
_POOLED_STEPS, _STEPS = 60, 25  # of EM for sparse codes in noise: one model for all columns, then one per column
_LEAST_RISE = 1e-6  # of the log-likelihood per code: EM has converged
_QUANTILES = 0.1, 0.3, 0.5  # of the magnitudes, which EM takes for those of the noise at the start
_GAUSSIAN_QUANTILES = 0.1257, 0.3853, 0.6745  # the same of Gaussian noise of unit variance
_LEAST_SLAB = 1.0001  # variance of the codes in noise that are not zero, in that of the noise
_MODES = np.linspace(0.02, 0.98, 25)  # quantiles that are tried as the mode of an asymmetric Laplace density
_TINY = 1e-300


@dataclass(frozen=True)
class Magnitudes:
    """Codes of magnitudes up to 1, counted by them.

    Attributes
    ----------
    counts, squares : arrays of shape (n_bins, n_columns)
        Codes in each bin, and their mean square.
    n_rows : int
    """

    counts: Array
    squares: Array
    n_rows: int

    @classmethod
    def of(cls, S: Array) -> "Magnitudes":
        n_bins, (n_rows, n_columns) = _PER_OCTAVE * _OCTAVES, S.shape
        size = np.abs(S)
        below = np.log2(np.maximum(size, 2.0**-_OCTAVES)) * -_PER_OCTAVE
        place = np.minimum(below.astype(np.intp), n_bins - 1) + n_bins * np.arange(n_columns)
        counts = np.bincount(place.ravel(), minlength=n_bins * n_columns).astype(np.float64)
        sums = np.bincount(place.ravel(), np.square(size).ravel(), n_bins * n_columns)
        used = counts.reshape(n_columns, n_bins).any(axis=0)
        counts, sums = (item.reshape(n_columns, n_bins)[:, used].T for item in (counts, sums))
        return cls(counts, np.maximum(sums / np.maximum(counts, 1), _TINY), n_rows)

    def pooled(self) -> "Magnitudes":
        """Of all columns as one."""
        counts = self.counts.sum(axis=1, keepdims=True)
        squares = (self.counts * self.squares).sum(axis=1, keepdims=True) / np.maximum(counts, 1)
        return Magnitudes(counts, np.maximum(squares, _TINY), self.n_rows * self.counts.shape[1])


@dataclass(frozen=True)
class NoisyCodes:
    """Sparse codes in noise, fitted to codes.

    Attributes
    ----------
    noise : float
        Variance of the noise.
    sparsity, variances : arrays of shape (n_columns,)
        Probability that a code is not zero, and the variance of such codes, noise included.
    log_likelihood : float
        Of all codes.
    """

    noise: float
    sparsity: Array
    variances: Array
    log_likelihood: float


def fit_noisy_codes(codes: Magnitudes, start: NoisyCodes, n_steps: int) -> NoisyCodes:
    """EM from a start, of one column or of as many as there are codes."""
    counts, squares, n = codes.counts, codes.squares, codes.n_rows
    noise, sparsity, variances = start.noise, start.sparsity, start.variances
    constant = -0.5 * np.log(2 * np.pi) * n * counts.shape[1]
    value = -np.inf
    for _ in range(n_steps):
        zero = np.log1p(-sparsity) - 0.5 * (np.log(noise) + squares / noise)
        used = np.log(sparsity) - 0.5 * (np.log(variances) + squares / variances)
        total = np.logaddexp(zero, used)
        before, value = value, float(np.vdot(counts, total)) + constant
        best = NoisyCodes(noise, sparsity, variances, value)
        if value - before < _LEAST_RISE * n * counts.shape[1]:
            break
        is_used = counts * np.exp(used - total)
        n_used, energy = is_used.sum(axis=0), (is_used * squares).sum(axis=0)
        rest = float(np.sum(counts) - n_used.sum())
        noise = max(float(np.vdot(counts - is_used, squares)) / max(rest, 1e-9), _TINY)
        sparsity = np.clip(n_used / n, 1 / (n + 1), n / (n + 1))
        variances = np.maximum(energy / np.maximum(n_used, 1e-9), _LEAST_SLAB * noise)
    return best


def _starts(pooled: Magnitudes) -> list[NoisyCodes]:
    """Of EM for all columns as one, from the noise that small quantiles of the magnitudes suggest."""
    shares = np.cumsum(pooled.counts[::-1, 0]) / pooled.counts.sum()  # bins are in falling order
    rising, total = pooled.squares[::-1, 0], float(np.vdot(pooled.counts, pooled.squares)) / pooled.counts.sum()
    starts = []
    for quantile, gaussian in zip(_QUANTILES, _GAUSSIAN_QUANTILES, strict=True):
        noise = max(min(float(rising[np.argmax(shares >= quantile)]) / gaussian**2, 0.9 * total), _TINY)
        slab = np.array([max((total - 0.8 * noise) / 0.2, 2 * noise)])
        starts.append(NoisyCodes(noise, np.array([0.2]), slab, -np.inf))
    return starts


@lru_cache(maxsize=1)
def _generalised_constants() -> Array:
    return np.asarray(np.log(_POWERS / 2) - gammaln(1 / _POWERS) - 1 / _POWERS)


def _generalised_gaussian(codes: Magnitudes) -> Array:
    """Log-likelihood of each column for each power, at the best scale; (n_powers, n_columns)."""
    logs = 0.5 * np.log(codes.squares)
    moments = np.stack([(codes.counts * np.exp(p * logs)).sum(axis=0) for p in _POWERS]) / codes.n_rows
    scales = np.log(np.maximum(_POWERS[:, None] * moments, _TINY)) / _POWERS[:, None]
    return np.asarray(codes.n_rows * (_generalised_constants()[:, None] - scales))


def _student(codes: Magnitudes) -> Array:
    """The same for Student's t with some degrees of freedom."""
    n, nu = codes.n_rows, _DEGREES[:, None, None]
    falling = np.cumsum(codes.counts, axis=0)
    median = codes.squares[np.argmax(falling >= n / 2, axis=0), np.arange(codes.counts.shape[1])]
    scale = np.broadcast_to(median, (len(_DEGREES), 1, len(median))).copy()
    for _ in range(_SCALE_STEPS):
        weights = codes.counts * (nu + 1) / (nu * scale + codes.squares)
        scale = np.maximum(scale * (weights * codes.squares).sum(axis=1, keepdims=True) / n, _TINY)
    body = (nu + 1) / 2 * np.log1p(codes.squares / (nu * scale))
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * nu * scale)
    return np.asarray(n * constant[:, 0] - (codes.counts * body).sum(axis=1))


def _asymmetric_laplace(S: Array) -> float:
    """Log-likelihood of all codes, each column with the best of some quantiles as its mode."""
    ordered = np.sort(S, axis=0)
    n = len(S)
    places = np.unique((_MODES * (n - 1)).astype(int))
    sums = np.cumsum(ordered, axis=0)[places]
    modes, below = ordered[places], places[:, None] + 1
    left = np.maximum(below * modes - sums, 0) / n
    right = np.maximum(ordered.sum(axis=0) - sums - (n - below) * modes, 0) / n
    width = np.sqrt(left) + np.sqrt(right)
    return float(n * (-2 * np.log(np.maximum(width, _TINY)) - 1).max(axis=0).sum())


@dataclass(frozen=True)
class CodeKind:
    """What the comparison of models found.

    Attributes
    ----------
    gain : float
        Log-likelihood of all codes over that of Gaussian ones, of the better kind of model.
    is_noisy : bool
        Whether sparse codes in noise are more likely than dense ones.
    noisy : NoisyCodes
        The former, in units of the norms of the encoder's columns.
    n_flat : int
        Columns that are no sparser than Gaussian codes.
    """

    gain: float
    is_noisy: bool
    noisy: NoisyCodes
    n_flat: int


def kind_of_codes(S: Array, norms: Array, skewed_below: float) -> CodeKind:
    """Compare models of the codes S (rows, columns).

    Parameters
    ----------
    S : array of shape (n_rows, n_columns)
        No column is zero throughout.
    norms : array of shape (n_columns,)
        Noise of the samples that is white has these standard deviations in the columns, up to a common factor.
    skewed_below : float
        Signal-to-noise ratio (of variances) below which skewed dense densities are tried as well.
    """
    n, n_columns = S.shape
    S = S / norms
    unit = float(np.abs(S).max())
    S /= unit  # no power of a code overflows
    codes = Magnitudes.of(S)
    pooled = codes.pooled()
    shared = max((fit_noisy_codes(pooled, start, _POOLED_STEPS) for start in _starts(pooled)), key=_likelihood)
    start = replace(
        shared, sparsity=np.repeat(shared.sparsity, n_columns), variances=np.repeat(shared.variances, n_columns)
    )
    noisy = fit_noisy_codes(codes, start, _STEPS)
    price = 0.5 * np.log(n)  # of a parameter
    in_noise = max(shared.log_likelihood - 3 * price, noisy.log_likelihood - (2 * n_columns + 1) * price)

    by_power = _generalised_gaussian(codes)
    by_shape = np.vstack([by_power, _student(codes)])
    in_one = max(float(_generalised_gaussian(pooled).max()), float(_student(pooled).max()))
    dense = max(
        float(by_shape.max(axis=0).sum()) - 2 * n_columns * price,
        float(by_shape.sum(axis=1).max()) - (n_columns + 1) * price,
        in_one - 2 * price,
    )
    energy = float(np.vdot(codes.counts, codes.squares)) / codes.counts.sum()
    if in_noise > dense and energy < (1 + skewed_below) * noisy.noise:
        dense = max(dense, _asymmetric_laplace(S) - 3 * n_columns * price)
    gaussian = float(by_power[_GAUSSIAN].sum())
    best = max(noisy.log_likelihood, float(by_shape.max(axis=0).sum()))
    n_flat = int(np.count_nonzero(by_power.argmax(axis=0) >= _GAUSSIAN))
    noisy = replace(noisy, noise=noisy.noise * unit**2, variances=noisy.variances * unit**2)
    return CodeKind(best - gaussian, in_noise > dense, noisy, n_flat)


def _likelihood(fit: NoisyCodes) -> float:
    return fit.log_likelihood
