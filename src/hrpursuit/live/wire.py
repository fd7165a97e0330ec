"""Bytes around the coded slots: checks, keyframe heads and tags. `docs/reference/wire.md` describes them byte by byte.

A message in between is a check of two bytes and the coded slots. The check is over the stream, the sequence number and
the bytes, so that it says which message this is, and neither of the first two is sent.
"""

import hmac
import struct
import time
import zlib
from binascii import crc_hqx
from dataclasses import dataclass
from secrets import randbits

from hrpursuit.compression.layout import Cursor, varint

MAGIC = b"\x89HR"  # of a keyframe, followed by the version
VERSION = 1
N_CHECK, N_KEYFRAME_CHECK, N_TAG = 2, 4, 8
_TAGGED = 1
_START = 0xFFFF


@dataclass(frozen=True)
class KeyframeHead:
    """Which message of which stream a keyframe is, and its body."""

    stream: int
    sequence: int
    tagged: bool
    body: bytes


def new_stream() -> int:
    """An identity of 64 bits that rises with time: milliseconds since 1970, then 16 random bits."""
    return (time.time_ns() // 1_000_000) << 16 | randbits(16)


def _place(stream: int, sequence: int) -> bytes:
    return struct.pack("<QQ", stream, sequence)


def check(body: bytes, stream: int, sequence: int) -> int:
    """CRC-16/CCITT of the body, then of stream and sequence number."""
    return crc_hqx(_place(stream, sequence), crc_hqx(body, _START))


def tag(message: bytes, stream: int, sequence: int, key: bytes) -> bytes:
    """The first bytes of HMAC-SHA256 over stream, sequence number and all bytes before the tag."""
    return hmac.digest(key, _place(stream, sequence) + message, "sha256")[:N_TAG]


def is_tag(given: bytes, message: bytes, stream: int, sequence: int, key: bytes) -> bool:
    return hmac.compare_digest(given, tag(message, stream, sequence, key))


@dataclass(frozen=True)
class Sealed:
    """A message in between, taken apart."""

    given: int
    body: bytes
    tag: bytes

    @classmethod
    def of(cls, message: bytes, tagged: bool) -> "Sealed | None":
        """None if it is too short."""
        end = len(message) - (N_TAG if tagged else 0)
        if end < N_CHECK:
            return None
        return cls(struct.unpack_from("<H", message)[0], message[N_CHECK:end], message[end:])

    def is_at(self, stream: int, sequence: int) -> bool:
        """Whether the check is that of this place."""
        return check(self.body, stream, sequence) == self.given

    def has_tag(self, stream: int, sequence: int, key: bytes) -> bool:
        return is_tag(self.tag, struct.pack("<H", self.given) + self.body, stream, sequence, key)


def seal(body: bytes, stream: int, sequence: int, key: bytes | None) -> bytes:
    """A message that depends on those before it."""
    message = struct.pack("<H", check(body, stream, sequence)) + body
    return message if key is None else message + tag(message, stream, sequence, key)


def seal_keyframe(body: bytes, stream: int, sequence: int, key: bytes | None) -> bytes:
    """A message that stands alone."""
    head = MAGIC + bytes([VERSION, _TAGGED * (key is not None)]) + struct.pack("<Q", stream) + varint(sequence)
    message = head + body
    message += struct.pack("<I", zlib.crc32(message))
    return message if key is None else message + tag(message, stream, sequence, key)


def is_keyframe(message: bytes) -> bool:
    return message.startswith(MAGIC) and len(message) > len(MAGIC)


def version_of(message: bytes) -> int:
    return message[len(MAGIC)]


def open_keyframe(message: bytes) -> KeyframeHead:
    """Take a keyframe apart; raises ValueError if its check is wrong. Its tag is left to the caller."""
    cursor = Cursor(message)
    cursor.take(len(MAGIC) + 1)
    flags = cursor.byte()
    end = len(message) - (N_TAG if flags & _TAGGED else 0) - N_KEYFRAME_CHECK
    (stream,) = struct.unpack("<Q", cursor.take(8))
    sequence = cursor.varint(2**63)
    if flags > _TAGGED or end < cursor.at:
        raise ValueError("it is cut, or has unknown flags")
    if struct.pack("<I", zlib.crc32(message[:end])) != message[end : end + N_KEYFRAME_CHECK]:
        raise ValueError("its check is wrong")
    return KeyframeHead(stream, sequence, bool(flags & _TAGGED), message[cursor.at : end])
