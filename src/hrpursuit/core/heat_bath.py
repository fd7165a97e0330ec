"""Heat bath over the planes of pairs of atoms, for few features and few rows, where stochastic descent does not order.

Every pair of atoms is turned in its plane by an angle drawn from exp(-E / T), E the sum of sqrt|s| over the codes of
the two: an energy that prefers fewer codes more strongly than the l1 norm does, which few rows need.
"""

import numpy as np

from hrpursuit.core.planes import Planes
from hrpursuit.core.protocols import Array

_TEMPERATURE = 0.092  # in units of rows per feature, for rows of unit mean square
_SPACING = 3.3  # of the grid of angles, in units of temperature * sqrt(rows) / features
_SWEEPS = 32  # between two looks
_NEAR = 1.005  # an l1 norm this close to the lowest seen is worth settling


class HeatBath:
    """A chain of dictionaries on the rows X, which starts from W."""

    n_sweeps = _SWEEPS

    def __init__(self, X: Array, W: Array, seed: int) -> None:
        m, n = X.shape
        self._planes = Planes(X, W)
        self._rng = np.random.default_rng([seed, 2])
        self._temperature = _TEMPERATURE * m / n
        self._spacing = min(_SPACING * _TEMPERATURE * np.sqrt(m) / n, 0.5)
        self._lowest = np.inf

    def go(self) -> tuple[Array, bool]:
        """A number of sweeps; the quenched dictionary, and whether it is worth settling."""
        self._planes.heat(self._temperature, self._spacing, _SWEEPS, int(self._rng.integers(2**62)))
        W, l1 = self._planes.quench()
        is_near = l1 < _NEAR * self._lowest
        self._lowest = min(self._lowest, l1)
        return W, is_near
