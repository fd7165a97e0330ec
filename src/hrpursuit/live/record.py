"""The slots of a stream as an ordinary `.hrp` file."""

import os
import warnings
from collections.abc import Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from hrpursuit.compression import DamagedFile, DamagedFileWarning, Decoder, Encoder
from hrpursuit.live.lock import WriterLock
from hrpursuit.live.messages import Slot
from hrpursuit.rows.optional import needed

_MOST_CHUNKS = 16  # that are kept in memory while the disk is full


class Recorder:
    """Write rebuilt slots to an `.hrp` file that `hrpursuit decompress` and `decompress` read, chunk by chunk.

    The file keeps the rebuilt values bit for bit, with the times as its index. The slots are coded again, without any
    further error; `docs/reference/wire.md` says why the bytes of messages cannot be copied to a file.

    A file that exists is continued. After a crash it is readable up to its last whole chunk, and the next Recorder
    repairs it. When the columns change, a new file is begun beside it: `readings-2.hrp` after `readings.hrp`. Until
    `close`, a lock on `readings.hrp.lock` keeps other recorders from writing to it.

    Parameters
    ----------
    path : path
        Name of the file.
    chunk_slots : int, default=256
        Number of slots in a chunk, from 1 to 65536. Slots are kept in memory until their chunk is full and written, so
        a crash loses less than one chunk.

    Attributes
    ----------
    path : Path
        Name of the file that is being written.
    n_slots : int
        Number of slots that are in files, or in memory until their chunk is full.
    n_dropped : int
        Number of slots, the oldest ones, that were dropped because the file could not be written to for more than 16
        chunks, or until the columns changed.
    """

    def __init__(self, path: str | PathLike[str], *, chunk_slots: int = 256) -> None:
        Encoder(lossless=True, chunk_rows=chunk_slots)  # raises if it is none
        self._pandas: Any = needed("pandas", "archives with times", "live")
        self._first, self._chunk_slots = Path(path), chunk_slots
        self._lock = WriterLock(self._first)
        self._is_closed = False
        self.path = self._first
        self.n_slots = self.n_dropped = 0
        self._columns: tuple[str, ...] | None = None
        self._encoder: Encoder | None = None
        self._file: BinaryIO | None = None
        self._size = 0  # of the file, up to its last whole chunk
        self._waiting: list[Slot] = []

    @property
    def n_waiting(self) -> int:
        """Number of slots that are in memory."""
        return len(self._waiting)

    def write(self, slots: Iterable[Slot]) -> None:
        """Add slots, in their order; chunks that are full are written to the file. All slots are taken, even if an
        OSError is raised: what could not be written is kept, and tried again a chunk later.
        """
        if self._is_closed:
            raise ValueError(f"the recorder of {self._first} is closed; make another one to go on with the file.")
        failed: OSError | None = None
        for slot in slots:
            try:
                if slot.columns != self._columns:
                    self._change(slot.columns)
            except OSError as error:
                failed = error
            self._take(slot)
            try:
                if len(self._waiting) % self._chunk_slots == 0:
                    self.flush()
            except OSError as error:
                failed = error
        if failed is not None:
            raise failed

    def _change(self, columns: tuple[str, ...]) -> None:
        try:
            self._finish_file()
        finally:
            self._drop(len(self._waiting))  # of the old columns, if they could not be written
            self._columns = columns
        self._begin(columns)

    def _take(self, slot: Slot) -> None:
        self._waiting.append(slot)
        self.n_slots += 1
        self._drop(len(self._waiting) - _MOST_CHUNKS * self._chunk_slots)

    def _drop(self, n: int) -> None:
        if n > 0:
            del self._waiting[:n]
            self.n_dropped += n
            self.n_slots -= n

    def flush(self) -> None:
        """Write the slots in memory as a chunk, which may be short, and make sure that it is on the disk. If that
        fails, the file ends with its last whole chunk.
        """
        if not self._waiting or self._columns is None:
            return
        try:
            if self._encoder is None:
                self._begin(self._columns)
            assert self._encoder is not None
            self._append(self._encoder.append(self._table()) + self._encoder.flush())
        except BaseException:
            self._give_up_file()
            raise
        self._waiting = []

    def _table(self) -> Any:
        pandas = self._pandas
        times = pandas.to_datetime(np.array([slot.time for slot in self._waiting]), unit="ns", utc=True)
        return pandas.DataFrame(
            np.array([slot.values for slot in self._waiting]), columns=list(self._columns or ()),
            index=pandas.DatetimeIndex(times, name="time"),
        )  # fmt: skip

    def _append(self, data: bytes) -> None:
        assert self._file is not None
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
        os.fsync(self._file.fileno())
        self._size += len(data)

    def _give_up_file(self) -> None:
        """Cut what was written of a chunk; the next flush opens the file again, and goes on behind its last chunk."""
        if self._file is not None:
            with suppress(OSError):
                self._file.truncate(self._size)
            with suppress(OSError):
                self._file.close()
        self._file = self._encoder = None

    def close(self) -> None:
        """Write the slots in memory and the index of the file, and release the lock. If it raises OSError, the slots
        are kept, and it can be called again.
        """
        self._finish_file()
        self._lock.release()
        self._is_closed = True

    def _finish_file(self) -> None:
        self.flush()
        if self._file is None or self._encoder is None:
            return
        try:
            if self._size > 0:
                self._append(self._encoder.finish())
        finally:
            self._give_up_file()
            self._columns = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, columns: tuple[str, ...]) -> None:
        """Go on with the last of the files `name`, `name-2`, ... if it has these columns, else begin the next one."""
        number = 1
        while _numbered(self._first, number + 1).exists():
            number += 1
        path, encoder = _numbered(self._first, number), None
        if path.exists() and path.stat().st_size:
            encoder = _going_on(path, columns)
            if encoder is None:
                path = _numbered(self._first, number + 1)
        self._encoder = encoder or Encoder(lossless=True, chunk_rows=self._chunk_slots)
        self.path, self._file = path, path.open("ab", buffering=0)
        self._size = self._file.tell()


def _numbered(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")


def _going_on(path: Path, columns: tuple[str, ...]) -> Encoder | None:
    """What goes on with a file; None if it has other columns, or is no compressed table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedFileWarning)  # a crash may have cut the last chunk
        try:
            with Decoder(path, damaged="skip") as decoder:
                if decoder.columns is None or tuple(decoder.columns) != columns:
                    return None
            return Encoder.append_to(path)
        except DamagedFile:
            return None
