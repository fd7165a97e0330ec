"""Finding whole chunks in a file that may be cut or changed, or that comes through a pipe."""

from collections.abc import Callable, Iterator

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.files.container import (
    INDEX_MARKER,
    MAGIC,
    MARKER,
    MAX_FRAME,
    MAX_HEADER,
    MAX_INDEX,
    VERSION,
    Frame,
    Header,
    Index,
)
from hrpursuit.compression.files.layout import Cursor

HOW_TO_GO_ON = "damaged='skip' gives every whole chunk."
NO_INDEX = "the index at the end is missing or damaged: the file is cut, or was not finished"
_PIECE = 1 << 16
_VARINT = 10
#: Bytes that may be checked in vain, in all, for each byte of the file: more is nobody's accident.
_PATIENCE = 64


class Feed:
    """Bytes of a stream from a position on; keeps what is not yet behind it."""

    def __init__(self, read: Callable[[int], bytes], offset: int = 0) -> None:
        self._read = read
        self._buffer = bytearray()
        self._at_end = False
        self.offset = offset

    def has(self, n_bytes: int) -> bool:
        """Whether so many bytes are left; reads them in if need be."""
        while len(self._buffer) < n_bytes and not self._at_end:
            piece = self._read(max(_PIECE, min(n_bytes - len(self._buffer), 16 * _PIECE)))
            self._at_end = not piece
            self._buffer += piece or b""
        return len(self._buffer) >= n_bytes

    def peek(self, n_bytes: int) -> bytes:
        """The next bytes; fewer at the end."""
        self.has(n_bytes)
        return bytes(self._buffer[:n_bytes])

    def skip(self, n_bytes: int) -> None:
        del self._buffer[:n_bytes]
        self.offset += n_bytes

    def find(self, mark: bytes) -> bool:
        """Go to the next place of these bytes after the next one; False, and at the end, if there is none."""
        start = 1
        while True:
            place = self._buffer.find(mark, start)
            if place >= 0:
                self.skip(place)
                return True
            self.skip(max(0, len(self._buffer) - len(mark) + 1))
            start = 0
            if not self.has(len(mark)):
                self.skip(len(self._buffer))
                return False


def read_header(feed: Feed) -> Header:
    """The header, which the feed is then behind."""
    start = feed.peek(len(MAGIC) + _VARINT)
    if start[: len(MAGIC)] != MAGIC:
        came = "it is empty" if not start else f"it begins with {start[: len(MAGIC)]!r}"
        raise DamagedFile(f"not a compressed table of hrpursuit (.hrp): {came}.")
    cursor = Cursor(start)
    cursor.take(len(MAGIC))
    length = cursor.varint(MAX_HEADER)
    version = feed.peek(cursor.at + 1)[-1] if feed.has(cursor.at + 1) else VERSION
    if version > VERSION:
        raise DamagedFile(f"the file has format version {version}, this hrpursuit reads up to {VERSION}: update it.")
    total = cursor.at + length + 4
    if length == 0 or not feed.has(total):
        raise DamagedFile("the file is cut within its header: nothing can be read without it.")
    header = Header.parse(feed.peek(total))
    feed.skip(total)
    return header


class Scan:
    """Goes through the chunks in the order of the file; `damage` says what was wrong, `index` is the one found."""

    def __init__(self, feed: Feed, header: Header, strict: bool) -> None:
        self.feed = feed
        self.header = header
        self.strict = strict
        self.damage: list[str] = []
        self.index: Index | None = None
        self._in_vain = 0

    def frames(self) -> Iterator[tuple[int, Frame]]:
        """Place and content of every whole chunk."""
        try:
            yield from self._frames()
        except _GaveUp as error:
            self._note(str(error))

    def _frames(self) -> Iterator[tuple[int, Frame]]:
        feed = self.feed
        while feed.has(1):
            if feed.peek(1)[0] & ~3 == INDEX_MARKER and self._take_index():
                return
            frame = self._frame()
            if frame is not None:
                offset = feed.offset
                feed.skip(frame.n_bytes)
                yield offset, frame
                continue
            start = feed.offset
            while feed.find(MARKER) and self._frame() is None:
                pass
            self._note(f"bytes {start} to {feed.offset - 1} are no whole chunk")
        self._note(NO_INDEX)

    def _note(self, what: str) -> None:
        if self.strict:
            raise DamagedFile(f"{what}; {HOW_TO_GO_ON}")
        self.damage.append(what)

    def _frame(self) -> Frame | None:
        """The chunk that begins here, if one does. A marker within a payload is told by the checksum."""
        start = self.feed.peek(len(MARKER) + _VARINT)
        try:
            cursor = Cursor(start)
            if cursor.take(len(MARKER)) != MARKER:
                return None
            total = cursor.varint(MAX_FRAME) + cursor.at + 4
            if not self.feed.has(total):
                return None
            return Frame.parse(self._checked(total), self.header)
        except DamagedFile:
            return None

    def _checked(self, n_bytes: int) -> bytes:
        self._in_vain += n_bytes
        if self._in_vain > _PATIENCE * (self.feed.offset + n_bytes) + 2**24:
            raise _GaveUp("the file is full of bytes that look like the start of a chunk and are none")
        return self.feed.peek(n_bytes)

    def _take_index(self) -> bool:
        """Whether all that is left is a whole index."""
        if self.feed.has(MAX_INDEX):
            return False
        rest = self.feed.peek(MAX_INDEX)
        try:
            self.index = Index.parse(rest, self.header)[0]
        except DamagedFile:
            return False
        self.feed.skip(len(rest))
        return True


class _GaveUp(Exception):
    """More bytes were checked in vain than damage by accident explains."""
