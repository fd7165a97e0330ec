"""Columns for the coder of tables: the grids that they lie on, and whether they come back as they should."""

from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.grids import FLOAT, VALUES, Grid
from hrpursuit.compression.encoding.apart import sort_cells, with_repeated
from hrpursuit.compression.encoding.columns import Column, Way
from hrpursuit.compression.encoding.decimals import keeps_bound
from hrpursuit.compression.encoding.grids import find_grids
from hrpursuit.compression.kernels.table_state import LIMIT

_MOST_ODD = 50  # one value in so many may lie beside the grid


def on_grids(given: np.ndarray, bound: float) -> Column:
    """A column in the ways that the coder of tables can choose from: on each grid that was found. Values beside the
    first grid are odd.
    """
    with np.errstate(all="ignore"):  # floats of any size: what does not fit is seen by comparing
        column = sort_cells(given, bound)
        values = given[column.is_coded]
        if not len(values):
            return column.in_ways([Way(Grid(), np.zeros(0, np.int64), np.ones(0, bool))])
        ways = find_grids(values, bound, len(given) // _MOST_ODD)
        if bound == 0 and ways and ways[0].grid.kind in (VALUES, FLOAT):
            apart = with_repeated(column)
            if apart is not column:
                column, ways = apart, find_grids(given[apart.is_coded], bound, len(given) // _MOST_ODD)
        column = column.in_ways(ways)
        return replace(column, ways=[_from_first(way) for way in column.ways])


def _from_first(way: Way) -> Way:
    """Large numbers are counted from the first one."""
    if len(way.numbers) == 0 or way.grid.kind == FLOAT or int(np.abs(way.numbers).max()) < LIMIT // 4:
        return way
    first = int(way.numbers[0])
    grid = replace(way.grid, offset=way.grid.offset + way.grid.step * first)
    return replace(way, grid=grid, numbers=way.numbers - first)


def keeps(column: Column, got: np.ndarray) -> bool:
    """Whether a decoded column has no more than its largest error, and all other cells as they were."""
    given = column.given
    if column.bound == 0:
        same = got.view(f"u{got.dtype.itemsize}") == given.view(f"u{given.dtype.itemsize}")
        return bool(same.all())
    rest = ~column.is_coded
    if not np.array_equal(got[rest], given[rest], equal_nan=given.dtype.kind == "f"):
        return False
    got, given = got[column.is_coded], given[column.is_coded]
    if given.dtype.kind in "iu":
        return bool(np.all(np.maximum(got, given) - np.minimum(got, given) <= column.bound))
    return keeps_bound(given, got, column.bound)
