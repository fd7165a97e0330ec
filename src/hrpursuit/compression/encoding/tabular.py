"""Columns for the coder of tables: the grid of each, what its centre is, and which others it is predicted from.

All choices are made column by column, on a part of the rows: every way is tried on all columns at once, and each keeps
what is shortest for it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from hrpursuit.compression.chunks.grids import FLOAT, POWERS, VALUES, to_float_bits
from hrpursuit.compression.chunks.lists import list_bytes
from hrpursuit.compression.chunks.tabular import (
    HASTY,
    MOST_STATE,
    MOST_WIDTH,
    QUICK,
    THOROUGH,
    ColumnSettings,
    Numbers,
    TableSettings,
    code_of_scale,
    encode_table,
    hand_over,
)
from hrpursuit.compression.encoding.apart import cells_apart
from hrpursuit.compression.encoding.columns import Column
from hrpursuit.compression.encoding.neighbours import neighbourhoods
from hrpursuit.compression.encoding.table_columns import keeps
from hrpursuit.compression.encoding.trials import TrialRows, widths_of
from hrpursuit.compression.kernels.compiled import as_integers
from hrpursuit.compression.kernels.table_state import CONSTANT, DRIFTING, LAST, LIMIT, PREDICTED, n_features_of

_FEWEST_ROWS = 8  # for choices to be tried
_SEASONS = (24, 7, 12, 48, 96, 144, 288, 1440)
_SEASON_ROWS = 1 << 14  # that are looked at
_LESS_IN_SEASON = 0.7  # mean change over a season, relative to that over its half, that calls for a trial
#: Noise of more numbers than this is cut to its leading bits; less of it where values seldom repeat, since the low bits
#: of a value that does would be known.
_WIDE, _WIDE_NOISE = 2048, {"fast": 8, "default": 8, "best": 24}
#: Different changes, relative to the rows, where changes come again, low bits and all; fewer of ranks in haste, as that
#: takes a tenth of the time of a file.
_FEW_CHANGES, _FEW_OF_RANKS = 0.05, {"fast": 0.01, "default": 0.01, "best": 0.05}
_SELDOM = 0.01  # share of values like the one before
#: Cells that a choice is tried on: a share of all, but not fewer or more than these.
_TRIAL_CELLS = {"default": (1 / 16, 1 << 12, 6000), "best": (2 / 5, 1 << 14, 1 << 15)}
_FEWEST_TRIED = {"default": 64, "best": 400}  # rows
#: Numbers of second differences, and long filters (in 16 taps), that are tried.
_ORDERS = {"default": (), "best": (8,)}
_TAPS = {"default": (2,), "best": (2, 16)}
_CENTRES = {"default": (LAST, CONSTANT), "best": (LAST, DRIFTING, CONSTANT)}
_PACES = {"fast": QUICK, "default": HASTY, "best": THOROUGH}
#: Share of the size that more features must save, to be worth the time of the decoder.
_WORTH_THE_TIME = {"default": 0.004, "best": 0.001}
_NOISE_SCALE = 20  # code of a mean change, from which on long filters may pay
_NOISE_COLUMNS, _NOISE_ROWS = 2, {"default": 1 << 12, "best": 1 << 13}  # that they are tried on: they learn slowly
_CHANGE_BITS = 2  # that a column with settings of its own has to save
_CONSTANT_BITS = 16  # of a drift or a constant
_CLOSE = {"default": 0.005, "best": 0.0}  # and this share of its bits, where a trial has only some of the rows
#: Share that a constant centre has to save: from it a value is coded in more bits, in more time.
_CONSTANT_IS_SLOW = {"default": 0.05, "best": 0.0}


def encode_columns(columns: list[Column], effort: str) -> tuple[bytes, list[bool]]:
    """The part of a chunk with these columns, each of which has a way; and for each whether it is as its bound asks."""
    dtypes = [column.given.dtype for column in columns]
    settings, whole = _choose(columns, effort)
    apart = cells_apart(columns)
    numbers = _numbers(columns, settings, whole)
    data = encode_table(settings, apart, numbers, dtypes)
    with np.errstate(all="ignore"):
        decoded = hand_over(settings, apart, numbers, dtypes)
        return data, [keeps(column, got) for column, got in zip(columns, decoded, strict=True)]


def _choose(columns: list[Column], effort: str) -> tuple[TableSettings, np.ndarray]:
    """Settings, and the numbers in the grids that were chosen."""
    n_rows, n = len(columns[0].given), len(columns)
    coded = np.column_stack([column.is_coded for column in columns])
    whole = np.column_stack([column.numbers(0) for column in columns])
    pace = _PACES[effort] if n * n_features_of(TableSettings.order, 0, 0) ** 2 <= MOST_STATE else QUICK
    settings = TableSettings(
        tuple(_settings_of(column, 0, whole[:, j], effort) for j, column in enumerate(columns)), pace=pace
    )
    if n_rows < _FEWEST_ROWS:
        return settings, whole
    if pace == QUICK:
        for j, column in enumerate(columns):
            if _list_is_short(column):
                whole[:, j] = column.numbers(1)
                chosen = _settings_of(column, 1, whole[:, j], effort)
                settings = replace(settings, columns=(*settings.columns[:j], chosen, *settings.columns[j + 1 :]))
        return _centred_by_size(columns, settings, whole), whole
    share, fewest, most = _TRIAL_CELLS[effort]
    n_tried = int(min(max(share * whole.size, fewest), most)) // n
    trial = TrialRows(coded, max(_FEWEST_TRIED[effort], n_tried), _CLOSE[effort], slow=_CONSTANT_IS_SLOW[effort])
    settings, costs = _try_centres(settings, _CENTRES[effort], whole, trial)
    for way in range(1, max(len(column.ways) for column in columns)):
        settings, costs, whole = _try_way(columns, way, settings, costs, whole, trial, effort)
    settings = _try_features(settings, whole, coded, trial, effort)
    if effort == "best":  # what a centre is worth depends on the predictions
        settings, _ = _try_centres(settings, (LAST, PREDICTED), whole, trial)
    return settings, whole


def _try_centres(
    settings: TableSettings, centres: tuple[int, ...], whole: np.ndarray, trial: TrialRows
) -> tuple[TableSettings, np.ndarray]:
    """For each column the shortest of its centre and these, and the bits of each; one centre for all columns where that
    is shorter, since columns also learn from each other.
    """
    costs = trial.costs(settings, whole)
    alike = [(settings, costs)]
    for centre in centres:
        tried = _centred(settings, centre, whole, trial)
        if trial.is_hopeless(settings, tried, whole, np.ones(whole.shape[1], bool)):
            continue
        alike.append((tried, trial.costs(tried, whole)))
        settings, costs = _better(settings, costs, *alike[-1], trial)
    if settings not in [one[0] for one in alike]:
        alike.append((settings, trial.costs(settings, whole)))
    sent = 256 * _CONSTANT_BITS * trial.share
    return min(alike, key=lambda one: _weighed(one[0], one[1], trial).sum() + sent * _n_constants(one[0]))


def _try_features(
    settings: TableSettings, whole: np.ndarray, coded: np.ndarray, trial: TrialRows, effort: str
) -> TableSettings:
    """Neighbours, a season, more second differences and long filters, where these pay."""
    n = whole.shape[1]
    costs: np.ndarray | None = None
    changes: list[dict[str, Any]] = [
        {"columns": one.columns, "n_neighbours": one.n_neighbours} for one in neighbourhoods(settings, whole, effort)
    ]
    changes += [{"season": season} for season in _seasons(whole, coded)]
    changes += [{"order": order} for order in _ORDERS[effort]]
    for change in changes:
        tried = replace(settings, **change)
        if n * n_features_of(tried.order, tried.season, tried.n_neighbours) ** 2 > MOST_STATE:
            continue
        if trial.is_hopeless(settings, tried, whole):
            continue
        costs = trial.costs(settings, whole) if costs is None else costs
        sent = 256 * 8 * sum(len(column.neighbours) for column in change.get("columns", ()))
        found = trial.costs(tried, whole)
        if found.sum() + sent * trial.share < (1 - _WORTH_THE_TIME[effort]) * costs.sum():
            settings, costs = tried, found
    noisy = [
        j
        for j, column in enumerate(settings.columns)
        if column.width or column.grid.kind == FLOAT or column.scale >= _NOISE_SCALE
    ]
    return _with_filter(settings, whole, coded, noisy, effort) if len(noisy) > n // 2 else settings


def _with_filter(
    settings: TableSettings, whole: np.ndarray, coded: np.ndarray, noisy: list[int], effort: str
) -> TableSettings:
    """A long filter for all columns, where it pays on a few of them."""
    few = np.array(noisy)[np.linspace(0, len(noisy) - 1, min(len(noisy), _NOISE_COLUMNS)).astype(int)]
    n, worth = whole.shape[1], _WORTH_THE_TIME[effort]
    alone = [replace(settings.columns[j], neighbours=()) for j in few]
    some = replace(settings, columns=tuple(alone), n_neighbours=0)
    trial = TrialRows(coded[:, few], _NOISE_ROWS[effort], late=1 / 2)
    costs, best = trial.costs(some, whole[:, few]), 0
    for taps in _TAPS[effort]:
        if n * 16 * taps <= MOST_STATE:
            found = trial.costs(replace(some, taps=taps), whole[:, few])
            if found.sum() < (1 - worth) * costs.sum():
                costs, best = found, taps
    return replace(settings, taps=best)


def _settings_of(column: Column, way: int, numbers: np.ndarray, effort: str) -> ColumnSettings:
    """Grid, low bits where changes are large, and the typical change."""
    grid = column.ways[way].grid
    inside = numbers[column.is_coded]
    if len(inside) == 0:
        return ColumnSettings(grid)
    second = np.abs(np.diff(inside.astype(np.float64), 2)) if len(inside) > 2 else np.zeros(1)
    noise = float(np.median(second)) / 1.5
    repeats = float(np.mean(np.diff(inside) == 0)) if len(inside) > 1 else 1.0
    wide = _WIDE_NOISE[effort] if repeats < _SELDOM else _WIDE
    width = int(np.floor(np.log2(max(noise / wide, 1.0)))) if grid.kind not in (FLOAT, VALUES) else 0
    few = _FEW_OF_RANKS[effort] if grid.kind == VALUES else _FEW_CHANGES
    recurs = len(np.unique(np.diff(inside))) < few * len(inside)
    width = 0 if recurs else min(width, MOST_WIDTH)
    reach = max(-int(inside.min()), int(inside.max()))
    while (reach >> width) >= LIMIT // 2:
        width += 1
    changes = np.abs(np.diff(inside.astype(np.float64))) / 2.0**width
    scale = code_of_scale(max(float(changes.mean()) if len(changes) else 0.0, 0.3))
    return ColumnSettings(grid, width, scale, recurs=recurs)


def _centred_by_size(columns: list[Column], settings: TableSettings, whole: np.ndarray) -> TableSettings:
    """For each column the centre with the smallest mean logarithm of differences: last value, line, commonest value."""
    chosen = []
    for j, column in enumerate(settings.columns):
        numbers = whole[columns[j].is_coded, j] >> column.width
        if len(numbers) > 2:
            values, counts = np.unique(numbers[:4096], return_counts=True)
            common = int(values[np.argmax(counts)])
            sizes = {
                LAST: np.diff(numbers[1:]),
                DRIFTING: np.diff(numbers, 2),
                CONSTANT: numbers[2:] - common,
            }
            centre = min(sizes, key=lambda way: float(np.log2(np.abs(sizes[way]) + 1.0).mean()))
            column = replace(column, centre=centre, constant=common if centre == CONSTANT else 0)
        chosen.append(column)
    return replace(settings, columns=tuple(chosen))


def _centred(settings: TableSettings, centre: int, whole: np.ndarray, trial: TrialRows) -> TableSettings:
    """All columns with this kind of centre; a drift is the median change, a constant the commonest number."""
    columns = []
    for j, column in enumerate(settings.columns):
        constant = 0
        numbers = whole[trial.rows, j][trial.coded[:, j]] >> column.width
        if centre == DRIFTING and len(numbers) > 1:
            constant = int(np.median(np.diff(numbers)))
        elif centre == CONSTANT and len(numbers):
            values, counts = np.unique(numbers, return_counts=True)
            constant = int(values[np.argmax(counts)])
        columns.append(replace(column, centre=centre, constant=constant))
    return replace(settings, columns=tuple(columns))


def _n_constants(settings: TableSettings) -> int:
    return sum(column.centre in (DRIFTING, CONSTANT) for column in settings.columns)


def _weighed(settings: TableSettings, costs: np.ndarray, trial: TrialRows) -> np.ndarray:
    """Bits of each column, more of them where its centre takes more time."""
    return costs * [1 + trial.slow * (column.centre == CONSTANT) for column in settings.columns]


def _better(
    settings: TableSettings, costs: np.ndarray, tried: TableSettings, tried_costs: np.ndarray, trial: TrialRows
) -> tuple[TableSettings, np.ndarray]:
    """For each column the settings that are shorter."""
    constants = [column.centre in (DRIFTING, CONSTANT) for column in tried.columns]
    sent = 256 * trial.share * np.where(constants, _CHANGE_BITS + _CONSTANT_BITS, _CHANGE_BITS)
    is_better = _weighed(tried, tried_costs, trial) + sent < (1 - trial.close) * costs
    columns = tuple(b if better else a for a, b, better in zip(settings.columns, tried.columns, is_better, strict=True))
    return replace(settings, columns=columns), np.where(is_better, tried_costs, costs)


def _try_way(
    columns: list[Column], way: int, settings: TableSettings, costs: np.ndarray, whole: np.ndarray, trial: TrialRows,
    effort: str,
) -> tuple[TableSettings, np.ndarray, np.ndarray]:  # fmt: skip
    """Another grid of each column that has one, such as a list of values, where it is shorter with what it takes."""
    has_way = np.array([len(column.ways) > way for column in columns])
    other = np.where(has_way, np.column_stack([column.numbers(way) for column in columns]), whole)
    plain = [
        _settings_of(column, way, other[:, j], effort) if has_way[j] else settings.columns[j]
        for j, column in enumerate(columns)
    ]
    best, best_costs = replace(settings, columns=tuple(plain)), None
    for centre in (LAST, PREDICTED) if effort == "default" else (PREDICTED, LAST, CONSTANT):
        tried = _centred(best, centre, other, trial)
        if best_costs is not None and trial.is_hopeless(best, tried, other, has_way):
            continue
        found = trial.costs(tried, other)
        if best_costs is None:
            best, best_costs = tried, found
        else:
            best, best_costs = _better(best, best_costs, tried, found, trial)
    assert best_costs is not None
    sent = np.array([_grid_bits(column, way, effort) for column in columns]) * 256 * trial.share
    use = has_way & (best_costs + sent < (1 - 4 * trial.close) * costs)
    chosen = tuple(b if u else a for a, b, u in zip(settings.columns, best.columns, use, strict=True))
    return replace(settings, columns=chosen), np.where(use, best_costs, costs), np.where(use, other, whole)


def _grid_bits(column: Column, way: int, effort: str) -> float:
    """About how many bits the list of values of a grid takes; none if it has none."""
    if len(column.ways) <= way or column.ways[way].grid.kind != VALUES:
        return 0.0
    return 8.0 * len(list_bytes(column.ways[way].grid)) if effort == "best" else _list_bits(column)


def _list_is_short(column: Column) -> bool:
    """Whether a list of values saves more than it takes, by a rough count."""
    if len(column.ways) < 2 or column.ways[1].grid.kind != VALUES:
        return False
    plain, ranks = column.ways[0].numbers, column.ways[1].grid.values
    span = int(plain.max()) - int(plain.min()) + 1
    return len(ranks) < len(plain) // 16 and _list_bits(column) < len(plain) * np.log2(span / len(ranks)) / 2


def _list_bits(column: Column) -> float:
    """About how many bits the list of values takes."""
    grid = column.ways[1].grid
    n = len(grid.values)
    if not grid.decimals:
        return n * 6.0 * grid.values.dtype.itemsize
    span = (float(grid.values[-1]) - float(grid.values[0])) * POWERS[grid.decimals - 1]
    return n * (1.5 + float(np.log2(max(span / n, 1.0))))


def _seasons(whole: np.ndarray, coded: np.ndarray) -> list[int]:
    """The number of rows after which numbers repeat best, where they do."""
    found: dict[int, float] = {}
    X, coded = whole[:_SEASON_ROWS].astype(np.float64), coded[:_SEASON_ROWS]
    spread = np.maximum(X.std(axis=0), 1e-300)
    for season in _SEASONS:
        if len(X) >= 4 * season:
            half = max(1, season // 2)
            both, halves = coded[season:] & coded[:-season], coded[half:] & coded[:-half]
            over = np.abs(X[season:] - X[:-season]) / spread
            across = np.abs(X[half:] - X[:-half]) / spread
            if both.any() and halves.any() and over[both].mean() < _LESS_IN_SEASON * across[halves].mean():
                found[season] = float(over[both].mean())
    return [min(found, key=lambda season: found[season])] if found else []


def _numbers(columns: list[Column], settings: TableSettings, whole: np.ndarray) -> Numbers:
    widths = widths_of(settings)
    low = as_integers(whole & ((np.int64(1) << widths) - 1)) if widths.any() else as_integers(np.zeros((0, 0)))
    bits = np.zeros((0, 0))
    if any(column.grid.kind == FLOAT for column in settings.columns):
        bits = np.zeros(whole.shape, np.int64)
        for j, column in enumerate(columns):
            if settings.columns[j].grid.kind == FLOAT:
                bits[:, j] = to_float_bits(np.where(column.is_coded, column.given, 0).astype(column.given.dtype))
    return Numbers(as_integers(whole >> widths), low, as_integers(bits))
