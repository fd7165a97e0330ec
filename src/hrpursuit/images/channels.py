"""Channels decorrelated, so that each can be denoised by itself."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

Floats = TypeVar("Floats", NDArray[np.float32], NDArray[np.float64])


def across_channels(channels: Floats, *, inverse: bool = False, sigmas: NDArray[np.float64] | None = None) -> Floats:
    """The orthonormal cosine transform over the first axis, or its inverse; white noise stays white.

    The first of the results is the sum of the channels over the root of their number. If they were divided by unlike
    `sigmas`, it is the sum in which grey stands out most from the noise, and the others are orthogonal to it and as
    near to cosines as can be.
    """
    n_channels = len(channels)
    if n_channels == 1:
        return channels
    transform = dct(np.eye(n_channels), axis=0, norm="ortho")
    if sigmas is not None:
        transform[0] = 1 / sigmas
        upper = np.linalg.qr(transform.T)
        transform = (upper.Q * np.sign(np.diag(upper.R))).T
    transform = transform.astype(channels.dtype)
    return np.tensordot(transform.T if inverse else transform, channels, axes=1)
