"""Words used in the document, types of columns, tables of constants, and the arithmetic decoder."""

import math
import struct
import zlib
from typing import NamedTuple


def clip(x, low, high):
    return min(max(x, low), high)


def _rounded(x):
    return math.floor(x + 0.5)


def _tables():
    """In doubles; the test compares them with the digest that the document gives."""
    odds = [(i + 0.5) / 4096 for i in range(4096)]
    limits = [3 * 135**i // 100**i for i in range(39)]
    guesses = []
    for s in range(40):
        mean = 3 * 1.35 ** (s - 0.5) / 256
        ratio = (math.sqrt(1 + mean * mean) - 1) / mean
        row = [65536 * (1 - ratio) / (1 + ratio), 32768, *[65536 * (1 - ratio)] * 18]
        guesses += [clip(int(p), 400, 65136) for p in row]
    halves = [math.atan(i / 1024) / 2 for i in range(1025)]
    angles = halves + [math.pi / 4 - half for half in halves]
    return {
        "SQUASH": [clip(_rounded(65536 / (1 + math.exp(-x / 256))), 16, 65520) for x in range(-2048, 2048)],
        "STRETCH": [clip(_rounded(256 * math.log(p / (1 - p))), -2047, 2047) for p in odds],
        "RATE": [655360 // (10 * i + 16) for i in range(256)],
        "LOGISTIC": [_rounded(2**24 / (1 + math.exp(-x / 256))) for x in range(-4096, 4096)],
        "SCALE": [sum(limit <= m for limit in limits) for m in range(8192)],
        "FIRST_GUESS": guesses,
        "COSINES": [
            _rounded(4096 * math.sqrt((1 if f == 0 else 2) / 8) * math.cos(math.pi * (2 * t + 1) * f / 16))
            for f in range(8)
            for t in range(8)
        ],
        "TURNS": [_rounded(2**24 * part(angle)) for angle in angles for part in (math.cos, math.sin)],
    }


T = _tables()


def constants():
    """The tables as constants.bin has them."""
    numbers = [number for table in T.values() for number in table]
    return struct.pack(f"<{len(numbers)}i", *numbers)


class Type(NamedTuple):
    """Of a column: "b", "i", "u" or "f", and its size in bytes. Its cells are kept as their bits, one number each."""

    kind: str
    size: int

    @property
    def is_float(self):
        return self.kind == "f"

    @property
    def mantissa(self):
        return {2: 10, 4: 23, 8: 52}[self.size]

    @property
    def bias(self):
        """Exponent of the least float that is not subnormal."""
        return {2: -14, 4: -126, 8: -1022}[self.size]

    @property
    def nan(self):
        return {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}[self.size]

    def bits_of(self, value):
        """Of a double: clipped to the largest finite number, rounded to nearest, ties to even."""
        largest = (2 - 2.0**-self.mantissa) * 2.0 ** (1 - self.bias)
        data = struct.pack("<" + {2: "e", 4: "f", 8: "d"}[self.size], clip(value, -largest, largest))
        return int.from_bytes(data, "little")

    def value_of(self, bits):
        return struct.unpack("<" + {2: "e", 4: "f", 8: "d"}[self.size], bits.to_bytes(self.size, "little"))[0]

    def whole(self, number):
        """Bits of a whole number, clipped to the range of the type."""
        low, high = {"b": (0, 1), "u": (0, 2 ** (8 * self.size) - 1)}.get(
            self.kind, (-(2 ** (8 * self.size - 1)), 2 ** (8 * self.size - 1) - 1)
        )
        return clip(number, low, high) % 2 ** (8 * self.size)


#: By name of the type of a column; pandas' own types with missing values are coded in doubles, but for one.
_CODED = {"bool": Type("b", 1), "float16": Type("f", 2), "float32": Type("f", 4), "Float32": Type("f", 4)}
_CODED |= {f"{name}int{8 * size}": Type(name or "i", size) for name in ("", "u") for size in (1, 2, 4, 8)}


def coded_type(name):
    if name in ("object", "str", "string", "category"):
        return Type("i", 4)
    if name.startswith(("datetime64", "timedelta64")):
        return Type("i", 8)
    return _CODED.get(name, Type("f", 8))


class Bytes:
    """Reads words one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        return self.take(1)[0]

    def take(self, n):
        assert 0 <= n <= len(self.data) - self.at
        self.at += n
        return self.data[self.at - n : self.at]

    def rest(self):
        return self.take(len(self.data) - self.at)

    def end(self):
        assert self.at == len(self.data)

    def varint(self):
        number, shift = 0, 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def signed(self):
        number = self.varint()
        return -(number + 1) // 2 if number % 2 else number // 2

    def scaled(self):
        number = self.signed()
        return number * 10 ** self.byte()

    def double(self):
        return struct.unpack("<d", self.take(8))[0]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def text(self):
        return self.take(self.varint()).decode("utf-8", "surrogatepass")

    def label(self):
        kind = self.byte()
        return self.text() if kind == 1 else self.signed() if kind == 2 else None

    def flags(self, n):
        """A bit per column, the first in the highest bit of the first byte."""
        data = self.take((n + 7) // 8)
        return [data[j // 8] >> (7 - j % 8) & 1 for j in range(n)]

    def packed(self):
        """The rest, unpacked."""
        kind, rest = self.byte(), self.rest()
        assert kind < 2
        return Bytes(zlib.decompress(rest, -15) if kind else rest)

    def places(self):
        """Rising places: the first, then distances."""
        places = [self.varint() for _ in range(self.varint())]
        return [sum(places[: i + 1]) for i in range(len(places))]


class Bits:
    """The arithmetic decoder."""

    def __init__(self, data):
        self.data, self.at, self.low, self.high = data, 4, 0, 2**32 - 1
        self.code = int.from_bytes(data[:4].ljust(4, b"\0"), "big")

    def bit(self, chance):
        span = self.high - self.low
        middle = self.low + (span >> 16) * chance + (((span & 65535) * chance) >> 16)
        one = self.code <= middle
        if one:
            self.high = middle
        else:
            self.low = middle + 1
        while self.low >> 24 == self.high >> 24:
            following = self.data[self.at] if self.at < len(self.data) else 0
            self.at += 1
            self.low = (self.low << 8) % 2**32
            self.high = (self.high << 8) % 2**32 + 255
            self.code = (self.code << 8) % 2**32 + following
        return int(one)

    def plain(self, width):
        result = 0
        for _ in range(width):
            result = 2 * result + self.bit(32768)
        return result

    def gamma(self):
        z = 0
        while z < 24 and self.bit(32768) == 0:
            z += 1
        return 2**z + self.plain(z)
