"""A column of a chunk: which of its cells are coded as whole numbers, and which stand apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hrpursuit.compression.chunks.grids import Grid
from hrpursuit.compression.kernels.samples import LIMIT

_NOISE = 24  # a change of so many steps is noise below its highest bits

#: For each column the least and the largest whole number that it may become after decoding, None if it stays.
Limits = Sequence[tuple[float, float] | None]


@dataclass(frozen=True)
class Way:
    """A grid, the whole numbers of values on it, and which of them stand for the very value; in a `Column` all do."""

    grid: Grid
    numbers: np.ndarray
    fits: np.ndarray


@dataclass(frozen=True)
class Column:
    """A column, its cells sorted into those that are coded as whole numbers and those that stand apart.

    Attributes
    ----------
    given : array
        As it came.
    bound : float
        Largest error; 0 for none, infinite if single readings have no bound.
    is_gap, is_odd : array of bool
        Gaps, and values that are kept bit for bit.
    sentinels : list of arrays of bool
        The places of each value that stands for something else, such as -9999.
    ways : list of Way
        The cells that are coded as whole numbers, in each way that was found.
    limits : tuple of float, or None
        Whoever gets the decoded column makes whole numbers of it, from the first to the second of these.
    """

    given: np.ndarray
    bound: float
    is_gap: np.ndarray
    is_odd: np.ndarray
    sentinels: list[np.ndarray] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    limits: tuple[float, float] | None = None

    @cached_property
    def is_coded(self) -> np.ndarray:
        """Cells that are coded as whole numbers."""
        coded = ~(self.is_gap | self.is_odd)
        for places in self.sentinels:
            coded &= ~places
        return coded

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but gaps, without loss of the usual bits."""
        if self.given.dtype.kind != "f" or not np.isnan(self.given).all():
            return False
        bits = f"u{self.given.itemsize}"
        return self.bound > 0 or bool((self.given.view(bits) == np.array(np.nan, self.given.dtype).view(bits)).all())

    def in_ways(self, ways: list[Way]) -> "Column":
        """With these ways; values that do not fit the first one are odd, and then there is no other."""
        if not ways or ways[0].fits.all():
            return replace(self, ways=ways)
        fits, is_odd = ways[0].fits, self.is_odd.copy()
        is_odd[np.flatnonzero(self.is_coded)[~fits]] = True
        return replace(self, is_odd=is_odd, ways=[Way(ways[0].grid, ways[0].numbers[fits], fits[fits])])

    def first_rows(self, n_rows: int) -> "Column":
        """The column cut to so many rows."""
        n_coded = int(np.count_nonzero(self.is_coded[:n_rows]))
        return replace(
            self,
            given=self.given[:n_rows],
            is_gap=self.is_gap[:n_rows],
            is_odd=self.is_odd[:n_rows],
            sentinels=[places[:n_rows] for places in self.sentinels],
            ways=[Way(way.grid, way.numbers[:n_coded], way.fits[:n_coded]) for way in self.ways],
        )

    def as_gaps(self) -> "Column":
        """A column of its type that has only gaps."""
        nothing = Way(Grid(), np.zeros(0, np.int64), np.ones(0, bool))
        return Column(self.given, math.inf, np.ones(len(self.given), bool), np.zeros(len(self.given), bool),
                      ways=[nothing], limits=self.limits)  # fmt: skip

    def numbers(self, way: int) -> np.ndarray:
        """Whole numbers in all rows; below a cell that is not coded the last one stands."""
        found = self.ways[min(way, len(self.ways) - 1)].numbers
        if len(found) == 0:
            return np.zeros(len(self.given), np.int64)
        return found[np.maximum(np.cumsum(self.is_coded) - 1, 0)]

    @cached_property
    def whole(self) -> np.ndarray | None:
        """Whole numbers of the first way in all rows, 0 where a cell is not coded; None if there is no way."""
        if not self.ways or len(self.ways[0].numbers) == len(self.given):
            return self.ways[0].numbers if self.ways else None
        whole = np.zeros(len(self.given), dtype=np.int64)
        whole[self.is_coded] = self.ways[0].numbers
        return whole

    @property
    def decimals(self) -> int | None:
        """All values that are coded are `whole` over 10^decimals; None if there is no way."""
        return self.ways[0].grid.decimals if self.ways else None

    @cached_property
    def whole_range(self) -> tuple[int, int]:
        """What is taken off the whole numbers, and how many of their lowest bits are noise, where nothing is lost."""
        return (0, 0) if self.whole is None else range_of(self.whole, self.is_coded, 1)

    @cached_property
    def values(self) -> np.ndarray:
        """Values that are coded as float64, 0 in all other cells."""
        return np.where(self.is_coded, self.given, 0).astype(np.float64)

    @cached_property
    def largest(self) -> float:
        """Magnitude of the largest value that is coded."""
        return float(np.abs(self.values).max(initial=0.0))

    @property
    def ends_whole(self) -> bool:
        """Whether whoever gets the decoded column makes whole numbers of it."""
        return self.limits is not None or self.given.dtype.kind in "biu"


def range_of(numbers: np.ndarray, is_coded: np.ndarray, step: int) -> tuple[int, int]:
    """What is taken off a column, and how many of its lowest bits are sent as they are."""
    if not is_coded.any():
        return 0, 0
    inside = numbers[is_coded]
    low, high = int(inside.min()), int(inside.max())
    offset = 0 if max(-low, high) < LIMIT else (low + high) // 2
    size = max(offset - low, high - offset)
    width = max(size.bit_length() - 16, 0)
    if step == 1 and len(inside) > 1:
        change = float(np.abs(np.diff(inside.astype(np.float64))).mean())
        if change > 2 * _NOISE:
            width = max(width, int(math.log2(change / _NOISE)))
    return offset, width
