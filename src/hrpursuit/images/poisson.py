"""Photon counts: the generalised Anscombe transform, and its inverse without bias."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

Values = NDArray[np.float64]

_TABLE_UP_TO = 400.0  # counts; beyond, the series is exact to 1e-4 counts
_N_ENTRIES = 1500
_WIDE = 9.0  # Gaussian noise, in counts, with which the series is exact to 0.002 counts everywhere

_NARROW = 1e-6  # the same, that is as good as none and too narrow for the quadrature


@dataclass(frozen=True)
class Anscombe:
    """Values with Poisson noise, `gain` times counts, plus Gaussian noise of `sigma`, as values with unit noise.

    The generalised Anscombe transform (Starck, Murtagh and Bijaoui, 1998) and its exact unbiased inverse (Mäkitalo and
    Foi, IEEE TIP 2013). Zero counts have the value `offset`.
    """

    gain: float
    sigma: float
    offset: float = 0.0

    def forward(self, values: Values) -> Values:
        """The values stabilised: 2 sqrt(counts + 3/8 + variance of the Gaussian noise), 0 where that has no root."""
        variance = (self.sigma / self.gain) ** 2
        return 2 * np.sqrt(np.maximum((values - self.offset) / self.gain + (3 / 8 + variance), 0))

    def backward(self, stabilised: Values) -> Values:
        """The values whose noisy versions have the given means after `forward`.

        That mean is not `forward` of the value, above all for few counts: it is summed over the distribution of the
        counts, tabulated and looked up; for many counts it is a series.
        """
        spread = self.sigma / self.gain
        counts = stabilised**2 / 4 - (1 / 8 + spread**2)
        if spread < _WIDE:
            table_counts, means = _table(spread)
            few = stabilised < means[-1]
            counts[few] = np.interp(stabilised[few], means, table_counts)
        return np.maximum(counts, 0) * self.gain + self.offset


def mean_stabilised(counts: Values, spread: float) -> Values:
    """Expectation of the stabilised noisy value, for the mean numbers of counts and Gaussian noise of `spread`."""
    most = int(np.max(counts) + 12 * np.sqrt(np.max(counts)) + 40)
    seen = np.arange(most + 1)
    of_seen = 2 * np.sqrt(seen + 3 / 8) if spread < _NARROW else _mean_over_gaussian(seen.astype(np.float64), spread)
    return np.asarray(poisson.pmf(seen, np.asarray(counts)[:, None]) @ of_seen)


def _mean_over_gaussian(seen: Values, spread: float) -> Values:
    """Of 2 sqrt(max(0, seen + 3/8 + spread**2 + spread z)) over a standard normal z, for each number of counts."""
    # from where the root begins, in a variable in which it is smooth: seen + 3/8 + spread**2 + spread z = r**2
    offset = seen + 3 / 8 + spread**2
    z_low = np.maximum(-9.0, -offset / spread)
    r_low, r_high = np.sqrt(np.maximum(offset + spread * z_low, 0)), np.sqrt(offset + 9 * spread)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    r = r_low[:, None] + (r_high - r_low)[:, None] * (nodes + 1) / 2
    z = (r * r - offset[:, None]) / spread
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return np.asarray((r_high - r_low) / 2 * ((2 * r * density * 2 * r / spread) @ weights))


@lru_cache(maxsize=16)
def _table(spread: float) -> tuple[Values, Values]:
    """Mean numbers of counts, finer where there are few, and the expectation of the stabilised values for each."""
    counts = np.linspace(0, np.sqrt(_TABLE_UP_TO), _N_ENTRIES) ** 2
    means = mean_stabilised(counts, spread)
    counts.setflags(write=False)
    means.setflags(write=False)
    return counts, means
