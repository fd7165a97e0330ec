"""What noise is assumed in an image: what was given, and the rest estimated."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from hrpursuit.images.channels import across_channels
from hrpursuit.images.counting import BLOCK, variance_and_mean
from hrpursuit.images.noise import sigma_of
from hrpursuit.images.poisson import Anscombe
from hrpursuit.images.spectrum import estimated_spectrum, resampled

Values = NDArray[np.float64]

KINDS = ("gaussian", "correlated", "poisson", "poisson-gaussian")
_UNLIKE = 1.5  # ratio of the largest to the smallest estimate from which channels are taken to have noise of their own
_PLANES = 16  # of a volume that are looked at
_AROUND = 5  # pixels a side over which the darkest mean is looked for
_FEWEST = 64  # pixels, of which a share says something
_CLIPPED = 0.1  # share of pixels at one end of the range from which the variance there is no line


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise that was assumed in an image.

    Attributes
    ----------
    kind : {"gaussian", "correlated", "poisson", "poisson-gaussian"}
    sigma : float or array
        Standard deviation of the part that does not depend on brightness, in the unit of the image: a number, or an
        array with one per channel or one per pixel.
    gain : float or None
        What one photon adds to a pixel, for the two kinds of photon noise. 0 if no such noise was found.
    offset : float
        Value of a pixel without photons.
    psd : array of shape (height, width) or (n_channels, height, width) or None
        Power spectrum of correlated noise as `numpy.fft.fft2` orders frequencies; its mean is the variance. With
        several channels the spectra are those after the orthonormal cosine transform over the channels.
    estimated : tuple of str
        Names of the parameters that were estimated from the image.
    """

    kind: str
    sigma: float | Values
    gain: float | None = None
    offset: float = 0.0
    psd: Values | None = None
    estimated: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In a few words, as the command prints them."""
        parts = [f"{self.kind} noise"]
        if self.gain is not None:
            parts.append(f"gain {self.gain:.3g}{self._how('gain')}")
        name = "readout" if self.gain is not None else "sigma"
        parts.append(f"{name} {_in_short(self.sigma)}{self._how('sigma')}")
        if self.offset:
            parts.append(f"offset {self.offset:.3g}{self._how('offset')}")
        if self.psd is not None:
            parts.append(f"spectrum of {' x '.join(str(n) for n in self.psd.shape[-2:])}{self._how('psd')}")
        return ", ".join(parts)

    def _how(self, name: str) -> str:
        return " (estimated)" if name in self.estimated else " (given)"

    def of_planes(self, planes: slice) -> "Noise":
        """That of some planes of a volume."""
        sigma = np.asarray(self.sigma)
        return replace(self, sigma=sigma[:, planes]) if sigma.ndim == 4 and sigma.shape[1] > 1 else self

    @property
    def anscombe(self) -> Anscombe | None:
        """The transform that makes noise of counting uniform, if there is any."""
        if not self.gain:
            return None
        return Anscombe(self.gain, float(self.sigma), self.offset)


def assumed(
    pixels: NDArray[Any], kind: str, sigma: float | Values | None, gain: float | None, psd: Values | None
) -> Noise:
    """For an image (n_channels, ..., height, width); `sigma` broadcasts against it."""
    if kind == "poisson":
        return Noise(kind, 0.0 if sigma is None else sigma, 1.0 if gain is None else gain)
    if kind == "poisson-gaussian":
        return _counted(as_one(pixels), sigma, gain)
    if kind == "correlated":
        return _correlated(as_one(pixels), sigma, psd)
    if sigma is not None:
        return Noise(kind, sigma)
    return Noise(kind, _of_channels(as_one(pixels)), estimated=("sigma",))


def as_one(pixels: NDArray[Any]) -> NDArray[Any]:
    """A few planes of a volume, one below the other, as one image."""
    if pixels.ndim == 4:
        pixels = pixels[:, :: -(-pixels.shape[1] // _PLANES)]
    return pixels.reshape(len(pixels), -1, pixels.shape[-1])


def _of_channels(pixels: NDArray[Any]) -> float | Values:
    """One estimate for all channels, which is more certain, unless they differ."""
    each = np.array([sigma_of(pixels[[channel]]) for channel in range(len(pixels))])
    if len(each) == 1:
        return float(each[0])
    if each.max() > _UNLIKE * each.min():
        return each
    return sigma_of(pixels)


def _counted(pixels: NDArray[Any], sigma: Any, gain: float | None) -> Noise:
    estimated = tuple(name for name, value in (("sigma", sigma), ("gain", gain)) if value is None)
    if not estimated:
        return Noise("poisson-gaussian", float(sigma), gain)
    low, high = float(pixels.min()), float(pixels.max())
    for end, name in ((high, "brightest"), (low, "darkest")):
        share = float(np.mean(pixels == end))
        if share > _CLIPPED and low < high and pixels.size >= _FEWEST:
            warnings.warn(
                f"{share:.0%} of the pixels have the {name} value, {end:.4g}. If they are clipped, the noise "
                "there is not what its estimate tells of the others, and means are pulled away from that value.",
                stacklevel=2,
            )
    unit = max(abs(low), abs(high)) or 1.0  # of brightness, so that no square overflows
    values = pixels.astype(np.float64) / unit
    known = None if sigma is None else float(sigma) / unit, None if gain is None else float(gain) / unit
    if min(values.shape[1:]) < BLOCK and known[0] is None:  # no block to look at
        slope = known[1] or 0.0
        at_zero = max(sigma_of(values) ** 2 - slope * float(values.mean()), 0.0)
    else:
        slope, at_zero = variance_and_mean(values, *known)
    offset = 0.0
    if slope > 0 and sigma is None:
        darkest = float(uniform_filter(values, (0, _AROUND, _AROUND)).min())
        if at_zero < 0:  # zero counts are brighter than 0, but nothing is darker than they are
            offset = min(-at_zero / slope, darkest)
        elif darkest < -np.sqrt(at_zero):  # or they are darker than 0
            offset = max(-at_zero / slope, darkest)
    if offset:
        at_zero += slope * offset
        estimated = (*estimated, "offset")
    readout = float(sigma) if sigma is not None else unit * float(np.sqrt(max(at_zero, 0.0)))
    return Noise(
        "poisson-gaussian", readout, unit * slope if gain is None else gain, unit * offset, estimated=estimated
    )


def _correlated(pixels: NDArray[Any], sigma: Any, psd: Values | None) -> Noise:
    estimated: tuple[str, ...] = ()
    if psd is None:
        estimated = ("psd",) if sigma is not None else ("sigma", "psd")
        planes = across_channels(pixels.astype(np.float64))
        found = [estimated_spectrum(plane) for plane in planes]
        shape = max((one.shape for one in found), default=(1, 1))
        psd = np.stack([resampled(one, shape) for one in found])
        psd = psd[0] if len(pixels) == 1 else psd
    power = float(psd.mean())
    if sigma is None:
        return Noise("correlated", float(np.sqrt(power)), psd=psd, estimated=estimated)
    scale = float(sigma) ** 2 / power if power > 0 else 0.0
    return Noise("correlated", float(sigma), psd=psd * scale, estimated=estimated)


def _in_short(sigma: float | Values) -> str:
    def number(value: float) -> str:
        return f"{value:.0f}" if value >= 100 else f"{value:.3g}"

    values = np.unique(sigma) if np.ptp(sigma) == 0 else np.ravel(sigma)
    if len(values) <= 4:
        return ", ".join(number(float(value)) for value in values)
    return f"{number(float(values.min()))} to {number(float(values.max()))}"
