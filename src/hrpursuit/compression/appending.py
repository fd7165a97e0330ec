"""The end of a file that is to be continued: found, and mended if it was cut."""

import os
import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hrpursuit.compression.errors import DamagedFile, DamagedFileWarning, stack_level
from hrpursuit.compression.files.feed import Feed
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import Header
from hrpursuit.compression.files.index import Entry, Index, entry_of, index_of
from hrpursuit.compression.files.listing import Stored, list_by_index
from hrpursuit.compression.files.members import Headers, Member
from hrpursuit.compression.files.scan import Scan, read_header


@dataclass(frozen=True)
class Ending:
    """Where a file is continued.

    Attributes
    ----------
    first : Header
        The first header of the file: what the table is.
    member : Member
        The last header, and where its rows begin.
    n_rows : int
        Rows behind the last header.
    """

    first: Header
    member: Member
    n_rows: int


def mended_ending(path: str | PathLike[str]) -> Ending:
    """The end of a file, which is mended if it was cut, and not touched if it is whole.

    Mending cuts off what is no whole chunk behind the last whole one, with a DamagedFileWarning, and adds the index.
    Raises DamagedFile if the file is damaged before its end.
    """
    with Path(path).open("r+b") as file:
        headers = Headers()
        read_header(Feed(file), headers)
        stored = Stored(file, 0)
        try:
            listing = list_by_index(stored, headers)
        except DamagedFile:
            ending = _Scanned(stored, headers)
        else:
            last = listing.members[-1]
            n_rows = sum(c.n_rows for c, owner in zip(listing.chunks, listing.owners, strict=True) if owner is last)
            return Ending(headers.known, last, n_rows)
        _mend(file, path, stored.n_bytes, ending)
        return Ending(headers.known, ending.member, ending.n_rows)


class _Scanned:
    """A file gone through from its front: where its last whole block ends, and the index that it lacks."""

    def __init__(self, stored: Stored, headers: Headers) -> None:
        first = headers.known
        self.member = Member(first)
        self.n_rows = 0
        self.stop = first.n_bytes
        self._entries: list[Entry] = []
        self._index_row = 0  # first row of these
        self._n_header = first.n_bytes  # right before them
        scan = Scan(stored.feed(first.n_bytes), headers, strict=False)
        for offset, block in scan.blocks():
            if scan.damage:
                raise DamagedFile(
                    f"the file is damaged before its end ({scan.damage[0]}), so nothing can be appended to it; write "
                    "what is whole anew: decompress it with damaged='skip', and compress that."
                )
            if isinstance(block, Header):
                self.member = Member.joined(first, block, offset, self.member.n_before + self.n_rows)
                self.n_rows, self._entries, self._index_row, self._n_header = 0, [], 0, block.n_bytes
            elif isinstance(block, Frame):
                self._add(block)
            else:
                self._check(block)
                self._entries, self._index_row, self._n_header = [], self.n_rows, 0
            self.stop = offset + block.n_bytes
        self.is_finished = scan.is_finished

    def _add(self, frame: Frame) -> None:
        if frame.first_row != self.n_rows:
            raise DamagedFile(f"a chunk begins with row {frame.first_row} where row {self.n_rows} was expected")
        self.n_rows = frame.stop_row
        self._entries.append(entry_of(frame, self.member.labels(frame), self.member.header.schema.labels))

    def _check(self, index: Index) -> None:
        if index.stop_row != self.n_rows:
            raise DamagedFile(f"an index counts {index.stop_row} rows where there are {self.n_rows}")

    def index(self) -> bytes:
        header = self.member.header
        return index_of(self._entries, header.schema.labels, self._n_header, self._index_row).to_bytes(header)


def _mend(file: Any, path: str | PathLike[str], n_bytes: int, found: _Scanned) -> None:
    file.seek(found.stop)
    file.truncate()
    if not found.is_finished:
        file.write(found.index())
    file.flush()
    os.fsync(file.fileno())
    if n_bytes > found.stop:
        n_kept = found.member.n_before + found.n_rows
        warnings.warn(
            f"{os.fspath(path)}: its last {n_bytes - found.stop:,} bytes were no whole chunk and are cut off; "
            f"{n_kept:,} rows stay.",
            DamagedFileWarning,
            stacklevel=stack_level(),
        )
