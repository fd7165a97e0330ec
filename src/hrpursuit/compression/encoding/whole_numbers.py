"""Columns made ready for the coder: as whole numbers in the unit that the target allows."""

import math
from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.apart import Numbers
from hrpursuit.compression.chunks.settings import BY_FACTOR, MOST_SCALE, SAMPLES, TRANSFORM, GroupSettings
from hrpursuit.compression.encoding.columns import Column, range_of
from hrpursuit.compression.kernels.compiled import as_integers
from hrpursuit.compression.kernels.samples import LIMIT

FRACTION = 6  # bits below whole numbers, where there is room
_WHOLE = 2.0**60  # whole numbers in one unit for all columns
_TOO_MANY = 2.0**50  # units that a reading is away from zero
_ALL_NOISE = 40  # bits of a column that would be sent as they are: it is then better kept as it is
_SEASONS = (24, 7, 12, 48, 96, 144, 288)
LEAST_UNIT = 2.0**-1060  # a factor with bits below it, and these are no zeros yet
_PER_BOUND = 16  # units to the bound on the error, for readings that are no decimals


def fits_whole(column: Column) -> bool:
    """Whether the whole numbers of a column can be coded without loss."""
    return column.whole is not None and column.whole_range[1] <= _ALL_NOISE


def without_loss(columns: list[Column]) -> tuple[GroupSettings, Numbers]:
    """Whole numbers as they are."""
    return _grid(
        columns, [np.asarray(column.whole) for column in columns], [column.decimals or 0 for column in columns], [1]
    )


def fits_bound(column: Column, max_error: float) -> bool:
    """Whether readings can be counted in units of the bound."""
    return fits_whole(column) or (column.largest < _TOO_MANY * max_error and max_error > LEAST_UNIT)


def within(columns: list[Column], max_error: float) -> tuple[GroupSettings, Numbers]:
    """Whole numbers in steps of at most twice the bound."""
    on_decimals = [_step_of_decimals(column, max_error) for column in columns]
    rest = [column for column, step in zip(columns, on_decimals, strict=True) if step is None]
    reach = max((column.largest for column in rest), default=0.0) / max_error
    per_bound = _PER_BOUND if reach * _PER_BOUND < LIMIT else 0
    factor = max_error / _PER_BOUND if per_bound else 1.998 * max_error
    numbers, decimals, steps = [], [], []
    for column, step in zip(columns, on_decimals, strict=True):
        if step is None:
            numbers.append(np.rint(column.values / factor).astype(np.int64))
            decimals.append(BY_FACTOR)
            steps.append(2 * per_bound - 1 if per_bound else 1)
        else:
            numbers.append(np.asarray(column.whole))
            decimals.append(column.decimals or 0)
            steps.append(step)
    return _grid(columns, numbers, decimals, steps, factor)


def _step_of_decimals(column: Column, max_error: float) -> int | None:
    """Step in whole numbers of a column of decimals; None if these are too fine for the bound, or there are none."""
    if column.whole is None or column.decimals is None:
        return None
    bound = math.floor(min(max_error * 10.0**column.decimals * (1 + 1e-9), _WHOLE))
    size = int(np.abs(column.whole).max(initial=0))
    if bound >= 1 and size >= LIMIT:
        return None if size < _TOO_MANY * max_error * 10**column.decimals else 1
    return 2 * min(bound, LIMIT) + 1  # nothing is further away from anything


def fits_unit(columns: list[Column], unit: float) -> bool:
    """Whether readings can be counted in this unit, and are not finer than whole numbers anyway."""
    places = [column.decimals for column in columns]
    if all(place is not None for place in places) and unit <= 10.0 ** -max(place or 0 for place in places):
        return False
    return all(column.largest < _TOO_MANY * unit for column in columns)


def on_grid(columns: list[Column], unit: float) -> tuple[GroupSettings, Numbers]:
    """Multiples of the unit, nearest to the readings."""
    numbers = [np.rint(column.values / unit).astype(np.int64) for column in columns]
    return _grid(columns, numbers, [BY_FACTOR], [1], unit)


def for_rmse(columns: list[Column]) -> tuple[GroupSettings, Numbers]:
    """All columns in one unit, with bits below it, for steps of any size."""
    exact, decimals = _by_common_decimals(columns)
    factor = 1.0
    if decimals == BY_FACTOR:
        factor = max(float(np.abs(exact).max(initial=0.0)) / 1000, LEAST_UNIT)
        exact = exact / factor
    largest, fraction = float(np.abs(exact).max(initial=0.0)), FRACTION
    while largest * 2.0**fraction > LIMIT:
        fraction -= 1
    values = np.floor(exact * 2.0**fraction + 0.5).astype(np.int64)
    settings = GroupSettings(
        TRANSFORM, (decimals,), (1,), fraction, factor, keep_positive=bool(values.min(initial=0) >= 0), rounded=False
    )
    return settings, Numbers(as_integers(values))


