"""The file around the chunks: header, frames, index at the end. `docs/format.md` has every byte."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.files.layout import Cursor, decimal, varint, varints
from hrpursuit.compression.tables.columns import MAX_COLUMNS, MAX_DESCRIPTION, Schema, Table
from hrpursuit.compression.tables.dtypes import NUMPY, kinds_to_bytes, read_kinds
from hrpursuit.compression.tables.labels import LabelKind, Labels
from hrpursuit.compression.targets import KINDS, MAX_CHUNK_ROWS, Target, choose_target

MAGIC = b"\x89HRP"
VERSION = 1
MARKER = b"\xc5\x9e"
INDEX_MARKER = 0xE0  # plus the two flags below
_HAS_LABELS, _IN_ORDER = 1, 2
TRAILER = 8  # length of the index, checksum
MAX_CELLS = 2**24
MAX_HEADER = 2 * MAX_DESCRIPTION
MAX_FRAME = 2**28
MAX_INDEX = 2**28
_IS_FRAME = 4


@dataclass(frozen=True)
class Header:
    """What stands before the chunks."""

    schema: Schema
    target: Target
    chunk_rows: int
    shared: bytes
    n_bytes: int = 0
    n_description: int = 0
    checksum: int = 0

    def to_bytes(self) -> bytes:
        """Magic, length, body, checksum."""
        schema, (kind, amount) = self.schema, (self.target.kind, self.target.amount)
        body = bytes([VERSION, KINDS.index(kind) | _IS_FRAME * schema.is_frame])
        if kind != "lossless":
            body += varint(int(amount)) if kind == "n_nonzero" else decimal(amount)
        body += varint(self.chunk_rows) + varint(len(schema.kinds))
        body += kinds_to_bytes(schema.kinds or [schema.kind_if_empty])
        if schema.is_frame:
            description = schema.to_bytes()
            body += varint(len(description)) + description
        body += self.shared
        if len(body) > MAX_HEADER:
            raise ValueError(f"the header takes {len(body)} bytes, at most {MAX_HEADER} are possible.")
        out = MAGIC + varint(len(body)) + body
        return out + _checksum(out)

    @classmethod
    def parse(cls, data: bytes) -> "Header":
        """The header that `data` is; raises DamagedFile if it is not a whole one."""
        cursor = Cursor(data[:-4])
        cursor.take(len(MAGIC))
        cursor.varint(MAX_HEADER)
        if data[-4:] != _checksum(data[:-4]):
            raise DamagedFile("the header is damaged (its checksum does not fit): nothing can be read without it.")
        with damage("the header"):
            cursor.byte()
            flags = cursor.byte()
            target = _read_target(cursor, flags & 3)
            chunk_rows, n_columns = cursor.varint(MAX_CHUNK_ROWS), cursor.varint(MAX_COLUMNS)
            if flags >= 2 * _IS_FRAME or not 1 <= chunk_rows <= max(1, MAX_CELLS // max(1, n_columns)):
                raise DamagedFile("the header says what cannot be")
            runs = read_kinds(cursor, max(1, n_columns))
            if not flags & _IS_FRAME and (len(runs) > 1 or runs[0][0] not in NUMPY):
                raise DamagedFile("an array cannot have columns of such types")
            n_description = cursor.varint(MAX_HEADER) if flags & _IS_FRAME else 0
            schema = Schema.read(cursor.take(n_description), n_columns) if flags & _IS_FRAME else Schema([])
            kinds = [kind for kind, count in runs for _ in range(count)][:n_columns]
            schema = replace(schema, kinds=kinds, kind_if_empty=runs[0][0])
            schema.check_builds()
        return cls(schema, target, chunk_rows, cursor.rest(), len(data), n_description, _ending(data))

    def with_checksum(self, data: bytes) -> "Header":
        return replace(self, n_bytes=len(data), checksum=_ending(data))


def _checksum(data: bytes, start: int = 0) -> bytes:
    return zlib.crc32(data, start).to_bytes(4, "little")


def _ending(data: bytes) -> int:
    """The checksum at the end of the header; that of all of it, end included, would be the same for every file."""
    return int.from_bytes(data[-4:], "little")


def _read_target(cursor: Cursor, code: int) -> Target:
    kind = KINDS[code]
    if kind == "lossless":
        return choose_target(lossless=True)
    return choose_target(**{kind: cursor.varint() if kind == "n_nonzero" else cursor.decimal()})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Frame:
    """One chunk as it stands in the file."""

    number: int
    n_rows: int
    labels: bytes
    payload: bytes
    n_bytes: int

    def to_bytes(self, header: Header) -> bytes:
        """Marker, length, body, checksum. The checksum goes on from the header's: a chunk belongs to one file."""
        body = varint(self.number) + varint(self.n_rows)
        if header.schema.is_frame:
            body += varint(len(self.labels)) + self.labels
        out = MARKER + varint(len(body) + len(self.payload)) + body + self.payload
        return out + _checksum(out, header.checksum)

    @classmethod
    def parse(cls, data: bytes, header: Header) -> "Frame":
        """The frame that `data` is; raises DamagedFile if it is not a whole one."""
        cursor = Cursor(data[:-4])
        if cursor.take(len(MARKER)) != MARKER or cursor.varint(MAX_FRAME) != cursor.left:
            raise DamagedFile("does not begin as a chunk does, or has another length than it says")
        if data[-4:] != _checksum(data[:-4], header.checksum):
            raise DamagedFile("its checksum does not fit")
        number, n_rows = cursor.varint(2**40), cursor.varint(header.chunk_rows)
        if n_rows == 0:
            raise DamagedFile("it has no rows")
        labels = cursor.take(cursor.varint(MAX_FRAME)) if header.schema.is_frame else b""
        return cls(number, n_rows, labels, cursor.rest(), len(data))


