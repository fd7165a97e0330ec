"""What stands before the chunks: version, target, columns. `docs/reference/format.md` has every byte."""

import zlib
from dataclasses import dataclass, replace

from hrpursuit.compression.errors import DamagedFile, UnsupportedVersion, damage
from hrpursuit.compression.layout import Cursor, varint
from hrpursuit.compression.tables.columns import MAX_COLUMNS, MAX_DESCRIPTION, Schema
from hrpursuit.compression.tables.dtypes import NUMPY, TEXT, kinds_to_bytes, read_kinds
from hrpursuit.compression.targets import Target

MAGIC = b"\x89HRP"
VERSION = 1  # the newest; CONTRIBUTING says what a new one needs
CHECKSUM = 4  # bytes
MAX_CHUNK_ROWS = 65536
MAX_CELLS = 2**24
CELLS = 2**20  # of a chunk, where nothing else is asked for: the longer, the more is learned
MAX_HEADER = 2 * MAX_DESCRIPTION
_IS_FRAME, _HAS_TEXTS = 1, 2
_MAY_BE_SKIPPED = 128  # sections of later versions from this kind on


@dataclass(frozen=True)
class Header:
    """What stands before the chunks.

    Attributes
    ----------
    schema, target, chunk_rows, shared
        What the chunks hold, what they keep, how many rows they have at most, and what their coder needs for all of
        them.
    version : int
        Version of the format; says how chunks are decoded.
    n_bytes, n_description, checksum : int
        Size in the file, checksum included; how much of it are names, kind of labels and attributes; the checksum.
    asked, types, names : bytes
        The target, number and types of the columns, and their names, as they were read: another header that has the
        same need not be taken apart.
    """

    schema: Schema
    target: Target
    chunk_rows: int
    shared: bytes
    version: int = VERSION
    n_bytes: int = 0
    n_description: int = 0
    checksum: int = 0
    asked: bytes = b""
    types: bytes = b""
    names: bytes = b""

    def to_bytes(self) -> bytes:
        """Magic, length, body, checksum."""
        schema = self.schema
        flags = _IS_FRAME * schema.is_frame | _HAS_TEXTS * schema.has_texts
        body = [bytes([self.version, flags]), self.target.to_bytes()]
        body += [varint(self.chunk_rows), varint(len(schema.kinds))]
        body += [kinds_to_bytes(schema.kinds or [schema.kind_if_empty])]
        body += [_section(schema.to_bytes())] * schema.is_frame
        body += [_section(self.shared)]
        n_bytes = sum(map(len, body))
        if n_bytes > MAX_HEADER:
            raise ValueError(f"the header takes {n_bytes} bytes, at most {MAX_HEADER} are possible.")
        out = b"".join([MAGIC, varint(n_bytes), *body])
        return out + checksum_bytes(out)

    @classmethod
    def parse(cls, data: bytes, like: "Header | None" = None) -> "Header":
        """The header that `data` is; raises DamagedFile if it is not a whole one, UnsupportedVersion if it is newer.

        Columns that are those of `like`, an earlier header of the same file, byte for byte, are taken from it.
        """
        cursor = Cursor(data[:-CHECKSUM])
        if not cursor.passes(MAGIC) or cursor.varint(MAX_HEADER) != cursor.left:
            raise DamagedFile("the header does not begin as one does, or has another length than it says")
        if data[-CHECKSUM:] != checksum_bytes(data[:-CHECKSUM]):
            raise DamagedFile("the header is damaged (its checksum does not fit): nothing can be read without it.")
        with damage("the header"):
            version = _checked_version(cursor.byte())
            flags = cursor.byte()
            if flags & ~(_IS_FRAME | _HAS_TEXTS):
                raise DamagedFile("the header says what cannot be")
            asked = _passed_section(cursor)
            chunk_rows, start = cursor.varint(MAX_CHUNK_ROWS), cursor.at
            if like is not None and cursor.passes(like.types):
                kinds, kind_if_empty = like.schema.kinds, like.schema.kind_if_empty
            else:
                kinds, kind_if_empty = _read_types(cursor, bool(flags & _IS_FRAME))
            types = cursor.data[start : cursor.at]
            if bool(flags & _HAS_TEXTS) != any(kind in TEXT for kind in set(kinds)):
                raise DamagedFile("the header says of its columns that they hold texts, or do not, and it is not so")
            if not 1 <= chunk_rows <= max(1, MAX_CELLS // max(1, len(kinds))):
                raise DamagedFile(f"a chunk cannot have {chunk_rows} rows of {len(kinds)} columns")
            if like is not None and (asked, len(kinds)) == (like.asked, len(like.schema.kinds)):
                target = like.target
            else:
                target = Target.read(Cursor(asked), len(kinds))
            schema, n_description, names = Schema(kinds, kind_if_empty=kind_if_empty), 0, b""
            if flags & _IS_FRAME:
                n_description = cursor.varint(MAX_HEADER)
                known = None if like is None or like.schema.names is None else (like.names, like.schema.names)
                schema, names = schema.described(cursor.take(n_description), known)
            shared = cursor.take(cursor.varint(MAX_HEADER))
            _pass_over_sections(cursor, version)
        sizes = len(data), n_description, _ending(data)
        return cls(schema, target, chunk_rows, shared, version, *sizes, asked, types, names)

    def parts(self) -> dict[str, int]:
        """Its bytes by part."""
        names, shared = self.n_description, len(self.shared)
        return {
            "header": self.n_bytes - names - shared - CHECKSUM,
            "names and index": names,
            "dictionary": shared,
            "checksums and index": CHECKSUM,
        }

    def with_checksum(self, data: bytes) -> "Header":
        return replace(self, n_bytes=len(data), checksum=_ending(data))


def fitting_chunk_rows(chunk_rows: int | None, n_columns: int) -> int:
    """As many rows as asked for, as far as 2^24 cells allow; if nothing is asked for, as many as give 2^20 cells."""
    most = MAX_CELLS if chunk_rows is not None else CELLS
    return max(1, min(chunk_rows or MAX_CHUNK_ROWS, most // max(1, n_columns)))


def even_chunk_rows(n_rows: int, n_columns: int) -> int:
    """Rows of chunks that are equally long, for a whole table: a short one at the end would take more bytes for its
    rows, and threads would wait for each other. For a table that fits in one chunk they are as if it was not known.
    """
    most = fitting_chunk_rows(None, n_columns)
    return most if n_rows <= most else -(-n_rows // -(-n_rows // most))


def checksum_bytes(data: bytes, start: int = 0) -> bytes:
    return zlib.crc32(data, start).to_bytes(CHECKSUM, "little")


def _read_types(cursor: Cursor, is_frame: bool) -> tuple[list[str], str]:
    """Types of the columns; and the type of an array that has none."""
    n_columns = cursor.varint(MAX_COLUMNS)
    runs = read_kinds(cursor, max(1, n_columns))
    if not is_frame and (len(runs) > 1 or runs[0][0] not in NUMPY):
        raise DamagedFile("an array cannot have columns of such types")
    return [kind for kind, count in runs for _ in range(count)][:n_columns], runs[0][0]


def _section(data: bytes) -> bytes:
    return varint(len(data)) + data


def _passed_section(cursor: Cursor) -> bytes:
    """The section that comes next, its length included, to be read later."""
    start = cursor.at
    cursor.take(cursor.varint(MAX_HEADER))
    return cursor.data[start : cursor.at]


def _ending(data: bytes) -> int:
    """The checksum at the end of the header; that of all of it, end included, would be the same for every file."""
    return int.from_bytes(data[-CHECKSUM:], "little")


def _checked_version(version: int) -> int:
    if version > VERSION:
        raise UnsupportedVersion(
            f"the file has version {version} of the format, this hrpursuit reads up to {VERSION}: "
            "pip install --upgrade hrpursuit.",
            version,
            VERSION,
        )
    if version == 0:
        raise DamagedFile("there is no version 0 of the format")
    return version


def _pass_over_sections(cursor: Cursor, version: int) -> None:
    """What a later writer of this version may have added; it has to be understood unless its kind says otherwise."""
    while cursor.left:
        kind = cursor.byte()
        cursor.take(cursor.varint(MAX_HEADER))
        if kind < _MAY_BE_SKIPPED:
            raise UnsupportedVersion(
                f"the header has a section of the kind {kind}, which this hrpursuit does not know but needs to: "
                "pip install --upgrade hrpursuit.",
                version,
                VERSION,
            )
