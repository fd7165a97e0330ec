"""What stands after chunks, so that a reader that can seek finds them: sizes, rows, first and last labels."""

from dataclasses import dataclass, field

import numpy as np

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.files.frame import LEAST_FRAME, MAX_FRAME, MAX_ROWS, Frame
from hrpursuit.compression.files.header import CHECKSUM, MAX_HEADER, Header, checksum_bytes
from hrpursuit.compression.layout import Cursor, varint, varints
from hrpursuit.compression.tables.labels import LabelKind, Labels

MARKER = b"\xc5"
FLAGS = 0xD8  # the second byte, plus the flags
_HAS_LABELS, _IN_ORDER, _ROWS_DIFFER = 1, 2, 4
TRAILER = 8  # length of the index, checksum
MAX_INDEX = 2**28


@dataclass
class Index:
    """The chunks between a header, or another index, and this one.

    Attributes
    ----------
    n_header : int
        Size of the header that stands right before the chunks; 0 if it is an index of earlier chunks.
    first_row : int
        Number of the first row of these chunks, counted from the header.
    sizes, rows : list of int
        Bytes and rows of each chunk.
    in_order : bool
        Whether no label is less than the one before.
    labels : labels or None
        First and last label of each chunk, one after the other; None if all of them count on.
    n_bytes : int
        Size in the file, trailer included.
    """

    n_header: int
    first_row: int
    sizes: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    in_order: bool = True
    labels: Labels | None = None
    n_bytes: int = 0

    @property
    def n_chunk_bytes(self) -> int:
        return sum(self.sizes)

    @property
    def stop_row(self) -> int:
        return self.first_row + sum(self.rows)

    def to_bytes(self, header: Header) -> bytes:
        """Index and trailer."""
        rows_differ = any(n_rows != header.chunk_rows for n_rows in self.rows[:-1])
        flags = _HAS_LABELS * (self.labels is not None) | _IN_ORDER * self.in_order | _ROWS_DIFFER * rows_differ
        body = varint(self.n_header) + (b"" if self.n_header else varint(self.first_row))
        body += varint(len(self.sizes)) + varints(self.sizes)
        body += varints(self.rows if rows_differ else self.rows[-1:])
        if self.labels is not None:
            body += header.schema.labels.ends_to_bytes(self.labels)
        out = MARKER + bytes([FLAGS | flags]) + varint(len(body)) + body
        if len(out) > MAX_INDEX:
            raise ValueError(f"{len(self.sizes)} chunks are more than an index holds; finish the file earlier.")
        out += len(out).to_bytes(TRAILER - CHECKSUM, "little")
        return out + checksum_bytes(out, header.checksum)

    @classmethod
    def parse(cls, data: bytes, header: Header | None = None) -> "Index":
        """The index that `data` is, trailer included; without its header only where its chunks are is known."""
        if header is not None and (len(data) < TRAILER or data[-CHECKSUM:] != _fitting(data, header)):
            raise DamagedFile("the index is missing or damaged")
        if int.from_bytes(data[-TRAILER:-CHECKSUM], "little") != len(data) - TRAILER:
            raise DamagedFile("the index has another length than it says")
        cursor = Cursor(data[:-TRAILER])
        with damage("the index"):
            is_one, flags = cursor.passes(MARKER), cursor.byte() ^ FLAGS
            if not is_one or flags > 7 or cursor.varint(MAX_INDEX) != cursor.left:
                raise DamagedFile("the index does not begin as one does, or has another length than it says")
            n_header = cursor.varint(MAX_HEADER)
            found = cls(n_header, 0 if n_header else cursor.varint(MAX_ROWS), in_order=bool(flags & _IN_ORDER))
            n_chunks = cursor.varint(cursor.left)
            found.sizes = _between(cursor.varints(n_chunks), LEAST_FRAME, MAX_FRAME)
            found.n_bytes = len(data)
            if header is None:
                return found
            n_given = n_chunks if flags & _ROWS_DIFFER else min(n_chunks, 1)
            rows = _between(cursor.varints(n_given), 1, header.chunk_rows)
            found.rows = rows if flags & _ROWS_DIFFER else [header.chunk_rows] * (n_chunks - n_given) + rows
            if flags & _HAS_LABELS and not header.schema.is_frame:
                raise DamagedFile("rows of an array have no labels")
            found.labels = header.schema.labels.read_ends(cursor, n_chunks) if flags & _HAS_LABELS else None
            cursor.end()
        return found


@dataclass(frozen=True)
class Entry:
    """What an index has of a chunk."""

    n_bytes: int
    n_rows: int
    ends: tuple[object, object] | None  # first and last label
    has_labels: bool  # or whether they count on
    in_order: bool


def entry_of(frame: Frame, labels: Labels | None, kind: LabelKind) -> Entry:
    """Of a chunk and the labels of its rows, if they have some."""
    if labels is None:
        return Entry(frame.n_bytes, frame.n_rows, None, False, True)
    return Entry(frame.n_bytes, frame.n_rows, (labels[0], labels[-1]), bool(frame.labels), kind.in_order(labels))


def index_of(entries: list[Entry], kind: LabelKind, n_header: int, first_row: int) -> Index:
    """The index of these chunks."""
    ends = [entry.ends for entry in entries if entry.ends is not None]
    flat = [label for pair in ends for label in pair]
    has_labels = any(entry.has_labels for entry in entries)
    in_order = all(entry.in_order for entry in entries) and (not flat or kind.in_order(_as_labels(flat, kind)))
    sizes, rows = [entry.n_bytes for entry in entries], [entry.n_rows for entry in entries]
    return Index(n_header, first_row, sizes, rows, in_order, flat if has_labels else None)


def _as_labels(flat: list[object], kind: LabelKind) -> Labels:
    return flat if kind.kind == "text" else np.array(flat)


def _fitting(data: bytes, header: Header) -> bytes:
    return checksum_bytes(data[:-CHECKSUM], header.checksum)


def _between(numbers: np.ndarray, least: int, most: int) -> list[int]:
    if len(numbers) and not (least <= int(numbers.min()) and int(numbers.max()) <= most):
        raise DamagedFile(f"a chunk has a size or a number of rows that cannot be: not from {least} to {most}")
    return numbers.tolist()
