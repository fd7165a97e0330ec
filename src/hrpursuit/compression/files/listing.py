"""Where the chunks of a file are: by the indices in it, or by looking for them."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.files.feed import Feed
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import CHECKSUM, Header
from hrpursuit.compression.files.index import MAX_INDEX, TRAILER, Index
from hrpursuit.compression.files.members import Headers, Member
from hrpursuit.compression.files.scan import HOW_TO_GO_ON, NO_INDEX, Scan
from hrpursuit.compression.tables.labels import Labels


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
    first_row : int
        Number of its first row in the table, from 0.
    """

    n_rows: int
    first: Any
    last: Any
    offset: int
    n_bytes: int
    first_row: int


@dataclass(frozen=True)
class Listing:
    """The chunks of a file.

    Attributes
    ----------
    chunks : list of ChunkInfo
        In the order of the table.
    owners : list of Member
        What each of them belongs to.
    members : list of Member
        All of them, also those without chunks.
    in_order : bool
        Whether no label is less than the one before.
    damage : list of str
        What else was found.
    """

    chunks: list[ChunkInfo]
    owners: list[Member]
    members: list[Member]
    in_order: bool
    damage: list[str]


class Stored:
    """A file that can seek, from where it stood when it was given."""

    def __init__(self, file: Any, base: int) -> None:
        self._file = file
        self._base = base
        self.n_bytes = file.seek(0, os.SEEK_END) - base

    def read_at(self, offset: int, n_bytes: int) -> bytes:
        self._file.seek(self._base + offset)
        return self._file.read(n_bytes)

    def feed(self, offset: int) -> Feed:
        """All bytes from a place on."""
        self._file.seek(self._base + offset)
        return Feed(self._file, offset)


class _Found:
    """Chunks as they are found, member by member."""

    def __init__(self, first: Header) -> None:
        self._first = first
        self.members: list[Member] = []
        self.damage: list[str] = []
        self._places: list[tuple[int, int, int, int]] = []  # rows, offset, bytes, first row in the table
        self._owners: list[Member] = []
        self._ends: list[Labels] = []

    def begin(self, header: Header, offset: int, n_before: int) -> Member:
        """A header was found. Raises DamagedFile if its columns are not those of the first."""
        member = Member(header) if offset == 0 else Member.joined(self._first, header, offset, n_before)
        self.members.append(member)
        return member

    def add(self, member: Member, first_row: int, rows: list[int], sizes: list[int], offset: int, ends: Labels) -> None:
        """Chunks that follow each other; `ends` has the first and the last label of each."""
        row = member.n_before + first_row
        for n_rows, n_bytes in zip(rows, sizes, strict=True):
            self._places.append((n_rows, offset, n_bytes, row))
            row, offset = row + n_rows, offset + n_bytes
        self._owners += [member] * len(rows)
        self._ends.append(ends)

    def listing(self, may_be_in_order: bool) -> Listing:
        kind = self._first.schema.labels
        with damage("the index"):  # labels may be times that pandas does not know
            if kind.kind == "text":
                flat: Any = [label for part in self._ends for label in part]
                in_order, shown = kind.in_order(flat), flat
            else:
                flat = np.concatenate([np.zeros(0, kind.stored_type), *self._ends]).astype(kind.stored_type)
                in_order, shown = kind.in_order(flat), flat.tolist() if kind.kind == "none" else list(kind.values(flat))
        pairs = zip(self._places, shown[0::2], shown[1::2], strict=True)
        chunks = [ChunkInfo(place[0], first, last, *place[1:]) for place, first, last in pairs]
        return Listing(chunks, self._owners, self.members, may_be_in_order and in_order, self.damage)


def list_by_index(stored: Stored, headers: Headers) -> Listing:
    """The chunks, which have to fill the file."""
    first = headers.known
    found, in_order = _Found(first), True
    n_before = n_rows = 0
    try:
        for start, data, n_header in _walk_back(stored):
            if n_header:
                at = start - n_header
                header = first if at == 0 else headers.parse(stored.read_at(at, n_header))
                n_before, n_rows = n_before + n_rows, 0
                member = found.begin(header, at, n_before)
            index = Index.parse(data, member.header)
            if index.first_row != n_rows or member.header.n_bytes != (n_header or member.header.n_bytes):
                raise DamagedFile("an index counts other rows or bytes than there are before it")
            ends = member.even_ends(n_rows, index.rows) if index.labels is None else index.labels
            found.add(member, n_rows, index.rows, index.sizes, start, ends)
            in_order &= index.in_order
            n_rows = index.stop_row
    except DamagedFile as error:
        raise DamagedFile(f"{error}; {HOW_TO_GO_ON}") from error
    return found.listing(in_order)


