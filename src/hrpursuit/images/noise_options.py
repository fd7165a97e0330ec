"""Checks of what `denoise` is told of the noise."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrpursuit.images.assumed import KINDS
from hrpursuit.images.options import check_sigma, is_number
from hrpursuit.images.stack import Images, check_images

Values = NDArray[np.float64]

_COUNTING = ("poisson", "poisson-gaussian")


def check_noise(noise: Any, sigma: Any, gain: Any, psd: Any, mode: str) -> None:
    """Whether these go together."""
    if noise not in KINDS:
        raise ValueError(f"noise must be {', '.join(map(repr, KINDS[:-1]))} or {KINDS[-1]!r}; got {noise!r}.")
    if is_number(sigma, Real) or sigma is None:
        check_sigma(sigma, "estimates it")
    elif noise != "gaussian":
        raise ValueError(f"sigma must be one number for noise={noise!r}; got an array of shape {np.shape(sigma)}.")
    if gain is not None:
        _check_gain(gain, noise)
    if noise == "correlated" and mode == "paper":
        raise ValueError('mode="paper" is for white noise; take "best" or "fast" with noise="correlated".')
    if psd is not None and noise != "correlated":
        raise ValueError(f'psd is the spectrum of noise="correlated"; got noise={noise!r}.')


def _check_gain(gain: Any, noise: str) -> None:
    if not is_number(gain, Real):
        raise TypeError(f"gain must be a number, what one count adds to a pixel; got {gain!r}.")
    if not 0 < gain < np.inf:
        raise ValueError(f"gain must be positive and finite; got {gain}.")
    if noise not in _COUNTING:
        raise ValueError(f'gain is of noise="poisson" and "poisson-gaussian"; got noise={noise!r}.')


def sigmas_of(sigma: Any, images: Images) -> list[Any]:
    """For each image of the stack a number, None, one number for each channel, or a map (1 or n_channels, ...)."""
    stack = images.pixels
    if sigma is None or is_number(sigma, Real):
        return [None if sigma is None else float(sigma)] * len(stack)
    array = np.asarray(sigma)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"sigma must be a number, an array of numbers, or None; got {sigma!r}.")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError("sigma must be finite and not negative everywhere.")
    array = array.astype(np.float64)
    axis, plane_axis = images.channel_axis, images.plane_axis
    if array.ndim == 0:
        return [float(array)] * len(stack)
    if axis is not None and array.shape == stack.shape[1:2]:
        return [array] * len(stack)
    if array.shape == stack.shape[-2:]:
        return [array[(None,) * (stack.ndim - 3)]] * len(stack)
    if array.shape == images.shape:
        return list(check_images(array, axis, 1, plane_axis).pixels)
    if axis is not None:
        without = tuple(n for i, n in enumerate(images.shape) if i != axis % len(images.shape))
        if array.shape == without:
            whole = np.broadcast_to(np.expand_dims(array, axis % len(images.shape)), images.shape)
            return list(check_images(whole, axis, 1, plane_axis).pixels[:, :1])
    expected = [f"{stack.shape[-2:]}", f"that of image, {images.shape}"]
    if axis is not None:
        expected.insert(0, f"({stack.shape[1]},), one for each channel")
    raise ValueError(f"sigma must be a number or an array of shape {', or '.join(expected)}; got {array.shape}.")


def spectrum_of(psd: Any, images: Images) -> Values | None:
    """Checked, of shape (height, width) or (n_channels, height, width)."""
    if psd is None:
        return None
    array = np.asarray(psd)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"psd must hold real numbers, abs(fft2(noise))**2 / noise.size; got dtype {array.dtype}.")
    n_channels = images.pixels.shape[1]
    if array.ndim not in (2, 3) or array.size == 0 or (array.ndim == 3 and len(array) != n_channels):
        raise ValueError(
            f"psd must have shape (height, width) or ({n_channels}, height, width), one spectrum for each channel; got "
            f"{array.shape}."
        )
    if not (np.isfinite(array).all() and (array >= 0).all() and array.any()):
        raise ValueError("psd must be finite, nowhere negative, and not zero everywhere.")
    return array.astype(np.float64)
