"""Runs the kernels of the codec over one slot after the other, with their state kept: the same steps to write and to
read. A new one is made at each keyframe.
"""

import struct
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.bits import (
    HIGH,
    LOW,
    N_BEYOND,
    POSITION,
    code_plain_bits,
    finish_encoding,
    new_coder,
    start_decoding,
)
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.kernels.flags import code_flag
from hrpursuit.compression.kernels.gaps import code_gaps, new_gap_model

#: Kinds of columns: whole numbers over a power of ten or times a factor, or floats of 32 or 64 bits as they are.
DECIMALS, FACTOR, SINGLE, DOUBLE = range(4)

TIME, COUNT, ODD = range(
    3
)  # flags: the time is as expected; so is the number of slots; some readings are sent as floats
_ABSOLUTE = 63  # in the place of a number of bits: the time itself follows
_MOST_BITS = 60  # of the way to a time that is not the expected one
LONGEST = 1 << 57  # nanoseconds from slot to slot, above 4 years
MOST_TIME = 1 << 62  # nanoseconds that a slot may be from 1970
_FIRST_ROWS = 64
#: Zero bytes at the end of a body that are left out. With more of them, a message that is decoded wrongly, and takes
#: more bits than it has, would rarely be refused.
_MOST_ZEROS = 1


@dataclass
class Wanted:
    """The readings of a slot for the encoder.

    Attributes
    ----------
    time : int
    seen : array of bool
        Where there is a reading.
    numbers : array of int64
        Whole numbers without offsets.
    odd : array of int
        Columns whose reading is sent as a float although its kind is another, in rising order.
    values : array of float64
    """

    time: int
    seen: np.ndarray
    numbers: np.ndarray
    odd: np.ndarray
    values: np.ndarray


def grown(table: np.ndarray) -> np.ndarray:
    """A copy with room for more rows."""
    larger = integers((max(_FIRST_ROWS, 2 * len(table)), table.shape[1]))
    larger[: len(table)] = table
    return larger


@dataclass
class Bits:
    """An arithmetic coder and its bytes."""

    buffer: np.ndarray
    decoding: bool
    coder: np.ndarray = field(default_factory=new_coder)

    @classmethod
    def writing(cls, n_bytes: int) -> "Bits":
        return cls(np.zeros(n_bytes, dtype=np.uint8), False)

    @classmethod
    def reading(cls, data: bytes) -> "Bits":
        bits = cls(np.frombuffer(data + bytes(_MOST_ZEROS), dtype=np.uint8).copy(), True)
        start_decoding(bits.coder, bits.buffer)
        return bits

    @property
    def n_bytes(self) -> int:
        """Written so far."""
        return int(self.coder[POSITION])

    def check(self) -> None:
        """Raise DamagedFile if more was read than anybody has written."""
        if self.decoding and self.n_bytes > len(self.buffer) + N_BEYOND:
            raise DamagedFile("the coded slots end too early")

    def written(self) -> bytes | None:
        """Close the coder: the bytes without a zero at the end; None if the buffer was too short."""
        finish_encoding(self.coder, self.buffer)
        return _cut(self.buffer[: self.n_bytes].tobytes()) if self.n_bytes <= len(self.buffer) else None

    def check_end(self, data: bytes) -> None:
        """Raise DamagedFile unless an encoder would have written exactly these bytes."""
        n_passed = self.n_bytes - N_BEYOND
        end, tail = new_coder(), np.zeros(8, dtype=np.uint8)
        end[LOW], end[HIGH] = self.coder[LOW], self.coder[HIGH]
        finish_encoding(end, tail)
        whole = data.ljust(n_passed, b"\0")[:n_passed] + tail[: int(end[POSITION])].tobytes()
        if _cut(whole) != data:
            raise DamagedFile("the coded slots do not end where the message ends")


def _cut(data: bytes) -> bytes:
    """Without a zero at the end: a decoder reads zeros there anyway."""
    n_left = max(len(data.rstrip(b"\0")), len(data) - _MOST_ZEROS)
    return data[:n_left]


class Readings(Protocol):
    """What codes the readings of columns that are whole numbers, slot by slot."""

    def code(self, bits: Bits, numbers: np.ndarray | None, seen: np.ndarray, values: np.ndarray) -> None:
        """Write the numbers, or read them, where they are seen; put what the decoder gets in `values`."""