@dataclass
class Index:
    """What stands after the chunks: their sizes and first and last labels. Filled while chunks are written."""

    sizes: list[int] = field(default_factory=list)
    last_rows: int = 0
    ends: list[tuple[object, object]] = field(default_factory=list)
    has_labels: bool = False
    in_order: bool = True

    def add(self, kind: LabelKind, frame: Frame, labels: Labels) -> None:
        """Take note of a chunk that was written."""
        self.sizes.append(frame.n_bytes)
        self.last_rows = frame.n_rows
        if labels is None:
            return
        self.has_labels |= bool(frame.labels)
        self.in_order = self.in_order and kind.in_order(labels)
        if self.in_order and self.ends:
            before, here = self.ends[-1][1], labels[0]
            pair = [before, here] if kind.kind == "text" else np.array([before, here])
            self.in_order = kind.in_order(pair)
        self.ends.append((labels[0], labels[-1]))

    def to_bytes(self, header: Header) -> bytes:
        """Index and trailer."""
        kind = header.schema.labels
        flags = _HAS_LABELS * self.has_labels | _IN_ORDER * self.in_order
        body = bytes([INDEX_MARKER | flags]) + varint(len(self.sizes)) + varints(self.sizes)
        body += varint(self.last_rows) if self.sizes else b""
        body += kind.ends_to_bytes(self.ends) if self.has_labels else b""
        body += len(body).to_bytes(4, "little")
        return body + _checksum(body, header.checksum)

    @classmethod
    def parse(cls, data: bytes, header: Header) -> tuple["Index", Labels | None]:
        """The index that `data` is, trailer included, and its labels if it has some."""
        if len(data) < TRAILER or data[-4:] != _checksum(data[:-4], header.checksum):
            raise DamagedFile("the index at the end is missing or damaged")
        if int.from_bytes(data[-8:-4], "little") != len(data) - TRAILER:
            raise DamagedFile("the index at the end has another length than it says")
        cursor = Cursor(data[:-TRAILER])
        with damage("the index at the end"):
            flags = cursor.byte() ^ INDEX_MARKER
            n_chunks = cursor.varint(cursor.left)
            sizes = [cursor.varint(MAX_FRAME) for _ in range(n_chunks)]
            last_rows = cursor.varint(header.chunk_rows) if n_chunks else 0
            if flags > 3 or (flags & _HAS_LABELS and not header.schema.is_frame):
                raise DamagedFile("the index at the end is of an unknown kind")
            labels = header.schema.labels.read_ends(cursor, n_chunks) if flags & _HAS_LABELS else None
            cursor.end()
        return cls(sizes, last_rows, [], bool(flags & _HAS_LABELS), bool(flags & _IN_ORDER)), labels


class Writer:
    """Puts a file together, part after part."""

    def __init__(self, schema: Schema, target: Target, chunk_rows: int, shared: bytes) -> None:
        header = Header(schema, target, chunk_rows, shared)
        self.start = header.to_bytes()
        self.header = header.with_checksum(self.start)
        self._index = Index()

    def chunk(self, table: Table, payload: bytes) -> bytes:
        """The next chunk."""
        number, kind = len(self._index.sizes), self.header.schema.labels
        labels = b"" if table.labels is None else kind.encode(table.labels, number * self.header.chunk_rows)
        frame = Frame(number, table.n_rows, labels, payload, 0)
        data = frame.to_bytes(self.header)
        if len(data) > MAX_FRAME:
            raise ValueError(f"a chunk takes {len(data)} bytes, more than {MAX_FRAME}; give fewer chunk_rows.")
        self._index.add(kind, replace(frame, n_bytes=len(data)), table.labels)
        return data

    def end(self) -> bytes:
        """What comes after the last chunk."""
        return self._index.to_bytes(self.header)


def split_rows(table: Table, chunk_rows: int) -> Iterable[Table]:
    """The table in chunks."""
    return (table.rows(start, start + chunk_rows) for start in range(0, table.n_rows, chunk_rows))


def fitting_chunk_rows(chunk_rows: int, n_columns: int) -> int:
    """As many rows as asked for, or as many as 2^24 cells allow."""
    return max(1, min(chunk_rows, MAX_CELLS // max(1, n_columns)))
