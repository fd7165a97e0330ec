"""Readings of chunks: the version of the header says which decoder reads them, a limit how many there may be."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np

from hrpursuit.compression.chunks import verbatim
from hrpursuit.compression.chunks.chunk_decoder import ChunkDecoder
from hrpursuit.compression.errors import DamagedFile, LimitExceeded, damage
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import Header
from hrpursuit.compression.files.listing import ChunkInfo
from hrpursuit.compression.files.members import Member
from hrpursuit.compression.jobs import in_order
from hrpursuit.compression.tables.joining import built
from hrpursuit.compression.tables.labels import Labels

#: By version of the format, what decodes its chunks. A version stays here for ever.
DECODERS: dict[int, type[ChunkDecoder]] = {1: ChunkDecoder}
#: Bytes that decoding may take if nobody says otherwise: 2^30 readings, which take some ten minutes.
LIMIT = 2**33
#: A reading counts as many bytes as the kernels have for it, whatever its type: time goes with these. A column of a
#: chunk takes as long as some 60 readings, however few it has (`np.zeros((1, 2**16))`: 28 µs per column).
_BYTES_OF_READING, _BYTES_OF_COLUMN = 8, 512


class ChunkReader:
    """Decodes the chunks behind a header."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._dtypes = header.schema.coded_types
        self._decoder: ChunkDecoder | None = None
        if self._dtypes:
            with damage("what the chunks share"):
                self._decoder = DECODERS[header.version](header.shared, self._dtypes)

    def reads(self, header: Header) -> bool:
        """Whether chunks behind another header are decoded in the same way."""
        mine = self._header
        return (mine.version, mine.types, mine.shared) == (header.version, header.types, header.shared)

    def columns(self, frame: Frame) -> list[np.ndarray]:
        """The columns of a chunk."""
        with damage(f"the chunk from row {frame.first_row} on"):
            if frame.is_plain:
                return verbatim.unpack(frame.payload, frame.n_rows, self._dtypes)
            return [] if self._decoder is None else self._decoder.decode(frame.payload, frame.n_rows)

    def parts(self, frame: Frame) -> tuple[str, dict[str, int]]:
        """How a chunk is coded, and how many bytes each part of its payload takes."""
        if self._decoder is None or not frame.payload:
            return "empty", {}
        if frame.is_plain:
            return "verbatim", {"verbatim": len(frame.payload)}
        with damage(f"the chunk from row {frame.first_row} on"):
            mode, parts = self._decoder.parts(frame.payload, frame.n_rows)
        if sum(parts.values()) != len(frame.payload):
            raise DamagedFile(f"the parts of the chunk from row {frame.first_row} on are longer or shorter than it")
        return mode, parts


#: What decodes a chunk, the chunk, and the labels of its rows.
LabelledFrame = tuple[ChunkReader, Frame, Labels]


class FrameDecoder:
    """Decodes the chunks of a file, whose headers may change, within a limit of memory.

    Parameters
    ----------
    header : Header
        The first one: what the table is.
    limit : int or None
        Most bytes of memory.
    strict : bool
        Whether to raise DamagedFile at a chunk that is damaged, or to go on behind it.
    damage : list of str
        Gets what was left out.
    """

    def __init__(self, header: Header, limit: int | None, strict: bool, damage: list[str]) -> None:
        self._schema, self._limit, self._strict, self._damage = header.schema, limit, strict, damage
        self._reader = ChunkReader(header)
        n_columns = len(self._schema.kinds)
        self._row_bytes = _BYTES_OF_READING * n_columns + self._schema.labels.n_bytes
        self._chunk_bytes = _BYTES_OF_COLUMN * n_columns
        self.n_decoded = 0

    def reader_of(self, header: Header) -> ChunkReader:
        """What decodes the chunks of a header; kept until another one is asked for."""
        if not self._reader.reads(header):
            self._reader = ChunkReader(header)
        return self._reader

    def n_bytes_of(self, chunk: Frame | ChunkInfo, labels: Labels = ()) -> int:
        """What a chunk counts towards the limit, with what its labels take in addition if they are texts."""
        texts = sum(map(len, labels)) if isinstance(labels, list) else 0
        return self._chunk_bytes + chunk.n_rows * self._row_bytes + texts

    def check_room(self, chunks: Iterable[ChunkInfo]) -> None:
        """Raise LimitExceeded if these take too much, before anything is decoded."""
        Budget(self._limit).take(sum(map(self.n_bytes_of, chunks)))

    def tables(self, frames: Iterator[tuple[Member, Frame]], budget: "Budget | None", n_jobs: int) -> Iterator[Any]:
        """A table for each frame; without a budget for all of them, each has one of its own."""

        def labelled() -> Iterator[LabelledFrame]:
            for member, frame in frames:
                room = budget or Budget(self._limit)
                with self.leaving_out():
                    labels = member.labels(frame)
                    room.take(self.n_bytes_of(frame, labels) + self._schema.n_bytes)
                    yield self.reader_of(member.header), frame, labels

        for frame, labels, columns in self.columns(labelled(), budget, n_jobs):
            yield built(self._schema, columns, labels, frame.n_rows)

    def columns(
        self, frames: Iterator[LabelledFrame], budget: "Budget | None", n_jobs: int
    ) -> Iterator[tuple[Frame, Labels, list[np.ndarray]]]:
        """The columns of all frames that are not damaged, in order; the budget counts their texts as well."""
        for frame, labels, found in in_order(_decoded, frames, n_jobs):
            self.n_decoded += 1
            if isinstance(found, DamagedFile):
                self.leave_out(found)
                continue
            try:
                columns = self._schema.with_texts(found, frame.texts, (budget or Budget(self._limit)).take)
            except DamagedFile as error:
                self.leave_out(error)
            else:
                yield frame, labels, columns

    @contextmanager
    def leaving_out(self) -> Iterator[None]:
        """What is damaged inside is left out, or raised."""
        try:
            yield
        except DamagedFile as error:
            self.leave_out(error)

    def leave_out(self, error: DamagedFile) -> None:
        """Note what is damaged, or raise it."""
        if self._strict:
            raise error
        self._damage.append(str(error))


def _decoded(job: LabelledFrame) -> tuple[Frame, Labels, list[np.ndarray] | DamagedFile]:
    reader, frame, labels = job
    try:
        return frame, labels, reader.columns(frame)
    except DamagedFile as error:
        return frame, labels, error


class Budget:
    """Counts the bytes of tables before they are decoded."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._n_bytes = 0

    def take(self, n_bytes: int) -> None:
        """Raise LimitExceeded if this is more than is left."""
        self._n_bytes += n_bytes
        if self._limit is not None and self._n_bytes > self._limit:
            raise LimitExceeded(
                f"decoding the table takes {self._n_bytes:,} bytes or more, limit={self._limit} allows "
                f"{self._limit:,}; give a greater limit, or limit=None, if you trust the file and have the memory."
            )


def checked_limit(limit: int | None) -> int | None:
    if limit is not None and (not isinstance(limit, Integral) or isinstance(limit, bool) or limit < 1):
        raise ValueError(f"limit must be a number of bytes, at least 1, or None; got {limit!r}.")
    return limit
