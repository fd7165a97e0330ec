"""Going through a file from its front, whole or cut or changed, or as it comes: headers, chunks and indices."""

import re
from collections.abc import Iterator
from contextlib import suppress

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.files.feed import Changed, Feed
from hrpursuit.compression.files.frame import MARKER, MAX_FRAME, Frame
from hrpursuit.compression.files.header import CHECKSUM, MAGIC, MAX_HEADER, Header
from hrpursuit.compression.files.index import FLAGS, MAX_INDEX, TRAILER, Index
from hrpursuit.compression.files.index import MARKER as INDEX_MARKER
from hrpursuit.compression.files.members import Headers
from hrpursuit.compression.layout import MAX_VARINT, Cursor

HOW_TO_GO_ON = "damaged='skip' gives every whole chunk."
NO_INDEX = "the index at the end is missing or damaged: the file is cut, or was not finished"
#: Bytes that may be checked in vain, in all, for each byte of the file: more is nobody's accident.
_PATIENCE = 64
#: How a chunk, an index and a header begin.
_START = re.compile(b"|".join([MARKER, INDEX_MARKER + b"[" + bytes([FLAGS]) + b"-" + bytes([FLAGS | 7]) + b"]", MAGIC]))

Block = Header | Frame | Index


def read_header(feed: Feed, headers: Headers) -> Header:
    """The header at the front of a file, which the feed is then behind."""
    while True:
        with suppress(Changed):
            return _read_header(feed, headers)


def _read_header(feed: Feed, headers: Headers) -> Header:
    start = feed.peek(len(MAGIC))
    if start != MAGIC:
        came = "it is empty" if not start else f"it begins with {start!r}"
        raise DamagedFile(f"not a compressed table of hrpursuit (.hrp): {came}.")
    try:
        total = _length(feed, len(MAGIC), MAX_HEADER, CHECKSUM)
    except DamagedFile as error:
        raise DamagedFile("the file is cut within its header: nothing can be read without it.") from error
    header = headers.parse(feed.peek(total))
    feed.skip(total)
    return header


def _length(feed: Feed, n_before: int, most: int, n_after: int) -> int:
    """Bytes of the block that begins here and whose length stands behind so many bytes, if all of it is there."""
    start = feed.peek_varint(n_before, MAX_VARINT)
    cursor = Cursor(start)
    cursor.take(n_before)
    total = cursor.varint(most) + len(start) + n_after
    if not feed.has(total):
        raise DamagedFile("the file ends within it")
    return total


class Scan:
    """Goes through the blocks of a file behind its first header.

    Parameters
    ----------
    feed : Feed
        The file, behind its first header.
    headers : Headers
        Which know that header.
    strict : bool
        Whether to raise DamagedFile at whatever is no whole block, or to go on behind it.

    Attributes
    ----------
    damage : list of str
        What was passed over.
    is_finished : bool
        Whether the last block so far was an index.
    """

    def __init__(self, feed: Feed, headers: Headers, strict: bool) -> None:
        self.feed = feed
        self.strict = strict
        self.damage: list[str] = []
        self.is_finished = False
        self._headers = headers
        self._header = headers.known
        self._in_vain = 0

    def blocks(self) -> Iterator[tuple[int, Block]]:
        """Place and content of everything that is whole, in the order of the file."""
        try:
            yield from self._blocks()
        except _GaveUp as error:
            self._note(str(error))

    def _blocks(self) -> Iterator[tuple[int, Block]]:
        feed = self.feed
        while feed.has(1):
            offset = feed.offset
            block = self._block()
            if block is None and feed.was_stopped:
                return  # whatever is not whole yet
            if block is None:
                self.is_finished = False
                while feed.find(_START, len(MAGIC)) and (block := self._block()) is None:
                    pass
                stop = feed.offset - (0 if block is None else block.n_bytes)
                self._note(f"bytes {offset} to {stop - 1} are no whole chunk")
                if block is None:
                    break
                offset = stop
            if isinstance(block, Header):
                self._header = block
            self.is_finished = isinstance(block, Index)
            yield offset, block
        if not self.is_finished and not feed.was_stopped:
            self._note(NO_INDEX)

    def _note(self, what: str) -> None:
        if self.strict:
            raise DamagedFile(f"{what}; {HOW_TO_GO_ON}")
        self.damage.append(what)

    def _block(self) -> Block | None:
        """The block that begins here, if one does, which the feed is then behind."""
        while True:
            with suppress(Changed):
                return self._whole_block()

    def _whole_block(self) -> Block | None:
        """What only looks like the start of one is told by its checksum."""
        start = self.feed.peek(2)
        try:
            if start == MARKER:
                block: Block = Frame.parse(self._checked(len(start), MAX_FRAME, CHECKSUM), self._header)
            elif start[:1] == INDEX_MARKER and len(start) == 2 and start[1] & ~7 == FLAGS:
                block = Index.parse(self._checked(len(start), MAX_INDEX, TRAILER), self._header)
            elif self.feed.peek(len(MAGIC) if start == MAGIC[:2] else 2) == MAGIC:
                block = self._headers.parse(self._checked(len(MAGIC), MAX_HEADER, CHECKSUM))
            else:
                return None
        except DamagedFile:
            return None
        self.feed.skip(block.n_bytes)
        return block

    def _checked(self, n_before: int, most: int, n_after: int) -> bytes:
        """All bytes of the block whose length stands behind so many bytes."""
        total = _length(self.feed, n_before, most, n_after)
        self._in_vain += total
        if self._in_vain > _PATIENCE * (self.feed.offset + total) + 2**24:
            raise _GaveUp("the file is full of bytes that look like the start of a chunk and are none")
        return self.feed.peek(total)


class _GaveUp(Exception):
    """More bytes were checked in vain than damage by accident explains."""
