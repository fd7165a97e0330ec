"""One image of a stack on its way: its noise made white and of unit strength, tile by tile, and back."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from hrpursuit.images.assumed import Noise
from hrpursuit.images.channels import across_channels
from hrpursuit.images.grouped import denoise_in_few_steps, denoise_progressively
from hrpursuit.images.paper import N_SAMPLED, denoise_as_the_paper, learn_as_the_paper
from hrpursuit.images.poisson import Anscombe
from hrpursuit.images.spectrum import Whitener
from hrpursuit.images.stack import spread, store
from hrpursuit.images.tiles import Blend, Tile

Values = NDArray[np.float64]
Planes = NDArray[np.float32]
#: Planes (n_channels, height, width), sigma, size of patches, seed, and how many planes stand one below the other.
Denoiser = Callable[[Planes, float, int, int, int], Planes]

_WIDEST = 2.0**17  # half the range in units of the noise: beyond, the systems of groups lose digits
_NARROWEST = 2.0**-40  # the same, below which no structure is left anyway, and single precision would end
_NEIGHBOURHOOD = 4.0  # pixels, standard deviation of a Gaussian window
_LEAST_NEAR = 0.1  # of strong noise: pixels that are more certain do not tell more of their neighbours
_ROUGH, _MOST_ROUGH = 1.3, 0.005  # times the noise of the neighbourhood; share of pixels with more that may be
_OUTLIER = 5.0  # the same, that no pixel may have
_STRONG = 0.9  # quantile of the noise of the pixels that have some: a few with far more, which are dead, do not count
_STEPS = (1.5, 0.87, 0.5)  # noise that is assumed, in that of the neighbourhood
_LEAST = 1e-3  # of strong noise, which stands for none at all where the image is divided by it


@dataclass(frozen=True)
class Task:
    """One image of the stack: where it is, its noise, and how its tiles are denoised."""

    pixels: NDArray[Any]  # (n_channels, height, width), of a volume (n_channels, n_planes, height, width)
    out: NDArray[Any]  # the same of the planes that are `kept`
    kept: slice
    anscombe: Anscombe | None
    offset: float
    unit: Values  # standard deviation of the noise, or its root mean square if it is correlated; broadcasts to pixels
    strong: float  # of these, without outliers
    smooth: Values | None  # the same without jumps from pixel to pixel, if it has them; of the shape of the pixels
    spectra: Values | None  # of correlated noise in units of its variance, (1 or n_channels, height, width)
    is_clean: bool
    denoiser: Denoiser
    patch_size: int
    seed: int
    blend: Blend

    def values(self, *where: Any) -> Values:
        """Pixels, after the stabilising transform if there is one."""
        values = self.pixels[(..., *where)].astype(np.float64)
        return values if self.anscombe is None else self.anscombe.forward(values)

    def planes(self, *where: Any) -> Planes:
        """Decorrelated channels in units of the noise."""
        scaled = (self.values(*where) - self.offset) / self.divisors(*where)
        return self.decorrelated(scaled.astype(np.float32))

    def decorrelated(self, channels: Planes) -> Planes:
        return across_channels(channels, sigmas=self._of_channels())

    def corrections(self, planes: Planes) -> Planes:
        """What is added to decorrelated channels as it is added to pixels, in units of the noise."""
        return across_channels(planes, inverse=True, sigmas=self._of_channels())

    def divisors(self, *where: Any) -> Values:
        return np.maximum(self._unit_at(*where) if self.smooth is None else self.smooth[(..., *where)], self._least)

    def roughness(self, *where: Any) -> Planes | None:
        """Noise of each pixel in units of the one that the image is divided by, where they differ."""
        if self.smooth is None:
            return None
        return np.asarray(
            np.maximum(self._unit_at(*where), _LEAST_NEAR * self.strong) / self.divisors(*where), np.float32
        )

    @property
    def _least(self) -> float:
        return _LEAST * self.strong

    def finished(self, rows: slice, corrections: Planes) -> Values:
        """The values of some rows as they will be stored."""
        corrections = corrections.reshape(*self.pixels.shape[:-2], *corrections.shape[-2:])
        corrections = np.where(
            self._unit_at(rows, slice(None)) > 0, corrections, 0
        )  # without noise they stay as they are
        values = self.values(rows, slice(None)) + self.divisors(rows, slice(None)) * corrections.astype(np.float64)
        values = values if self.anscombe is None else self.anscombe.backward(values)
        return values[:, self.kept] if values.ndim == 4 else values

    def _unit_at(self, *where: Any) -> Values:
        return np.broadcast_to(self.unit, self.pixels.shape)[(..., *where)] if self.unit.ndim else self.unit

    def _of_channels(self) -> Values | None:
        """Noise of the channels if it differs."""
        if self.unit.ndim == 0 or len(self.unit) == 1:
            return None
        strengths = np.sqrt(np.mean(self.unit**2, axis=tuple(range(1, self.unit.ndim))))
        return np.maximum(strengths, self._least)


def prepare(
    pixels: NDArray[Any], out: NDArray[Any], kept: slice, noise: Noise, mode: str, patch_size: int, seed: int
) -> Task:
    """For an image and where its result goes."""
    middle, half_range = spread(pixels)
    anscombe, spectra = noise.anscombe, None
    unit = np.asarray(noise.sigma, float)
    if anscombe is not None:
        unit = np.ones(())
        low, high = anscombe.forward(np.array([middle - half_range, middle + half_range]))
        middle, half_range = (low + high) / 2, (high - low) / 2
    unit = np.minimum(unit, half_range / _NARROWEST)
    if unit.ndim == 1:
        unit = unit.reshape(-1, *(1,) * (pixels.ndim - 1))
    largest = float(unit.max())
    is_clean = half_range >= _WIDEST * largest  # also where nothing but a constant is
    if noise.psd is not None and not is_clean:
        spectra = noise.psd.reshape(-1, *noise.psd.shape[-2:]) / largest**2
    smooth = _smooth(unit, pixels.shape)
    # with a map, what is far from the offset varies as the noise does; so it must not be at dead pixels
    offset = middle - half_range if mode == "paper" else middle if smooth is None else float(np.median(pixels))
    blend = Blend(int(np.prod(pixels.shape[:-2])), pixels.shape[-1])
    denoiser: Denoiser = denoise_progressively if mode == "best" else denoise_in_few_steps
    task = Task(
        pixels,
        out,
        kept,
        anscombe,
        offset,
        unit,
        _strong(unit),
        smooth,
        spectra,
        is_clean,
        denoiser,
        patch_size,
        seed,
        blend,
    )
    if mode == "paper" and not is_clean:
        dictionaries = [learn_as_the_paper(patches, seed) for patches in _sampled_patches(task)]
        return replace(task, denoiser=partial(_paper, dictionaries))
    return task


def run(task: Task, tile: Tile) -> tuple[Task, Tile, Planes | None]:
    """What has to be added to a tile, in units of the noise."""
    if task.is_clean:
        return task, tile, None
    planes = task.planes(tile.rows.pixels, tile.columns.pixels)
    rough = task.roughness(tile.rows.pixels, tile.columns.pixels)
    if rough is not None:
        added = _step_by_step(task, tile, planes, rough) - planes
    elif task.spectra is None:
        added = _added(task, tile, planes)
    else:
        whitener = Whitener.of(task.spectra, planes.shape[-2:])
        added = whitener.backward(_added(task, tile, whitener.forward(planes)))
    return task, tile, task.corrections(added)


def _smooth(unit: Values, shape: tuple[int, ...]) -> Values | None:
    """The noise as its neighbourhood has it: one over the root of the mean of one over the variance."""
    if unit.ndim == 0 or unit.shape[-1] == 1 or not unit.any():
        return None
    strong = _strong(unit)
    certain = np.maximum(unit / strong, _LEAST_NEAR) ** -2
    smooth = gaussian_filter(certain, [0.0] * (unit.ndim - 2) + [_NEIGHBOURHOOD] * 2) ** -0.5 * strong
    if np.mean(unit > _ROUGH * smooth) < _MOST_ROUGH and not np.any(unit > _OUTLIER * smooth):
        return None
    return np.broadcast_to(smooth, shape)


def _strong(unit: Values) -> float:
    """Noise of those pixels that have much, but for outliers."""
    if unit.ndim == 0 or unit.shape[-1] == 1 or not unit.any():
        return float(unit.max())
    return float(np.quantile(unit[unit > 0], _STRONG))


def _step_by_step(task: Task, tile: Tile, planes: Planes, rough: Planes) -> Planes:
    """Denoise where the noise jumps from pixel to pixel, and is `rough` times that of its neighbourhood.

    By turns the image is denoised as if the noise were the same everywhere, less each time, and what is found is
    averaged with the noisy image, weighted by how certain each is in each pixel (half-quadratic splitting).
    """
    noisy = task.corrections(planes)
    certain = np.minimum(rough**-2, 1)
    edges = [0.0] * (noisy.ndim - 2) + [1.0] * 2
    near = gaussian_filter(noisy * certain, edges) / gaussian_filter(np.broadcast_to(certain, noisy.shape), edges)
    mixed = certain * noisy + (1 - certain) * near
    for noise in _STEPS:
        found = task.decorrelated(mixed) / np.float32(noise)
        found = task.corrections((found + _added(task, tile, found)) * np.float32(noise))
        mixed = (noisy * rough**-2 + found * noise**-2) / (rough**-2 + noise**-2)
    return task.decorrelated(found)


def _added(task: Task, tile: Tile, planes: Planes) -> Planes:
    """What denoising adds to planes with white unit noise."""
    n_planes = planes.shape[1] if planes.ndim == 4 else 1
    as_one = planes.reshape(len(planes), -1, planes.shape[-1])
    denoised = task.denoiser(as_one, 1.0, task.patch_size, task.seed + tile.number, n_planes)
    return denoised.reshape(planes.shape) - planes


def finish(task: Task, tile: Tile, n_tiles: int, next_row: int, correction: Planes | None) -> None:
    """Blend a tile in; store the rows of the image to which no further tile adds."""
    if correction is None:
        where = (..., tile.rows.pixels, tile.columns.pixels)
        task.out[where] = task.pixels[:, task.kept][where] if task.pixels.ndim == 4 else task.pixels[where]
        return
    task.blend.add(tile, correction.reshape(-1, *correction.shape[-2:]))
    if tile.last_in_row:
        rows, corrections = task.blend.take(tile.rows.stop if tile.number + 1 == n_tiles else next_row)
        store(task.finished(rows, corrections), task.out[..., rows, :])


def _paper(dictionaries: list[Planes], planes: Planes, sigma: float, size: int, seed: int, n_planes: int) -> Planes:
    return np.stack(
        [denoise_as_the_paper(plane, atoms, sigma) for plane, atoms in zip(planes, dictionaries, strict=True)]
    )


def _sampled_patches(task: Task) -> Planes:
    """Patches drawn at random from the whole image, of shape (n_channels, n_patches, patch_size**2)."""
    size, (n_channels, height, width) = task.patch_size, task.pixels.shape
    n_corners = (height - size + 1) * (width - size + 1)
    rng = np.random.default_rng(task.seed)
    corners = np.sort(rng.choice(n_corners, min(N_SAMPLED, n_corners), replace=False))
    y, x = np.divmod(corners, width - size + 1)
    inside = np.arange(size)
    patches = task.planes(y[:, None, None] + inside[:, None], x[:, None, None] + inside)
    return patches.reshape(n_channels, len(corners), size * size)
