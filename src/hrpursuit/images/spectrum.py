"""Power spectra of correlated noise: estimated from an image, and made white."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import fft2, ifft2, irfft2, rfft2
from scipy.ndimage import map_coordinates

Values = NDArray[np.float64]
Planes = NDArray[np.float32]

_BLOCKS = (32, 16)  # pixels a side; the smaller ones find gaps between structure that the larger ones do not
#: What the variance in the calmest blocks is short of that of the noise: they are the calmest partly by chance, and
#: what a block's plane explains is taken off. Measured on noise of six spectra added to photographs, by
#: python benchmarks/noise_constants.py.
_SHORT = (1.10, 1.45)
_DIFFERENT = 0.72  # share of the variance in large blocks below which that in small blocks is believed
_SHARE = 0.1  # of the blocks, the calmest, are taken for noise alone
_FEWEST = 8  # of them
_MOST_BLOCKS, _FEW_BLOCKS = 4000, 500
_N_ROUNDS = 4
_STRONG = 20.0  # multiple of the spectrum at which a frequency of a block is structure, whatever it is beyond
_LAG = 6  # pixels over which correlations are estimated; beyond they are taken to be zero
_CLIPPED = 0.05  # share of pixels at the ends of the range from which a block tells nothing
_HIGH = 0.3  # cycles per pixel from which a frequency is high
_ALIKE = 0.5  # least ratio of the power of the calmest fiftieth of the blocks to that of the calmest tenth
_SPREAD = 2.0  # largest variance of the power of calm blocks in squares of its mean: 1 for noise, more for structure
_FLOOR = 0.1  # of the mean of a spectrum: below, white noise would be sharpened image for the most part
_PAD = 32  # pixels, mirrored, so that the two ends of a tile do not see each other


@dataclass(frozen=True)
class Whitener:
    """Filters a tile so that noise of a spectrum becomes white, of variance one, and back.

    Frequencies with less than a tenth of the mean power are treated as if they had that, for image is most of what is
    there.
    """

    gains: Planes  # (n_channels, height, width // 2 + 1) of the padded tile

    @classmethod
    def of(cls, spectra: Values, shape: tuple[int, int]) -> "Whitener":
        """For spectra (n_channels, height, width) as `numpy.fft.fft2` orders frequencies, and tiles of this shape."""
        padded = tuple(n + 2 * _PAD for n in shape)
        found = np.stack([resampled(one, padded) for one in spectra])
        found = np.maximum(found, _FLOOR * spectra.mean(axis=(1, 2), keepdims=True))
        return cls(np.sqrt(found[:, :, : padded[1] // 2 + 1]).astype(np.float32))

    def forward(self, planes: Planes) -> Planes:
        return self._filtered(planes, 1 / self.gains)

    def backward(self, planes: Planes) -> Planes:
        return self._filtered(planes, self.gains)

    def _filtered(self, planes: Planes, gains: NDArray[np.floating]) -> Planes:
        if planes.ndim == 4:  # of a volume
            gains = gains[:, None]
        borders = [(0, 0)] * (planes.ndim - 2) + [(_PAD, _PAD)] * 2
        padded = np.pad(planes, borders, mode="symmetric")
        back = irfft2(rfft2(padded) * gains, s=padded.shape[-2:])
        return np.ascontiguousarray(back[..., _PAD:-_PAD, _PAD:-_PAD], dtype=np.float32)


def resampled(spectrum: Values, shape: tuple[int, ...]) -> Values:
    """A spectrum on the frequencies of another shape, interpolated; never negative."""
    if spectrum.shape == shape:
        return spectrum
    places = [np.fft.fftfreq(new) * old for new, old in zip(shape, spectrum.shape, strict=True)]
    grid = np.meshgrid(*places, indexing="ij")
    return np.asarray(map_coordinates(spectrum, grid, order=1, mode="grid-wrap"))


def estimated_spectrum(plane: Values, n_most: int = _MOST_BLOCKS) -> Values:
    """Power spectrum of the noise in an image, on the frequencies of its blocks; its mean is the variance.

    From periodograms of the calmest tenth of blocks of 32 x 32 pixels, without their planes; if blocks of 16 x 16 have
    far less power, there is structure everywhere at the larger scale, and theirs is taken. Which blocks are calm
    depends on the spectrum: the power at each frequency counts in units of the last estimate.
    """
    if min(plane.shape) < _BLOCKS[-1]:
        return np.full((1, 1), plane.var())
    found = [
        _of_calm_blocks(_periodograms(_blocks(plane, size, n_most))) * short
        for size, short in zip(_BLOCKS, _SHORT, strict=True)
        if min(plane.shape) >= size
    ]
    return found[-1] if found[-1].mean() < _DIFFERENT * found[0].mean() else found[0]


def correlations(spectrum: Values) -> Values:
    """Correlation of the noise of a pixel with that of its neighbours to the right and below."""
    products = ifft2(spectrum).real
    if products[0, 0] <= 0 or 1 in spectrum.shape:
        return np.zeros(2)
    return np.array([products[0, 1], products[1, 0]]) / products[0, 0]


def fine_power(spectrum: Values) -> float:
    """Mean power at frequencies that are high in both directions."""
    high = [np.abs(np.fft.fftfreq(n)) >= _HIGH for n in spectrum.shape]
    return float(spectrum[np.ix_(*high)].mean()) if all(one.any() for one in high) else float(spectrum.mean())


def is_noise_like(plane: Values, spectrum: Values) -> bool:
    """Whether the calmest blocks are as alike as those of stationary noise are, which those of structure seldom are."""
    if min(plane.shape) < len(spectrum) or len(spectrum) == 1:
        return False
    power = _periodograms(_blocks(plane, len(spectrum), _FEW_BLOCKS))
    strengths = _strengths(power, spectrum)
    calmest, calm = np.quantile(strengths, [0.02, _SHARE])
    ratios = (power / spectrum)[strengths <= calm][:, spectrum > 0.05 * spectrum.mean()]
    return bool(calmest > _ALIKE * calm and ratios.var() < _SPREAD * ratios.mean() ** 2)


def _of_calm_blocks(power: Values) -> Values:
    """From periodograms of blocks."""
    n_calm = max(min(_FEWEST, len(power)), int(_SHARE * len(power)))
    # to begin with, at each frequency by itself what a tenth of the blocks have at most; noise is exponential there
    spectrum = _smoothed(np.quantile(power, _SHARE, axis=0) / -np.log(1 - _SHARE))
    for _ in range(_N_ROUNDS):
        if not spectrum.mean() > 0:
            break
        calm = np.argsort(_strengths(power, spectrum), kind="stable")[:n_calm]
        spectrum = _smoothed(power[calm].mean(axis=0))
    return spectrum


def _strengths(power: Values, spectrum: Values) -> Values:
    """Power of each block in units of the spectrum."""
    return np.asarray(np.minimum(power / spectrum, _STRONG).mean(axis=(1, 2)))


def _blocks(plane: Values, size: int, n_most: int) -> Values:
    """Blocks a quarter of their size apart, or more where there are too many, without clipped ones."""
    views = sliding_window_view(plane, (size, size))
    step = max(size // 4, int(np.ceil(np.sqrt(views.shape[0] * views.shape[1] / n_most))))
    blocks = views[::step, ::step].reshape(-1, size, size)
    clipped = ((blocks == plane.min()) | (blocks == plane.max())).mean(axis=(1, 2)) > _CLIPPED
    return blocks[~clipped] if np.count_nonzero(~clipped) >= _FEWEST else blocks


def _periodograms(blocks: Values) -> Values:
    """Of blocks without the plane through them, in a window that fades to their borders."""
    window, planes = _window(blocks.shape[1])
    flat = blocks.reshape(len(blocks), -1) * window.ravel()
    rest = (flat - (flat @ planes) @ planes.T).reshape(blocks.shape)
    return np.asarray(np.abs(fft2(rest, axes=(1, 2))) ** 2 / np.sum(window**2))


@lru_cache(maxsize=4)
def _window(size: int) -> tuple[Values, Values]:
    """A smooth window, and an orthonormal basis of the planes in it as columns."""
    profile = np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 2
    window = np.outer(profile, profile)
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    planes = np.stack([np.ones(size * size), y.ravel(), x.ravel()], axis=1) * window.reshape(-1, 1)
    return window, np.linalg.qr(planes)[0]


def _smoothed(spectrum: Values) -> Values:
    """Without correlations over more than a few pixels, which so few blocks cannot tell; positive."""
    distance = np.minimum(np.arange(len(spectrum)), len(spectrum) - np.arange(len(spectrum)))
    taper = np.where(distance <= _LAG, np.cos(np.pi / 2 * distance / (_LAG + 1)) ** 2, 0)
    smooth = fft2(ifft2(spectrum).real * np.outer(taper, taper)).real
    return np.asarray(np.maximum(smooth, 1e-3 * spectrum.mean()))
