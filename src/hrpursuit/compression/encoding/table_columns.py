"""Columns on their way to the coder of tables: their cells taken apart, and the grids that they lie on."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from hrpursuit.compression.chunks.apart import Apart
from hrpursuit.compression.chunks.grids import FLOAT, Grid
from hrpursuit.compression.encoding.apart import ApartCells, take_cells_apart
from hrpursuit.compression.encoding.decimals import keeps_bound
from hrpursuit.compression.encoding.grids import Found, find_grids
from hrpursuit.compression.kernels.compiled import as_integers
from hrpursuit.compression.kernels.table_state import LIMIT

_MOST_ODD = 50  # one value in so many may lie beside the grid


@dataclass
class TableColumn:
    """A column on its way to the coder.

    Attributes
    ----------
    given : array
    bound : float
        Largest error; 0 for none.
    coded : array of bool
        Cells with a number; the others are gaps, exceptions or sentinels.
    cells : ApartCells
        What the others are.
    ways : list of Found
        Grids with the numbers of the coded cells.
    """

    given: np.ndarray
    bound: float
    coded: np.ndarray
    cells: ApartCells
    ways: list[Found] = field(default_factory=list)

    @classmethod
    def of(cls, given: np.ndarray, bound: float) -> "TableColumn":
        with np.errstate(all="ignore"):  # floats of any size: what does not fit is seen by comparing
            return cls._of(given, bound)

    @classmethod
    def _of(cls, given: np.ndarray, bound: float) -> "TableColumn":
        cells = take_cells_apart(given, bound)
        coded = cells.is_coded
        column = cls(given, bound, coded, cells)
        values = given[coded]
        if len(values):
            column.ways = find_grids(values, bound, len(given) // _MOST_ODD)
            if column.ways:
                column._set_odd(column.ways[0].fits)
                column.ways = [_from_first(way) for way in column.ways]
        else:
            column.ways = [Found(Grid(), np.zeros(0, np.int64), np.ones(0, bool))]
        return column

    def _set_odd(self, fits: np.ndarray) -> None:
        """Values beside the grid are exceptions; lists of values are then tried no more."""
        if fits.all():
            return
        places = np.flatnonzero(self.coded)[~fits]
        self.cells.is_odd[places] = True
        self.coded[places] = False
        first = self.ways[0]
        self.ways = [replace(first, numbers=first.numbers[fits], fits=fits[fits])]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but gaps of the usual kind."""
        return is_empty(self.given, self.bound)

    def numbers(self, way: int) -> np.ndarray:
        """Numbers in all rows; below a gap the last one stands."""
        found = self.ways[min(way, len(self.ways) - 1)].numbers
        if len(found) == 0:
            return np.zeros(len(self.given), np.int64)
        return found[np.maximum(np.cumsum(self.coded) - 1, 0)]


def _from_first(way: Found) -> Found:
    """Large numbers are counted from the first one."""
    if len(way.numbers) == 0 or way.grid.kind == FLOAT or int(np.abs(way.numbers).max()) < LIMIT // 4:
        return way
    first = int(way.numbers[0])
    grid = replace(way.grid, offset=way.grid.offset + way.grid.step * first)
    return replace(way, grid=grid, numbers=way.numbers - first)


def keeps(column: TableColumn, got: np.ndarray) -> bool:
    given = column.given
    if column.bound == 0:
        same = got.view(f"u{got.dtype.itemsize}") == given.view(f"u{given.dtype.itemsize}")
        return bool(same.all())
    rest = ~column.coded
    if not np.array_equal(got[rest], given[rest], equal_nan=given.dtype.kind == "f"):
        return False
    got, given = got[column.coded], given[column.coded]
    if given.dtype.kind in "iu":
        return bool(np.all(np.maximum(got, given) - np.minimum(got, given) <= column.bound))
    return keeps_bound(given, got, column.bound)


def is_empty(given: np.ndarray, bound: float) -> bool:
    """Whether a column has nothing but gaps, without loss (bound 0) of the usual bits."""
    if given.dtype.kind != "f" or not np.isnan(given).all():
        return False
    bits = f"u{given.itemsize}"
    return bound > 0 or bool((given.view(bits) == np.array(np.nan, given.dtype).view(bits)).all())


class HasCells(Protocol):
    """A column taken apart: as it came, the largest error (0 for none) and what is not coded."""

    @property
    def given(self) -> np.ndarray: ...
    @property
    def bound(self) -> float: ...
    @property
    def cells(self) -> ApartCells: ...


def cells_apart(columns: Sequence[HasCells]) -> Apart:
    """What is not coded of these columns together."""
    n = len(columns)
    seen = np.column_stack([~column.cells.is_gap for column in columns])
    odd = [column.cells.is_odd for column in columns]
    nan_bits = {}
    for size in (2, 4, 8):
        floats = [(j, column) for j, column in enumerate(columns) if column.given.dtype == np.dtype(f"f{size}")]
        patterns = [column.given.view(f"u{size}")[column.cells.is_gap] for _, column in floats if column.bound == 0]
        if any(len(pattern) for pattern in patterns):
            values, counts = np.unique(np.concatenate(patterns), return_counts=True)
            common = values[np.argmax(counts)]
            if common != np.array(np.nan, f"f{size}").view(f"u{size}"):
                nan_bits[size] = int(common)
            for j, column in floats:
                if column.bound == 0 and len(values) > 1:
                    odd[j] = odd[j] | (column.cells.is_gap & (column.given.view(f"u{size}") != common))
    cells = np.concatenate([np.flatnonzero(places) * n + j for j, places in enumerate(odd)])
    cells.sort()
    values = [_bits(columns[cell % n].given[cell // n]) for cell in cells.tolist()]
    sentinels = [
        (j, _bits(column.given[np.argmax(places)]), as_integers(places))
        for j, column in enumerate(columns)
        for places in column.cells.sentinels
    ]
    return Apart(as_integers(seen), nan_bits, cells, values, sentinels)


def _bits(value: np.generic) -> bytes:
    return value.astype(value.dtype.newbyteorder("<")).tobytes()
