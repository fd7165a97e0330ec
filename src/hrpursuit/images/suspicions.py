"""Warnings where an image does not look as if it had the noise that is assumed."""

import warnings
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hrpursuit.images.assumed import Noise
from hrpursuit.images.channels import across_channels
from hrpursuit.images.counting import BLOCK, high_coefficients
from hrpursuit.images.noise import sigma_of
from hrpursuit.images.spectrum import correlations, estimated_spectrum, fine_power, is_noise_like

_STRONGER = 2.0  # standard deviations of the image: noise that is stronger cannot be in it
_UNIT_RANGE = 1.5  # float images below are taken to be meant as 0 to 1
_NEGATIVE = 8.0  # standard deviations of the readout below zero that no count can have
_WRONG = 1.6  # ratio of the noise after the stabilising transform to one, or the inverse
_FEW = 3.0  # mean number of counts below which that transform does not make the noise one
_CORRELATED = 0.3  # correlation of neighbours from which noise is not taken for white
#: The same where the estimate is such a share of what is seen. JPEG files have next to nothing at the frequencies that
#: the estimate is from, while their noise is hardly correlated otherwise.
_GONE, _CORRELATED_IF_GONE = 0.1, 0.1
_CUT = 0.85  # share of what is seen, below which an estimate from a JPEG file is from frequencies that the file has cut
_NEAR_ZERO = 0.1  # of the noise: size of cosine coefficients that are next to zero, 8% of those of white noise
#: Share of such coefficients among the high ones of the blocks of a JPEG file, from which too little of the noise is
#: left there: the file has set what is below 1.1 times the noise to zero.
_LOST = 0.72
_N_SQUARES = 8000  # to look for that
_FINE_GIVEN, _FINE = 0.6, 0.33  # share of the noise that is fine, below which noise is not white: sigma given or not
_SEEN = 0.5  # share of the given noise that must be seen
_VISIBLE = 0.015  # of the range: below, correlated noise is not worth a word
_N_BLOCKS = 500  # to look at
_FEWEST = 64  # pixels from which their standard deviation says something
_ROUNDING = 1e-9  # of the values
_SINGLE = 2.0**-22  # the same for values in single precision
_WHOLE = 0.5  # what whole numbers are rounded to


def check_range(pixels: NDArray[Any], sigma: Any) -> None:
    """Warn of a sigma in another unit than that of the image."""
    unit = float(np.abs(pixels).max()) or 1.0  # squares of the values could overflow
    spread = unit * float(np.std(pixels.astype(np.float64) / unit))
    smallest = float(np.min(sigma))
    if not smallest > _STRONGER * spread or spread == 0 or pixels.size < _FEWEST:
        return
    low, high = float(pixels.min()), float(pixels.max())
    hint = "sigma is in the unit of the image."
    if pixels.dtype.kind == "f" and low > -_UNIT_RANGE and high < _UNIT_RANGE and 1 <= smallest <= 255:
        hint = f"For an image from 0 to 1, sigma = {smallest:g} of 255 is {smallest / 255:.3g}."
    warnings.warn(
        f"sigma={smallest:.4g} is {smallest / spread:.3g} times the standard deviation of the image, whose values go "
        f"from {low:.4g} to {high:.4g}; next to nothing of it will be left. {hint}",
        stacklevel=3,
    )


def check_left_alone(pixels: NDArray[Any], noise: Noise) -> None:
    """Warn that an image comes back as it is because of its range, unless it is constant or has no noise."""
    low, high = float(pixels.min()), float(pixels.max())
    strongest = max(float(np.max(noise.sigma)), noise.gain or 0.0)
    share = _ROUNDING if pixels.dtype.itemsize == 8 else _SINGLE
    rounding = _WHOLE if pixels.dtype.kind in "iu" else share * float(np.median(np.abs(pixels)))
    if low == high or strongest == 0 or ("sigma" in noise.estimated and strongest <= rounding):
        return
    warnings.warn(
        f"the image is returned as it is: its values go from {low:.6g} to {high:.6g}, over 262,144 times the noise or "
        "more, and the filters do not resolve that in single precision. If only a few pixels are far from the others "
        "(hot pixels, codes for missing data), fill them first: hrpursuit.images.inpaint(image, mask).",
        stacklevel=3,
    )


