"""The slots of a stream as an ordinary `.hrp` file."""

import os
import warnings
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from hrpursuit.compression import DamagedFile, DamagedFileWarning, Decoder, Encoder
from hrpursuit.live.messages import Slot
from hrpursuit.rows.optional import needed


class Recorder:
    """Write rebuilt slots to an `.hrp` file that `hrpursuit decompress` and `decompress` read, chunk by chunk.

    The file keeps what was shown, bit for bit, with the times as its index. The slots are coded again: a message ends
    with its coder closed and a chunk does not, so that the bytes of messages cannot stand in a file. No error is added,
    since the readings of the file are those of the messages.

    A file that is there is gone on with. After a crash it is readable to its last whole chunk, and the next Recorder
    mends it. When the columns change, a file of its own is begun beside it: `readings-2.hrp` after `readings.hrp`.

    Parameters
    ----------
    path : path
        The file.
    chunk_slots : int, default=256
        Slots that are kept in memory until a chunk of them is written, from 1 to 65536. A crash loses no more.

    Attributes
    ----------
    path : Path
        The file that is written now.
    n_slots : int
        Slots that are in files or wait for a chunk.
    """

    def __init__(self, path: str | PathLike[str], *, chunk_slots: int = 256) -> None:
        Encoder(lossless=True, chunk_rows=chunk_slots)  # raises if it is none
        self._pandas: Any = needed("pandas", "archives with times", "live")
        self._first, self._chunk_slots = Path(path), chunk_slots
        self.path = self._first
        self.n_slots = 0
        self._columns: tuple[str, ...] | None = None
        self._encoder: Encoder | None = None
        self._file: BinaryIO | None = None
        self._waiting: list[Slot] = []

    def write(self, slots: Iterable[Slot]) -> None:
        """Take slots in their order; chunks that are full go to the file."""
        for slot in slots:
            if slot.columns != self._columns:
                self._begin(slot.columns)
            self._waiting.append(slot)
            self.n_slots += 1
            if len(self._waiting) >= self._chunk_slots:
                self.flush()

    def flush(self) -> None:
        """Write what waits as a chunk, which may be short, and see that it is on the disk."""
        if not self._waiting or self._encoder is None or self._file is None or self._columns is None:
            return
        pandas = self._pandas
        times = pandas.to_datetime(np.array([slot.time for slot in self._waiting]), unit="ns", utc=True)
        table = pandas.DataFrame(
            np.array([slot.values for slot in self._waiting]), columns=list(self._columns),
            index=pandas.DatetimeIndex(times, name="time"),
        )  # fmt: skip
        data = self._encoder.append(table) + self._encoder.flush()
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._waiting = []

    def close(self) -> None:
        """Write what waits and the index of the file."""
        self.flush()
        if self._file is None or self._encoder is None:
            return
        try:
            if self._file.tell() > 0:
                self._file.write(self._encoder.finish())
        finally:
            self._file.close()
            self._file = self._encoder = self._columns = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, columns: tuple[str, ...]) -> None:
        """Go on with the last of the files `name`, `name-2`, ... if it has these columns, else begin the next one."""
        self.close()
        number = 1
        while _numbered(self._first, number + 1).exists():
            number += 1
        path, encoder = _numbered(self._first, number), None
        if path.exists() and path.stat().st_size:
            encoder = _going_on(path, columns)
            if encoder is None:
                path = _numbered(self._first, number + 1)
        self._encoder = encoder or Encoder(lossless=True, chunk_rows=self._chunk_slots)
        self.path, self._file, self._columns = path, path.open("ab"), columns


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
