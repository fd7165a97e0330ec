"""Readings of chunks: the version of the header says which decoder reads them, a limit how many there may be."""

from numbers import Integral

import numpy as np

from hrpursuit.compression.chunks import verbatim
from hrpursuit.compression.chunks.chunk_decoder import ChunkDecoder
from hrpursuit.compression.errors import DamagedFile, LimitExceeded, damage
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import Header
from hrpursuit.compression.tables.labels import Labels

#: By version of the format, what decodes its chunks. A version stays here for ever.
DECODERS: dict[int, type[ChunkDecoder]] = {1: ChunkDecoder}
#: Bytes of a decoded table if nobody says otherwise: more than most machines have, less than a forged file can claim.
LIMIT = 2**33


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
                f"the table takes {self._n_bytes:,} bytes or more in memory, limit={self._limit} allows "
                f"{self._limit:,}; give a greater limit, or limit=None, if you trust the file and have the memory."
            )


def checked_limit(limit: int | None) -> int | None:
    if limit is not None and (not isinstance(limit, Integral) or isinstance(limit, bool) or limit < 1):
        raise ValueError(f"limit must be a number of bytes, at least 1, or None; got {limit!r}.")
    return limit


def bytes_of_row(header: Header) -> int:
    """Memory that a row takes, its label included."""
    return sum(dtype.itemsize for dtype in header.schema.coded_types) + header.schema.labels.n_bytes


def bytes_of_columns(header: Header) -> int:
    """Memory that the columns of a chunk take, however many rows they have."""
    return 16 * len(header.schema.kinds)


def bytes_of_texts(labels: Labels) -> int:
    """Memory that labels take in addition if they are texts."""
    return sum(map(len, labels)) if isinstance(labels, list) else 0