def _walk_back(stored: Stored) -> list[tuple[int, bytes, int]]:
    """For each index, in the order of the file: where its chunks begin, its bytes, and those of a header before."""
    out = []
    end = stored.n_bytes
    while end > 0:
        trailer = stored.read_at(end - TRAILER, TRAILER) if end >= TRAILER else bytes(TRAILER)
        length = int.from_bytes(trailer[:-CHECKSUM], "little") + TRAILER
        if length > min(end, MAX_INDEX + TRAILER):
            raise DamagedFile(NO_INDEX)
        data = stored.read_at(end - length, length)
        try:
            index = Index.parse(data)
        except DamagedFile as error:
            raise DamagedFile(NO_INDEX) from error
        start = end - length - index.n_chunk_bytes
        end = start - index.n_header
        if end < 0 or (end == 0 and not index.n_header):
            raise DamagedFile("the chunks do not fill the file")
        out.append((start, data, index.n_header))
    return out[::-1]


def list_by_scan(stored: Stored, headers: Headers) -> Listing:
    """Every whole chunk, and what else was found."""
    first = headers.known
    scan, found = Scan(stored.feed(first.n_bytes), headers, strict=False), _Found(first)
    pieces: _Pieces | None = _Pieces(found.begin(first, 0, 0))
    n_before = 0
    for offset, block in scan.blocks():
        if isinstance(block, Header):
            n_before += pieces.into(found) if pieces is not None else 0
            pieces = None
            try:
                pieces = _Pieces(found.begin(block, offset, n_before))
            except DamagedFile as error:
                found.damage.append(str(error))
        elif pieces is not None and isinstance(block, Index):
            pieces.n_rows = max(pieces.n_rows, block.stop_row)
        elif pieces is not None and isinstance(block, Frame):
            pieces.add(offset, block, found.damage)
    if pieces is not None:
        pieces.into(found)
    found.damage += scan.damage
    return found.listing(False)


class _Pieces:
    """Chunks of one member, in any order."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.n_rows = 0  # as far as it is known
        self._found: dict[int, tuple[int, int, int, list[Any]]] = {}

    def add(self, offset: int, frame: Frame, damages: list[str]) -> None:
        self.n_rows = max(self.n_rows, frame.stop_row)
        try:
            labels = self.member.labels(frame)
        except DamagedFile as error:
            damages.append(f"{rows_in_words(self.member, frame.first_row, frame.stop_row)}: {error}")
            return
        if frame.first_row in self._found:
            damages.append(f"{rows_in_words(self.member, frame.first_row, frame.stop_row)} are there twice")
            return
        self._found[frame.first_row] = (frame.n_rows, frame.n_bytes, offset, [labels[0], labels[-1]])

    def into(self, found: _Found) -> int:
        """Add them in order, and what is missing between them; gives how many rows there are."""
        if list(self._found) != sorted(self._found):
            found.damage.append("the chunks are not in order")
        row = 0
        for first_row in sorted(self._found):
            n_rows, n_bytes, offset, ends = self._found[first_row]
            if first_row > row:
                found.damage.append(f"{rows_in_words(self.member, row, first_row)} are lost")
            if first_row < row:
                found.damage.append(f"{rows_in_words(self.member, first_row, first_row + n_rows)} are there twice")
                continue
            found.add(self.member, first_row, [n_rows], [n_bytes], offset, ends)
            row = first_row + n_rows
        if row < self.n_rows:
            found.damage.append(f"{rows_in_words(self.member, row, self.n_rows)} are lost")
        return self.n_rows


def rows_in_words(member: Member, start: int, stop: int) -> str:
    """Rows of a member by their numbers in the table."""
    return f"rows {member.n_before + start} to {member.n_before + stop - 1}"
