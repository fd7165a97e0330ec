"""Whole numbers become values: the only place where the decoder has floats."""

import numpy as np

from hrpursuit.compression.chunks.apart import Apart, Numbers
from hrpursuit.compression.chunks.settings import BY_FACTOR, CORRECTED, GroupSettings

#: Powers of ten as literals: all of them are exact.
POWERS = (1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15)


def hand_over(settings: GroupSettings, apart: Apart, numbers: Numbers, dtypes: list[np.dtype]) -> list[np.ndarray]:
    """Columns of these types, with the cells apart in their places. A whole number k becomes k / 10^decimals, one
    division in double precision (or k * factor, one product), and then takes the type of the column.
    """
    n = len(dtypes)
    fraction = 0 if settings.mode == CORRECTED else settings.fraction
    columns = []
    for j, dtype in enumerate(dtypes):
        whole = np.asarray(numbers.whole[:, j], dtype=np.int64)
        divisor = 1.0
        if fraction < 0:
            whole = whole << -fraction
        elif settings.rounded or dtype.kind in "biu":
            whole = (whole + ((1 << fraction) >> 1)) >> fraction
        else:
            divisor = float(1 << fraction)
        if settings.widths:
            whole = (whole << settings.widths[j]) + np.asarray(numbers.low[:, j], dtype=np.int64)
        if settings.offsets:
            whole = whole + settings.offsets[j]
        decimals = settings.decimals[j if len(settings.decimals) == n else 0]
        columns.append(_column(whole, decimals, settings.factor, divisor, dtype))
    apart.set_values(columns)
    return columns


def _column(numbers: np.ndarray, decimals: int, factor: float, divisor: float, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "biu" and decimals == 0:
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return np.clip(numbers, max(low, -(2**63)), min(high, 2**63 - 1)).astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        values = numbers * (factor / divisor) if decimals == BY_FACTOR else numbers / (divisor * POWERS[decimals])
    if dtype.kind in "biu":
        values = np.rint(values)
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return _to_whole(values, low, high, dtype)
    largest = float(np.finfo(dtype).max)
    values = np.clip(values, -largest, largest)
    with np.errstate(under="ignore"):
        return values.astype(dtype)


def _to_whole(values: np.ndarray, low: int, high: int, dtype: np.dtype) -> np.ndarray:
    """Rounded values as integers of this type; the ends of 64 bits are no floats, so they are set as integers."""
    inside = (values > float(low)) & (values < float(high))
    whole = np.where(inside, values, 0.0).astype(np.int64 if low < 0 else np.uint64).astype(dtype)
    whole[values <= float(low)] = low
    whole[values >= float(high)] = high
    return whole