def check_counts(pixels: NDArray[Any], noise: Noise) -> None:
    """Refuse values that counts cannot have; warn of a gain that the noise of the image contradicts."""
    transform = noise.anscombe
    if transform is None:
        return
    low = float(pixels.min()) - noise.offset
    if "sigma" not in noise.estimated and low < 0 and low < -_NEGATIVE * transform.sigma:
        share = float(np.mean(pixels < noise.offset - _NEGATIVE * transform.sigma))
        raise ValueError(
            f"image has negative values, down to {low:.4g} ({share:.2%} of the pixels), and counts with "
            f"readout noise of {transform.sigma:.3g} do not. Subtract the value of zero counts (the black level), give "
            'the readout noise as sigma, or have both estimated: noise="poisson-gaussian" without sigma and gain.'
        )
    if "gain" in noise.estimated or float(np.median(pixels)) - noise.offset < _FEW * transform.gain:
        return
    found = sigma_of(transform.forward(pixels.astype(np.float64)))
    if 1 / _WRONG <= found <= _WRONG:
        return
    warnings.warn(
        f"with gain={transform.gain:.4g} and readout noise {transform.sigma:.4g}, the noise of the image should be "
        f"1 after the stabilising transform, and is {found:.3g}: the gain may be wrong; "
        f'about {transform.gain * found**2:.3g} would fit. noise="poisson-gaussian" without gain estimates it.',
        stacklevel=3,
    )


def check_white(pixels: NDArray[Any], noise: Noise) -> None:
    """Warn of noise that is correlated between neighbouring pixels where white noise is assumed."""
    unit = float(np.abs(pixels).max()) or 1.0  # squares of the values could overflow
    brightness = across_channels(pixels.astype(np.float64) / unit)[0]
    spectrum = estimated_spectrum(brightness, n_most=_N_BLOCKS)
    found, fine = unit * float(np.sqrt(spectrum.mean())), unit * float(np.sqrt(fine_power(spectrum)))
    along = correlations(spectrum)
    largest = float(np.max(noise.sigma))
    given = largest * float(np.sqrt(np.mean(np.square(np.divide(noise.sigma, largest or 1)))))
    if "sigma" in noise.estimated:
        is_other = given < _FINE * found
    else:
        is_other = fine < _FINE_GIVEN * given and found > _SEEN * given
    is_gone = "sigma" in noise.estimated and given < _GONE * found
    is_correlated = along.max() > (_CORRELATED_IF_GONE if is_gone else _CORRELATED)
    is_seen = found > unit * max(_VISIBLE * float(np.ptp(brightness)), _ROUNDING * float(np.abs(brightness).max()))
    if not is_seen or not is_noise_like(brightness, spectrum):
        return
    if "sigma" in noise.estimated and not is_gone and given < _CUT * found and is_cut(brightness, found / unit):
        warnings.warn(
            f"the noise looks as if the image had been stored as JPEG: its estimate, {given:.3g}, is from frequencies "
            f"of which the file has kept little, and others have noise of about {found:.3g}. Most of that will stay, "
            f'unless it is texture as fine as noise: give sigma={found:.3g}, or noise="correlated".',
            stacklevel=3,
        )
        return
    if not (is_other and is_correlated):
        return
    warnings.warn(
        f"the noise looks correlated: neighbouring pixels by {along[0]:.2f} along rows and {along[1]:.2f} along "
        f"columns, with a standard deviation of about {found:.3g}, of which {min(fine, found):.2g} is fine. "
        "Most of it will be taken for texture and stay, unless this is texture as fine as noise: "
        'noise="correlated" estimates its spectrum and removes it.',
        stacklevel=3,
    )


def is_cut(plane: NDArray[np.float64], strength: float) -> bool:
    """Whether a JPEG file has set most of the high cosine coefficients of its blocks to zero, for noise so strong.

    On one of the 64 grids of blocks they are next to zero then, and on most of the others they are not.
    """
    if min(plane.shape) < 2 * BLOCK:
        return False
    views = sliding_window_view(plane, (BLOCK, BLOCK))
    step = int(np.sqrt(views.shape[0] * views.shape[1] / _N_SQUARES)) // 2 * 2 + 1  # odd, so that it comes to all grids
    squares = views[::step, ::step]
    y, x = (step * np.arange(n) % BLOCK for n in squares.shape[:2])
    grid = np.add.outer(y * BLOCK, x).ravel()
    sizes = np.abs(high_coefficients(squares.reshape(-1, BLOCK, BLOCK)))
    near = np.bincount(grid, (sizes < _NEAR_ZERO * strength).mean(axis=1), BLOCK**2)
    shares = near / np.maximum(np.bincount(grid, minlength=BLOCK**2), 1)
    return bool(shares.max() > _LOST and np.median(shares) < _LOST / 2)
