"""What the decoder has to know of a group of columns in a chunk before it reads the coded bits."""

import struct
from dataclasses import dataclass, replace

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import Cursor, signed, varint, varints

SAMPLES, TRANSFORM, CORRECTED, SPARSE = range(4)
MODES = ("samples", "transform", "transform + correction", "sparse codes")
#: In the place of a number of decimals: the column counts in multiples of the factor.
BY_FACTOR = 255
MOST_DECIMALS = 15
MOST_STEP = 1 << 24
MOST_SCALE = 1 << 13
MOST_WIDTH = 58
LEAST_FRACTION = -46
_MOST_OFFSET = 1 << 62
_POSITIVE, _ROUNDED, _DECIMALS, _OFFSETS, _WIDTHS, _STEPS = (1 << bit for bit in range(2, 8))
_GRAIN, _SCALES, _HASTE = 1, 2, 4


@dataclass(frozen=True)
class GroupSettings:
    """How the whole numbers of a group of columns are coded, and how they become values. Where a tuple may have one
    entry, it holds for all columns.
    """

    mode: int
    decimals: tuple[int, ...]  # a value is a whole number over 10^decimals, or with BY_FACTOR times the factor
    steps: tuple[int, ...]  # of the quantiser, in 1/2^fraction
    fraction: int = 0  # bits below the whole numbers; negative: bits that are left out
    factor: float = 1.0
    keep_positive: bool = False
    rounded: bool = True  # to whole numbers at the end
    offsets: tuple[int, ...] = ()  # whole numbers that are taken off first
    widths: tuple[int, ...] = ()  # bits that are sent as they are
    grain: bool = False  # predictions are rounded to whole numbers
    scales: tuple[int, ...] = (1,)  # typical change of a column, for SAMPLES
    season: int = 24  # rows, for SAMPLES
    in_haste: bool = False  # ties between columns are seldom computed anew, for SAMPLES
    bound: int = 1  # step of the correction

    def to_bytes(self) -> bytes:
        flags = self.mode | _POSITIVE * self.keep_positive | _ROUNDED * self.rounded
        flags |= _DECIMALS * (len(self.decimals) > 1) | _STEPS * (len(self.steps) > 1)
        flags |= _OFFSETS * bool(self.offsets) | _WIDTHS * bool(self.widths)
        out = bytes([flags]) + bytes(self.decimals) + signed(self.fraction)
        if BY_FACTOR in self.decimals:
            out += struct.pack("<d", self.factor)
        out += b"".join(map(signed, self.offsets)) + bytes(self.widths) + varints(self.steps)
        if self.mode == SAMPLES:
            out += bytes([_GRAIN * self.grain | _SCALES * (len(self.scales) > 1) | _HASTE * self.in_haste])
            out += varint(self.season) + varints(self.scales)
        elif self.mode == CORRECTED:
            out += varint(self.bound)
        return out

    @classmethod
    def from_cursor(cls, cursor: Cursor, n: int) -> "GroupSettings":
        flags = cursor.byte()
        decimals = tuple(cursor.take(n if flags & _DECIMALS else 1))
        if any(d > MOST_DECIMALS and d != BY_FACTOR for d in decimals):
            raise DamagedFile("a column has an impossible number of decimals")
        fraction = cursor.signed()
        if not LEAST_FRACTION <= fraction <= 6:
            raise DamagedFile(f"{fraction} bits of fraction are impossible")
        factor = struct.unpack("<d", cursor.take(8))[0] if BY_FACTOR in decimals else 1.0
        offsets = tuple(cursor.signed(_MOST_OFFSET) for _ in range(n)) if flags & _OFFSETS else ()
        widths = tuple(cursor.take(n)) if flags & _WIDTHS else ()
        steps = tuple(cursor.varint(MOST_STEP) for _ in range(n if flags & _STEPS else 1))
        if not 0.0 < factor < float("inf") or 0 in steps or any(width > MOST_WIDTH for width in widths):
            raise DamagedFile("a factor, a step or a width is impossible")
        found = cls(
            flags & 3,
            decimals,
            steps,
            fraction,
            factor,
            bool(flags & _POSITIVE),
            bool(flags & _ROUNDED),
            offsets,
            widths,
        )
        if found.mode == SAMPLES:
            more = cursor.byte()
            season = cursor.varint(1 << 16)
            scales = tuple(cursor.varint(MOST_SCALE) for _ in range(n if more & _SCALES else 1))
            if season < 1 or 0 in scales or more > 7 or (more & _GRAIN and fraction < 0):
                raise DamagedFile("the settings of samples are impossible")
            return replace(found, grain=bool(more & _GRAIN), season=season, scales=scales, in_haste=bool(more & _HASTE))
        if offsets or widths or len(steps) > 1:
            raise DamagedFile("only samples have offsets, low bits and steps by column")
        if found.mode == CORRECTED:
            bound = cursor.varint(MOST_STEP)
            if bound < 1 or fraction < 0:
                raise DamagedFile("the settings of the correction are impossible")
            return replace(found, bound=bound)
        return found
