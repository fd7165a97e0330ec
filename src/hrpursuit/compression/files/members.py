"""A file may be several files, one behind the other: its members. Their columns have to be equal."""

from dataclasses import dataclass

import numpy as np

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import Header
from hrpursuit.compression.tables.columns import MAX_COLUMNS, Schema
from hrpursuit.compression.tables.labels import LabelKind, Labels

#: Columns of later headers that are read although they are not those of the first one, byte for byte: in all.
_MOST_OTHER_COLUMNS = 2 * MAX_COLUMNS


class Headers:
    """Takes the headers of one file apart; those that repeat the columns of the first one in no time."""

    def __init__(self) -> None:
        self._first: Header | None = None
        self._n_columns = 0

    @property
    def known(self) -> Header:
        """The first one."""
        assert self._first is not None
        return self._first

    def parse(self, data: bytes) -> Header:
        """The header that `data` is."""
        header = Header.parse(data, like=self._first)
        if self._first is None:
            self._first = header
        elif (header.types, header.names) != (self._first.types, self._first.names) or (
            header.target.by_column is not None and header.target is not self._first.target
        ):
            self._n_columns += len(header.schema.kinds)
            if self._n_columns > _MOST_OTHER_COLUMNS:
                raise DamagedFile("the file is full of headers with columns of their own")
        return header


@dataclass(frozen=True)
class Member:
    """A header and where it is.

    Attributes
    ----------
    header : Header
    offset : int
        First byte of the header.
    n_before : int
        Rows of the members before it.
    n_counted : int
        Number from which its rows count on where they have no labels: `n_before` for an array, and for a RangeIndex
        from 0 if the first member has one, too; otherwise 0.
    """

    header: Header
    offset: int = 0
    n_before: int = 0
    n_counted: int = 0

    @classmethod
    def joined(cls, first: Header, header: Header, offset: int, n_before: int) -> "Member":
        """A member behind others. Raises DamagedFile if its columns are not those of the first one."""
        found = _difference(first.schema, header.schema)
        if found:
            raise DamagedFile(
                f"the file is several ones joined, and that from byte {offset} on does not fit the first: {found}. "
                "Files can be joined if their columns are equal"
            )
        return cls(header, offset, n_before, n_counted(first.schema.labels, header.schema.labels, n_before))

    def labels(self, frame: Frame) -> Labels:
        """The labels of the rows of a chunk."""
        with damage("the labels of a chunk"):
            return self.header.schema.labels.decode(frame.labels, self.n_counted + frame.first_row, frame.n_rows)

    def even_ends(self, first_row: int, rows: list[int]) -> np.ndarray:
        """First and last label of chunks with so many rows each, if all of them count on."""
        stops = self.n_counted + first_row + np.cumsum(np.array([0, *rows], np.int64))
        return self.header.schema.labels.even_at(np.column_stack([stops[:-1], stops[1:] - 1]).ravel())


def n_counted(first: LabelKind, here: LabelKind, n_before: int) -> int:
    """From which number rows without labels count on."""
    return n_before if here.kind == "none" or (first.counts_from_zero and here.counts_from_zero) else 0


def _difference(first: Schema, here: Schema) -> str:
    """What makes two tables not fit each other, in words."""
    if first.is_frame != here.is_frame:
        return "one is an array, the other has names"
    if len(first.kinds) != len(here.kinds):
        return f"{len(here.kinds)} columns instead of {len(first.kinds)}"
    if first.names is not None and here.names is not None and first.names is not here.names:
        pairs = zip(first.names.values, here.names.values, strict=True)
        wrong = next(((a, b) for a, b in pairs if a != b), None)
        if wrong is not None:
            return f"the column {wrong[1]!r} instead of {wrong[0]!r}"
    if first.kinds is not here.kinds and first.kinds != here.kinds:
        place = next(i for i, (a, b) in enumerate(zip(first.kinds, here.kinds, strict=True)) if a != b)
        name = place if first.names is None else first.names.values[place]
        return f"the column {name!r} is {here.kinds[place]} instead of {first.kinds[place]}"
    if first.categories != here.categories:
        place = next(place for place, known in first.categories.items() if here.categories[place] != known)
        return f"the column {first.columns[place]!r} has other categories"
    if not first.labels.joins(here.labels):
        return f"the index is {here.labels.in_words()} instead of {first.labels.in_words()}"
    return ""