def unit_of(settings: GroupSettings) -> float:
    """In the unit of the table, of numbers that `for_rmse` gives."""
    (decimals,) = settings.decimals
    return (settings.factor if decimals == BY_FACTOR else 10.0**-decimals) * 2.0**-settings.fraction


def _by_common_decimals(columns: list[Column]) -> tuple[np.ndarray, int]:
    """Whole numbers over one power of ten, and its exponent; the readings and BY_FACTOR where there are none."""
    if all(column.whole is not None for column in columns):
        most = max(column.decimals or 0 for column in columns)
        exact = np.column_stack(
            [np.asarray(column.whole) * 10.0 ** (most - (column.decimals or 0)) for column in columns]
        )
        if np.abs(exact).max(initial=0.0) < _WHOLE:
            return exact, most
    return np.column_stack([column.values for column in columns]), BY_FACTOR


def as_samples(columns: list[Column], settings: GroupSettings, numbers: Numbers) -> GroupSettings:
    """For sample coding of numbers that `for_rmse` gives."""
    coded = np.column_stack([column.is_coded for column in columns])
    return replace(settings, mode=SAMPLES, scales=_scales(numbers.whole, coded), season=_season(numbers.whole, coded))


def _grid(columns: list[Column], numbers: list[np.ndarray], decimals: list[int], steps: list[int],
          factor: float = 1.0) -> tuple[GroupSettings, Numbers]:  # fmt: skip
    n_rows, n = len(columns[0].given), len(columns)
    coded = np.column_stack([column.is_coded for column in columns])
    steps = list(np.resize(steps, n))
    ranges = [
        column.whole_range if step == 1 and number is column.whole else range_of(number, column.is_coded, step)
        for number, column, step in zip(numbers, columns, steps, strict=True)
    ]
    offsets, widths = np.array([r[0] for r in ranges], dtype=np.int64), np.array([r[1] for r in ranges], dtype=np.int64)
    whole = np.where(coded, np.column_stack(numbers) - offsets, 0)
    low = whole & ((1 << widths) - 1) if widths.any() else np.zeros((0, 0), dtype=np.int64)
    whole >>= widths
    fraction, largest = FRACTION, int(np.abs(whole).max(initial=0))
    while fraction > 0 and largest << fraction > LIMIT:
        fraction -= 1
    values = whole << fraction
    settings = GroupSettings(
        SAMPLES,
        _short(decimals),
        _short([int(step) << fraction for step in steps]),
        fraction,
        factor,
        keep_positive=bool(n_rows == 0 or values.min() >= 0),
        offsets=tuple(offsets.tolist()) if offsets.any() else (),
        widths=tuple(widths.tolist()) if widths.any() else (),
        grain=True,
        scales=_scales(values, coded),
        season=_season(values, coded),
    )
    return settings, Numbers(as_integers(values), as_integers(low))


def _short(entries: list[int]) -> tuple[int, ...]:
    return tuple(entries) if len(set(entries)) > 1 else (int(entries[0]),)


def _season(values: np.ndarray, coded: np.ndarray) -> int:
    """Rows after which readings repeat best: a day of them, mostly, by the hour or oftener."""
    changes = {}
    for season in _SEASONS:
        both = coded[season:] & coded[:-season]
        if np.count_nonzero(both) > 2 * values.shape[1]:
            changes[season] = float(np.abs(values[season:] - values[:-season])[both].mean())
    best = min(changes, key=lambda season: changes[season], default=_SEASONS[0])
    return best if best in changes and changes[best] < 0.9 * changes.get(_SEASONS[0], np.inf) else _SEASONS[0]


def _scales(values: np.ndarray, coded: np.ndarray) -> tuple[int, ...]:
    """Twice the mean change of a column from row to row; one for all where they are alike."""
    both = coded[1:] & coded[:-1]
    counts = both.sum(axis=0)
    sums = np.abs(np.diff(values.astype(np.float64), axis=0) * both).sum(axis=0)
    common = 2 * sums.sum() / counts.sum() if counts.sum() else 64.0
    each = np.where(counts > 0, 2 * sums / np.maximum(counts, 1), common)
    if each.max() > 16 * max(each.min(), 4.0):
        return tuple(int(scale) for scale in np.clip(each, 4, MOST_SCALE))
    return (int(min(max(common, 4), MOST_SCALE)),)
