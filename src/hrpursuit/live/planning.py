"""The choice of a plan from the readings of the last slots. Only the encoder does it; any valid plan can be decoded."""

import math
from dataclasses import replace

import numpy as np

from hrpursuit.compression.kernels.samples import LIMIT
from hrpursuit.live.plan import (
    DECIMALS,
    DOUBLE,
    FACTOR,
    MOST_FRACTION,
    MOST_SCALE,
    MOST_STEP,
    MOST_WIDTH,
    POWERS,
    SINGLE,
    Column,
    Plan,
    groups_of,
)

_ODD = 50  # one reading in so many may lie beside the decimals of its column: it is then sent as a float
_ROOM = 2  # readings may be so many times as far from the offset as they have been
_PER_BOUND = 16  # units in a bound, for readings that are no decimals
_ON_DECIMALS = 1e-9  # of a bound that is meant to reach a whole number of units
#: A reading so many times as far from the median as the rest is an outlier: it is sent as a float, and no plan is made
#: for it, since the others would pay for the range.
_FAR = 64
_LEAST_READINGS = 16  # of which one may be an outlier
_NOISE = 24  # a mean change of so many units is noise below its highest bits
_SEASONS = (24, 7, 12, 48, 96, 144, 288)
_EXACT = 2.0**50
_LARGEST = 2.0**51  # whole numbers beyond are not counted
_ENOUGH_COLUMNS = 256  # that the season is chosen by


def make_plan(names: tuple[str, ...], bounds: np.ndarray, history: np.ndarray) -> Plan:
    """The plan for what comes next.

    Parameters
    ----------
    names : tuple of str
    bounds : array of shape (n_columns,)
        Largest errors, 0 for columns that are lossless.
    history : array of shape (n_slots, n_columns)
        The last readings, NaN where there are none, at least one slot.
    """
    by_column = _without_outliers(np.ascontiguousarray(history.T, dtype=np.float64))
    seen = ~np.isnan(by_column)
    columns = [
        _column(values[there], bound) for values, there, bound in zip(by_column, seen, bounds.tolist(), strict=True)
    ]
    units = _Units(columns)
    lowest, highest = units.ranges(by_column, seen)
    changes = units.changes(by_column)
    fractions, positive = [], []
    for group in groups_of(len(names)):
        largest = int(max(-lowest[group].min(), highest[group].max()))
        fraction = MOST_FRACTION
        while fraction > 0 and (_ROOM * largest) << fraction > LIMIT:
            fraction -= 1
        fractions.append(fraction)
        positive.append(bool(lowest[group].min() >= 0))
        scales = _scales(changes[group], columns[group], fraction)
        columns[group] = [replace(column, scale=scale) for column, scale in zip(columns[group], scales, strict=True)]
    return Plan(names, tuple(columns), tuple(fractions), tuple(positive), _season(by_column, seen))


