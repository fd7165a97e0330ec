"""The function `inpaint`: checks, units, and what is written into the missing pixels."""

from collections.abc import Callable
from functools import lru_cache
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hrpursuit.blas import one_blas_thread
from hrpursuit.images.channels import across_channels
from hrpursuit.images.denoise import denoise
from hrpursuit.images.filling import Filler, Missing
from hrpursuit.images.options import check_patch_size, check_run, check_sigma, seed_from
from hrpursuit.images.stack import check_images, store

_SMALLEST, _LARGEST = 2, 16  # patches
#: Share of the observed values at each end that are left out of their range, and how many times that range a value may
#: lie outside of it; hot pixels count as if they were there.
_TAIL, _BEYOND = 0.001, 10.0


def inpaint(
    image: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sigma: float | None = None,
    patch_size: int = 8,
    channel_axis: int | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> NDArray[Any]:
    """Fill in the missing pixels of an image with dictionaries learned on its own patches.

    Parameters
    ----------
    image : array-like of shape (..., height, width)
        Integers or floats of any range. With `channel_axis` there is one more axis, with any number of channels.
        Further axes in front make a stack, of which each image is filled alone. The values of missing pixels do not
        matter.
    mask : array-like of bool or None, default=None
        True where a pixel is missing. It has the shape of `image`, or that shape without the axis of the channels, or
        (height, width) for all images. NaN, and entries that are masked in a masked array, are missing too; with None
        only these are.
    sigma : float or None, default=None
        Standard deviation of white noise in the observed pixels, in the unit of the image. The filled image is then
        denoised as well, by :func:`denoise`. With None observed pixels are returned as they are, bit for bit.
    patch_size : int, default=8
        Height and width of the patches in pixels, from 2 to 16; smaller in images that are smaller. Channels in which
        different pixels are missing are coded together, in patches of at most 80 values.
    channel_axis : int or None, default=None
        Axis of the channels; None for grey images.
    n_jobs : int or None, default=None
        Number of tiles of large images that are worked on at the same time, in threads; -1 is one per core. The result
        does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines which patches the dictionary is learned on. None is 0, so that the result is the same every time.
    progress : callable or None, default=None
        Called as `progress(n_tiles_done, n_tiles)` after each tile, in the thread of the caller. For a stack it counts
        from the beginning for each image.

    Returns
    -------
    filled : array of the shape and dtype of `image`
        Whole numbers are rounded and kept in the range of their dtype. The values of float images are not clipped to
        the range of the observed ones.

    See Also
    --------
    denoise : Remove noise.

    Notes
    -----
    There are ten rounds. In each round every patch with missing pixels is coded by its observed pixels alone, in an
    orthonormal dictionary that is learned on the patches as they were filled before. A fixed number of codes would say
    little about missing pixels; so each code has a mean and a variance instead, those of the codes of the 12 most
    similar patches near by. The most likely codes given the observed pixels determine the missing ones, and overlapping
    patches are averaged, as in piecewise linear estimators [1]_. The variances have a lower bound that falls from round
    to round. If a hole is larger than half a patch, the first round starts from the image filled in the same way at
    half the resolution.

    The result does not depend on the unit: for a positive a, `inpaint(a * image + b, mask)` is
    `a * inpaint(image, mask) + b` up to rounding. Memory is that of a few copies of the image in single precision and
    of a few tiles of 576 x 576 pixels.

    References
    ----------
    .. [1] Yu, Sapiro, Mallat, IEEE Trans. Image Processing 21, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from hrpursuit.images import inpaint
    >>> y, x = np.mgrid[:48, :48]
    >>> image = np.where(x + 2 * y < 70, 50.0, 200.0)
    >>> mask = np.random.default_rng(0).random(image.shape) < 0.5
    >>> filled = inpaint(image, mask)
    >>> bool(np.abs(filled - image)[mask].mean() < 5)
    True
    """
    check_sigma(sigma, "leaves observed pixels as they are")
    check_run(n_jobs, progress)
    patch_size = check_patch_size(patch_size, _SMALLEST, _LARGEST)
    array, missing = _missing_pixels(image, mask, channel_axis)
    clean = np.array(array)
    clean[missing] = 0  # what stands there may be what no image may have
    images = check_images(clean, channel_axis, _SMALLEST)
    gaps = check_images(missing.view(np.uint8), channel_axis, _SMALLEST).pixels.astype(bool)
    patch_size = min(patch_size, *images.pixels.shape[-2:])
    _check_observed(gaps)
    seed = seed_from(random_state)
    n_threads = int(joblib.effective_n_jobs(n_jobs))
    room = images.room()
    _compile()
    with one_blas_thread():
        for pixels, missing, out in zip(images.pixels, gaps, room, strict=True):
            _fill(pixels, missing, out, float(sigma or 0), patch_size, seed, n_threads, progress)
    return images.as_given(room)


def _fill(
    pixels: NDArray[Any],
    missing: Missing,
    out: NDArray[Any],
    sigma: float,
    size: int,
    seed: int,
    n_threads: int,
    progress: Callable[[int, int], object] | None,
) -> None:
    """One image, channels first. Large ones are converted channel by channel, as double takes eight bytes per pixel."""
    out[...] = pixels
    low, high = _limits(pixels, missing)
    middle, unit = _mean_and_spread(pixels, missing, low, high)
    planes = np.zeros(pixels.shape, np.float32)
    if missing.any() and unit > 0:
        for plane, channel in zip(planes, pixels, strict=True):
            plane[...] = (np.clip(channel.astype(np.float64), low, high) - middle) / unit
        planes[missing] = 0
        shared = bool((missing == missing[:1]).all())
        filler = Filler(size, shared, sigma / unit, seed, n_threads)
        if shared:
            planes = across_channels(filler.fill(across_channels(planes), missing, progress), inverse=True)
        else:
            planes = filler.fill(planes, missing, progress)
    if sigma == 0:
        for plane, gaps, channel in zip(planes, missing, out, strict=True):
            fills = np.empty(np.count_nonzero(gaps), out.dtype)
            store(plane[gaps].astype(np.float64) * unit + middle, fills)
            channel[gaps] = fills
        return
    filled = np.where(missing, planes.astype(np.float64) * unit + middle, pixels)
    store(denoise(filled, sigma, patch_size=size, channel_axis=0, n_jobs=n_threads, random_state=seed), out)


def _limits(pixels: NDArray[Any], missing: Missing) -> tuple[float, float]:
    """What observed values may be, so that a few that are far off do not set the unit; infinite if most are equal."""
    low, high = (float(x) for x in np.quantile(pixels[~missing].astype(np.float64), (_TAIL, 1 - _TAIL)))
    reach = _BEYOND * (high / 2 - low / 2) * 2
    return (low - reach, high + reach) if reach > 0 else (-np.inf, np.inf)


def _mean_and_spread(pixels: NDArray[Any], missing: Missing, low: float, high: float) -> tuple[np.float64, np.float64]:
    """Mean and standard deviation of the observed pixels, whose squares may be too large or small for a float."""
    observed = [
        np.clip(channel[~gaps].astype(np.float64), low, high) for channel, gaps in zip(pixels, missing, strict=True)
    ]
    exponent = int(np.frexp(max(np.abs(channel).max() for channel in observed))[1])
    for channel in observed:
        np.ldexp(channel, -exponent, out=channel)
    n_observed = sum(map(len, observed))
    middle = sum(channel.sum() for channel in observed) / n_observed
    unit = np.sqrt(sum(np.sum((channel - middle) ** 2) for channel in observed) / n_observed)
    return np.ldexp(middle, exponent), np.ldexp(unit, exponent)


def _missing_pixels(image: ArrayLike, mask: ArrayLike | None, channel_axis: int | None) -> tuple[NDArray[Any], Missing]:
    """The image as an array and, in its shape, which of its pixels are missing."""
    array = np.asarray(image)
    missing: Missing = np.zeros(array.shape, bool)
    if np.ma.isMaskedArray(image):
        missing |= np.ma.getmaskarray(image)  # type: ignore[no-untyped-call]
    if array.dtype.kind == "f":
        missing |= np.isnan(array)
    if mask is None:
        return array, missing
    given = np.asarray(mask)
    if given.dtype != bool:
        raise TypeError(
            f"mask must be bool, True where a pixel is missing; got dtype {given.dtype}. Pass for instance mask > 0 or "
            "mask == 0, whichever means missing."
        )
    axis = None
    if isinstance(channel_axis, Integral) and -array.ndim <= channel_axis < array.ndim:
        axis = int(channel_axis) % array.ndim  # else the check of the image will complain
    if given.shape != array.shape:
        others = tuple(n for i, n in enumerate(array.shape) if i != axis)
        if given.shape not in (others, others[-2:]):
            shapes = " or ".join(str(shape) for shape in dict.fromkeys([array.shape, others, others[-2:]]))
            raise ValueError(f"mask must have shape {shapes} for an image of shape {array.shape}; got {given.shape}.")
        given = np.broadcast_to(given, others)
        if axis is not None:
            given = np.expand_dims(given, axis)
    missing |= given
    return array, missing


def _check_observed(gaps: Missing) -> None:
    """Refuse an image, or a channel of one, of which nothing is known."""
    blank = np.argwhere(gaps.all(axis=(2, 3)))
    if len(blank) == 0:
        return
    number, channel = (int(i) for i in blank[0])
    what = f"image {number} of the stack" if len(gaps) > 1 else "image"
    if gaps[number].all():
        raise ValueError(
            f"all pixels of {what} are missing; there is nothing to fill them from. True in mask is missing."
        )
    raise ValueError(
        f"channel {channel} of {what} has no observed pixel; leave it out, or give it some. True in mask is missing."
    )


@lru_cache(maxsize=1)
def _compile() -> None:
    """Run the kernels once on next to nothing; later processes read them from the disk."""
    planes = np.random.default_rng(0).standard_normal((1, 12, 12)).astype(np.float32)
    Filler(4, True, 0.0, 0, 1).fill(planes, planes > 1)
