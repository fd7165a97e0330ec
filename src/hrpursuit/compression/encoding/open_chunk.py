"""A chunk before it is coded: its columns, sorted by how they can be kept."""

from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.bases import Group
from hrpursuit.compression.chunks.payload import Payload
from hrpursuit.compression.chunks.verbatim import pack
from hrpursuit.compression.encoding.apart import cells_apart
from hrpursuit.compression.encoding.chunk_groups import ChunkGroup, Encoded
from hrpursuit.compression.encoding.columns import Column, Limits
from hrpursuit.compression.encoding.decimals import on_decimals
from hrpursuit.compression.encoding.whole_numbers import fits_bound, fits_whole
from hrpursuit.compression.targets import Target


class OpenChunk:
    """Columns of a chunk, the groups of them that are to be coded, and those that are not."""

    def __init__(
        self,
        columns: list[np.ndarray],
        groups: list[Group],
        target: Target,
        limits: Limits = (),
        verbatim: frozenset[int] = frozenset(),
    ) -> None:
        self._given, self._shared, self._target, self._limits = columns, groups, target, limits
        bounds: list[float] = target.bounds(len(columns)).tolist()
        self.columns = [on_decimals(column, bound) for column, bound in zip(columns, bounds, strict=True)]
        if limits:
            self.columns = [replace(column, limits=pair) for column, pair in zip(self.columns, limits, strict=True)]
        has_codes = np.zeros(len(columns), dtype=bool)
        for group in groups:
            has_codes[group.columns] = group.basis.n_nonzero > 0
        self.is_empty = np.array([column.is_empty for column in self.columns], bool)
        self.is_verbatim = np.array(
            [
                not empty and (place in verbatim or not _can_be_coded(column, target.kind, has_codes[place]))
                for place, (column, empty) in enumerate(zip(self.columns, self.is_empty, strict=True))
            ],
            dtype=bool,
        )
        self.groups: list[ChunkGroup] = []
        for group in groups:
            coded = ~(self.is_empty | self.is_verbatim)[group.columns]
            if coded.any():
                places = group.columns[coded] if group.basis.is_adaptive else group.columns
                members = [self._member(place) for place in places]
                self.groups.append(ChunkGroup(members, group.basis, places.tolist()))

    def _member(self, place: int) -> Column:
        """A column as its group sees it: in a basis that was sent all columns take part, as gaps if need be."""
        column = self.columns[place]
        return column.as_gaps() if self.is_verbatim[place] else column

    def keeping(self, places: list[int]) -> "OpenChunk":
        """The same chunk with these columns, too, kept as they are."""
        verbatim = frozenset(places) | frozenset(np.flatnonzero(self.is_verbatim).tolist())
        return OpenChunk(self._given, self._shared, self._target, self._limits, verbatim)

    def to_bytes(self, encoded: list[Encoded]) -> bytes:
        """The payload, with each group as it was encoded."""
        payload = Payload(
            self.is_empty, self.is_verbatim, np.zeros(len(self.columns), bool), groups=[one.data for one in encoded]
        )
        kept = np.flatnonzero(self.is_verbatim)
        payload.verbatim_data = pack([self._given[place] for place in kept]) if len(kept) else b""
        if self.groups:
            apart = cells_apart([self._member(place) for place in range(len(self.columns))])
            payload.apart = replace(apart, seen=np.ones_like(apart.seen)) if apart else None
        return payload.to_bytes()


def _can_be_coded(column: Column, kind: str, has_codes: bool) -> bool:
    if np.count_nonzero(column.is_odd) > 2 + len(column.given) // 100:
        return False
    if column.bound == 0 or (kind == "n_nonzero_coefs" and not has_codes):
        return fits_whole(column)
    if kind == "max_error":
        return fits_bound(column, column.bound)
    return column.whole is not None or column.given.dtype.kind == "f"
