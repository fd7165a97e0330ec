"""Columns as whole numbers: how many decimals their values have, and which values are none of these."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hrpursuit.compression.chunks.settings import MOST_DECIMALS
from hrpursuit.compression.kernels.samples import LIMIT

_EXACT = 2.0**53  # floats count whole numbers up to here
_NOISE = 24  # a change of so many steps is noise below its highest bits
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
    seen : array of bool
        Readings that are coded; the others are gaps or exceptions.
    exceptions : array of int
        Rows whose value is kept bit for bit beside the coded ones.
    decimals : int or None
        All readings that are coded are whole numbers over 10^decimals; None if they are not.
    whole : array of int64 or None
        These whole numbers, 0 where there is none.
    limits : tuple of float, or None
        Whoever gets the decoded column makes whole numbers of it, from the first to the second of these.
    """

    given: np.ndarray
    seen: np.ndarray
    exceptions: np.ndarray
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
            exceptions=self.exceptions[self.exceptions < n_rows],
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


def take_all_apart(columns: list[np.ndarray], lossless: bool) -> list[Column]:
    """`take_apart` of all columns; of those that are floats of one type, the ones with nothing but whole numbers and
    plain gaps are done together, which takes a fraction of the time.
    """
    if len({column.dtype for column in columns}) != 1 or columns[0].dtype.kind != "f":
        return [take_apart(column, lossless) for column in columns]
    table = np.array(columns)
    seen = np.isfinite(table)
    numbers = np.where(seen, table, 0).astype(np.float64)
    is_whole = (np.rint(numbers) == numbers) & (np.abs(numbers) <= _EXACT)
    if lossless:
        is_whole &= (seen | _is_plain_nan(table)) & ~((table == 0) & np.signbit(table))
    else:
        is_whole &= ~np.isinf(table)
    whole, none = np.where(is_whole, numbers, 0).astype(np.int64), np.zeros(0, dtype=np.int64)
    return [
        Column(column, seen[j], none, 0, whole[j]) if together else take_apart(column, lossless)
        for j, (column, together) in enumerate(zip(columns, is_whole.all(axis=1), strict=True))
    ]


def take_apart(column: np.ndarray, lossless: bool) -> Column:
    """Gaps, exceptions and decimals of a column. Infinities are exceptions; without loss so are negative zeros, unusual
    NaN and the few values that have more decimals than the rest.
    """
    if column.dtype.kind in "biu":
        seen = np.ones(len(column), dtype=bool)
        is_wide = column.dtype == np.uint64 and len(column) and int(column.max()) > 2**62
        is_wide = is_wide or (
            column.dtype == np.int64 and len(column) and max(-int(column.min()), int(column.max())) > 2**62
        )
        whole = None if is_wide else column.astype(np.int64)
        return Column(column, seen, np.zeros(0, dtype=np.int64), None if is_wide else 0, whole)
    seen = np.isfinite(column)
    odd = np.zeros(len(column), dtype=bool)
    if not seen.all():
        rest = column[~seen]
        odd[~seen] = ~_is_plain_nan(rest) if lossless else np.isinf(rest)
    if lossless:
        zeros = np.flatnonzero(column == 0)
        odd[zeros] = np.signbit(column[zeros])
        seen[zeros] = ~odd[zeros]
    found = _find_decimals(column[seen], len(column) // 50 if lossless else 0)
    if found is None:
        return Column(column, seen, np.flatnonzero(odd), None, None)
    decimals, numbers, fits = found
    whole = np.zeros(len(column), dtype=np.int64)
    whole[seen] = np.where(fits, numbers, 0)
    places = np.flatnonzero(seen)[~fits]
    odd[places], seen[places] = True, False
    return Column(column, seen, np.flatnonzero(odd), decimals, whole)


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


def _is_plain_nan(column: np.ndarray) -> np.ndarray:
    bits = f"u{column.dtype.itemsize}"
    return np.ascontiguousarray(column).view(bits) == np.array(np.nan, dtype=column.dtype).view(bits)


def _find_decimals(values: np.ndarray, n_odd: int) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Fewest decimals that all but `n_odd` values have, their whole numbers, and which values fit; with two more
    decimals at most, if then all fit.
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
        if n_left == 0:
            return decimals, numbers.astype(np.int64), fits
        if best is None and n_left <= n_odd:
            best = decimals, np.where(fits, numbers, 0).astype(np.int64), fits
    return best


def _whole(values: np.ndarray, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    """Nearest whole numbers to values times 10^decimals, and where the way back gives the same value."""
    power = 10.0**decimals
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.rint(values.astype(np.float64) * power)
        fits = np.abs(numbers) <= _EXACT
        numbers = np.where(fits, numbers, 0)
        return numbers, fits & ((numbers / power).astype(values.dtype) == values)
