"""Which cells of a large table the heat maps show, and where its times are."""

from dataclasses import dataclass

import numpy as np

from hrpursuit.reports.readings import Readings

MOST_STEPS, MOST_SENSORS, MOST_CELLS = 2000, 512, 2_500_000
_N_TICKS = 8
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = (
    *(_MINUTE * n for n in (1, 2, 5, 10, 20, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 4, 7, 14, 28, 91, 182, 365, 730, 1825)),
)


@dataclass(frozen=True)
class Cells:
    """Rows and columns that are shown: every `every_row`-th and every `every_column`-th."""

    rows: np.ndarray
    columns: np.ndarray
    every_row: int
    every_column: int

    def of(self, values: np.ndarray) -> np.ndarray:
        return values[np.ix_(self.rows, self.columns)]


def choose_cells(n_rows: int, n_columns: int, n_pictures: int) -> Cells:
    """All cells of a small table; of a large one so many that the page stays light."""
    every_column = -(-n_columns // MOST_SENSORS)
    columns = np.arange(0, n_columns, every_column)
    n_steps = max(1, min(MOST_STEPS, MOST_CELLS // (len(columns) * max(1, n_pictures))))
    every_row = -(-n_rows // n_steps)
    return Cells(np.arange(0, n_rows, every_row), columns, every_row, every_column)


def ticks(readings: Readings, rows: np.ndarray) -> list[tuple[float, str]]:
    """Where to write which time under a picture of these rows: positions in it from 0 to its number of columns."""
    n = len(rows)
    if readings.times is None or n < 2:
        step = _round_step(readings.n_rows)
        wanted = np.arange(0, readings.n_rows, step)
        return [(float(np.searchsorted(rows, row)), readings.labels[row].removeprefix("row ")) for row in wanted]
    seconds = readings.times[rows].astype(np.int64)
    span = max(1, int(seconds[-1] - seconds[0]))
    step = next((step for step in _STEPS if span / step <= _N_TICKS), span)
    start = -(-seconds[0] // step) * step
    wanted = np.arange(start, seconds[-1] + 1, step)
    places = np.searchsorted(seconds, wanted)
    return [(float(place), _label(int(second), step)) for place, second in zip(places, wanted, strict=True)]


def _round_step(n: int) -> int:
    step = next(digit * 10**power for power in range(18) for digit in (1, 2, 5) if n / (digit * 10**power) <= _N_TICKS)
    return int(step)


def _label(second: int, step: int) -> str:
    time = np.datetime64(second, "s")
    if step < _DAY:
        text = np.datetime_as_string(time, unit="m")
        return text[5:10] if second % _DAY == 0 else text[11:16]
    text = np.datetime_as_string(time, unit="D")
    return text if step >= 28 * _DAY else text[5:]
