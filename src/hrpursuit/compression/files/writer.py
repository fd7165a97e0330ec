"""A file put together, part after part."""

from dataclasses import replace

from hrpursuit.compression.files.frame import MAX_FRAME, Frame
from hrpursuit.compression.files.header import Header
from hrpursuit.compression.files.index import Entry, Index, entry_of, index_of
from hrpursuit.compression.tables.columns import Schema, Table
from hrpursuit.compression.tables.labels import Labels
from hrpursuit.compression.targets import Target


class Writer:
    """Writes chunks behind a header, new or old, and the index of them. Everything it gives has been read back.

    Parameters
    ----------
    header : Header
        What the chunks belong to.
    start : bytes, default=b""
        The header as bytes if it is still to be written; nothing if the chunks go on behind an index.
    first_row : int, default=0
        Rows behind the header so far.
    n_before : int, default=0
        Rows before the header from which rows without labels count on.
    """

    def __init__(self, header: Header, start: bytes = b"", first_row: int = 0, n_before: int = 0) -> None:
        self.header = header
        self.start = start
        self._first_row = self._next_row = first_row
        self._n_before = n_before
        self._entries: list[Entry] = []

    @classmethod
    def beginning(cls, schema: Schema, target: Target, chunk_rows: int, shared: bytes, n_before: int = 0) -> "Writer":
        """With a header of its own."""
        header = Header(schema, target, chunk_rows, shared)
        start = header.to_bytes()
        if Header.parse(start).to_bytes() != start:
            raise RuntimeError("internal error: the header reads back as another one; please report it.")
        return cls(header.with_checksum(start), start, n_before=n_before)

    @property
    def n_chunks(self) -> int:
        return len(self._entries)

    def chunk(self, table: Table, payload: bytes, is_plain: bool = False, texts: bytes = b"") -> bytes:
        """The next chunk."""
        kind = self.header.schema.labels
        row = self._n_before + self._next_row
        labels = b"" if table.labels is None else kind.encode(table.labels, row)
        frame = Frame(self._next_row, table.n_rows, labels, payload, is_plain, texts=texts)
        data = frame.to_bytes(self.header)
        if len(data) > MAX_FRAME:
            raise ValueError(f"a chunk takes {len(data)} bytes, more than {MAX_FRAME}; give fewer chunk_rows.")
        frame = replace(frame, n_bytes=len(data))
        if Frame.parse(data, self.header) != frame or not _same(table.labels, kind.decode(labels, row, table.n_rows)):
            raise RuntimeError("internal error: the labels of a chunk read back as others; please report it.")
        self._entries.append(entry_of(frame, table.labels, kind))
        self._next_row += table.n_rows
        return data

    def undo(self, n_chunks: int) -> None:
        """Forget all chunks but the first so many, whose bytes were given away."""
        self._next_row -= sum(entry.n_rows for entry in self._entries[n_chunks:])
        del self._entries[n_chunks:]

    def end(self) -> bytes:
        """What comes after the last chunk."""
        n_header = len(self.start)
        index = index_of(self._entries, self.header.schema.labels, n_header, self._first_row)
        data = index.to_bytes(self.header)
        read = Index.parse(data, self.header)
        if (read.sizes, read.rows, read.first_row) != (index.sizes, index.rows, index.first_row):
            raise RuntimeError("internal error: the index reads back as another one; please report it.")
        return data


def _same(given: Labels | None, read: Labels) -> bool:
    if given is None or isinstance(given, list):
        return given is None or given == read
    return given.tobytes() == read.tobytes()
