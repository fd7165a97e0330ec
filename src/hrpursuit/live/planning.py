"""The choice of a plan from the readings of the last slots. Only the encoder does it; any valid plan can be decoded."""

import math

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
    history = np.column_stack([_without_outliers(column) for column in history.T])
    finite = np.isfinite(history)
    usual = [history[finite[:, place], place] for place in range(len(names))]
    columns, changes = [], []
    for place, bound in enumerate(bounds.tolist()):
        column = _column(usual[place], bound)
        columns.append(column)
        changes.append(_changes(history[:, place], column))
    fractions, positive = [], []
    for group in groups_of(len(names)):
        members = columns[group]
        ranges = [_range(values, column) for values, column in zip(usual[group], members, strict=True)]
        largest = max(max(-low, high) for low, high in ranges)
        fraction = MOST_FRACTION
        while fraction > 0 and (_ROOM * largest) << fraction > LIMIT:
            fraction -= 1
        fractions.append(fraction)
        positive.append(all(low >= 0 for low, _ in ranges))
        scales = _scales([changes[place] for place in range(group.start, group.stop)], members, fraction)
        columns[group] = [_with_scale(column, scale) for column, scale in zip(members, scales, strict=True)]
    return Plan(names, tuple(columns), tuple(fractions), tuple(positive), _season(history, finite))


def _without_outliers(column: np.ndarray) -> np.ndarray:
    """Readings with NaN for what is not finite and for outliers, of which there is at most one in fifty."""
    column = np.where(np.isfinite(column), column, np.nan)
    values = column[~np.isnan(column)]
    if len(values) < _LEAST_READINGS:
        return column
    with np.errstate(over="ignore"):
        away = np.abs(column - np.median(values))
        place = len(values) - 2 - len(values) // _ODD
        most = float(np.partition(away[~np.isnan(away)], place)[place])
        return np.where(away > _FAR * most, np.nan, column) if most > 0 else column


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
    return _replaced(column, offset=offset, width=width)


def _replaced(column: Column, **changes: int) -> Column:
    return Column(**{**column.__dict__, **changes})


def _with_scale(column: Column, scale: int) -> Column:
    return _replaced(column, scale=scale)


def _numbers(values: np.ndarray, column: Column) -> np.ndarray:
    power = POWERS[column.decimals] if column.kind == DECIMALS else 1.0
    exact = np.rint(values * power / column.factor)
    return exact[np.abs(exact) < 2.0**51].astype(np.int64)


def _range(values: np.ndarray, column: Column) -> tuple[int, int]:
    """Least and largest of the numbers that are predicted."""
    if column.kind > FACTOR or not len(values):
        return 0, 0
    numbers = (_numbers(values, column) - column.offset) >> column.width
    return int(numbers.min(initial=0)), int(numbers.max(initial=0))


def _changes(values: np.ndarray, column: Column) -> np.ndarray:
    """Magnitudes of changes from slot to slot, in units of the numbers that are predicted."""
    if column.kind > FACTOR:
        return np.zeros(0)
    unit = column.factor / (POWERS[column.decimals] if column.kind == DECIMALS else 1.0) * 2.0**column.width
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.abs(np.diff(values)) / unit
    return np.asarray(steps[np.isfinite(steps)])


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


def _season(history: np.ndarray, finite: np.ndarray) -> int:
    """Slots after which readings repeat best: a day of them by the hour, if nothing else is clearly better."""
    values = np.where(finite, history, 0.0)
    changes = {}
    for season in _SEASONS:
        both = finite[season:] & finite[:-season]
        if np.count_nonzero(both) > 2 * values.shape[1]:
            with np.errstate(over="ignore"):
                changes[season] = float(np.abs(values[season:] - values[:-season])[both].mean())
    best = min(changes, key=lambda season: changes[season], default=_SEASONS[0])
    return best if best in changes and changes[best] < 0.9 * changes.get(_SEASONS[0], math.inf) else _SEASONS[0]
