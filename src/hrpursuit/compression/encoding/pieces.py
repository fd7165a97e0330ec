"""A piece of the table, the columns of one group in one chunk, coded once and measured."""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.compression.chunks.bases import Basis
from hrpursuit.compression.chunks.coding import encode_group
from hrpursuit.compression.chunks.handover import hand_over
from hrpursuit.compression.encoding.decimals import Column, allowance
from hrpursuit.compression.encoding.drafts import Draft


@dataclass(frozen=True)
class Piece:
    """Columns that are coded together, and the largest error of a reading: 0 if nothing may be lost, infinite if only
    the RMSE counts.
    """

    columns: list[Column]
    basis: Basis
    bound: float = 0.0

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
class Trial:
    """A piece as bytes, and what comes back."""

    data: bytes
    decoded: list[np.ndarray]
    n_gap_bytes: int

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


def encode(draft: Draft, basis: Basis, price: float = 0.0, n_fills: int = 3) -> Trial:
    """Code a draft; where rounding at the end makes it better, it is rounded."""
    readings = replace(draft.readings, seen=draft.readings.seen.copy(), low=draft.readings.low.copy())
    coded = encode_group(draft.settings, basis, readings, price, n_fills)
    dtypes = [column.given.dtype for column in draft.columns]
    trials = []
    settings = [draft.settings]
    if not draft.settings.rounded and draft.settings.fraction > 0:
        settings.append(replace(draft.settings, rounded=True))
    for setting in settings:
        trials.append(
            Trial(setting.to_bytes() + coded.data, hand_over(setting, coded.readings, dtypes), coded.n_gap_bytes)
        )
    if len(trials) == 1:
        return trials[0]
    piece = Piece(draft.columns, basis)
    unit = max((column.largest for column in draft.columns), default=0.0) or 1.0
    return min(trials, key=lambda trial: trial.squared_error(piece, unit))


def is_within(trial: Trial, piece: Piece, max_error: float) -> list[bool]:
    """For each column whether no reading is further off than that, but for the rounding of its type."""
    return [
        bool(np.all(np.abs(error_of(got, column)) <= max_error + allowance(column.given[column.seen], max_error)))
        for got, column in zip(trial.decoded, piece.columns, strict=True)
    ]


def is_same(trial: Trial, piece: Piece) -> list[bool]:
    """For each column whether all readings came back bit for bit."""
    return [
        bool(np.array_equal(got[column.seen], column.given[column.seen]))
        for got, column in zip(trial.decoded, piece.columns, strict=True)
    ]
