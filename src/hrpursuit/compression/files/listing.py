"""Where the chunks of a file are: by the index at its end, or by looking for them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.files.container import MAX_INDEX, TRAILER, Frame, Header, Index
from hrpursuit.compression.files.scan import HOW_TO_GO_ON, NO_INDEX, Feed, Scan
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
    number : int
        Which chunk of the table it is, from 0.
    """

    n_rows: int
    first: Any
    last: Any
    offset: int
    n_bytes: int
    number: int


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
        return Feed(self._file.read, offset)


def labels_of_frame(frame: Frame, header: Header) -> Labels:
    """The labels of the rows of a chunk."""
    with damage("the labels of a chunk"):
        return header.schema.labels.decode(frame.labels, frame.number * header.chunk_rows, frame.n_rows)


def chunks_by_index(stored: Stored, header: Header) -> tuple[list[ChunkInfo], bool]:
    """The chunks, which have to fill the file, and whether their labels are in order."""
    index, labels, length = _read_index(stored, header)
    if header.n_bytes + sum(index.sizes) + length != stored.n_bytes:
        raise DamagedFile(f"the chunks do not fill the file; {HOW_TO_GO_ON}")
    rows = [header.chunk_rows] * (len(index.sizes) - 1) + [index.last_rows] * bool(index.sizes)
    if 0 in rows:
        raise DamagedFile("the last chunk has no rows")
    if labels is None:
        places = [place for n, k in enumerate(rows) for place in (n * header.chunk_rows, n * header.chunk_rows + k - 1)]
        labels = header.schema.labels.even_at(places)
    offsets = (header.n_bytes + np.cumsum([0, *index.sizes])).tolist()
    return _listed(header, range(len(rows)), rows, labels, offsets, index.sizes), index.in_order


def chunks_by_scan(stored: Stored, header: Header) -> tuple[list[ChunkInfo], list[str]]:
    """Every whole chunk, and what else was found."""
    scan = Scan(stored.feed(header.n_bytes), header, strict=False)
    found: dict[int, tuple[int, int, int, Any, Any]] = {}
    damages = []
    for offset, frame in scan.frames():
        try:
            labels = labels_of_frame(frame, header)
        except DamagedFile as error:
            damages.append(f"chunk {frame.number}: {error}")
            continue
        if frame.number in found:
            damages.append(f"chunk {frame.number} is there twice")
            continue
        found[frame.number] = (frame.n_rows, offset, frame.n_bytes, labels[0], labels[-1])
    numbers = sorted(found)
    if list(found) != numbers:
        damages.append("the chunks are not in order")
    n_chunks = max(found, default=-1) + 1
    try:
        n_chunks = max(n_chunks, len(_read_index(stored, header)[0].sizes))
        damages += [what for what in scan.damage if what != NO_INDEX]  # it is whole, behind a chunk that is not
    except DamagedFile:
        damages += scan.damage
    damages += _lost(numbers, n_chunks, header.chunk_rows)
    rows, offsets, sizes = ([found[number][part] for number in numbers] for part in range(3))
    labels = [label for number in numbers for label in found[number][3:]]
    return _listed(header, numbers, rows, labels, offsets, sizes), damages


def _lost(numbers: list[int], n_chunks: int, chunk_rows: int) -> list[str]:
    """Ranges of chunks that are not there."""
    out = []
    for before, after in pairwise([-1, *numbers, n_chunks]):
        if after - before > 1:
            some = f"chunk {before + 1}" if after - before == 2 else f"chunks {before + 1} to {after - 1}"
            out.append(f"{some} (rows {(before + 1) * chunk_rows} to {after * chunk_rows - 1}) lost")
    return out


def _read_index(stored: Stored, header: Header) -> tuple[Index, Labels | None, int]:
    """The index, its labels if it has some, and its length."""
    room = stored.n_bytes - header.n_bytes
    trailer = stored.read_at(stored.n_bytes - TRAILER, TRAILER) if room >= TRAILER else bytes(TRAILER)
    length = int.from_bytes(trailer[:4], "little") + TRAILER
    if length > min(room, MAX_INDEX):
        raise DamagedFile(f"{NO_INDEX}; {HOW_TO_GO_ON}")
    try:
        return *Index.parse(stored.read_at(stored.n_bytes - length, length), header), length
    except DamagedFile as error:
        raise DamagedFile(f"{error}; {HOW_TO_GO_ON}") from error


def _listed(
    header: Header, numbers: Sequence[int], rows: list[int], labels: Labels, offsets: list[int], sizes: list[int]
) -> list[ChunkInfo]:
    if header.schema.is_frame:
        with damage("the index at the end"):
            labels = header.schema.labels.values(labels)
    else:
        labels = [int(label) for label in labels]
    firsts, lasts = list(labels[0::2]), list(labels[1::2])
    return list(map(ChunkInfo, rows, firsts, lasts, offsets, sizes, numbers))
