"""Images at half the resolution, with noise that stays white and as strong, and results of two scales in one."""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

Planes = NDArray[np.float32]
_AXES = (1, 2)


def halved(planes: Planes) -> Planes:
    """The lowest half of the orthonormal cosine transform of each axis, transformed back: twice the signal."""
    height, width = planes.shape[1:]
    low = dctn(planes, axes=_AXES, norm="ortho")[:, : height // 2, : width // 2]
    return np.asarray(idctn(low, axes=_AXES, norm="ortho"), np.float32)


def merged(fine: Planes, coarse: Planes) -> Planes:
    """The lowest quarter of the frequencies of each axis is the mean of both scales, the others are of the fine one."""
    both, low = (dctn(planes, axes=_AXES, norm="ortho") for planes in (fine, coarse))
    height, width = (n // 2 for n in coarse.shape[1:])
    both[:, :height, :width] += low[:, :height, :width]
    both[:, :height, :width] /= 2
    return np.asarray(idctn(both, axes=_AXES, norm="ortho"), np.float32)
