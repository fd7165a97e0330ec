"""Read a compressed table: whole, chunk by chunk, or the rows of a range."""

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from hrpursuit.compression.bounds import Bounds
from hrpursuit.compression.chunk_decoder import ChunkDecoder
from hrpursuit.compression.container import MAX_INDEX, TRAILER, Frame, Index
from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.labels import Labels
from hrpursuit.compression.scan import NO_INDEX, Feed, Scan, read_header


@dataclass(frozen=True)
class ChunkInfo:
    """Where a chunk is, and which rows it has.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    first, last : label
        Labels of its first and last row: time stamps, numbers or texts of the index, row numbers for an array.
    offset : int
        First byte in the file.
    n_bytes : int
        Size in the file, checksum included.
    number : int
        Which chunk of the table it is, from 0.
    """

    n_rows: int
    first: Any
    last: Any
    offset: int
    n_bytes: int
    number: int


class Decoder:
    """Read a compressed table: whole, chunk by chunk, or the rows of a range.

    Parameters
    ----------
    source : path, bytes-like or binary file
        The file. Of a file that cannot seek, such as a pipe, the chunks can be iterated over once; `n_rows` is None
        and `chunks` empty.
    damaged : {"raise", "skip"}, default="raise"
        What to do with a file that is cut or changed: raise DamagedFile, or leave out what is damaged and say so in
        `damage`. A header that is damaged raises in both cases.

    Attributes
    ----------
    n_rows, n_columns : int
        Shape of the table; of a damaged file the rows of whole chunks.
    columns : list of str or int, or None
        Names of the columns; None for an array.
    attrs : dict
        `attrs` of the DataFrame.
    target : Target
        What the file was asked to keep.
    chunks : list of ChunkInfo
        The chunks, in order.
    damage : list of str
        What was left out.
    n_bytes : int
        Size of the file.
    n_decoded : int
        How many chunks were decoded so far.
    """

    def __init__(
        self, source: str | PathLike[str] | bytes | io.BufferedIOBase | Any, *, damaged: str = "raise"
    ) -> None:
        if damaged not in ("raise", "skip"):
            raise ValueError(f"damaged must be 'raise' or 'skip'; got {damaged!r}.")
        self._file, self._own = _opened(source)
        self._strict = damaged == "raise"
        self.damage: list[str] = []
        self.chunks: list[ChunkInfo] = []
        self.n_decoded = 0
        self._in_order = False
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._seeks = bool(getattr(self._file, "seekable", lambda: False)())
        self._base = self._file.tell() if self._seeks else 0
        self._feed = Feed(self._file.read)
        self._header = read_header(self._feed)
        schema = self._header.schema
        self.n_columns = len(schema.kinds)
        self.columns = None if schema.names is None else list(schema.names.values)
        self.attrs, self.target = schema.attrs, self._header.target
        self.n_rows: int | None = None
        self.n_bytes = 0
        with damage("what the chunks share"):
            self._coder = ChunkDecoder(self._header.shared, schema.coded_types) if self.n_columns else None
        if not self._seeks:
            return
        self.n_bytes = self._file.seek(0, os.SEEK_END) - self._base
        self._file.seek(self._base + self._header.n_bytes)
        self._feed = Feed(self._file.read)
        self._feed.offset = self._header.n_bytes
        if self._strict:
            self._read_index()
        else:
            self._scan()
        self.n_rows = sum(chunk.n_rows for chunk in self.chunks)

    def _read_index(self) -> None:
        """Places of the chunks by the index at the end; they have to fill the file."""
        index, labels, length = self._end()
        if self._header.n_bytes + sum(index.sizes) + length != self.n_bytes:
            raise DamagedFile("the chunks do not fill the file; damaged='skip' gives every whole chunk.")
        rows = [self._header.chunk_rows] * (len(index.sizes) - 1) + [index.last_rows] * bool(index.sizes)
        if 0 in rows:
            raise DamagedFile("the last chunk has no rows")
        if labels is None:
            labels = self._even_ends(rows)
        self._in_order = index.in_order
        self._list(list(range(len(rows))), rows, labels, index.sizes, None)

    def _end(self) -> tuple[Index, Labels | None, int]:
        """The index, its labels if it has some, and its length."""
        room = self.n_bytes - self._header.n_bytes
        trailer = self._read_at(self.n_bytes - TRAILER, TRAILER) if room >= TRAILER else bytes(TRAILER)
        length = int.from_bytes(trailer[:4], "little") + TRAILER
        if length > min(room, MAX_INDEX):
            raise DamagedFile(f"{NO_INDEX}; damaged='skip' gives every whole chunk.")
        try:
            return *Index.parse(self._read_at(self.n_bytes - length, length), self._header), length
        except DamagedFile as error:
            raise DamagedFile(f"{error}; damaged='skip' gives every whole chunk.") from error

    def _even_ends(self, rows: list[int]) -> Labels:
        kind, step = self._header.schema.labels, self._header.chunk_rows
        ends = [kind.even(place, 1)[0] for n, k in enumerate(rows) for place in (n * step, n * step + k - 1)]
        return np.array(ends, np.int64)

    def _scan(self) -> None:
        """Places of the chunks by looking at all of them."""
        scan = Scan(self._feed, self._header, strict=False)
        found: dict[int, tuple[int, int, int, Any]] = {}
        for offset, frame in scan.frames():
            try:
                labels = self._labels(frame)
            except DamagedFile as error:
                self.damage.append(f"chunk {frame.number}: {error}")
                continue
            if frame.number in found:
                self.damage.append(f"chunk {frame.number} is there twice")
                continue
            found[frame.number] = (frame.n_rows, offset, frame.n_bytes, (labels[0], labels[-1]))
        if list(found) != sorted(found):
            self.damage.append("the chunks are not in order")
        n_chunks = max(found, default=-1) + 1
        try:
            n_chunks = max(n_chunks, len(self._end()[0].sizes))  # it may be whole behind a chunk that is not
            self.damage += [what for what in scan.damage if what != NO_INDEX]
        except DamagedFile:
            self.damage += scan.damage
        numbers = sorted(found)
        for before, after in pairwise([-1, *numbers, n_chunks]):
            if after - before > 1:
                some = f"chunk {before + 1}" if after - before == 2 else f"chunks {before + 1} to {after - 1}"
                rows = f"rows {(before + 1) * self._header.chunk_rows} to {after * self._header.chunk_rows - 1}"
                self.damage.append(f"{some} ({rows}) lost")
        rows, offsets, sizes, ends = zip(*(found[number] for number in numbers), strict=True) if numbers else ((),) * 4
        flat = [label for pair in ends for label in pair]
        self._list(numbers, list(rows), flat, list(sizes), list(offsets))

    def _list(
        self, numbers: list[int], rows: list[int], labels: Labels, sizes: list[int], offsets: list[int] | None
    ) -> None:
        schema = self._header.schema
        if offsets is None:
            offsets = (self._header.n_bytes + np.cumsum([0, *sizes])).tolist()
        shown = labels if schema.names is None else schema.labels.values(labels)
        for place, number in enumerate(numbers):
            first, last = shown[2 * place], shown[2 * place + 1]
            if schema.names is None:
                first, last = int(first), int(last)
            self.chunks.append(ChunkInfo(rows[place], first, last, offsets[place], sizes[place], number))

    def _read_at(self, offset: int, n_bytes: int) -> bytes:
        self._file.seek(self._base + offset)
        return self._file.read(n_bytes)

    def _frame(self, chunk: ChunkInfo) -> Frame:
        try:
            frame = Frame.parse(self._read_at(chunk.offset, chunk.n_bytes), self._header)
            if (frame.number, frame.n_rows) != (chunk.number, chunk.n_rows):
                raise DamagedFile("it is another chunk than the index says")
        except DamagedFile as error:
            where = f"chunk {chunk.number} (bytes {chunk.offset} to {chunk.offset + chunk.n_bytes - 1})"
            raise DamagedFile(f"{where} is damaged: {error}; damaged='skip' gives every whole chunk.") from error
        return frame

    def _labels(self, frame: Frame) -> Labels:
        with damage("the labels of a chunk"):
            return self._header.schema.labels.decode(frame.labels, frame.number * self._header.chunk_rows, frame.n_rows)

    def _columns(self, frame: Frame) -> list[np.ndarray]:
        if self._coder is None:
            return []
        self.n_decoded += 1
        with damage(f"the payload of chunk {frame.number}"):
            return self._coder.decode(frame.payload, frame.n_rows)

    def __iter__(self) -> Iterator[Any]:
        """Tables, one a chunk, in order."""
        schema = self._header.schema
        for frame in self._stored() if self._seeks else self._streamed():
            try:
                labels, columns = self._labels(frame), self._columns(frame)
            except DamagedFile as error:
                self._left_out(error)
                continue
            yield schema.build(columns, labels, frame.n_rows)

    def _left_out(self, error: DamagedFile) -> None:
        if self._strict:
            raise error
        self.damage.append(str(error))

    def _stored(self) -> Iterator[Frame]:
        return map(self._frame, self.chunks)

    def _streamed(self) -> Iterator[Frame]:
        scan = Scan(self._feed, self._header, self._strict)
        number = 0
        for _, frame in scan.frames():
            if frame.number != number:
                self._left_out(DamagedFile(f"chunk {frame.number} came where {number} was expected"))
            if frame.number >= number:
                yield frame
            number = max(number, frame.number + 1)
        if scan.index is not None and number < len(scan.index.sizes):
            self._left_out(DamagedFile(f"chunks from {number} to {len(scan.index.sizes) - 1} are lost"))
        self.damage += scan.damage

    def read(self, start: Any = None, stop: Any = None) -> Any:
        """Give the rows whose label lies from `start` to `stop`, both included; decodes only the chunks they are in.

        Parameters
        ----------
        start : label, default=None
            Row number for an array, otherwise a label of the index. Time stamps may be texts, and then mean all of
            what they name: `stop="2017-10-05"` includes that whole day. None: from the beginning.
        stop : label, default=None
            As `start`. None: to the end.

        Returns
        -------
        table : ndarray or DataFrame
            The rows, in order.
        """
        if not self._seeks:
            raise ValueError("rows of a range need a file that can seek; of a pipe, iterate over the chunks.")
        schema = self._header.schema
        bounds = Bounds(schema.labels, start, stop)
        blocks, labels, n_rows = [], [], 0
        for chunk in self.chunks:
            if self._in_order and bounds.misses(chunk.first, chunk.last):
                continue
            try:
                frame = self._frame(chunk)
                here = self._labels(frame)
                keep = bounds.mask(here)
                if not keep.any():
                    continue
                columns = self._columns(frame)
            except DamagedFile as error:
                self._left_out(error)
                continue
            if not keep.all():
                columns = [column[keep] for column in columns]
                here = (
                    [label for label, kept in zip(here, keep, strict=True) if kept]
                    if isinstance(here, list)
                    else here[keep]
                )
            blocks.append(columns)
            labels.append(here)
            n_rows += int(keep.sum())
        return self._joined(blocks, labels, n_rows)

    def _joined(self, blocks: list[list[np.ndarray]], labels: list[Labels], n_rows: int) -> Any:
        schema = self._header.schema
        if not blocks:
            none = [np.empty(0, dtype) for dtype in schema.coded_types]
            return schema.build(none, schema.labels.decode(b"", 0, 0), 0)
        columns = [np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in zip(*blocks, strict=True)]
        if isinstance(labels[0], list):
            return schema.build(columns, [label for part in labels for label in part], n_rows)
        return schema.build(columns, np.concatenate(labels), n_rows)

    def close(self) -> None:
        """Close the file if it was opened here."""
        if self._own:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _opened(source: Any) -> tuple[Any, bool]:
    """A binary file to read from, and whether it is ours to close."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return io.BytesIO(source), True
    if isinstance(source, (str, PathLike)):
        return Path(source).open("rb"), True
    if hasattr(source, "read"):
        return source, False
    raise TypeError(f"source must be a path, bytes or a binary file; got {type(source).__name__}.")
