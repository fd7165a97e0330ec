"""Images at half the resolution, with noise that stays white and as strong, and results of two scales in one."""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

Planes = NDArray[np.float32]
_AXES = (2, 3)


def halved(planes: Planes, n_planes: int = 1) -> Planes:
    """The lowest half of the orthonormal cosine transform of each axis, transformed back: twice the signal.

    Of a volume or film, whose planes stand one below the other, each plane by itself.
    """
    planes = _apart(planes, n_planes)
    height, width = planes.shape[2:]
    low = dctn(planes, axes=_AXES, norm="ortho")[:, :, : height // 2, : width // 2]
    return _one_below_the_other(idctn(low, axes=_AXES, norm="ortho"))


def merged(fine: Planes, coarse: Planes, n_planes: int = 1) -> Planes:
    """The lowest quarter of the frequencies of each axis is the mean of both scales, the others are of the fine one."""
    both, low = (dctn(_apart(planes, n_planes), axes=_AXES, norm="ortho") for planes in (fine, coarse))
    height, width = (n // 2 for n in low.shape[2:])
    both[:, :, :height, :width] += low[:, :, :height, :width]
    both[:, :, :height, :width] /= 2
    return _one_below_the_other(idctn(both, axes=_AXES, norm="ortho"))


def _apart(planes: Planes, n_planes: int) -> Planes:
    return planes.reshape(len(planes), n_planes, -1, planes.shape[-1])


def _one_below_the_other(planes: Planes) -> Planes:
    return np.asarray(planes, np.float32).reshape(len(planes), -1, planes.shape[-1])