def _without_outliers(by_column: np.ndarray) -> np.ndarray:
    """Readings, one column per row, with NaN for what is not finite and for outliers, at most one in fifty."""
    kept = np.where(np.isfinite(by_column), by_column, np.nan)
    counts = np.count_nonzero(~np.isnan(kept), axis=1)
    many = np.flatnonzero(counts >= _LEAST_READINGS)
    if not len(many):
        return kept
    values, n, rows = kept[many], counts[many], np.arange(len(many))
    with np.errstate(over="ignore", invalid="ignore"):
        in_order = np.sort(values, axis=1)  # NaN come last
        median = (in_order[rows, (n - 1) // 2] + in_order[rows, n // 2]) / 2
        away = np.abs(values - median[:, None])
        most = np.sort(away, axis=1)[rows, n - 2 - n // _ODD]
        kept[many] = np.where((away > _FAR * most[:, None]) & (most > 0)[:, None], np.nan, values)
    return kept


def _column(values: np.ndarray, bound: float) -> Column:
    decimals = _decimals(values)
    largest = float(np.abs(values).max(initial=0.0))
    if bound > 0:
        if decimals is not None:
            half = math.floor(min(bound * POWERS[decimals] * (1 + _ON_DECIMALS), _EXACT))
            if half == 0 and largest * POWERS[decimals] < _EXACT:
                return _lossless(values, decimals, bound)
            if 2 * half + 1 < MOST_STEP and _ROOM * largest * POWERS[decimals] <= LIMIT:
                return Column(DECIMALS, decimals, step=2 * half + 1, bound=bound)
            column = _offset(values, Column(DECIMALS, decimals, step=2 * half + 1, bound=bound)) if (
                2 * half + 1 < MOST_STEP and largest * POWERS[decimals] < _EXACT) else None  # fmt: skip
            if column is not None and column.width == 0:
                return column
        return _bounded(values, bound, largest)
    if decimals is not None:
        return _lossless(values, decimals, bound)
    with np.errstate(over="ignore"):
        is_single = bool((values.astype(np.float32) == values).all())
    return Column(SINGLE if is_single else DOUBLE)


def _bounded(values: np.ndarray, bound: float, largest: float) -> Column:
    """Multiples of a part of the bound, or of nearly twice the bound where readings have a large range."""
    fine = bound / _PER_BOUND
    if fine > 1e-300 and largest / fine < _EXACT:
        column = _offset(values, Column(FACTOR, factor=fine, step=2 * _PER_BOUND - 1, bound=bound))
        if column.width == 0:
            return column
    coarse = 1.998 * bound
    if 1e-300 < coarse < 1e300 and largest / coarse < _EXACT:
        column = _offset(values, Column(FACTOR, factor=coarse, bound=bound))
        if column.width <= MOST_WIDTH:
            return column
    return Column(DOUBLE, bound=bound)


def _lossless(values: np.ndarray, decimals: int, bound: float) -> Column:
    column = _offset(values, Column(DECIMALS, decimals, bound=bound))
    return column if column.width <= MOST_WIDTH else Column(DOUBLE, bound=bound)


def _offset(values: np.ndarray, column: Column) -> Column:
    """The column with an offset where readings are far from zero, and low bits where their range is too large."""
    if not len(values):
        return column
    numbers = _numbers(values, column)
    low, high = int(numbers.min()), int(numbers.max())
    offset = 0 if _ROOM * max(-low, high) <= LIMIT else (low + high) // 2
    size = max(_ROOM * max(offset - low, high - offset), 1)
    width = max((size - 1).bit_length() - 16, 0)
    if column.step == 1 and len(numbers) > 1:
        change = float(np.abs(np.diff(numbers.astype(np.float64))).mean())
        if change > 2 * _NOISE:
            width = max(width, int(math.log2(change / _NOISE)))
    return replace(column, offset=offset, width=width)


def _numbers(values: np.ndarray, column: Column) -> np.ndarray:
    power = POWERS[column.decimals] if column.kind == DECIMALS else 1.0
    exact = np.rint(values * power / column.factor)
    return exact[np.abs(exact) < _LARGEST].astype(np.int64)


class _Units:
    """What one unit of the numbers that are predicted is, for all columns at a time."""

    def __init__(self, columns: list[Column]) -> None:
        kind = np.array([column.kind for column in columns])
        decimals = np.where(kind == DECIMALS, [column.decimals for column in columns], 0)
        self._power = POWERS[decimals][:, None]
        self._factor = np.array([column.factor for column in columns])[:, None]
        self._offset = np.array([column.offset for column in columns], dtype=np.int64)[:, None]
        self._width = np.array([column.width for column in columns], dtype=np.int64)[:, None]
        self._is_whole = (kind <= FACTOR)[:, None]

    def ranges(self, by_column: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest number of each column, zero among them."""
        with np.errstate(invalid="ignore", over="ignore"):
            exact = np.rint(by_column * self._power / self._factor)
            valid = seen & self._is_whole & (np.abs(exact) < _LARGEST)
        numbers = (np.where(valid, exact, 0.0).astype(np.int64) - self._offset) >> self._width
        numbers[~valid] = 0
        return numbers.min(axis=1, initial=0), numbers.max(axis=1, initial=0)

    def changes(self, by_column: np.ndarray) -> list[np.ndarray]:
        """Magnitudes of changes from slot to slot for each column, in these units."""
        with np.errstate(invalid="ignore", over="ignore"):
            steps = np.abs(np.diff(by_column, axis=1)) / (self._factor / self._power * 2.0**self._width)
        there = np.isfinite(steps) & self._is_whole
        return [column[where] for column, where in zip(steps, there, strict=True)]


def _scales(changes: list[np.ndarray], columns: list[Column], fraction: int) -> list[int]:
    """Twice the mean change of a column, and at least a step; one for all where they are alike."""
    everything = np.concatenate(changes) if changes else np.zeros(0)
    steps = np.array([column.step for column in columns], dtype=float)
    common = 2 * float(everything.mean()) if len(everything) else float(steps.max())
    each = np.array([2 * float(change.mean()) if len(change) else common for change in changes]) * 2.0**fraction
    if each.max() <= 16 * max(each.min(), 4.0):
        each[:] = common * 2.0**fraction
    return [int(scale) for scale in np.clip(each, 4, MOST_SCALE)]


def _decimals(values: np.ndarray) -> int | None:
    """Fewest decimals that all but one in fifty readings have, 0 if there are none; None if they have too many."""
    if not len(values):
        return 0
    n_odd = len(values) // _ODD
    probe = values[-16:]
    for decimals, power in enumerate(POWERS):
        if np.count_nonzero(~_is_decimal(probe, power)) > n_odd:
            continue
        if np.count_nonzero(~_is_decimal(values, power)) <= n_odd:
            return decimals
    return None


def _is_decimal(values: np.ndarray, power: float) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.rint(values * power)
        return np.asarray((np.abs(numbers) < _EXACT) & (numbers / power == values))


def _season(by_column: np.ndarray, seen: np.ndarray) -> int:
    """Slots after which readings repeat best: a day of them by the hour, if nothing else is clearly better."""
    every = -(-len(by_column) // _ENOUGH_COLUMNS)
    values, seen = np.where(seen, by_column, 0.0)[::every], seen[::every]
    changes = {}
    for season in _SEASONS:
        both = seen[:, season:] & seen[:, :-season]
        if np.count_nonzero(both) > 2 * len(values):
            with np.errstate(over="ignore"):
                changes[season] = float(np.abs(values[:, season:] - values[:, :-season])[both].mean())
    best = min(changes, key=lambda season: changes[season], default=_SEASONS[0])
    return best if best in changes and changes[best] < 0.9 * changes.get(_SEASONS[0], math.inf) else _SEASONS[0]
