"""Rows on their way to chunks: where these are cut, and rows that wait in an encoder until there are enough of them,
in the types of the first ones.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from hrpursuit.compression.encoding.cuts import cut_places
from hrpursuit.compression.jobs import in_order
from hrpursuit.compression.tables.columns import Schema, Table
from hrpursuit.compression.tables.dtypes import NUMPY
from hrpursuit.compression.targets import Target

_MOST_PARTS = 64  # tables that wait; more are joined


def cut_at_grids(chunks: Iterable[Table], target: Target, n_jobs: int = 1) -> list[Table]:
    """Chunks without loss cut once more, where the grids of columns change; the others as they are."""
    if target.kind != "lossless":
        return list(chunks)

    def parts(chunk: Table) -> list[Table]:
        places = [0, *cut_places(chunk.columns), chunk.n_rows]
        return [chunk.rows(start, stop) for start, stop in pairwise(places)]

    return [part for cut in in_order(parts, chunks, n_jobs) for part in cut]


class Waiting:
    """Rows that wait, as the tables that they came in."""

    def __init__(self, parts: tuple[Table, ...] = ()) -> None:
        self._parts = parts
        self.n_rows = sum(part.n_rows for part in parts)

    def whole_chunks(self, chunk_rows: int) -> list[Table]:
        """All chunks that are full."""
        return list(self._chunks(chunk_rows, self.n_rows // chunk_rows * chunk_rows))

    def all_chunks(self, chunk_rows: int) -> list[Table]:
        """All rows; the last chunk may be short."""
        return list(self._chunks(chunk_rows, self.n_rows))

    def _chunks(self, chunk_rows: int, n_rows: int) -> Iterator[Table]:
        parts: list[Table] = []
        n_taken = n_parts = 0
        for part in self._parts:
            at = 0
            while n_taken < n_rows and at < part.n_rows:
                stop = min(at + chunk_rows - n_parts, part.n_rows)
                parts.append(part.rows(at, stop))
                n_parts, n_taken, at = n_parts + stop - at, n_taken + stop - at, stop
                if n_parts == chunk_rows or n_taken == n_rows:
                    yield joined(parts)
                    parts, n_parts = [], 0

    def with_rows(self, table: Table) -> "Waiting":
        """With these as well, which are not copied yet."""
        return Waiting((*self._parts, table)) if table.n_rows else self

    def without(self, n_rows: int) -> "Waiting":
        """Without the first rows. The last table is copied: the caller may use its arrays again."""
        left, parts = n_rows, list[Table]()
        for part in self._parts:
            if left < part.n_rows:
                parts.append(part.rows(left, part.n_rows) if left else part)
            left = max(0, left - part.n_rows)
        if parts:
            parts[-1] = _copy(parts[-1])
        return Waiting((joined(parts),) if len(parts) > _MOST_PARTS else tuple(parts))


def fitted(table: Table, schema: Schema, n_before: int) -> Table:
    """The table in the types of the first one, or ValueError."""
    here = table.schema
    if here.is_frame != schema.is_frame:
        names = ("an array", "a DataFrame")
        raise ValueError(
            f"the first rows were {names[schema.is_frame]}, these are {names[here.is_frame]}; stay with one."
        )
    if len(here.kinds) != len(schema.kinds):
        raise ValueError(f"the first rows had {len(schema.kinds)} columns, these have {len(here.kinds)}.")
    if here.names is not None and schema.names is not None and list(here.names.values) != list(schema.names.values):
        wrong = next((a, b) for a, b in zip(schema.names.values, here.names.values, strict=True) if a != b)
        raise ValueError(
            f"the columns differ from those of the first rows: {wrong[0]!r} was expected, {wrong[1]!r} came."
        )
    columns = []
    for place, (column, kind, first) in enumerate(zip(table.columns, here.kinds, schema.kinds, strict=True)):
        if kind != first and not _holds(first, kind, column):
            name = place if schema.names is None else schema.names.values[place]
            raise ValueError(
                f"column {name!r} was {first} in the first rows and is {kind} now; convert it: astype({first!r})."
            )
        if here.categories.get(place) != schema.categories.get(place):
            raise ValueError(
                f"column {schema.columns[place]!r} has other categories than in the first rows; give all of them from "
                "the beginning: cat.set_categories."
            )
        columns.append(column.astype(first) if kind != first else column)
    return Table(schema, columns, _fitted_labels(table, schema, n_before), table.n_rows)


def _holds(first: str, kind: str, column: np.ndarray) -> bool:
    """Whether the type of the first rows has all values of this column; whole numbers may become floats."""
    if kind not in NUMPY or first not in NUMPY or not np.can_cast(kind, first, "safe"):
        return False
    too_wide = first == "float64" and kind in ("int64", "uint64")
    return not too_wide or not ((column > 2**53).any() or (column < -(2**53)).any())


def _fitted_labels(table: Table, schema: Schema, n_before: int) -> Any:
    here, first = table.schema.labels, schema.labels
    if not first.joins(here):
        raise ValueError(
            f"the index of the first rows was {first.in_words()}, that of these is {here.in_words()}; convert it."
        )
    return table.labels + n_before if here.counts_from_zero and first.counts_from_zero else table.labels


def joined(parts: list[Table]) -> Table:
    """The rows of several tables in one."""
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True)]
    labels: Any = None
    if isinstance(parts[0].labels, list):
        labels = [label for part in parts for label in part.labels]
    elif parts[0].labels is not None:
        labels = np.concatenate([part.labels for part in parts])
    return Table(parts[0].schema, columns, labels, sum(part.n_rows for part in parts))


def _copy(table: Table) -> Table:
    """The caller may use its arrays again before these rows are encoded."""
    labels = table.labels if table.labels is None or isinstance(table.labels, list) else table.labels.copy()
    return Table(table.schema, [column.copy() for column in table.columns], labels, table.n_rows)
