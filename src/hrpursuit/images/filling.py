"""Missing pixels of planes: rounds of masked coding in groups of similar patches, from coarse to fine."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.ndimage import minimum_filter

from hrpursuit.core.team import in_order
from hrpursuit.images.learning import dct_atoms, learn_atoms
from hrpursuit.images.masked_groups import add_fills
from hrpursuit.images.matching import grid, nearest
from hrpursuit.images.tiles import Tile, tiles

Planes = NDArray[np.float32]  # (n_channels, height, width), in units of the spread of the image
Missing = NDArray[np.bool_]  # of the same shape
_Similar = tuple[NDArray[np.int32], NDArray[np.int64]]  # groups of patches, and the corners that they belong to

_N_ROUNDS = 10
_FIRST_FLOOR, _LAST_FLOOR = 0.2, 0.02  # what codes may deviate from those of their group, in units of the spread
_LEARN_AT = (2, 5, 8)  # rounds; before, what stands in the gaps is too smooth to learn from
_HARD = 2.7  # threshold of the codes to learn on, in units of the floor
_N_SIMILAR = 12
_REACH = 15  # pixels between the corners of similar patches, at most
_NO_DRAWS = np.zeros((2 * _REACH + 1, 2 * _REACH + 1), np.float32)
_N_FEATURES = 16  # of the lowest frequencies, to find similar patches by
_MOST_PATCHES = 8000  # to learn from
_FEWEST_PATCHES = 8  # a pixel of a patch, to learn from
_N_FINE_ROUNDS = 2  # at the end, with twice as many patches
_MOST_JOINT = 80  # pixels of a patch that has all channels
#: Share of the energy of a patch, less its mean, in one pixel, from which it shows a hot pixel and no structure if it
#: has more energy than so many others; and the share of such patches from which the image is made of them.
_SPIKE, _STRONG, _MANY_SPIKES = 0.3, 0.9, 0.05


@dataclass(frozen=True)
class Filler:
    """How planes are filled: `shared` if all channels miss the same pixels, and are decorrelated."""

    size: int
    shared: bool
    noise: float  # standard deviation of that in the observed pixels
    seed: int
    n_threads: int

    def fill(
        self,
        planes: Planes,
        missing: Missing,
        progress: Callable[[int, int], object] | None = None,
        *,
        code: bool = True,
    ) -> Planes:
        """Planes without gaps; each needs an observed pixel.

        The start is the image at half the resolution, filled: coded there too, if a hole is larger than half a patch,
        and else by means of observed pixels alone.
        """
        if not missing.any():
            return planes
        coarse, coarse_missing = _halved(planes, missing)
        has_hole = (
            code and min(coarse.shape[1:]) >= 2 * self.size and _has_hole(np.all(missing, axis=0), self.size // 2)
        )
        coarse = self.fill(coarse, coarse_missing, code=has_hole)
        planes = np.where(missing, _doubled(coarse)[:, : planes.shape[1], : planes.shape[2]], planes)
        return self._in_tiles(planes, missing, progress) if code else planes

    def _in_tiles(self, planes: Planes, missing: Missing, progress: Callable[[int, int], object] | None) -> Planes:
        cut = tiles(*planes.shape[1:])
        filled = np.where(missing, np.float32(0), planes)
        calls = (partial(self._tile, planes, missing, tile) for tile in cut)
        for n_done, (tile, found) in enumerate(in_order(calls, self.n_threads), 1):
            if found is not None:
                where = (slice(None), tile.rows.pixels, tile.columns.pixels)
                found *= tile.columns.weights
                found *= tile.rows.weights[:, None]
                filled[where] += np.where(missing[where], found, np.float32(0))
            if progress is not None:
                progress(n_done, len(cut))
        return filled

    def _tile(self, planes: Planes, missing: Missing, tile: Tile) -> tuple[Tile, Planes | None]:
        """A tile without gaps, None if it has none; only what is near enough to a gap to matter is looked at."""
        planes = planes[:, tile.rows.pixels, tile.columns.pixels]
        missing = missing[:, tile.rows.pixels, tile.columns.pixels]
        if not missing.any():
            return tile, None
        near = tuple(
            _near(np.any(missing, axis=(0, axis)), planes.shape[3 - axis], _REACH + self.size) for axis in (2, 1)
        )
        filled = planes.copy()
        where = (slice(None), *near)
        filled[where] = self._rounds(
            np.ascontiguousarray(planes[where]), np.ascontiguousarray(missing[where]), tile.number
        )
        return tile, filled

    def _rounds(self, planes: Planes, missing: Missing, number: int) -> Planes:
        rng = np.random.default_rng([self.seed, number])
        parts = self._parts(len(planes))
        floors = np.geomspace(_FIRST_FLOOR, _LAST_FLOOR, _N_ROUNDS)
        for i, floor in enumerate(floors):
            widest = 2 if i >= _N_ROUNDS - _N_FINE_ROUNDS else 3
            overview = planes[0] if self.shared else planes.sum(axis=0) / np.float32(np.sqrt(len(planes)))
            filled = planes.copy()
            for part in parts:
                stride = min(widest, part.size)  # wider, pixels between the patches would have no value
                if part is parts[0] or not self.shared:
                    similar = _groups(overview, np.any(missing[part.channels], axis=0), part.size, stride)
                patches = part.patches(planes)
                if i in _LEARN_AT:
                    part.learn(patches, float(floor), rng)
                filled[part.channels] = part.filled(planes, missing, patches, similar, float(floor), self.noise)
            planes = filled
        return planes

    def _parts(self, n_channels: int) -> "list[_Part]":
        together = int(np.sqrt(_MOST_JOINT / n_channels))
        if self.shared or together < 2:
            return [_Part(slice(c, c + 1), self.size, 1) for c in range(n_channels)]
        return [_Part(slice(0, n_channels), min(self.size, together), n_channels)]


class _Part:
    """Channels whose patches are coded together, and the dictionary of these."""

    def __init__(self, channels: slice, size: int, n_channels: int) -> None:
        self.channels = channels
        self.size = size
        self.atoms = np.kron(dct(np.eye(n_channels), axis=0, norm="ortho"), dct_atoms(size)).astype(np.float32)

    def patches(self, planes: Planes) -> Planes:
        windows = sliding_window_view(planes[self.channels], (self.size, self.size), axis=(1, 2))
        return windows.transpose(1, 2, 0, 3, 4).reshape(-1, len(self.atoms))

    def learn(self, patches: Planes, floor: float, rng: np.random.Generator) -> None:
        """Go on from the dictionary so far, unless there are too few patches to learn from."""
        if len(patches) >= _FEWEST_PATCHES * len(self.atoms):
            sample = patches[rng.choice(len(patches), min(_MOST_PATCHES, len(patches)), replace=False)]
            self.atoms = learn_atoms(_without_spikes(sample), self.atoms, _HARD * floor)

    def filled(
        self, planes: Planes, missing: Missing, patches: Planes, similar: _Similar, floor: float, noise: float
    ) -> Planes:
        """The channels with new values in their gaps."""
        planes, missing, (groups, corners) = planes[self.channels], missing[self.channels], similar
        n_channels, height, width = planes.shape
        line = np.arange(self.size)
        offsets = (np.arange(n_channels)[:, None, None] * height + line[:, None]) * width + line
        down, across = np.divmod(corners, width - self.size + 1)
        total, weight = np.zeros(planes.size), np.zeros(planes.size)
        add_fills(
            planes.ravel(), missing.ravel(), patches @ self.atoms.T, self.atoms.astype(np.float64), groups,
            down * width + across, offsets.ravel(), floor**2, noise**2, total, weight,
        )  # fmt: skip
        means = (total / np.maximum(weight, 1)).reshape(planes.shape)
        return np.where(missing, means, planes).astype(np.float32)


def _groups(plane: Planes, missing: Missing, size: int, stride: int) -> _Similar:
    """Patches on a grid that have gaps, as corners, and for each those that are similar in `plane`."""
    patches = sliding_window_view(plane, (size, size))
    height, width = patches.shape[:2]
    frequencies = np.add.outer(np.arange(size), np.arange(size)).ravel()
    atoms = dct_atoms(size)[np.argsort(frequencies, kind="stable")[:_N_FEATURES]]
    features = np.ascontiguousarray((patches.reshape(-1, size * size) @ atoms.T).T).reshape(-1, height, width)
    corners = grid((height, width), stride)
    has_gaps = sliding_window_view(missing, (size, size)).any(axis=(2, 3)).ravel()
    corners = corners[has_gaps[corners]]
    return nearest(features, corners, _N_SIMILAR, _REACH, np.float32(0), _NO_DRAWS), corners


def _without_spikes(patches: Planes) -> Planes:
    """Patches to learn from: one hot pixel is in as many as a patch has pixels, and would shape the dictionary."""
    energies = (patches - patches.mean(axis=1, keepdims=True)) ** 2
    total = energies.sum(axis=1)
    is_spike = (energies.max(axis=1) > _SPIKE * total) & (total > np.quantile(total, _STRONG))
    return patches if is_spike.mean() > _MANY_SPIKES else patches[~is_spike]


def _near(has_gaps: Missing, length: int, reach: int) -> slice:
    """From the first gap to the last, and `reach` beyond."""
    gaps = np.flatnonzero(has_gaps)
    return slice(max(0, int(gaps[0]) - reach), min(length, int(gaps[-1]) + 1 + reach))


def _has_hole(missing: Missing, size: int) -> bool:
    """Whether a square of this size has no observed pixel."""
    return bool(minimum_filter(missing, size, mode="constant", cval=False).any())


def _halved(planes: Planes, missing: Missing) -> tuple[Planes, Missing]:
    """Means of the observed among two by two pixels."""
    n_channels, height, width = planes.shape
    rows, columns = (height + 1) // 2, (width + 1) // 2
    observed = np.zeros((n_channels, 2 * rows, 2 * columns), np.float32)
    observed[:, :height, :width] = ~missing
    values = np.zeros_like(observed)
    values[:, :height, :width] = planes
    values *= observed
    four = (n_channels, rows, 2, columns, 2)
    count = observed.reshape(four).sum(axis=(2, 4))
    return values.reshape(four).sum(axis=(2, 4)) / np.maximum(count, 1), count == 0


def _doubled(planes: Planes) -> Planes:
    """Twice as many pixels along both axes, interpolated."""
    for axis in (1, 2):
        first, last = planes.take([0], axis), planes.take([-1], axis)
        padded = np.concatenate([first, planes, last], axis)
        n = planes.shape[axis]
        before, after = padded.take(range(n), axis), padded.take(range(2, n + 2), axis)
        pairs = np.stack([0.75 * planes + 0.25 * before, 0.75 * planes + 0.25 * after], axis + 1)
        shape = list(planes.shape)
        shape[axis] = 2 * n
        planes = pairs.reshape(shape).astype(np.float32)
    return planes