class AnyPlan(Protocol):
    """What the coder of slots needs to know of its columns."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def kinds(self) -> np.ndarray:
        """DECIMALS, FACTOR, SINGLE or DOUBLE for each column."""

    def new_readings(self) -> Readings:
        """A coder of readings that has seen nothing."""


AnyPlanT = TypeVar("AnyPlanT", bound=AnyPlan)


class SlotCoder(Generic[AnyPlanT]):
    """The state of a stream since its last keyframe.

    Parameters
    ----------
    plan : Plan or SparsePlan
    time : int
        Of the first slot.
    interval : int
        Expected difference of the times of two slots; 0 if it is not known.
    """

    def __init__(self, plan: AnyPlanT, time: int, interval: int) -> None:
        self.plan, self.n = plan, len(plan.names)
        self._readings = plan.new_readings()
        self.n_rows = 0
        self._seen = integers((0, self.n))
        self._runs, self._gaps = integers(self.n), new_gap_model()
        self._flags = integers(3, 61440)
        self._time, self._interval, self._other = time - interval, interval, 0
        self._bits_of_column = max(self.n - 1, 1).bit_length()

    def expected_time(self) -> int:
        return self._time + self._interval

    def code_count(self, bits: Bits, count: int, expected: int) -> int:
        """How many slots a message has."""
        if code_flag(bits.coder, bits.buffer, bits.decoding, self._flags, COUNT, int(count == expected)):
            return expected
        return code_plain_bits(bits.coder, bits.buffer, bits.decoding, count, 12)

    def code(self, bits: Bits, wanted: Wanted | None) -> tuple[int, np.ndarray]:
        """Write a slot, or read one: its time, and its readings as the decoder gets them."""
        self._make_room()
        coder, buffer, decoding, t = bits.coder, bits.buffer, bits.decoding, self.n_rows
        time = self._code_time(bits, 0 if wanted is None else wanted.time)
        if wanted is not None:
            self._seen[t] = as_integers(wanted.seen)
        code_gaps(coder, buffer, decoding, self._seen[: t + 1], self._runs, *self._gaps)
        bits.check()
        seen = np.asarray(self._seen[t], dtype=np.int64) != 0
        values = np.full(self.n, np.nan)
        odd = self._code_odd(bits, wanted, values)
        seen[odd] = False
        self._readings.code(bits, None if wanted is None else wanted.numbers, seen, values)
        bits.check()
        self._code_floats(bits, wanted, seen, values)
        self.n_rows += 1
        return time, values

    def _make_room(self) -> None:
        if self.n_rows == len(self._seen):
            self._seen = grown(self._seen)

    def _code_time(self, bits: Bits, time: int) -> int:
        coder, buffer, decoding = bits.coder, bits.buffer, bits.decoding
        expected = self.expected_time()
        if not code_flag(coder, buffer, decoding, self._flags, TIME, int(time == expected)):
            expected = self._code_other_time(bits, time, expected)
            difference = expected - self._time
            if (self._interval == 0 or difference == self._other) and abs(difference) < LONGEST:
                self._interval = difference
            self._other = difference
        if decoding and abs(expected) >= MOST_TIME:
            raise DamagedFile("a slot has an impossible time")
        self._time = expected
        return expected

    @staticmethod
    def _code_other_time(bits: Bits, time: int, expected: int) -> int:
        """How far a time is from the expected one: six bits say how many bits that takes, then sign and magnitude."""
        coder, buffer, decoding = bits.coder, bits.buffer, bits.decoding
        way = 0 if decoding else time - expected
        length = abs(way).bit_length() if abs(way) < 1 << _MOST_BITS else _ABSOLUTE
        length = int(code_plain_bits(coder, buffer, decoding, length, 6))
        if length > _MOST_BITS:
            return int.from_bytes(_code_words(bits, time.to_bytes(8, "little", signed=True)), "little", signed=True)
        sign = code_plain_bits(coder, buffer, decoding, int(way < 0), 1)
        magnitude = int(code_plain_bits(coder, buffer, decoding, abs(way), length))
        return expected - magnitude if sign else expected + magnitude

    def _code_odd(self, bits: Bits, wanted: Wanted | None, values: np.ndarray) -> np.ndarray:
        """Columns whose readings are sent as floats although they are of another kind, and these readings."""
        coder, buffer, decoding = bits.coder, bits.buffer, bits.decoding
        given = np.zeros(0, np.int64) if wanted is None else wanted.odd
        if not code_flag(coder, buffer, decoding, self._flags, ODD, int(len(given) > 0)):
            return np.zeros(0, np.int64)
        count = code_plain_bits(coder, buffer, decoding, len(given), self._bits_of_column + 1)
        if decoding:
            given = np.zeros(min(count, self.n), np.int64)
        for i in range(len(given)):
            place = code_plain_bits(coder, buffer, decoding, int(given[i]), self._bits_of_column)
            given[i] = min(place, self.n - 1)
            value = 0.0 if wanted is None else float(wanted.values[given[i]])
            values[given[i]] = self._code_float(bits, value, DOUBLE)
            bits.check()
        return given

    def _code_floats(self, bits: Bits, wanted: Wanted | None, seen: np.ndarray, values: np.ndarray) -> None:
        """Readings of columns that are always sent as floats."""
        for place in np.flatnonzero(seen & (self.plan.kinds > FACTOR)):
            value = 0.0 if wanted is None else float(wanted.values[place])
            values[place] = self._code_float(bits, value, int(self.plan.kinds[place]))

    @staticmethod
    def _code_float(bits: Bits, value: float, kind: int) -> float:
        layout = "<f" if kind == SINGLE else "<d"
        return float(struct.unpack(layout, _code_words(bits, struct.pack(layout, value)))[0])


def _code_words(bits: Bits, given: bytes) -> bytes:
    """Four or eight bytes as they are: numbers of 32 bits, the lower one first."""
    out = b""
    for at in range(0, len(given), 4):
        word = int.from_bytes(given[at : at + 4], "little")
        out += int(code_plain_bits(bits.coder, bits.buffer, bits.decoding, word, 32)).to_bytes(4, "little")
    return out
