"""How the readings of each column are whole numbers. A keyframe carries it, and it holds until the next one.

A reading is a whole number k over 10^decimals, or k times a factor; or it is sent as the bits of a float. This is the
only place where the decoder has floats.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.kernels.samples import (
    LIMIT,
    REFACTOR,
    code_low_bits,
    code_samples,
    new_difference_model,
    new_samples,
)
from hrpursuit.compression.layout import Cursor, decimal, shorter, signed, text, unpacked, varint
from hrpursuit.live.slot_coder import DECIMALS, DOUBLE, FACTOR, SINGLE, Bits, Wanted, grown

#: Powers of ten as literals: all of them are exact.
POWERS = np.array([1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15])
MOST_COLUMNS = 4096
MOST_TOGETHER = 128  # columns that predict each other: the work for one row grows with the square of it
MOST_READINGS = 1 << 22  # from one keyframe to the next: both ends keep them
MOST_STEP, MOST_WIDTH, MOST_SCALE, MOST_SEASON, MOST_FRACTION = 1 << 15, 40, 1 << 13, 1 << 12, 6
_MOST_OFFSET = 1 << 52
_MOST_BYTES = 1 << 20  # of names and settings, after inflating


@dataclass(frozen=True)
class Column:
    """Whole numbers of one column.

    Attributes
    ----------
    kind : int
        DECIMALS, FACTOR, or SINGLE and DOUBLE for the bits of a float.
    decimals, factor : int, float
        What a whole number is divided by, as a power of ten, or multiplied with.
    step : int
        Odd; the decoded number is at most (step - 1) / 2 from the given one.
    offset : int
        Is taken off first.
    width : int
        So many of the lowest bits are sent as they are, only where the step is 1.
    scale : int
        Typical change from slot to slot, in 1/2^fraction.
    bound : float
        Largest error; 0 if nothing is lost.
    """

    kind: int = DECIMALS
    decimals: int = 0
    factor: float = 1.0
    step: int = 1
    offset: int = 0
    width: int = 0
    scale: int = 64
    bound: float = 0.0

    def to_bytes(self) -> bytes:
        out = bytes([self.kind << 4 | self.decimals, self.width]) + varint(self.step) + signed(self.offset)
        out += varint(self.scale) + decimal(self.bound)
        return out + (struct.pack("<d", self.factor) if self.kind == FACTOR else b"")

    @classmethod
    def from_cursor(cls, cursor: Cursor) -> "Column":
        kind, width = cursor.byte(), cursor.byte()
        step, offset, scale = cursor.varint(MOST_STEP), cursor.signed(_MOST_OFFSET), cursor.varint(MOST_SCALE)
        bound = cursor.decimal()
        factor = struct.unpack("<d", cursor.take(8))[0] if kind >> 4 == FACTOR else 1.0
        if kind >> 4 > DOUBLE or not (0 < factor < np.inf) or not (0 <= bound < np.inf):
            raise DamagedFile("a column has an impossible kind, factor or bound")
        if step % 2 == 0 or scale == 0 or width > MOST_WIDTH or (step > 1 and width):
            raise DamagedFile("a column has an impossible step, scale or width")
        return cls(kind >> 4, kind & 15, factor, step, offset, width, scale, bound)


@dataclass(frozen=True)
class Plan:
    """All columns, and what groups of up to 128 of them share.

    Attributes
    ----------
    names : tuple of str
    columns : tuple of Column
    fractions : tuple of int
        For each group, bits below whole numbers that predictions have.
    positive : tuple of bool
        For each group, whether all of its whole numbers are zero or above.
    season : int
        Slots after which readings are alike.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    fractions: tuple[int, ...]
    positive: tuple[bool, ...]
    season: int = 24
    _arrays: dict[str, np.ndarray] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, dtype in (("kind", "i8"), ("decimals", "i8"), ("factor", "f8"), ("step", "i8"), ("offset", "i8"),
                            ("width", "i8"), ("scale", "i8"), ("bound", "f8")):  # fmt: skip
            self._arrays[name] = np.array([getattr(column, name) for column in self.columns], dtype=dtype)
        power = POWERS[self["decimals"]]
        self._arrays["power"] = np.where(self["kind"] == DECIMALS, power, 1.0)
        self._arrays["half"] = (self["step"] - 1) // 2
        self._arrays["unit"] = self["factor"] / self["power"]
        self._arrays["is_whole"] = self["kind"] <= FACTOR
        fraction, positive = np.zeros(len(self.columns), np.int64), np.zeros(len(self.columns), bool)
        for place, group in enumerate(groups_of(len(self.columns))):
            fraction[group], positive[group] = self.fractions[place], self.positive[place]
        self._arrays["fraction"] = fraction
        self._arrays["highest"] = LIMIT >> fraction
        self._arrays["lowest"] = np.where(positive, 0, -(LIMIT >> fraction))

    @property
    def kinds(self) -> np.ndarray:
        return self["kind"]

    def new_readings(self) -> "SampleReadings":
        return SampleReadings(self)

    def prepare(self, time: int, values: np.ndarray, forced: np.ndarray | None = None) -> Wanted:
        """What the coder takes of a slot; columns that are `forced` are sent as floats."""
        seen = ~np.isnan(values)
        numbers, fits = self.to_numbers(np.where(seen, values, 0.0))
        with np.errstate(over="ignore"):
            fits |= (self["kind"] == SINGLE) & (values.astype(np.float32) == values)
        if forced is not None:
            fits &= ~forced
        fits |= self["kind"] == DOUBLE
        return Wanted(time, seen, numbers, np.flatnonzero(seen & ~fits), values)

    def __getitem__(self, name: str) -> np.ndarray:
        """One entry of all columns."""
        return self._arrays[name]

    def to_numbers(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whole numbers of readings, without their offsets, and for which of them the decoder gets within the bound."""
        with np.errstate(over="ignore", invalid="ignore"):
            exact = np.rint(values * self["power"] / self["factor"])
            fits = self["is_whole"] & (np.abs(exact) < 2.0**51)
            exact = np.where(fits, exact, 0.0) + 0.0  # a whole number has no negative zero
            back = exact / self["power"] * self["factor"]
            off = np.abs(values - back) + self["half"] * self["unit"]
            same = (back == values) & (np.signbit(back) == np.signbit(values))
            fits &= np.where(self["bound"] > 0, off <= self["bound"] * (1 + 1e-9), same)
        numbers = np.where(fits, exact, 0.0).astype(np.int64) - self["offset"]
        high = numbers >> self["width"]
        return numbers, fits & (high >= self["lowest"]) & (high <= self["highest"])

    def to_values(self, numbers: np.ndarray) -> np.ndarray:
        """Readings of whole numbers without their offsets: one division and one product in double precision."""
        with np.errstate(over="ignore"):
            return (numbers + self["offset"]) / self["power"] * self["factor"]

    def to_bytes(self) -> bytes:
        out = varint(len(self.names)) + b"".join(map(text, self.names)) + varint(self.season)
        out += bytes(f | p << 3 for f, p in zip(self.fractions, self.positive, strict=True))
        for column, same in groupby(column.to_bytes() for column in self.columns):
            out += varint(sum(1 for _ in same)) + column
        return shorter(out)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Plan":
        cursor = Cursor(unpacked(data, _MOST_BYTES))
        n = cursor.varint(MOST_COLUMNS)
        names = tuple(cursor.text() for _ in range(n))
        season = cursor.varint(MOST_SEASON)
        shared = [cursor.byte() for _ in groups_of(n)]
        if n == 0 or len(set(names)) < n:
            raise DamagedFile("there are no columns, or two of the same name")
        if season == 0 or any(byte > 15 or byte & 7 > MOST_FRACTION for byte in shared):
            raise DamagedFile("the columns have impossible settings")
        columns: list[Column] = []
        while len(columns) < n:
            count = cursor.varint(n - len(columns))
            if count == 0:
                raise DamagedFile("settings are for no column")
            columns += [Column.from_cursor(cursor)] * count
        cursor.end()
        return cls(names, tuple(columns), tuple(b & 7 for b in shared), tuple(b > 7 for b in shared), season)


class SampleReadings:
    """The sample coder of the codec, for each group of columns."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._n_rows = plan, 0
        self._groups = [
            _Group(plan, columns, fraction, positive)
            for columns, fraction, positive in zip(
                groups_of(len(plan.names)), plan.fractions, plan.positive, strict=True
            )
        ]

    def code(self, bits: Bits, numbers: np.ndarray | None, seen: np.ndarray, values: np.ndarray) -> None:
        """Write the numbers, or read them, where they are seen; put what the decoder gets in `values`."""
        plan, seen = self._plan, seen & self._plan["is_whole"]
        if numbers is None:
            numbers = np.zeros(len(seen), np.int64)
        high, low = numbers >> plan["width"], numbers & ((1 << plan["width"]) - 1)
        whole = np.zeros(len(seen), np.int64)
        for group in self._groups:
            here = group.columns
            whole[here] = group.code(bits, self._n_rows, high[here], low[here], seen[here])
            bits.check()
        values[seen] = plan.to_values(whole)[seen]
        self._n_rows += 1


class _Group:
    """Columns that predict each other."""

    def __init__(self, plan: Plan, columns: slice, fraction: int, positive: bool) -> None:
        self.columns, self._fraction, self._positive, self._season = columns, fraction, positive, plan.season
        self._steps = as_integers(plan["step"][columns] << fraction)
        self._state = new_samples(plan["scale"][columns], plan["step"][columns] << fraction)
        self._model = new_difference_model(columns.stop - columns.start)
        self._widths = as_integers(plan["width"][columns])
        self._has_widths = bool(plan["width"][columns].any())
        self._values = self._seen = self._out = integers((0, columns.stop - columns.start))

    def code(self, bits: Bits, t: int, high: np.ndarray, low: np.ndarray, seen: np.ndarray) -> np.ndarray:
        if t == len(self._out):
            self._values, self._seen, self._out = grown(self._values), grown(self._seen), grown(self._out)
        self._values[t] = as_integers(high << self._fraction)
        self._seen[t] = as_integers(seen)
        code_samples(
            bits.coder, bits.buffer, bits.decoding, self._values[: t + 1], self._seen[: t + 1], self._out[: t + 1],
            self._state, self._model, self._steps, 0.0, 1 << self._fraction, self._positive, self._season,
            REFACTOR,
        )  # fmt: skip
        whole = np.asarray(self._out[t], dtype=np.int64) >> self._fraction
        if not self._has_widths:
            return whole
        bits.check()
        lowest = as_integers(low[None])
        code_low_bits(bits.coder, bits.buffer, bits.decoding, lowest, self._seen[t : t + 1], self._widths)
        return (whole << np.asarray(self._widths, np.int64)) + np.asarray(lowest[0], dtype=np.int64)


def groups_of(n: int) -> list[slice]:
    """Neighbouring columns that predict each other: as few groups as possible, of about the same size."""
    n_groups = -(-n // MOST_TOGETHER)
    return [slice(i * n // n_groups, (i + 1) * n // n_groups) for i in range(n_groups)]


def check_names(columns: Iterable[str]) -> tuple[str, ...]:
    """Names of columns as a tuple; raises ValueError if they are none."""
    if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
        raise ValueError(f"columns must be a list of names, as ['flow', 'pressure']; got {columns!r:.80}.")
    names = tuple(columns)
    if not 1 <= len(names) <= MOST_COLUMNS or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns must be 1 to {MOST_COLUMNS} names, each of them a text; got {len(names)} of them.")
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"columns must have different names; {twice!r} is there twice.")
    if sum(map(len, names)) > _MOST_BYTES // 8:
        raise ValueError(
            f"the names of columns have {sum(map(len, names))} characters; {_MOST_BYTES // 8} are possible."
        )
    return names
