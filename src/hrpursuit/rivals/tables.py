"""What rival codecs are given: a table without its gaps, in several arrangements, and the price of the gaps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hrpursuit.rivals.packers import mask_bytes

#: Columns that an order by likeness starts from: each takes time with the square of the columns.
MOST_STARTS = 64
#: Shape, step or bound, and which arrangement was chosen: what a reader needs besides gaps and readings.
HEADER_BYTES = 12


@dataclass(frozen=True)
class Stored:
    """What a table takes and what comes back.

    Attributes
    ----------
    n_bytes : int
        Size, gaps and header included.
    table : array
        The decoded table; NaN is a gap.
    how : str
        The settings that won.
    """

    n_bytes: int
    table: np.ndarray
    how: str


def unit_of(values: np.ndarray) -> float | None:
    """1, 0.1 … 0.0001 if all values are whole multiples of it, otherwise None."""
    for decimals in range(5):
        if np.array_equal(np.round(values, decimals), values):
            return 10.0**-decimals
    return None


def hold(table: np.ndarray) -> np.ndarray:
    """Each gap the last reading before it, at the start the first after it: no change over time."""
    observed = ~np.isnan(table)
    row = np.where(observed, np.arange(len(table))[:, None], -1)
    last = np.maximum.accumulate(row, axis=0)
    last = np.where(last < 0, np.argmax(observed, axis=0), last)
    return np.take_along_axis(table, last, axis=0)


def interpolate(table: np.ndarray) -> np.ndarray:
    """Each gap on the line between its neighbours in time."""
    filled, hours = table.copy(), np.arange(len(table))
    for column in filled.T:
        seen = ~np.isnan(column)
        column[:] = np.interp(hours, hours[seen], column[seen])
    return filled


def row_mean(table: np.ndarray) -> np.ndarray:
    """Each gap the mean of its row; rows without any reading the row before."""
    seen = (~np.isnan(table)).sum(axis=1)
    means = np.where(seen > 0, np.nansum(table, axis=1) / np.maximum(seen, 1), np.nan)
    return np.where(np.isnan(table), hold(means[:, None]), table)


def likeness_order(filled: np.ndarray) -> np.ndarray:
    """An order of the columns in which neighbours are alike: greedy, from the best of up to `MOST_STARTS` starts."""
    centred = filled - filled.mean(axis=1, keepdims=True)
    gram = centred.T @ centred
    distance = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    np.fill_diagonal(distance, np.inf)
    best, shortest = np.arange(len(distance)), np.inf
    for start in range(0, len(distance), -(-len(distance) // MOST_STARTS)):
        left, order, length = distance.copy(), [start], 0.0
        for _ in range(len(distance) - 1):
            left[:, order[-1]] = np.inf
            order.append(int(np.argmin(left[order[-1]])))
            length += distance[order[-2], order[-1]]
        if length < shortest:
            best, shortest = np.array(order), length
    return best


@dataclass(frozen=True)
class Arrangement:
    """One way to hand over a table without gaps."""

    name: str
    filled: np.ndarray  # rows x columns, columns in the order of the arrangement
    order: np.ndarray
    extra_bytes: int  # for the order, if it is not the table's

    def back(self, decoded: np.ndarray) -> np.ndarray:
        """Columns in the order of the table again."""
        out = np.empty_like(decoded)
        out[:, self.order] = decoded
        return out


@dataclass(frozen=True)
class Grid:
    """What a codec of fields is given, and the way back: by rows or by columns, in two dimensions or in one."""

    arrangement: Arrangement
    by_columns: bool
    one_line: bool

    @property
    def name(self) -> str:
        parts = [
            "by columns" if self.by_columns else "by rows",
            "one line" if self.one_line else "",
            self.arrangement.name,
        ]
        return ", ".join(filter(None, parts))

    @property
    def extra_bytes(self) -> int:
        return self.arrangement.extra_bytes

    @property
    def _turned(self) -> np.ndarray:
        return self.arrangement.filled.T if self.by_columns else self.arrangement.filled

    @property
    def numbers(self) -> np.ndarray:
        return self._turned.ravel() if self.one_line else self._turned

    def back(self, decoded: np.ndarray) -> np.ndarray:
        decoded = decoded.reshape(self._turned.shape)
        return self.arrangement.back(decoded.T if self.by_columns else decoded)


class Job:
    """A table and the error that it may have: exactly one of `rmse`, `max_error` and `lossless`."""

    def __init__(
        self, table: np.ndarray, rmse: float | None = None, max_error: float | None = None, lossless: bool = False
    ):
        if (rmse is not None) + (max_error is not None) + bool(lossless) != 1:
            raise ValueError(
                f"exactly one of rmse, max_error and lossless must be given; got {rmse=}, {max_error=}, {lossless=}."
            )
        self.table = np.asarray(table, dtype=np.float64)
        if self.table.ndim != 2:
            raise ValueError(f"table must have two dimensions; got shape {self.table.shape}.")
        self.rmse, self.bound = rmse, (0.0 if lossless else max_error)
        self.observed = ~np.isnan(self.table)
        self.live = self.observed.any(axis=0)
        if not self.live.any():
            raise ValueError("no entry is observed; there is nothing to compare with.")
        values = self.table[self.observed]
        self.root_mean_square = float(np.sqrt(np.mean(values**2)))
        self.unit = unit_of(values)

    @cached_property
    def overhead(self) -> int:
        """Bytes of header and gaps, the columns without any reading as a bit each."""
        gaps = mask_bytes(self.observed[:, self.live]) if not self.observed[:, self.live].all() else 0
        return HEADER_BYTES + gaps + (0 if self.live.all() else (self.table.shape[1] + 7) // 8)

    @cached_property
    def arrangements(self) -> list[Arrangement]:
        """Three fills of the gaps if there are any, columns as they are or by likeness."""
        table = self.table[:, self.live]
        given, by_likeness = np.arange(table.shape[1]), likeness_order(row_mean(table))
        fills = [("gaps held", hold), ("gaps interpolated", interpolate), ("gaps as the row", row_mean)]
        found = []
        for name, fill in fills if np.isnan(table).any() else [("no gaps", np.copy)]:
            filled = fill(table)
            found.append(Arrangement(name, filled, given, 0))
            if table.shape[1] > 2:
                found.append(Arrangement(f"{name}, by likeness", filled[:, by_likeness], by_likeness, len(given)))
        return found

    @cached_property
    def grids(self) -> list[Grid]:
        return [
            Grid(arrangement, by_columns, one_line)
            for arrangement in self.arrangements
            for by_columns in (False, True)
            for one_line in (False, True)
            if not (one_line and arrangement.extra_bytes)  # order matters little there
        ]

    def restored(self, decoded: np.ndarray) -> np.ndarray:
        """The whole table, gaps and empty columns in place."""
        whole = np.full(self.table.shape, np.nan)
        whole[:, self.live] = decoded
        whole[~self.observed] = np.nan
        return whole

    def rounded(self, values: np.ndarray) -> np.ndarray:
        """Values with the decimals that the readings have."""
        assert self.unit is not None
        return np.round(values, round(-np.log10(self.unit)))

    def met(self, decoded: np.ndarray) -> bool:
        """Whether the live columns, as decoded, are within the target."""
        error = (decoded - self.table[:, self.live])[self.observed[:, self.live]]
        if self.rmse is not None:
            return bool(np.sqrt(np.mean(error**2)) <= self.rmse * self.root_mean_square)
        assert self.bound is not None
        return bool(np.abs(error).max() <= self.bound * (1 + 1e-12))

    def stored(self, payload: int, decoded: np.ndarray, how: str) -> Stored:
        return Stored(self.overhead + payload, self.restored(decoded), how)


def smallest(found: Iterable[Stored | None]) -> Stored | None:
    return min((stored for stored in found if stored is not None), key=lambda stored: stored.n_bytes, default=None)


def search(attempt: Callable[[float], Stored | None], low: float, high: float, n_tries: int = 10) -> Stored | None:
    """The smallest of what `attempt` gives on the way to the largest setting that it still accepts, and a little
    beyond, since errors do not always grow with the setting.
    """
    found = []
    for _ in range(n_tries):
        middle = float(np.sqrt(low * high))
        stored = attempt(middle)
        found.append(stored)
        low, high = (low, middle) if stored is None else (middle, high)
    return smallest([*found, *(attempt(float(high * factor)) for factor in np.linspace(1.01, 1.12, 8))])
