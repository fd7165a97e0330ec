"""Faint thin lines, which no small patch shows: found by long filters in what a first guess has left."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, next_fast_len, rfft2

from hrpursuit.images.patches import Plane

_N_DIRECTIONS = 20
_HALF_LENGTH = 12  # pixels; a window that fades to its ends
_WIDTH = 1.5
_FLANK = 3.5  # pixels from the middle of the line to where its background ends
#: Standard deviations of the noise from which a response is a line. Noise of 256 x 256 pixels has about twelve such
#: places, which the filters that follow mostly remove; 4.9 leaves one of them, but keeps a third less of faint lines.
_SEEN = 4.3


def faint_lines(rest: Plane) -> Plane:
    """Lines in noise of unit variance.

    The responses of unit-norm filters along each of twenty directions; where the strongest is beyond what noise has,
    the line that it stands for, averaged over all filters that see the same pixel.
    """
    shape = tuple(next_fast_len(n + 2 * _HALF_LENGTH, real=True) for n in rest.shape)
    height, width = rest.shape
    spectrum = rfft2(rest, shape)
    strongest = np.zeros(rest.shape, np.float32)
    direction = np.zeros(rest.shape, np.int8)
    kernels = _kernels(shape)
    for i, (kernel, _) in enumerate(kernels):
        response = irfft2(spectrum * np.conj(kernel), shape)[:height, :width]
        is_stronger = np.abs(response) > np.abs(strongest)
        strongest[is_stronger], direction[is_stronger] = response[is_stronger], i
    strongest[np.abs(strongest) < _SEEN] = 0
    total, weight = np.zeros_like(spectrum), np.zeros_like(spectrum)
    for i in np.unique(direction[strongest != 0]):
        seen = np.where(direction == i, strongest, 0)
        squared, absolute = kernels[i][1]
        total += rfft2(seen, shape) * squared
        weight += rfft2((seen != 0).astype(np.float32), shape) * absolute
    found, weights = (irfft2(one, shape)[:height, :width] for one in (total, weight))
    return np.asarray(found / np.maximum(weights, _LEAST_WEIGHT), np.float32)


_LEAST_WEIGHT = 0.3  # of filters that see a pixel: fewer count as if there were others that see nothing


@lru_cache(maxsize=4)
def _kernels(shape: tuple[int, int]) -> list[tuple[NDArray, tuple[NDArray, NDArray]]]:
    """For each direction the spectrum of its filter k, and those of k |k| and |k|; origins at pixel 0, 0."""
    n = _HALF_LENGTH
    y, x = np.mgrid[-n : n + 1, -n : n + 1].astype(float)
    found = []
    for angle in np.pi * np.arange(_N_DIRECTIONS) / _N_DIRECTIONS:
        along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        window = np.cos(np.clip(np.hypot(along, across) / (n + 1), 0, 1) * np.pi / 2)
        window *= np.abs(across) <= _FLANK
        line = np.clip(_WIDTH / 2 + 0.5 - np.abs(across), 0, 1)
        kernel = window * (line - np.sum(window * line) / np.sum(window))
        kernel /= np.sqrt(np.sum(kernel**2))
        spectra = []
        for one in (kernel, kernel * np.abs(kernel), np.abs(kernel)):
            padded = np.zeros(shape, np.float32)
            padded[: 2 * n + 1, : 2 * n + 1] = one
            spectra.append(rfft2(np.roll(padded, (-n, -n), (0, 1))))
        found.append((spectra[0], (spectra[1], spectra[2])))
    return found
