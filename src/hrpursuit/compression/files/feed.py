"""Bytes of a source from its front to its end, as they come: from a file, a pipe, or a file that still grows."""

import io
import os
import re
import select
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from hrpursuit.compression.errors import DamagedFile

_PIECE = 1 << 16  # bytes asked for at a time; a source gives what it has


class Feed:
    """Bytes from a position on; keeps those that are not yet passed.

    Parameters
    ----------
    file : binary file
        Read with `read1` where it has one, so that what has come is given at once.
    offset : int, default=0
        What the first byte counts as.
    """

    def __init__(self, file: Any, offset: int = 0) -> None:
        self._read: Callable[[int], bytes | None] = getattr(file, "read1", file.read)
        self._buffer = bytearray()
        self._at_end = False
        self.was_stopped = False  # before the end, by whoever reads
        self.offset = offset

    @property
    def has_rest(self) -> bool:
        """Whether bytes were read that are not passed."""
        return bool(self._buffer)

    def has(self, n_bytes: int) -> bool:
        """Whether so many bytes are left; reads them in if need be."""
        while len(self._buffer) < n_bytes and not self._at_end:
            piece = self._more(max(_PIECE, min(n_bytes - len(self._buffer), 16 * _PIECE)))
            self._at_end = not piece
            self._buffer += piece
        return len(self._buffer) >= n_bytes

    def _more(self, n_bytes: int) -> bytes:
        """The next bytes, at most so many; none at the end."""
        piece = self._read(n_bytes)
        if piece is None:
            raise BlockingIOError("the source gives nothing yet and does not wait; read it with Decoder.follow.")
        return piece

    def peek(self, n_bytes: int) -> bytes:
        """The next bytes; fewer at the end."""
        self.has(n_bytes)
        return bytes(self._buffer[:n_bytes])

    def peek_varint(self, n_before: int, most: int) -> bytes:
        """So many bytes and the number behind them, and not a byte more: a pipe may have none to give yet."""
        for n_bytes in range(n_before + 1, n_before + most + 1):
            if not self.has(n_bytes) or self._buffer[n_bytes - 1] < 128:
                return self.peek(n_bytes)
        return self.peek(n_before + most)

    def skip(self, n_bytes: int) -> None:
        del self._buffer[:n_bytes]
        self.offset += n_bytes

    def find(self, start: re.Pattern[bytes], longest: int) -> bool:
        """Go to the next place after this one where `start`, of at most so many bytes, matches; False, and at the end,
        if there is none.
        """
        first = 1
        while True:
            found = start.search(self._buffer, first)
            if found is not None:
                self.skip(found.start())
                return True
            self.skip(max(0, len(self._buffer) - longest + 1))
            first = 0
            with suppress(Changed):
                if not self.has(len(self._buffer) + 1):
                    self.skip(len(self._buffer))
                    return False


class Growing(Feed):
    """Bytes of a file that is still written to, or of a pipe: at its end it is looked at again until `is_over`.

    Parameters
    ----------
    file : binary file
        A file that can seek may grow. Of one that cannot, an end is an end, as of a pipe whose writers are gone.
    interval : float
        Seconds between two looks.
    is_over : callable
        Asked whenever there is nothing new; True ends the feed.
    """

    def __init__(self, file: Any, interval: float, is_over: Callable[[], bool]) -> None:
        super().__init__(file)
        self._file, self._interval, self._is_over = file, interval, is_over
        self._seeks = can_seek(file)
        self._start = file.tell() if self._seeks else 0
        self._selects = not self._seeks and _can_be_selected(file)

    def _more(self, n_bytes: int) -> bytes:
        while True:
            piece = self._read_now(n_bytes)
            if piece is not None:
                return piece
            if self.was_stopped:
                return b""
            if self._is_over():
                self.was_stopped = True  # but look once more: something may have come before it was over
                continue
            if not self._selects:
                time.sleep(self._interval)
            if self._seeks:
                self._read_rest_again()

    def _read_now(self, n_bytes: int) -> bytes | None:
        """What there is; None if that is nothing yet, no bytes at the end."""
        if self._selects and not select.select([self._file], [], [], 0 if self.was_stopped else self._interval)[0]:
            return None
        piece = self._read(n_bytes)
        return None if self._seeks and not piece else piece

    def _read_rest_again(self) -> None:
        """Raise Changed if what was read and not passed is no longer there: a writer that was started anew may have cut
        off what was no whole chunk, and written on from there.
        """
        before = bytes(self._buffer)
        if self._file.seek(0, os.SEEK_END) < self._start + self.offset:  # also empties the buffer of the file object
            raise DamagedFile(f"the file is now shorter than the {self.offset} bytes that were read: was it replaced?")
        self._file.seek(self._start + self.offset)
        self._buffer.clear()
        while len(self._buffer) < len(before) and (piece := self._read(len(before) - len(self._buffer))):
            self._buffer += piece
        if self._buffer != before:
            raise Changed


class Changed(Exception):
    """Bytes that were read and not passed have been replaced by others: whoever looked at them has to look again."""


def can_seek(file: Any) -> bool:
    return bool(getattr(file, "seekable", lambda: False)())


def _can_be_selected(file: Any) -> bool:
    """Whether the system can tell that there is something to read; Windows does for sockets alone."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # no file of the system
        return False
    return os.name == "posix" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode))


def opened(source: Any, buffering: int = -1) -> tuple[Any, bool]:
    """A binary file to read from, and whether it is ours to close."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return io.BytesIO(source), True
    if isinstance(source, (str, PathLike)):
        return Path(source).open("rb", buffering), True
    if hasattr(source, "read"):
        return source, False
    raise TypeError(f"source must be a path, bytes or a binary file; got {type(source).__name__}.")
