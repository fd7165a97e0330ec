"""Columns as whole numbers: how many decimals their values have, and which values are none of these."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hrpursuit.compression.chunks.settings import MOST_DECIMALS
from hrpursuit.compression.encoding.apart import ApartCells, take_cells_apart
from hrpursuit.compression.kernels.samples import LIMIT

_EXACT = 2.0**53  # floats count whole numbers up to here
_NOISE = 24  # a change of so many steps is noise below its highest bits
#: Values beside the decimals of the others, at most so many or one in so many, that are no reason for more decimals.
FEW_ODD, VERY_ODD = 3, 500
_PROBE = 32  # values that are looked at first
_ON_DECIMALS = 1e-9  # of a bound that is meant to reach a whole number of units
_MOSTLY = 0.5  # share of doubles that are of single precision where all are judged as such
_ROUNDING = 1e-3  # of a bound: what rounding may add to it, at most


@dataclass(frozen=True)
class Column:
    """A column taken apart.

    Attributes
    ----------
    given : array
        As it came.
    bound : float
        Largest error; 0 for none, infinite if single readings have no bound.
    seen : array of bool
        Readings that are coded.
    cells : ApartCells
        What the others are.
    decimals : int or None
        All readings that are coded are whole numbers over 10^decimals; None if they are not.
    whole : array of int64 or None
        These whole numbers, 0 where there is none.
    limits : tuple of float, or None
        Whoever gets the decoded column makes whole numbers of it, from the first to the second of these.
    """

    given: np.ndarray
    bound: float
    seen: np.ndarray
    cells: ApartCells
    decimals: int | None
    whole: np.ndarray | None
    limits: tuple[float, float] | None = None

    @cached_property
    def values(self) -> np.ndarray:
        """Readings as float64, 0 where there is none."""
        return np.where(self.seen, self.given, 0).astype(np.float64)

    def first_rows(self, n_rows: int) -> "Column":
        """The column cut to so many rows."""
        return replace(
            self,
            given=self.given[:n_rows],
            seen=self.seen[:n_rows],
            cells=self.cells.first_rows(n_rows),
            whole=None if self.whole is None else self.whole[:n_rows],
        )

    @property
    def ends_whole(self) -> bool:
        """Whether whoever gets the decoded column makes whole numbers of it."""
        return self.limits is not None or self.given.dtype.kind in "biu"

    @cached_property
    def whole_range(self) -> tuple[int, int]:
        """What is taken off the whole numbers, and how many of their lowest bits are noise, where nothing is lost."""
        return (0, 0) if self.whole is None else range_of(self.whole, self.seen, 1)

    @cached_property
    def largest(self) -> float:
        """Magnitude of the largest reading."""
        return float(np.abs(self.values).max(initial=0.0))


def range_of(numbers: np.ndarray, seen: np.ndarray, step: int) -> tuple[int, int]:
    """What is taken off a column, and how many of its lowest bits are sent as they are."""
    if not seen.any():
        return 0, 0
    inside = numbers[seen]
    low, high = int(inside.min()), int(inside.max())
    offset = 0 if max(-low, high) < LIMIT else (low + high) // 2
    size = max(offset - low, high - offset)
    width = max(size.bit_length() - 16, 0)
    if step == 1 and len(inside) > 1:
        change = float(np.abs(np.diff(inside.astype(np.float64))).mean())
        if change > 2 * _NOISE:
            width = max(width, int(math.log2(change / _NOISE)))
    return offset, width


def take_apart(given: np.ndarray, bound: float) -> Column:
    """Cells and decimals of a column. Without loss (bound 0) the few values that have more decimals than the rest are
    exceptions.
    """
    cells = take_cells_apart(given, bound)
    seen = cells.is_coded
    if given.dtype.kind in "biu":
        found = _as_integers(given[seen])
    else:
        found = _find_decimals(given[seen], len(given) // 50 if bound == 0 else 0)
    if found is None:
        return Column(given, bound, seen, cells, None, None)
    decimals, numbers, fits = found
    whole = np.zeros(len(given), dtype=np.int64)
    whole[seen] = np.where(fits, numbers, 0)
    if not fits.all():
        cells.is_odd[np.flatnonzero(seen)[~fits]] = True
        seen = cells.is_coded
    return Column(given, bound, seen, cells, decimals, whole)


def _as_integers(values: np.ndarray) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Whole numbers as `_find_decimals` gives them; None if they do not leave room in 64 bits."""
    if values.dtype.itemsize == 8 and len(values) and max(-int(values.min()), int(values.max())) > 2**62:
        return None
    return 0, values.astype(np.int64), np.ones(len(values), dtype=bool)


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


def _find_decimals(values: np.ndarray, n_odd: int) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Fewest decimals that all but `n_odd` values have, their whole numbers, and which values fit; with two more
    decimals at most, if then all fit and more than a few do not.
    """
    best = None
    for decimals in range(MOST_DECIMALS + 1):
        if best is not None and decimals > best[0] + 2:
            break
        probe = values[:: max(1, len(values) // _PROBE)][:_PROBE]
        if np.count_nonzero(~_whole(probe, decimals)[1]) > n_odd:
            continue
        numbers, fits = _whole(values, decimals)
        n_left = np.count_nonzero(~fits)
        if n_left == 0 or (best is None and n_left <= n_odd):
            best = decimals, np.where(fits, numbers, 0).astype(np.int64), fits
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
