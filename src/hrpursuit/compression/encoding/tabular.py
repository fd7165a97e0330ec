"""Columns for the coder of tables: the grid of each, what its centre is, and which others it is predicted from.

All choices are made column by column, on a part of the rows: every way is tried on all columns at once, and each keeps
what is shortest for it.
"""

from dataclasses import replace

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
    run_numbers,
)
from hrpursuit.compression.encoding.table_columns import TableColumn, cells_apart, keeps
from hrpursuit.compression.kernels.bits import new_coder
from hrpursuit.compression.kernels.compiled import as_integers
from hrpursuit.compression.kernels.table_state import CONSTANT, DRIFTING, LAST, LIMIT, PREDICTED, n_features_of

_FEWEST_ROWS = 8  # for choices to be tried
_SEASONS = (24, 7, 12, 48, 96, 144, 288, 1440)
_LESS_IN_SEASON = 0.7  # mean change over a season, relative to that over its half, that calls for a trial
#: Noise of more numbers than this is cut to its leading bits; less of it where values seldom repeat, since the low bits
#: of a value that does would be known.
_WIDE, _WIDE_NOISE = 2048, {"fast": 8, "default": 8, "best": 24}
_SELDOM = 0.01  # share of values like the one before
#: Cells that choices are tried on, and numbers of neighbours and of second differences that are tried.
_TRIAL_CELLS = {"fast": 0, "default": 1 << 14, "best": 1 << 16}
_NEIGHBOURS = {"default": (4,), "best": (3, 8)}
_ORDERS = {"default": (), "best": (8, 32)}
_CENTRES = {"default": (LAST, CONSTANT), "best": (LAST, DRIFTING, CONSTANT)}
_PACES = {"fast": QUICK, "default": HASTY, "best": THOROUGH}
#: Share of the size that more features must save, to be worth the time of the decoder.
_WORTH_THE_TIME = {"default": 0.003, "best": 0.001}
_NOISE_CELLS = 1 << 18  # that long filters are tried on where there is much noise: they take long to learn
_CHANGE_BITS = 16  # that a column with settings of its own has to save
_MOST_COMPARED = 2048  # columns whose changes are correlated with each other


def encode_columns(columns: list[TableColumn], effort: str) -> tuple[bytes, list[bool]]:
    """The part of a chunk with these columns, each of which has a way; and for each whether it is as its bound asks."""
    dtypes = [column.given.dtype for column in columns]
    settings, whole = _choose(columns, effort)
    apart = cells_apart(columns)
    numbers = _numbers(columns, settings, whole)
    data = encode_table(settings, apart, numbers, dtypes)
    with np.errstate(all="ignore"):
        decoded = hand_over(settings, apart, numbers, dtypes)
        return data, [keeps(column, got) for column, got in zip(columns, decoded, strict=True)]


def _choose(columns: list[TableColumn], effort: str) -> tuple[TableSettings, np.ndarray]:
    """Settings, and the numbers in the grids that were chosen."""
    n_rows, n = len(columns[0].given), len(columns)
    coded = np.column_stack([column.coded for column in columns])
    whole = np.column_stack([column.numbers(0) for column in columns])
    settings = TableSettings(
        tuple(_settings_of(column, 0, whole[:, j], effort) for j, column in enumerate(columns)), pace=_PACES[effort]
    )
    if n_rows < _FEWEST_ROWS:
        return settings, whole
    trial = _Trial(coded, n_rows, _TRIAL_CELLS[effort])
    if settings.pace == QUICK:
        for j, column in enumerate(columns):
            if _list_is_short(column):
                whole[:, j] = column.numbers(1)
                chosen = _settings_of(column, 1, whole[:, j], effort)
                settings = replace(settings, columns=(*settings.columns[:j], chosen, *settings.columns[j + 1 :]))
        return _centred_by_size(columns, settings, whole), whole
    worth = _WORTH_THE_TIME[effort]
    costs = trial.costs(settings, whole)
    for centre in _CENTRES[effort]:
        tried = _centred(settings, centre, whole, trial)
        settings, costs = _better(settings, costs, tried, trial.costs(tried, whole))
    has_lists = [len(column.ways) > 1 for column in columns]
    if any(has_lists):
        settings, costs, whole = _try_lists(columns, settings, costs, whole, trial, n_rows, effort)
    most = _most_neighbours(n, settings)
    for n_neighbours in _NEIGHBOURS[effort]:
        if n > 1 and most > 0:
            tried = _with_neighbours(settings, whole, coded, min(n_neighbours, most))
            sent = sum(len(column.neighbours) for column in tried.columns) * 256 * 8 * trial.n_rows / n_rows
            settings, costs = _shorter(settings, costs, tried, trial.costs(tried, whole), worth, sent)
    for season in _seasons(whole, coded):
        tried = replace(settings, season=season)
        if n * n_features_of(tried.order, season, tried.n_neighbours) ** 2 <= MOST_STATE:
            settings, costs = _shorter(settings, costs, tried, trial.costs(tried, whole), worth)
    if any(column.width or column.grid.kind == FLOAT for column in settings.columns):
        trial = _Trial(coded, n_rows, _NOISE_CELLS)
    late = trial.n_rows // 2  # long filters take long to learn
    if _ORDERS[effort]:
        costs = trial.costs(settings, whole, late)
    for order in _ORDERS[effort]:
        tried = replace(settings, order=order)
        if n * n_features_of(order, tried.season, tried.n_neighbours) ** 2 <= MOST_STATE:
            settings, costs = _shorter(settings, costs, tried, trial.costs(tried, whole, late), worth)
    return settings, whole


