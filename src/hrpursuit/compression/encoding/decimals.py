"""Columns as whole numbers: how many decimals their values have, and which values are none of these."""

import numpy as np

from hrpursuit.compression.chunks.grids import Grid
from hrpursuit.compression.chunks.settings import MOST_DECIMALS
from hrpursuit.compression.encoding.apart import sort_cells
from hrpursuit.compression.encoding.columns import Column, Way

_EXACT = 2.0**53  # floats count whole numbers up to here
#: Values beside the decimals of the others, at most so many or one in so many, that are no reason for more decimals.
FEW_ODD, VERY_ODD = 3, 500
_PROBE = 32  # values that are looked at first
_ON_DECIMALS = 1e-9  # of a bound that is meant to reach a whole number of units
_MOSTLY = 0.5  # share of doubles that are of single precision where all are judged as such
_ROUNDING = 1e-3  # of a bound: what rounding may add to it, at most


def on_decimals(given: np.ndarray, bound: float) -> Column:
    """A column as whole numbers over a power of ten, where it has decimals. Without loss (bound 0) the few values that
    have more decimals than the rest are odd.
    """
    column = sort_cells(given, bound)
    values = given[column.is_coded]
    if given.dtype.kind in "biu":
        found = _as_integers(values)
    else:
        found = _find_decimals(values, len(given) // 50 if bound == 0 else 0)
    return column if found is None else column.in_ways([found])


def _as_integers(values: np.ndarray) -> Way | None:
    """Whole numbers as they are; None if they do not leave room in 64 bits."""
    if values.dtype.itemsize == 8 and len(values) and max(-int(values.min()), int(values.max())) > 2**62:
        return None
    return Way(Grid(), values.astype(np.int64), np.ones(len(values), dtype=bool))


def allowance(given: np.ndarray, bound: float) -> float:
    """What the binary rounding of decimals may add to a bound on their error: decimals are judged as such."""
    if given.dtype.kind != "f" or not len(given):
        return 0.0
    with np.errstate(all="ignore"):
        rounding = 4 * float(np.spacing(np.abs(given).max()))
    return _ON_DECIMALS * bound + (min(_ROUNDING * bound, rounding) if np.isfinite(rounding) else 0.0)


def keeps_bound(given: np.ndarray, got: np.ndarray, bound: float) -> bool:
    """Whether finite floats are no further from the given ones than the bound and the allowance. Of doubles that are
    mostly floats of single precision, those that are have the allowance of single precision.
    """
    if _differ_by(given, got, bound):
        return True
    with np.errstate(over="ignore"):
        narrow = given.astype(np.float32)
    is_single = narrow == given
    if given.itemsize < 8 or not np.mean(is_single) > _MOSTLY:
        return False
    others = ~is_single
    return _differ_by(narrow[is_single], got[is_single], bound) and _differ_by(given[others], got[others], bound)


def _differ_by(given: np.ndarray, got: np.ndarray, bound: float) -> bool:
    most = bound + allowance(given, bound)
    return bool(np.all(np.abs(got.astype(np.float64) - given.astype(np.float64)) <= most))


def _find_decimals(values: np.ndarray, n_odd: int) -> Way | None:
    """Fewest decimals that all but `n_odd` values have; with two more at most, if then all fit and more than a few do
    not.
    """
    best: Way | None = None
    for decimals in range(MOST_DECIMALS + 1):
        if best is not None and decimals > best.grid.decimals + 2:
            break
        probe = values[:: max(1, len(values) // _PROBE)][:_PROBE]
        if np.count_nonzero(~_whole(probe, decimals)[1]) > n_odd:
            continue
        numbers, fits = _whole(values, decimals)
        n_left = np.count_nonzero(~fits)
        if n_left == 0 or (best is None and n_left <= n_odd):
            best = Way(Grid(decimals=decimals), np.where(fits, numbers, 0).astype(np.int64), fits)
            if n_left <= max(FEW_ODD, len(values) // VERY_ODD):
                break
    return best


def _whole(values: np.ndarray, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    """Nearest whole numbers to values times 10^decimals, and where the way back gives the same value."""
    power = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.rint(values.astype(np.float64) * power)
        fits = np.abs(numbers) <= _EXACT
        numbers = np.where(fits, numbers, 0)
        return numbers, fits & ((numbers / power).astype(values.dtype) == values)
