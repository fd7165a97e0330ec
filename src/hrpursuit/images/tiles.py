"""Large images in overlapping tiles: memory for a few tiles, time linear in pixels, no seams."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_CORE = 512  # pixels from one tile to the next
_MARGIN = 16  # pixels at a tile's inner border that are not used: fewer patches, and none from beyond, tell of them
_RAMP = 32  # pixels over which one tile fades into the next
_OVERLAP = 2 * _MARGIN + _RAMP
CORE_OF_PLANES = 192  # for tiles of several planes
_PLANES, _PLANE_OVERLAP = 12, 3


@dataclass(frozen=True)
class Span:
    """A tile along one axis: its pixels, and how much of each it gives."""

    start: int
    stop: int
    weights: NDArray[np.float32]

    @property
    def pixels(self) -> slice:
        return slice(self.start, self.stop)


def spans(length: int, core: int = _CORE) -> list[Span]:
    """Tiles along an axis, of nearly the same length, whose weights add up to one.

    An axis of up to `core` and an overlap is one tile.
    """
    n_tiles = max(1, -(-(length - _OVERLAP) // core))
    # where the tiles meet, in the middle of their overlap
    borders = [round(i * length / n_tiles) for i in range(1, n_tiles)]
    starts = [0] + [border - _OVERLAP // 2 for border in borders]
    stops = [border + _OVERLAP // 2 for border in borders] + [length]
    ramp = (np.arange(_RAMP, dtype=np.float32) + np.float32(0.5)) / np.float32(_RAMP)
    rise = np.concatenate([np.zeros(_MARGIN, np.float32), ramp, np.ones(_MARGIN, np.float32)])
    found = []
    for start, stop in zip(starts, stops, strict=True):
        weights = np.ones(stop - start, np.float32)
        if start > 0:
            weights[:_OVERLAP] *= rise
        if stop < length:
            weights[-_OVERLAP:] *= 1 - rise  # exactly what the next one lacks
        found.append(Span(start, stop, weights))
    return found


def runs(n_planes: int) -> list[tuple[slice, slice]]:
    """Planes of a volume that are worked on at a time, and which of them are kept: the others overlap."""
    n_runs = max(1, -(-n_planes // _PLANES))
    borders = [round(i * n_planes / n_runs) for i in range(n_runs + 1)]
    found = []
    for start, stop in pairwise(borders):
        first = max(0, start - _PLANE_OVERLAP)
        found.append((slice(first, min(n_planes, stop + _PLANE_OVERLAP)), slice(start - first, stop - first)))
    return found


@dataclass(frozen=True)
class Tile:
    """One tile of an image, by its number along the rows of tiles."""

    number: int
    rows: Span
    columns: Span
    last_in_row: bool


def tiles(height: int, width: int, core: int = _CORE) -> list[Tile]:
    """All tiles of an image, row by row."""
    down, across = spans(height, core), spans(width, core)
    return [
        Tile(i * len(across) + j, rows, columns, j == len(across) - 1)
        for i, rows in enumerate(down)
        for j, columns in enumerate(across)
    ]


class Blend:
    """Adds up tiles of an image as they come, row by row, and hands out rows of pixels that are done."""

    def __init__(self, n_channels: int, width: int) -> None:
        self._width = width
        self._start = 0  # first row of the image that is still open
        self._open = np.zeros((n_channels, 0, width), np.float32)

    def add(self, tile: Tile, values: NDArray[np.float32]) -> None:
        """Add a tile of shape (n_channels, height, width); its memory may be used again."""
        n_missing = tile.rows.stop - self._start - self._open.shape[1]
        if n_missing > 0:
            room = np.zeros((len(values), n_missing, self._width), np.float32)
            self._open = np.concatenate([self._open, room], axis=1)
        rows = slice(tile.rows.start - self._start, tile.rows.stop - self._start)
        values *= tile.columns.weights
        values *= tile.rows.weights[:, None]
        self._open[:, rows, tile.columns.pixels] += values

    def take(self, stop: int) -> tuple[slice, NDArray[np.float32]]:
        """The rows up to `stop`, to which no further tile adds, and their values."""
        n_done = stop - self._start
        done, self._open = self._open[:, :n_done], self._open[:, n_done:].copy()
        rows = slice(self._start, stop)
        self._start = stop
        return rows, done
