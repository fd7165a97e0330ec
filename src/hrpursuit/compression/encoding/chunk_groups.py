"""Columns of a chunk that are coded together: encoded once, and measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hrpursuit.compression.chunks.apart import Apart, Numbers
from hrpursuit.compression.chunks.bases import Basis
from hrpursuit.compression.chunks.coding import encode_group
from hrpursuit.compression.chunks.handover import hand_over
from hrpursuit.compression.chunks.settings import GroupSettings
from hrpursuit.compression.encoding.apart import cells_apart
from hrpursuit.compression.encoding.columns import Column
from hrpursuit.compression.encoding.decimals import allowance


@dataclass(frozen=True)
class ChunkGroup:
    """Columns of a chunk that are coded together, in their basis; `places` are their numbers in the table."""

    columns: list[Column]
    basis: Basis
    places: Sequence[int] = ()

    @property
    def bound(self) -> float:
        """Largest error of a reading: 0 if nothing may be lost, infinite if single readings have no bound. It is the
        same for all columns, but for those that are all gaps here.
        """
        return min(column.bound for column in self.columns)

    @cached_property
    def apart(self) -> Apart:
        """Cells that are not coded."""
        return cells_apart(self.columns)

    @property
    def n_readings(self) -> int:
        return sum(int(column.is_coded.sum()) for column in self.columns)

    def first_rows(self, n_rows: int) -> "ChunkGroup":
        """The group cut to so many rows."""
        if len(self.columns[0].given) <= n_rows:
            return self
        return replace(self, columns=[column.first_rows(n_rows) for column in self.columns])

    def squares(self, unit: float) -> float:
        """Sum of squared readings, in this unit."""
        return sum(float(np.sum((column.values / unit) ** 2)) for column in self.columns)


@dataclass(frozen=True)
class Encoded:
    """A group as bytes, and what these decode to."""

    data: bytes
    decoded: list[np.ndarray]

    def squared_error(self, group: ChunkGroup, unit: float) -> float:
        return sum(
            float(np.sum((error_of(got, column) / unit) ** 2))
            for got, column in zip(self.decoded, group.columns, strict=True)
        )


def error_of(got: np.ndarray, column: Column) -> np.ndarray:
    """Errors of the readings that are coded; whole numbers of 64 bits are compared as such."""
    got, given = got[column.is_coded], column.given[column.is_coded]
    if given.dtype.kind in "iu" and given.dtype.itemsize == 8:
        return (np.maximum(got, given) - np.minimum(got, given)).astype(np.float64)
    got = got.astype(np.float64)
    if column.limits is not None:
        got = np.clip(np.rint(got), *column.limits)
    return got - given.astype(np.float64)


def encode(
    group: ChunkGroup, settings: GroupSettings, numbers: Numbers, price: float = 0.0, n_fills: int = 3
) -> Encoded:
    """Encode the numbers of a group; where rounding at the end makes it better, it is rounded."""
    data, got = encode_group(settings, group.basis, group.apart, numbers, price, n_fills)
    dtypes = [column.given.dtype for column in group.columns]
    tried = [settings]
    if not settings.rounded and settings.fraction > 0:
        tried.append(replace(settings, rounded=True))
    found = [Encoded(one.to_bytes() + data, hand_over(one, group.apart, got, dtypes)) for one in tried]
    if len(found) == 1:
        return found[0]
    unit = max((column.largest for column in group.columns), default=0.0) or 1.0
    return min(found, key=lambda encoded: encoded.squared_error(group, unit))


def is_within(encoded: Encoded, group: ChunkGroup, max_error: float) -> list[bool]:
    """For each column whether no reading is further off than that, but for the rounding of its type."""
    return [
        bool(np.all(np.abs(error_of(got, column)) <= max_error + allowance(column.given[column.is_coded], max_error)))
        for got, column in zip(encoded.decoded, group.columns, strict=True)
    ]


def is_same(encoded: Encoded, group: ChunkGroup) -> list[bool]:
    """For each column whether all readings came back bit for bit."""
    return [
        bool(np.array_equal(got[column.is_coded], column.given[column.is_coded]))
        for got, column in zip(encoded.decoded, group.columns, strict=True)
    ]
