"""A piece of the table, the columns of one group in one chunk, coded once and measured."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hrpursuit.compression.chunks.apart import Apart, Numbers
from hrpursuit.compression.chunks.bases import Basis
from hrpursuit.compression.chunks.coding import encode_group
from hrpursuit.compression.chunks.handover import hand_over
from hrpursuit.compression.chunks.settings import Settings
from hrpursuit.compression.encoding.decimals import Column, allowance
from hrpursuit.compression.encoding.table_columns import cells_apart


@dataclass(frozen=True)
class Piece:
    """Columns that are coded together, and the largest error of a reading: 0 if nothing may be lost, infinite if only
    the RMSE counts.
    """

    columns: list[Column]
    basis: Basis
    bound: float = 0.0

    @cached_property
    def apart(self) -> Apart:
        """Cells that are not coded."""
        return cells_apart(self.columns)

    @property
    def n_readings(self) -> int:
        return sum(int(column.seen.sum()) for column in self.columns)

    def first_rows(self, n_rows: int) -> "Piece":
        """The piece cut to so many rows."""
        if len(self.columns[0].seen) <= n_rows:
            return self
        return replace(self, columns=[column.first_rows(n_rows) for column in self.columns])

    def squares(self, unit: float) -> float:
        """Sum of squared readings, in this unit."""
        return sum(float(np.sum((column.values / unit) ** 2)) for column in self.columns)


@dataclass(frozen=True)
class Coded:
    """A piece as bytes, and what comes back."""

    data: bytes
    decoded: list[np.ndarray]

    def squared_error(self, piece: Piece, unit: float) -> float:
        return sum(
            float(np.sum((error_of(got, column) / unit) ** 2))
            for got, column in zip(self.decoded, piece.columns, strict=True)
        )


def error_of(got: np.ndarray, column: Column) -> np.ndarray:
    """Errors of the readings that are coded; whole numbers of 64 bits are compared as such."""
    got, given = got[column.seen], column.given[column.seen]
    if given.dtype.kind in "iu" and given.dtype.itemsize == 8:
        return (np.maximum(got, given) - np.minimum(got, given)).astype(np.float64)
    got = got.astype(np.float64)
    if column.limits is not None:
        got = np.clip(np.rint(got), *column.limits)
    return got - given.astype(np.float64)


def encode(piece: Piece, settings: Settings, numbers: Numbers, price: float = 0.0, n_fills: int = 3) -> Coded:
    """Code the numbers of a piece; where rounding at the end makes it better, it is rounded."""
    data, got = encode_group(settings, piece.basis, piece.apart, numbers, price, n_fills)
    dtypes = [column.given.dtype for column in piece.columns]
    ways = [settings]
    if not settings.rounded and settings.fraction > 0:
        ways.append(replace(settings, rounded=True))
    found = [Coded(way.to_bytes() + data, hand_over(way, piece.apart, got, dtypes)) for way in ways]
    if len(found) == 1:
        return found[0]
    unit = max((column.largest for column in piece.columns), default=0.0) or 1.0
    return min(found, key=lambda coded: coded.squared_error(piece, unit))


def is_within(coded: Coded, piece: Piece, max_error: float) -> list[bool]:
    """For each column whether no reading is further off than that, but for the rounding of its type."""
    return [
        bool(np.all(np.abs(error_of(got, column)) <= max_error + allowance(column.given[column.seen], max_error)))
        for got, column in zip(coded.decoded, piece.columns, strict=True)
    ]


def is_same(coded: Coded, piece: Piece) -> list[bool]:
    """For each column whether all readings came back bit for bit."""
    return [
        bool(np.array_equal(got[column.seen], column.given[column.seen]))
        for got, column in zip(coded.decoded, piece.columns, strict=True)
    ]
