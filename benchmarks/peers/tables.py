"""A table as other codecs are given it: columns of numbers, the whole numbers behind their decimals, and the judge of
what comes back.

A bound on the error is judged on decimals: of readings k / 10^d with whole k, those are within the bound e whose whole
numbers differ by at most h = floor(e 10^d + 1e-9). So a bound equal to the step of the sensor allows one step.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

#: Decimals that are looked for: nine are a nanometre, and doubles have fifteen digits in all.
MOST_DECIMALS = 9
#: A regular index is a start and a step, one of time stamps that are not regular a start, a unit and whole numbers.
START_AND_STEP_BYTES = 16


class NotGivenBack(AssertionError):
    """A codec did not give back what it was given."""


@dataclass(frozen=True, eq=False)
class Column:
    """Readings of one column, in the type of the table."""

    values: np.ndarray
    bound: float = 0.0

    @cached_property
    def observed(self) -> np.ndarray:
        return ~np.isnan(self.values) if self.values.dtype.kind == "f" else np.ones(len(self.values), bool)

    @cached_property
    def bits(self) -> np.ndarray:
        """The readings bit by bit, as signed whole numbers of their width."""
        values = self.values.view(np.uint8) if self.values.dtype == bool else self.values
        return values.view(f"i{values.itemsize}").astype(np.int64)

    def from_bits(self, bits: np.ndarray) -> np.ndarray:
        whole = bits.astype(f"i{self.values.itemsize}")
        return whole.astype(bool) if self.values.dtype == bool else whole.view(self.values.dtype)

    @cached_property
    def _decimals(self) -> tuple[int, np.dtype] | None:
        """How many decimals the readings have, and the floats that hold these; None without decimals.

        Doubles that were float32 before they were printed have the decimals of the float32.
        """
        if self.values.dtype.kind != "f":
            return 0, self.values.dtype
        seen = self.values[self.observed]
        if not np.isfinite(seen).all():
            return None
        with np.errstate(over="ignore"):
            printed = seen.astype(np.float32)
        for floats in (seen, printed):
            error = np.abs(floats - seen).max(initial=0)
            if error <= 1e-13 * np.abs(seen).max(initial=0) and (found := decimals_of(floats)) is not None:
                return found, floats.dtype
        return None

    @property
    def decimals(self) -> int | None:
        return None if self._decimals is None else self._decimals[0]

    @cached_property
    def whole(self) -> np.ndarray | None:
        """Readings times 10^decimals, as whole numbers; zero in gaps. None without decimals."""
        if self.decimals is None:
            return None
        if self.values.dtype.kind != "f":
            return self.values.astype(np.int64)
        scaled = np.where(self.observed, self.values, 0).astype(np.float64) * 10.0**self.decimals
        return np.rint(scaled).astype(np.int64)

    @cached_property
    def whole_is_exact(self) -> bool:
        """Whether the whole numbers give back every bit."""
        if self.whole is None:
            return False
        return np.array_equal(Column(self.from_whole(self.whole)).bits[self.observed], self.bits[self.observed])

    @property
    def largest_step(self) -> int:
        """By how much a whole number may be off."""
        assert self.decimals is not None
        return int(np.floor(self.bound * 10.0**self.decimals + 1e-9))

    def from_whole(self, whole: np.ndarray) -> np.ndarray:
        assert self._decimals is not None
        decimals, held_by = self._decimals
        if self.values.dtype.kind == "f":
            return (whole / 10.0**decimals).astype(held_by).astype(self.values.dtype)
        if self.values.dtype == bool:
            return whole > 0
        most = np.iinfo(self.values.dtype)
        return whole.clip(most.min, most.max).astype(self.values.dtype)

    @property
    def bound_of_floats(self) -> float:
        """The bound on readings without decimals before what comes back is rounded to their type."""
        largest = np.abs(self.values[self.observed]).max(initial=0)
        return self.bound - float(np.spacing(largest))

    def judge(self, decoded: np.ndarray) -> None:
        """Raise unless the readings came back: every bit of them, or within the bound."""
        if decoded.dtype != self.values.dtype or decoded.shape != self.values.shape:
            raise NotGivenBack(f"{decoded.dtype}{decoded.shape} came back for {self.values.dtype}{self.values.shape}.")
        if self.bound == 0:
            wrong = self.bits != Column(decoded).bits
        else:
            error = np.abs(decoded.astype(np.float64) - self.values.astype(np.float64))
            wrong = np.where(self.observed, ~(error <= self.bound + self._rounding), ~np.isnan(decoded))
        if wrong.any():
            first = np.argmax(wrong)
            raise NotGivenBack(
                f"{wrong.sum()} of {len(wrong)} readings did not come back within {self.bound:g}, the first of them "
                f"in row {first}: {self.values[first]} as {decoded[first]}."
            )

    @property
    def _rounding(self) -> float:
        """What two readings with these decimals may be further apart as floats: two units in the last place of the
        largest. Readings without decimals have no such allowance.
        """
        if self.values.dtype.kind != "f" or self._decimals is None:
            return 0.0
        largest = np.abs(self.values[self.observed]).max(initial=0)
        return 2 * float(np.spacing(largest.astype(self._decimals[1])))


def decimals_of(values: np.ndarray) -> int | None:
    """The fewest decimals that give all the values back; None if there are none."""
    most = 2.0 ** np.finfo(values.dtype).nmant  # more digits than this give any number back
    for decimals in range(MOST_DECIMALS + 1):
        scaled = np.rint(values.astype(np.float64) * 10.0**decimals)
        if np.abs(scaled).max(initial=0) >= most:
            return None
        if np.array_equal((scaled / 10.0**decimals).astype(values.dtype), values):
            return decimals
    return None


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, the index as the first of them unless it is regular or only counts the rows."""

    columns: list[Column]
    index_bytes: int = 0
    name: str = ""

    @classmethod
    def of(cls, frame: pd.DataFrame, bound: float = 0.0, name: str = "") -> "Table":
        columns = [Column(np.ascontiguousarray(frame.iloc[:, j].to_numpy()), bound) for j in range(frame.shape[1])]
        if isinstance(frame.index, pd.RangeIndex):
            return cls(columns, 0, name)
        if not isinstance(frame.index, pd.DatetimeIndex):
            raise TypeError(f"the index must be of time stamps, or count the rows; got {type(frame.index).__name__}.")
        stamps = frame.index.asi8 - frame.index.asi8[0]
        stamps //= max(np.gcd.reduce(stamps), 1)
        if len(np.unique(np.diff(stamps))) > 1:
            columns = [Column(stamps), *columns]
        return cls(columns, START_AND_STEP_BYTES, name)

    @property
    def n_rows(self) -> int:
        return len(self.columns[0].values)

    @property
    def is_lossless(self) -> bool:
        return all(column.bound == 0 for column in self.columns)

    @cached_property
    def observed(self) -> np.ndarray:
        """Rows x columns."""
        return np.column_stack([column.observed for column in self.columns])

    @cached_property
    def live(self) -> list[Column]:
        """Columns with a reading at all: the others are known from the mask."""
        return [column for column in self.columns if column.observed.any()]

    @cached_property
    def has_gaps(self) -> bool:
        return not all(column.observed.all() for column in self.live)

    def judge(self, decoded: list[np.ndarray]) -> None:
        """Raise unless the live columns came back."""
        for column, values in zip(self.live, decoded, strict=True):
            column.judge(values)
