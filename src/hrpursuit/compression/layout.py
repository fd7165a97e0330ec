"""Numbers and texts as bytes, and a cursor that reads them back and never beyond the end."""

import zlib
from collections.abc import Iterable

import numpy as np

from hrpursuit.compression.errors import DamagedFile

MAX_VARINT = 10  # bytes: 70 bits hold every number of 64 bits and the differences of two
_FEW = 16  # numbers that are read sooner one by one than at once


def varint(number: int) -> bytes:
    """Seven bits per byte, lowest first; the high bit says that more follow. From 0 to 2^70 - 1."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def varints(numbers: Iterable[int]) -> bytes:
    return b"".join(map(varint, numbers))


def signeds(numbers: np.ndarray) -> bytes:
    """Signed numbers of 64 bits, one after the other."""
    folded = (numbers << 1 ^ numbers >> 63).view(np.uint64)
    lengths = np.ones(len(folded), np.int64)
    for i in range(1, MAX_VARINT):
        lengths += folded >= np.uint64(1 << 7 * i)
    ends = np.cumsum(lengths)
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    for i in range(int(lengths.max(initial=0))):
        here = lengths > i
        more = np.where(lengths[here] > i + 1, 128, 0).astype(np.uint8)
        out[(ends - lengths + i)[here]] = (folded[here] >> np.uint64(7 * i) & np.uint64(127)).astype(np.uint8) | more
    return out.tobytes()


def zigzag(number: int) -> int:
    """0, -1, 1, -2, ... as 0, 1, 2, 3, ..."""
    return number << 1 if number >= 0 else (-number << 1) - 1


def unzigzag(number: int) -> int:
    return -(number + 1 >> 1) if number & 1 else number >> 1


def signed(number: int) -> bytes:
    return varint(zigzag(number))


def scaled(number: int) -> bytes:
    """A whole number with many zeros at its end, as time stamps have: mantissa, then how many zeros follow."""
    zeros = 0
    while number and number % 10 == 0:
        number //= 10
        zeros += 1
    return signed(number) + bytes([zeros])


def text(string: str) -> bytes:
    data = string.encode("utf-8", "surrogatepass")
    return varint(len(data)) + data


def decimal(value: float) -> bytes:
    """A finite float above or equal to zero by its shortest decimal digits: 0.05 takes two bytes."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    digits, power = int(whole + fraction), int(exponent or 0) - len(fraction)
    while digits and digits % 10 == 0:
        digits, power = digits // 10, power + 1
    return varint(digits) + signed(power)


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def inflated(data: bytes, limit: int) -> bytes:
    """The raw deflate stream unpacked, if it gives at most `limit` bytes and ends where the data ends."""
    unpacker = zlib.decompressobj(-15)
    try:
        out = unpacker.decompress(data, limit + 1)
    except zlib.error as error:
        raise DamagedFile(f"cannot inflate: {error}") from error
    if len(out) > limit or not unpacker.eof or unpacker.unused_data:
        raise DamagedFile(f"a deflated part does not end where it should, within {limit} bytes")
    return out


def shorter(data: bytes) -> bytes:
    """A byte that says whether the rest is deflated, then the shorter of both."""
    packed = deflated(data)
    return b"\x01" + packed if len(packed) < len(data) else b"\x00" + data


def unpacked(data: bytes, limit: int) -> bytes:
    """What `shorter` was given."""
    kind, rest = data[:1], data[1:]
    if kind == b"\x01":
        return inflated(rest, limit)
    if kind != b"\x00" or len(rest) > limit:
        raise DamagedFile("a part is neither plain nor deflated, or longer than it may be")
    return rest


class Cursor:
    """Reads one thing after another; raises DamagedFile at the end of the data or at what cannot be."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, n_bytes: int) -> bytes:
        if n_bytes > self.left:
            raise DamagedFile(f"{n_bytes} bytes expected, {self.left} left")
        self.at += n_bytes
        return self.data[self.at - n_bytes : self.at]

    def passes(self, data: bytes) -> bool:
        """Whether these are the next bytes, which are then passed."""
        is_next = self.data.startswith(data, self.at)
        self.at += len(data) * is_next
        return is_next

    def rest(self) -> bytes:
        return self.take(self.left)

    def byte(self) -> int:
        return self.take(1)[0]

    def varint(self, limit: int = 2**64 - 1) -> int:
        number = 0
        for i in range(MAX_VARINT):
            byte = self.byte()
            number |= (byte & 127) << 7 * i
            if byte < 128:
                if number > limit:
                    raise DamagedFile(f"a number is {number}, at most {limit} is possible")
                return number
        raise DamagedFile("a number has no end")

    def varints(self, count: int) -> np.ndarray:
        """The next numbers at once, each below 2^64: in the time of a few passes over the bytes."""
        if count < _FEW:
            return np.array([self.varint() for _ in range(count)], np.uint64)
        data = np.frombuffer(self.data, np.uint8, min(self.left, MAX_VARINT * count), self.at)
        ends = np.flatnonzero(data < 128)[:count]
        if len(ends) < count:
            raise DamagedFile(f"{count} numbers expected, {len(ends)} found")
        lengths = np.diff(ends, prepend=-1)
        self.at += int(lengths.sum())
        numbers = np.zeros(count, np.uint64)
        for i in range(int(lengths.max(initial=0))):
            here = lengths > i
            part = data[(ends - lengths + 1 + i)[here]]
            if i >= MAX_VARINT or (i == MAX_VARINT - 1 and (part > 1).any()):
                raise DamagedFile("a number has no end, or more than 64 bits")
            numbers[here] |= (part & 127).astype(np.uint64) << np.uint64(7 * i)
        return numbers

    def signeds(self, count: int) -> np.ndarray:
        """The next signed numbers at once, each of 64 bits."""
        numbers = self.varints(count)
        return (numbers >> np.uint64(1)).view(np.int64) ^ -(numbers & np.uint64(1)).view(np.int64)

    def signed(self, limit: int = 2**64) -> int:
        number = unzigzag(self.varint(2**70))
        if abs(number) > limit:
            raise DamagedFile(f"a number is {number}, at most {limit} is possible")
        return number

    def scaled(self) -> int:
        mantissa, zeros = self.signed(), self.byte()
        if zeros > 20:
            raise DamagedFile("a number is too large")
        return mantissa * 10**zeros

    def text(self) -> str:
        data = self.take(self.varint())
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise DamagedFile(f"a text is no UTF-8: {error}") from error

    def decimal(self) -> float:
        digits, power = self.varint(), self.signed(400)
        return float(f"{digits}e{power}")

    def end(self) -> None:
        if self.left:
            raise DamagedFile(f"{self.left} bytes too many")
