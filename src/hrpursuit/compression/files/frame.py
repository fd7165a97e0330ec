"""One chunk as it stands in the file: which rows, their labels, their coded readings, a checksum."""

from dataclasses import dataclass

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.files.header import CHECKSUM, Header, checksum_bytes
from hrpursuit.compression.layout import Cursor, varint

MARKER = b"\xc5\x9e"
MAX_FRAME = 2**28
MAX_ROWS = 2**48  # of a part of a file; row numbers and their products with a step stay well within 64 bits
#: Marker, length, first row and number of rows of at least a byte each, checksum.
LEAST_FRAME = len(MARKER) + 3 + CHECKSUM


@dataclass(frozen=True)
class Frame:
    """One chunk as it stands in the file.

    Attributes
    ----------
    first_row : int
        Number of its first row, counted from the header.
    n_rows : int
        Number of rows.
    labels, payload : bytes
        Labels of the rows, and the readings.
    is_plain : bool
        Whether the payload is the columns bit for bit, rather than coded as the version says.
    n_bytes : int
        Size in the file, checksum included.
    texts : bytes
        List of the texts that the numbers in some columns stand for; nothing if there are no such columns.
    """

    first_row: int
    n_rows: int
    labels: bytes
    payload: bytes
    is_plain: bool = False
    n_bytes: int = 0
    texts: bytes = b""

    @property
    def stop_row(self) -> int:
        return self.first_row + self.n_rows

    def to_bytes(self, header: Header) -> bytes:
        """Marker, length, body, checksum. The checksum goes on from the header's: a chunk belongs to one header."""
        body = varint(self.first_row) + varint(2 * self.n_rows + self.is_plain)
        if header.schema.is_frame:
            body += varint(len(self.labels)) + self.labels
        if header.schema.has_texts:
            body += varint(len(self.texts)) + self.texts
        out = b"".join([MARKER, varint(len(body) + len(self.payload)), body, self.payload])
        return out + checksum_bytes(out, header.checksum)

    @classmethod
    def parse(cls, data: bytes, header: Header) -> "Frame":
        """The frame that `data` is; raises DamagedFile if it is not a whole one."""
        cursor = Cursor(data[:-CHECKSUM])
        if cursor.take(len(MARKER)) != MARKER or cursor.varint(MAX_FRAME) != cursor.left:
            raise DamagedFile("does not begin as a chunk does, or has another length than it says")
        if data[-CHECKSUM:] != checksum_bytes(data[:-CHECKSUM], header.checksum):
            raise DamagedFile("its checksum does not fit")
        first_row, rows = cursor.varint(MAX_ROWS), cursor.varint(2 * header.chunk_rows + 1)
        if rows < 2:
            raise DamagedFile("it has no rows")
        labels = cursor.take(cursor.varint(MAX_FRAME)) if header.schema.is_frame else b""
        texts = cursor.take(cursor.varint(MAX_FRAME)) if header.schema.has_texts else b""
        return cls(first_row, rows >> 1, labels, cursor.rest(), bool(rows & 1), len(data), texts)
