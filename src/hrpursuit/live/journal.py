"""The messages since the last keyframe in a file, so that a controller that was killed can go on where it was."""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from hrpursuit.files import replaced_when_done
from hrpursuit.live.lock import WriterLock

_MAGIC = b"hrpursuit journal 1\n"
_MOST_BYTES = 64 << 20


class Journal:
    """Each message is written before it is acknowledged. A keyframe starts the file anew.

    Parameters
    ----------
    path : Path
        The file; it is made if it does not exist. A lock beside it keeps other controllers away until `close`.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, WriterLock(path)
        if path.exists() and path.stat().st_size:
            with path.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    raise ValueError(f"{path} is no journal of a controller; remove it, or give another name.")
        self._file: BinaryIO | None = path.open("ab")
        #: Bytes of whole messages; 0: nothing is written before the next keyframe.
        self._size = sum((len(message) + 4 for message in self.read()), len(_MAGIC)) if self._file.tell() else 0
        self._file.truncate(self._size)  # a message of which a kill has left a part would hide those behind it

    def read(self) -> Iterator[bytes]:
        """The messages that it has, without the last one if that is not whole."""
        with self._path.open("rb") as file:
            file.seek(len(_MAGIC))
            while len(head := file.read(4)) == 4:
                (size,) = struct.unpack("<I", head)
                message = file.read(min(size, _MOST_BYTES))
                if len(message) != size:
                    return
                yield message

    def start(self, *messages: bytes) -> None:
        """Have only these: a keyframe, after the one with its dictionary if it does not carry it."""
        self._close_file()
        with replaced_when_done(self._path) as temporary:
            temporary.write_bytes(_MAGIC + b"".join(map(_record, messages)))
        self._file = self._path.open("ab")
        self._size = self._file.tell()

    def append(self, message: bytes) -> None:
        """Nothing is appended before the first keyframe, or after something could not be written."""
        record = _record(message)
        if self._file is None or not self._size or self._size + len(record) > _MOST_BYTES:
            return
        try:
            self._file.write(record)
            self._file.flush()
        except OSError:
            self._close_file()
            raise
        self._size += len(record)

    def close(self) -> None:
        self._close_file()
        self._lock.release()

    def _close_file(self) -> None:
        file, size, self._file, self._size = self._file, self._size, None, 0
        if file is None:
            return
        with suppress(OSError):  # of what could not be written before
            file.close()
        with suppress(OSError):
            os.truncate(self._path, size)


def _record(message: bytes) -> bytes:
    return struct.pack("<I", len(message)) + message
