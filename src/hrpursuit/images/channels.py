"""Channels decorrelated, so that each can be denoised by itself."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

Floats = TypeVar("Floats", NDArray[np.float32], NDArray[np.float64])


def across_channels(channels: Floats, *, inverse: bool = False) -> Floats:
    """The orthonormal cosine transform over the first axis, or its inverse; white noise stays white.

    The first of the results is the sum of the channels over the root of their number.
    """
    if len(channels) == 1:
        return channels
    transform = dct(np.eye(len(channels)), axis=0, norm="ortho").astype(channels.dtype)
    return np.tensordot(transform.T if inverse else transform, channels, axes=1)
