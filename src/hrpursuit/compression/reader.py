"""Read a compressed table: whole, chunk by chunk, or the rows of a range."""

import io
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from hrpursuit.compression.chunks.chunk_decoder import ChunkDecoder
from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.files.container import Frame
from hrpursuit.compression.files.listing import ChunkInfo, Stored, chunks_by_index, chunks_by_scan, labels_of_frame
from hrpursuit.compression.files.scan import HOW_TO_GO_ON, Feed, Scan, read_header
from hrpursuit.compression.tables.bounds import Bounds
from hrpursuit.compression.tables.labels import Labels


class Decoder:
    """Read a compressed table: whole, chunk by chunk, or the rows of a range.

    Parameters
    ----------
    source : path, bytes-like or binary file
        The file. Of a file that cannot seek, such as a pipe, the chunks can be iterated over once; `n_rows` and
        `n_bytes` are None and `chunks` is empty.
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
        self.n_rows: int | None = None
        self.n_bytes: int | None = None
        self._stored: Stored | None = None
        self._in_order = False
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        seeks = bool(getattr(self._file, "seekable", lambda: False)())
        base = self._file.tell() if seeks else 0
        self._feed = Feed(self._file.read)
        self._header = read_header(self._feed)
        schema = self._header.schema
        self.n_columns = len(schema.kinds)
        self.columns = None if schema.names is None else list(schema.names.values)
        self.attrs, self.target = schema.attrs, self._header.target
        with damage("what the chunks share"):
            self._coder = ChunkDecoder(self._header.shared, schema.coded_types) if self.n_columns else None
        if not seeks:
            return
        self._stored = Stored(self._file, base)
        self.n_bytes = self._stored.n_bytes
        if self._strict:
            self.chunks, self._in_order = chunks_by_index(self._stored, self._header)
        else:
            self.chunks, self.damage = chunks_by_scan(self._stored, self._header)
        self.n_rows = sum(chunk.n_rows for chunk in self.chunks)

    def _frame(self, chunk: ChunkInfo) -> Frame:
        assert self._stored is not None
        try:
            frame = Frame.parse(self._stored.read_at(chunk.offset, chunk.n_bytes), self._header)
            if (frame.number, frame.n_rows) != (chunk.number, chunk.n_rows):
                raise DamagedFile("it is another chunk than the index says")
        except DamagedFile as error:
            where = f"chunk {chunk.number} (bytes {chunk.offset} to {chunk.offset + chunk.n_bytes - 1})"
            raise DamagedFile(f"{where} is damaged: {error}; {HOW_TO_GO_ON}") from error
        return frame

    def _columns(self, frame: Frame) -> list[np.ndarray]:
        if self._coder is None:
            return []
        self.n_decoded += 1
        with damage(f"the payload of chunk {frame.number}"):
            return self._coder.decode(frame.payload, frame.n_rows)

    def __iter__(self) -> Iterator[Any]:
        """Tables, one a chunk, in order."""
        for frame in self._frames():
            try:
                labels, columns = labels_of_frame(frame, self._header), self._columns(frame)
            except DamagedFile as error:
                self._left_out(error)
                continue
            yield self._built(columns, labels, frame.n_rows)

    def _left_out(self, error: DamagedFile) -> None:
        if self._strict:
            raise error
        self.damage.append(str(error))

    def _frames(self) -> Iterator[Frame]:
        return self._streamed() if self._stored is None else map(self._frame, self.chunks)

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
        if self._stored is None:
            raise ValueError("rows of a range need a file that can seek; of a pipe, iterate over the chunks.")
        schema = self._header.schema
        bounds = Bounds(schema.labels, start, stop)
        blocks, labels, n_rows = [], [], 0
        for chunk in self.chunks:
            if self._in_order and bounds.misses(chunk.first, chunk.last):
                continue
            try:
                frame = self._frame(chunk)
                here = labels_of_frame(frame, self._header)
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

    def _built(self, columns: list[np.ndarray], labels: Labels, n_rows: int) -> Any:
        with damage("the table"):  # labels may be times that pandas does not know
            return self._header.schema.build(columns, labels, n_rows)

    def _joined(self, blocks: list[list[np.ndarray]], labels: list[Labels], n_rows: int) -> Any:
        schema = self._header.schema
        if not blocks:
            none = [np.empty(0, dtype) for dtype in schema.coded_types]
            return self._built(none, schema.labels.decode(b"", 0, 0), 0)
        columns = [np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in zip(*blocks, strict=True)]
        if isinstance(labels[0], list):
            return self._built(columns, [label for part in labels for label in part], n_rows)
        return self._built(columns, np.concatenate(labels), n_rows)

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
