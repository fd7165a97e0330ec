"""A chunk before it is coded: its columns taken apart, and sorted by how they can be kept."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.bases import Group
from hrpursuit.compression.chunks.payload import Payload
from hrpursuit.compression.chunks.verbatim import pack
from hrpursuit.compression.encoding.apart import ApartCells
from hrpursuit.compression.encoding.decimals import Column, take_apart
from hrpursuit.compression.encoding.pieces import Coded, Piece
from hrpursuit.compression.encoding.table_columns import cells_apart, is_empty
from hrpursuit.compression.encoding.whole_numbers import fits_bound, fits_whole
from hrpursuit.compression.targets import Target

#: For each column the least and the largest whole number that it may become after decoding, None if it stays.
Limits = Sequence[tuple[float, float] | None]


class OpenChunk:
    """Columns of a chunk, the pieces of it that are to be coded, and the columns that are not."""

    def __init__(
        self,
        columns: list[np.ndarray],
        groups: list[Group],
        target: Target,
        limits: Limits = (),
        verbatim: frozenset[int] = frozenset(),
    ) -> None:
        self.given, self.groups, self.target, self.limits = columns, groups, target, limits
        self.n_rows = len(columns[0]) if columns else 0
        bounds: list[float] = target.bounds(len(columns)).tolist()
        self.columns = [take_apart(column, bound) for column, bound in zip(columns, bounds, strict=True)]
        if limits:
            self.columns = [replace(column, limits=pair) for column, pair in zip(self.columns, limits, strict=True)]
        has_codes = np.zeros(len(columns), dtype=bool)
        for group in groups:
            has_codes[group.columns] = group.basis.n_nonzero > 0
        self.is_empty = np.array([is_empty(column.given, column.bound) for column in self.columns], bool)
        self.is_verbatim = np.array(
            [
                not empty
                and (place in verbatim or not _can_be_coded(column, target.kind, bounds[place], has_codes[place]))
                for place, (column, empty) in enumerate(zip(self.columns, self.is_empty, strict=True))
            ],
            dtype=bool,
        )
        self.places: list[list[int]] = []  # columns of each piece
        self.pieces: list[Piece] = []
        for group in groups:
            coded = ~(self.is_empty | self.is_verbatim)[group.columns]
            if coded.any():
                places = group.columns[coded] if group.basis.is_adaptive else group.columns
                self.places.append(places.tolist())
                self.pieces.append(Piece([self._member(place) for place in places], group.basis, bounds[places[0]]))

    def _member(self, place: int) -> Column:
        """A column as its piece sees it: in a basis that was sent all columns take part, as gaps if need be."""
        column = self.columns[place]
        if not self.is_verbatim[place]:
            return column
        nothing, cells = np.zeros(self.n_rows, dtype=np.int64), ApartCells.nothing(self.n_rows)
        return replace(column, bound=math.inf, seen=nothing.astype(bool), cells=cells, whole=nothing, decimals=0)

    def keeping(self, places: list[int]) -> "OpenChunk":
        """The same chunk with these columns, too, kept as they are."""
        verbatim = frozenset(places) | frozenset(np.flatnonzero(self.is_verbatim).tolist())
        return OpenChunk(self.given, self.groups, self.target, self.limits, verbatim)

    def to_bytes(self, coded: list[Coded]) -> bytes:
        """The payload, with each piece as it was coded."""
        payload = Payload(
            self.is_empty, self.is_verbatim, np.zeros(len(self.columns), bool), groups=[one.data for one in coded]
        )
        kept = np.flatnonzero(self.is_verbatim)
        payload.verbatim_data = pack([self.given[place] for place in kept]) if len(kept) else b""
        if self.pieces:
            apart = cells_apart([self._member(place) for place in range(len(self.columns))])
            payload.apart = replace(apart, seen=np.ones_like(apart.seen)) if apart else None
        return payload.to_bytes()


def _can_be_coded(column: Column, kind: str, bound: float, has_codes: bool) -> bool:
    if np.count_nonzero(column.cells.is_odd) > 2 + len(column.given) // 100:
        return False
    if bound == 0 or (kind == "n_nonzero_coefs" and not has_codes):
        return fits_whole(column)
    if kind == "max_error":
        return fits_bound(column, bound)
    return column.whole is not None or column.given.dtype.kind == "f"
