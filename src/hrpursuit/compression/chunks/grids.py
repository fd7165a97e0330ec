"""Grids: how the values of a column are whole numbers, and how they come back.

A whole number k stands for k / 10^d, k * factor, first + k * factor, the k-th of a list of values, the leading part of
a float whose other bits follow, or the k-th float from zero among those whose last bits are zero. Bounds on errors are
steps of more than one between the numbers that are coded: k = offset + step * coded. This is the only place where the
decoder of tables has floats.
"""

from dataclasses import dataclass, field

import numpy as np

from hrpursuit.compression.errors import DamagedFile

DECIMALS, FACTOR, AFFINE, VALUES, FLOAT, SHORT = range(6)
MOST_STEP = 1 << 53  # between the numbers that are coded
#: Powers of ten as literals: all of them are exact.
POWERS = (1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15)
#: Bits of a mantissa by the size of the float, and the exponent of the least one that is not subnormal.
MANTISSA = {2: 10, 4: 23, 8: 52}
LEAST_EXPONENT = {2: -14, 4: -126, 8: -1022}


@dataclass(frozen=True)
class Grid:
    """Of one column.

    Attributes
    ----------
    kind : int
        DECIMALS, FACTOR, AFFINE, VALUES, FLOAT or SHORT: floats with a short mantissa.
    decimals : int
        Of DECIMALS; of FLOAT the binary exponent of the leading part; of SHORT the last bits that are zero.
    factor, first : float
        Of FACTOR and AFFINE.
    values : array
        Of VALUES, in rising order, of the type of the column.
    single : bool
        Whether values are rounded to single precision first: float32 widened to double.
    offset, step : int
        What is coded is (k - offset) / step.
    """

    kind: int = DECIMALS
    decimals: int = 0
    factor: float = 1.0
    first: float = 0.0
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    single: bool = False
    offset: int = 0
    step: int = 1

    def to_values(self, coded: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Values of this type; those under a gap are any."""
        most = 2**62 // self.step  # no honest number is larger
        numbers = np.clip(coded, -most, most) * self.step + self.offset
        if self.kind == VALUES:
            if len(self.values) == 0:
                raise DamagedFile("a list of values is empty")
            return self.values[np.clip(numbers, 0, len(self.values) - 1)]
        if dtype.kind in "biu":
            return self._to_whole(numbers, dtype)
        if self.kind == SHORT:
            most = places_of_floats(np.finfo(dtype).max.reshape(1))[0] >> self.decimals
            return floats_at(np.clip(numbers, -most, most) << self.decimals, dtype)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.kind == DECIMALS:
                values = numbers / POWERS[self.decimals]
            elif self.kind == FACTOR:
                values = numbers * self.factor
            else:
                values = self.first + numbers * self.factor
            if self.single:
                values = values.astype(np.float32)
            largest = float(np.finfo(dtype).max)
            return np.clip(values, -largest, largest).astype(dtype)

    def _to_whole(self, numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
        if self.kind != DECIMALS or self.decimals:
            raise DamagedFile("whole numbers can only be counted in ones")
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return np.clip(numbers, max(low, -(2**63)), min(high, 2**63 - 1)).astype(dtype)


def leading_parts(column: np.ndarray, exponent: int) -> np.ndarray:
    """Of floats x the whole numbers trunc(x / 2^exponent)."""
    return np.trunc(np.ldexp(column.astype(np.float64), -exponent)).astype(np.int64)


def to_float_bits(column: np.ndarray) -> np.ndarray:
    """Exponent and mantissa of floats as a whole number b; of negative ones -1 - b."""
    size = column.dtype.itemsize
    bits = np.abs(column).view(f"u{size}").astype(np.int64)
    return np.where(np.signbit(column), -1 - bits, bits)


def places_of_floats(column: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of floats: 0 for both zeros, 1 for the next one."""
    bits = to_float_bits(column)
    return np.where(bits < 0, bits + 1, bits)


def floats_at(places: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floats from their places; a zero is positive."""
    return from_float_bits(np.where(places < 0, places - 1, places), dtype)


def from_float_bits(bits: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What `to_float_bits` was given."""
    magnitudes = np.where(bits < 0, -1 - bits, bits).astype(f"u{dtype.itemsize}").view(dtype)
    return np.where(bits < 0, -magnitudes, magnitudes)