def _settings_of(column: TableColumn, way: int, numbers: np.ndarray, effort: str) -> ColumnSettings:
    """Grid, low bits where changes are large, and the typical change."""
    grid = column.ways[way].grid
    inside = numbers[column.coded]
    if len(inside) == 0:
        return ColumnSettings(grid)
    second = np.abs(np.diff(inside.astype(np.float64), 2)) if len(inside) > 2 else np.zeros(1)
    noise = float(np.median(second)) / 1.5
    repeats = float(np.mean(np.diff(inside) == 0)) if len(inside) > 1 else 1.0
    wide = _WIDE_NOISE[effort] if repeats < _SELDOM else _WIDE
    width = int(np.floor(np.log2(max(noise / wide, 1.0)))) if grid.kind not in (FLOAT, VALUES) else 0
    width = min(width, MOST_WIDTH)
    reach = max(-int(inside.min()), int(inside.max()))
    while (reach >> width) >= LIMIT // 2:
        width += 1
    changes = np.abs(np.diff(inside.astype(np.float64))) / 2.0**width
    scale = code_of_scale(max(float(changes.mean()) if len(changes) else 0.0, 0.3))
    return ColumnSettings(grid, width, scale)


class _Trial:
    """Some of the rows, to count bits on."""

    def __init__(self, coded: np.ndarray, n_rows: int, most_cells: int) -> None:
        self.n_rows = min(n_rows, max(256, most_cells // max(1, coded.shape[1])))
        start = (n_rows - self.n_rows) // 3
        self.rows = slice(start, start + self.n_rows)
        self.coded = coded[self.rows]

    def costs(self, settings: TableSettings, whole: np.ndarray, count_from: int = 0) -> np.ndarray:
        """Bits of each column in 1/256, from a row on."""
        numbers = whole[self.rows] >> _widths(settings)
        nothing = np.zeros(1, np.uint8)
        return run_numbers(
            new_coder(), nothing, False, settings, as_integers(numbers), as_integers(self.coded), count_from
        )


def _widths(settings: TableSettings) -> np.ndarray:
    return np.array([column.width for column in settings.columns], dtype=np.int64)


def _centred_by_size(columns: list[TableColumn], settings: TableSettings, whole: np.ndarray) -> TableSettings:
    """For each column the centre with the smallest mean logarithm of differences: last value, line, commonest value."""
    chosen = []
    for j, column in enumerate(settings.columns):
        numbers = whole[columns[j].coded, j] >> column.width
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


def _centred(settings: TableSettings, centre: int, whole: np.ndarray, trial: _Trial) -> TableSettings:
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


def _better(
    settings: TableSettings, costs: np.ndarray, tried: TableSettings, tried_costs: np.ndarray
) -> tuple[TableSettings, np.ndarray]:
    """For each column the settings that are shorter."""
    is_better = tried_costs + _CHANGE_BITS * 256 < costs
    columns = tuple(b if better else a for a, b, better in zip(settings.columns, tried.columns, is_better, strict=True))
    return replace(settings, columns=columns), np.where(is_better, tried_costs, costs)


def _shorter(
    settings: TableSettings,
    costs: np.ndarray,
    tried: TableSettings,
    tried_costs: np.ndarray,
    worth: float,
    sent: float = 0.0,
) -> tuple[TableSettings, np.ndarray]:
    """The settings that are shorter for the whole table, where these need `sent` more."""
    is_shorter = tried_costs.sum() + sent < (1 - worth) * costs.sum()
    return (tried, tried_costs) if is_shorter else (settings, costs)


def _try_lists(
    columns: list[TableColumn], settings: TableSettings, costs: np.ndarray, whole: np.ndarray, trial: _Trial,
    n_rows: int, effort: str,
) -> tuple[TableSettings, np.ndarray, np.ndarray]:  # fmt: skip
    """Lists of values with ranks, where these are shorter with the list."""
    by_rank = np.column_stack([column.numbers(1) for column in columns])
    plain = [
        _settings_of(column, len(column.ways) - 1, by_rank[:, j], effort)
        if len(column.ways) > 1
        else settings.columns[j]
        for j, column in enumerate(columns)
    ]
    best, best_costs = replace(settings, columns=tuple(plain)), None
    for centre in (PREDICTED, LAST, CONSTANT):
        tried = _centred(best, centre, by_rank, trial)
        found = trial.costs(tried, by_rank)
        best, best_costs = (tried, found) if best_costs is None else _better(best, best_costs, tried, found)
    assert best_costs is not None
    bits = [
        8 * len(list_bytes(column.ways[1].grid)) if effort == "best" and len(column.ways) > 1 else _list_bits(column)
        for column in columns
    ]
    lists = np.array(bits) * 256 * trial.n_rows / n_rows
    use = np.array([len(column.ways) > 1 for column in columns]) & (best_costs + lists < costs)
    chosen = tuple(b if u else a for a, b, u in zip(settings.columns, best.columns, use, strict=True))
    return replace(settings, columns=chosen), np.where(use, best_costs, costs), np.where(use, by_rank, whole)


def _list_is_short(column: TableColumn) -> bool:
    """Whether a list of values saves more than it takes, by a rough count."""
    if len(column.ways) < 2:
        return False
    plain, ranks = column.ways[0].numbers, column.ways[1].grid.values
    span = int(plain.max()) - int(plain.min()) + 1
    return len(ranks) < len(plain) // 16 and _list_bits(column) < len(plain) * np.log2(span / len(ranks)) / 2


def _list_bits(column: TableColumn) -> float:
    """About how many bits the list of values takes."""
    if len(column.ways) < 2:
        return 0.0
    grid = column.ways[1].grid
    n = len(grid.values)
    if not grid.decimals:
        return n * 6.0 * grid.values.dtype.itemsize
    span = (float(grid.values[-1]) - float(grid.values[0])) * POWERS[grid.decimals - 1]
    return n * (1.5 + float(np.log2(max(span / n, 1.0))))


def _most_neighbours(n: int, settings: TableSettings) -> int:
    """As many as leave room for all sums."""
    most = 0
    while most < 8 and n * n_features_of(settings.order, settings.season, most + 1) ** 2 <= MOST_STATE:
        most += 1
    return most


def _with_neighbours(settings: TableSettings, whole: np.ndarray, coded: np.ndarray, most: int) -> TableSettings:
    """For each column the earlier ones whose changes are most like its own."""
    n = whole.shape[1]
    changes = np.diff(whole[:4000].astype(np.float64), axis=0)
    spread = np.abs(changes).mean(axis=0)
    changes = np.clip(changes, -20 * spread, 20 * spread)
    norms = np.linalg.norm(changes, axis=0)
    changes /= np.where(norms > 0, norms, 1.0)
    columns = []
    for k, column in enumerate(settings.columns):
        first = max(0, k - _MOST_COMPARED)
        alike = np.abs(changes[:, k] @ changes[:, first:k]) if k else np.zeros(0)
        order = first + np.argsort(-alike, kind="stable")[:most]
        near = tuple(int(q) for q in order if alike[q - first] > 0.02)
        columns.append(replace(column, neighbours=near))
    return replace(settings, columns=tuple(columns), n_neighbours=most if n > 1 else 0)


def _seasons(whole: np.ndarray, coded: np.ndarray) -> list[int]:
    """The number of rows after which numbers repeat best, where they do."""
    found: dict[int, float] = {}
    X = whole.astype(np.float64)
    spread = np.maximum(X.std(axis=0), 1e-300)
    for season in _SEASONS:
        if len(X) >= 4 * season:
            both = coded[season:] & coded[:-season]
            half = max(1, season // 2)
            over = np.abs(X[season:] - X[:-season]) / spread
            across = np.abs(X[half:] - X[:-half]) / spread
            if both.any() and over[both].mean() < _LESS_IN_SEASON * across[coded[half:] & coded[:-half]].mean():
                found[season] = float(over[both].mean())
    return [min(found, key=lambda season: found[season])] if found else []


def _numbers(columns: list[TableColumn], settings: TableSettings, whole: np.ndarray) -> Numbers:
    widths = _widths(settings)
    low = as_integers(whole & ((np.int64(1) << widths) - 1)) if widths.any() else as_integers(np.zeros((0, 0)))
    bits = np.zeros((0, 0))
    if any(column.grid.kind == FLOAT for column in settings.columns):
        bits = np.zeros(whole.shape, np.int64)
        for j, column in enumerate(columns):
            if settings.columns[j].grid.kind == FLOAT:
                bits[:, j] = to_float_bits(np.where(column.coded, column.given, 0).astype(column.given.dtype))
    return Numbers(as_integers(whole >> widths), low, as_integers(bits))
