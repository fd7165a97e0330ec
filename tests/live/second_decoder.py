"""A second decoder of live messages, in plain Python, written from docs/reference/wire.md and docs/reference/format.md:
mode 0 without low bits, messages that all come in order, no tags. It uses the second reader of files for what the two
formats share.
"""

import struct
import zlib

from ..compression.second_reader.model import Model
from ..compression.second_reader.samples import sample_rows
from ..compression.second_reader.words import Bits, Bytes, clip


def crc16(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021) & 0xFFFF if crc & 0x8000 else crc << 1
    return crc


class Current:
    """The bits of the message that is read now; models keep it while messages come and go."""

    def begin(self, data):
        self.bits = Bits(data)

    def bit(self, chance):
        return self.bits.bit(chance)

    def plain(self, width):
        return self.bits.plain(width)

    def gamma(self):
        return self.bits.gamma()


def gap_rows(bits, n):
    """Rows of gaps, each read when it is asked for."""
    model = Model(bits, [26000] * 3, 250, rate=15, n_bins=1)
    model.first = lambda slot, place: (62000 if slot % 2 else 3500, 0)
    alike, was, run, row = [32768, 32768], 0, [0] * n, None
    while True:
        if row is not None:
            same = bits.bit(alike[was])
            alike[was] = clip(alike[was] + ((65535 * same - alike[was]) >> 5), 64, 65472)
            was = same
            if same:
                run = [r + 1 for r in run]
                yield row
                continue
        changes, beside, old, row = 0, 1, row, []
        for i in range(n):
            before = 1 if old is None else old[i]
            few, length = min(changes, 3), min(run[i].bit_length(), 9)
            model.slots = [
                2 * (16 * few + length) + before,
                128 + 2 * i + before,
                4224 + 2 * (4 * beside + few) + before,
            ]
            row.append(model.mixed(0))
            if old is not None and row[i] != before:
                changes, run[i], beside = changes + 1, 0, 1
            else:
                run[i], beside = run[i] + 1, 0
        yield row


class Column:
    def __init__(self, data):
        kind = data.byte()
        self.kind, self.decimals, self.width, self.step = kind >> 4, kind & 15, data.byte(), data.varint()
        self.offset, self.scale = data.signed(), data.varint()
        data.varint(), data.signed()  # the bound
        self.factor = data.double() if self.kind == 1 else 1.0

    def value(self, k):
        return (k + self.offset) / 10.0**self.decimals if self.kind == 0 else (k + self.offset) * self.factor


class SecondDecoder:
    """Slots of messages: times and readings, None where there is no reading."""

    def __init__(self, messages):
        self.messages, self.at, self.slots = messages, 0, []
        while self.at < len(messages):
            self.from_keyframe()

    def from_keyframe(self):
        """All slots up to the next keyframe."""
        message = self.messages[self.at]
        assert message[:5] == b"\x89HR\x01\x00"
        assert zlib.crc32(message[:-4]) == int.from_bytes(message[-4:], "little")
        data = Bytes(message[5:-4])
        self.stream = data.take(8)
        assert data.varint() == self.at
        assert data.byte() == 0
        self.per_message, first, self.left = data.varint(), data.varint(), data.varint()
        self.n_old = len(self.slots) - first  # slots that were sent before
        time, self.interval = data.scaled(), data.scaled()
        self.time, self.other = time - self.interval, 0
        self.plan(data.take(data.varint()))
        self.bits, self.flags = Current(), {"time": 61440, "count": 61440, "odd": 61440}
        self.bits.begin(data.rest())
        self.gaps = gap_rows(self.bits, self.n)
        self.at += 1
        for numbers in sample_rows(
            self.bits, self.rows(), self.n, [c.step << self.fraction for c in self.columns],
            [c.scale for c in self.columns], self.season, self.positive, 1 << self.fraction, False,
        ):  # fmt: skip
            self.end_row(numbers)

    def plan(self, packed):
        data = Bytes(zlib.decompress(packed[1:], -15) if packed[0] else packed[1:])
        self.n = data.varint()
        self.names = [data.text() for _ in range(self.n)]
        self.season, shared = data.varint(), data.byte()
        self.fraction, self.positive, self.columns = shared & 7, shared > 7, []
        while len(self.columns) < self.n:
            count = data.varint()
            self.columns += [Column(data)] * count
        assert self.n <= 128  # one group
        assert all(column.kind < 2 and column.width == 0 for column in self.columns)  # the simplest mode
        data.end()

    def flag(self, name):
        one = self.bits.bit(self.flags[name])
        self.flags[name] = clip(self.flags[name] + ((65535 * one - self.flags[name]) >> 4), 32, 65504)
        return one

    def rows(self):
        """Which readings of each slot are samples, up to the next keyframe."""
        while self.left or (self.at < len(self.messages) and not self.messages[self.at].startswith(b"\x89HR")):
            yield self.begin_row()

    def begin_row(self):
        """Time, gaps and odd readings of the next slot, of this message or of the next."""
        if self.left == 0:
            message = self.messages[self.at]
            place = self.stream + struct.pack("<Q", self.at)
            assert crc16(message[2:] + place) == int.from_bytes(message[:2], "little")
            self.bits.begin(message[2:])
            self.at += 1
            self.left = self.per_message if self.flag("count") else self.bits.plain(12)
        self.left -= 1
        if self.flag("time"):
            time = self.time + self.interval
        else:
            length = self.bits.plain(6)
            assert length <= 60
            sign = self.bits.plain(1)
            magnitude = self.bits.plain(length)
            time = self.time + self.interval + (-magnitude if sign else magnitude)
            difference = time - self.time
            if (self.interval == 0 or difference == self.other) and abs(difference) < 2**57:
                self.interval = difference
            self.other = difference
        self.time = time
        seen = list(next(self.gaps))
        values = [None] * self.n
        if self.flag("odd"):
            width = max((self.n - 1).bit_length(), 1)
            for _ in range(self.bits.plain(width + 1)):
                column = self.bits.plain(width)
                low, high = self.bits.plain(32), self.bits.plain(32)
                (values[column],) = struct.unpack("<d", struct.pack("<II", low, high))
                seen[column] = 0
        self.row = (time, values, seen)
        return seen

    def end_row(self, numbers):
        time, values, seen = self.row
        for k, column in enumerate(self.columns):
            if seen[k]:
                values[k] = column.value(numbers[k] >> self.fraction)
        if self.n_old > 0:
            self.n_old -= 1
        else:
            self.slots.append((time, values))
