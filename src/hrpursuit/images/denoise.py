"""The function `denoise`: checks, takes images apart into tiles and puts them together again."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, Literal, overload

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.team import in_order
from hrpursuit.images.assumed import Noise, as_one, assumed
from hrpursuit.images.grouped import denoise_in_few_steps, denoise_progressively
from hrpursuit.images.noise_options import check_noise, sigmas_of, spectrum_of
from hrpursuit.images.options import check_patch_size, check_run, seed_from
from hrpursuit.images.stack import LARGEST_PATCH, SMALLEST_PATCH, check_images
from hrpursuit.images.suspicions import check_counts, check_left_alone, check_range, check_white
from hrpursuit.images.tasks import Planes, Task, finish, prepare, run
from hrpursuit.images.tiles import CORE_OF_PLANES, Tile, runs, tiles

MODES = ("best", "fast", "paper")
Mode = Literal["best", "fast", "paper"]
Kind = Literal["gaussian", "correlated", "poisson", "poisson-gaussian"]


@overload
def denoise(
    image: ArrayLike,
    sigma: ArrayLike | None = None,
    *,
    mode: Mode = "best",
    patch_size: int = 8,
    channel_axis: int | None = None,
    plane_axis: int | None = None,
    noise: Kind = "gaussian",
    gain: float | None = None,
    psd: ArrayLike | None = None,
    return_noise: Literal[False] = False,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> NDArray[Any]: ...
@overload
def denoise(
    image: ArrayLike,
    sigma: ArrayLike | None = None,
    *,
    mode: Mode = "best",
    patch_size: int = 8,
    channel_axis: int | None = None,
    plane_axis: int | None = None,
    noise: Kind = "gaussian",
    gain: float | None = None,
    psd: ArrayLike | None = None,
    return_noise: Literal[True],
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[NDArray[Any], Noise | list[Noise]]: ...
def denoise(
    image: ArrayLike,
    sigma: ArrayLike | None = None,
    *,
    mode: Mode = "best",
    patch_size: int = 8,
    channel_axis: int | None = None,
    plane_axis: int | None = None,
    noise: Kind = "gaussian",
    gain: float | None = None,
    psd: ArrayLike | None = None,
    return_noise: bool = False,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> NDArray[Any] | tuple[NDArray[Any], Noise | list[Noise]]:
    """Remove noise from an image with dictionaries learned on its own patches.

    Parameters
    ----------
    image : array-like of shape (..., height, width)
        Integers or floats of any range. With `channel_axis` there is one more axis, with any number of channels.
        Further axes in front make a stack, of which each image is denoised alone.
    sigma : float, array-like or None, default=None
        Standard deviation of the noise in the unit of the image: a number; one per channel; or one per pixel, an array
        of shape (height, width), of the shape of `image`, or of that shape without the axis of the channels. None
        estimates it for each image, see :func:`estimate_sigma`; channels share an estimate, unless the largest of their
        own estimates is above 1.5 times the smallest. With photon counts it is the standard deviation of the readout
        noise, in addition to that of the counts. If there is no noise the image is returned as it is.
    mode : {"best", "fast", "paper"}, default="best"
        "best" filters groups of similar patches together, in six steps at three scales. "fast" filters such groups
        in three steps at one scale, and is several times as fast. "paper" is Example 2 of Xue, Lau and Cai (2021): see
        Notes.
    patch_size : int, default=8
        Height and width of the patches in pixels, from 2 to 32; smaller in images that are smaller.
    channel_axis : int or None, default=None
        Axis of the channels; None for grey images.
    plane_axis : int or None, default=None
        Axis of the planes of a volume or of the frames of a film. Patches are then also grouped with those of the three
        planes before and the three behind, at most 9 pixels away. With None all axes in front make a stack.
    noise : {"gaussian", "correlated", "poisson", "poisson-gaussian"}, default="gaussian"
        "gaussian": white Gaussian noise. "correlated": Gaussian noise with correlated neighbouring pixels, as in images
        that were demosaiced, resized or stored as JPEG; its spectrum is `psd`, or estimated if `psd` is None.
        "poisson": noise of counted photons, with known `gain` (None is 1) and `sigma` (None is 0). "poisson-gaussian":
        the same, but `gain` and `sigma` are estimated where they are None.
    gain : float or None, default=None
        What one photon adds to a pixel, for the two kinds of photon noise.
    psd : array-like of shape (height, width) or (n_channels, height, width), or None, default=None
        Power spectrum of correlated noise, `abs(numpy.fft.fft2(noise))**2 / noise.size`, on a grid of any size. Its
        mean is the variance of the noise; if `sigma` is given, only the shape of the spectrum is used. With several
        channels the spectra are those after the orthonormal cosine transform over the channels.
    return_noise : bool, default=False
        Whether to return also the noise that was assumed.
    n_jobs : int or None, default=None
        Number of tiles of large images, or of images of a stack, that are worked on at the same time, in threads; -1 is
        one per core. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines which patches dictionaries are learned on. None is 0, so that the result is the same every time.
    progress : callable or None, default=None
        Called as `progress(n_tiles_done, n_tiles)` after each tile, in the thread of the caller.

    Returns
    -------
    denoised : array of the shape and dtype of `image`
        Whole numbers are rounded and kept in the range of their dtype.
    noise : Noise or list of Noise
        Only with `return_noise`: the parameters of the noise, given or estimated. For a stack a list, with one for each
        image.

    Warns
    -----
    UserWarning
        If `sigma` is far larger than the standard deviation of the image, if the noise looks correlated although it is
        taken to be white, if JPEG has cut the frequencies that `sigma` is estimated from, if the noise does not fit the
        `gain`, if the gain is to be estimated although many pixels are clipped, or if the range of the image is so wide
        that it is returned as it is.

    See Also
    --------
    estimate_sigma : How strong the noise is.
    inpaint : Fill in missing pixels.

    Notes
    -----
    Groups of similar patches and a first result that guides the next are those of BM3D [1]_, the Gaussian model of each
    group that of non-local Bayes [2]_, affine combinations of the patches of a group and the progressive steps those of
    LIChI [3]_. The first guess is a threshold in dictionaries that HRP learns. Photon counts are brought back by the
    exact unbiased inverse of the generalised Anscombe transform [4]_.

    The result does not depend on the unit: for a positive a, `denoise(a * image + b, a * sigma)` is `a * denoise(image,
    sigma) + b` up to rounding, if the noise is Gaussian. The computation is in single precision: an image whose values
    range over 262,144 times the noise or more is returned as it is, with a warning.

    Every kind of noise is first made white and of unit strength. If `sigma` differs between pixels the image is
    divided by it; this suits noise whose strength changes slowly, over more than a patch. Noise of counted photons is
    stabilised by the generalised Anscombe transform, and the image is transformed back by its exact unbiased inverse
    (Mäkitalo and Foi, 2013). To estimate gain and readout noise, a line is fitted to the variance of calm blocks over
    their brightness, as in Foi et al. (2008).
    Correlated noise is whitened by a filter, but frequencies with less than a tenth of its mean power are not amplified
    further. The spectrum is that of the calmest blocks, without correlations over more than six pixels; an image with
    texture everywhere has no calm blocks, and loses some of it.

    The channels are decorrelated by an orthonormal cosine transform over them. Leave out an alpha channel.

    Images of more than 576 pixels a side are cut in tiles that overlap by 64 pixels and fade into each other. Memory is
    that of the image, the result and a few tiles.

    The mode "paper": a dictionary is learned by Algorithm 1 from patches drawn at random from the whole noisy image;
    all its overlapping patches are coded in it, small codes set to zero, and overlapping pixels averaged. The paper
    leaves open how many patches there are (here 10,000), which codes are small (here those below 2.7 sigma) and what
    zero brightness is (here the darkest pixel). For colour images each of the decorrelated channels has its own
    dictionary.

    References
    ----------
    .. [1] Dabov, Foi, Katkovnik, Egiazarian, IEEE Trans. Image Processing 16, 2007.
    .. [2] Lebrun, Buades, Morel, SIAM J. Imaging Sciences 6, 2013.
    .. [3] Herbreteau, Kervrann, IEEE Trans. Image Processing 33, 2024.
    .. [4] Mäkitalo, Foi, IEEE Trans. Image Processing 22, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from hrpursuit.images import denoise
    >>> y, x = np.mgrid[:64, :64]
    >>> clean = np.where(x + 2 * y < 90, 50.0, 200.0)
    >>> noisy = clean + 20 * np.random.default_rng(0).standard_normal(clean.shape)
    >>> error = np.std(denoise(noisy, 20, mode="fast") - clean)
    >>> bool(error < 5)
    True
    """
    if mode not in MODES:
        raise ValueError(f'mode must be "best", "fast" or "paper"; got {mode!r}.')
    check_noise(noise, sigma, gain, psd, mode)
    if mode == "paper" and plane_axis is not None:
        raise ValueError('mode="paper" denoises images one by one; leave plane_axis out, or take "best" or "fast".')
    check_run(n_jobs, progress)
    patch_size = check_patch_size(patch_size, SMALLEST_PATCH, LARGEST_PATCH)
    images = check_images(image, channel_axis, SMALLEST_PATCH, plane_axis)
    patch_size = min(patch_size, *images.pixels.shape[-2:])
    sigmas, spectrum = sigmas_of(sigma, images), spectrum_of(psd, images)
    seed = seed_from(random_state)
    room = images.room()
    is_volume = plane_axis is not None
    cut = tiles(*images.pixels.shape[-2:], **({"core": CORE_OF_PLANES} if is_volume else {}))
    parts = runs(images.pixels.shape[2]) if is_volume else [(slice(None), slice(None))]
    n_tiles, n_done = len(images.pixels) * len(parts) * len(cut), 0
    found: list[Noise] = []
    _compile(mode)

    def calls() -> Iterator[Callable[[], tuple[Task, Tile, Planes | None]]]:
        for pixels, out, own in zip(images.pixels, room, sigmas, strict=True):
            found.append(assumed(pixels, noise, own, gain, spectrum))
            _check(as_one(pixels), found[-1])
            for read, kept in parts:
                written = slice(read.start + kept.start, read.start + kept.stop) if is_volume else read
                task = prepare(
                    pixels[:, read], out[:, written], kept, found[-1].of_planes(read), mode, patch_size, seed
                )
                if task.is_clean:
                    check_left_alone(task.pixels, found[-1])
                for tile in cut:
                    yield partial(run, task, tile)

    with one_blas_thread():
        for task, tile, correction in in_order(calls(), joblib.effective_n_jobs(n_jobs)):
            next_row = cut[min(tile.number + 1, len(cut) - 1)].rows.start
            finish(task, tile, len(cut), next_row, correction)
            n_done += 1
            if progress is not None:
                progress(n_done, n_tiles)
    denoised = images.as_given(room)
    if not return_noise:
        return denoised
    is_stack = len(images.shape) > 2 + (channel_axis is not None) + is_volume
    return denoised, (found if is_stack else found[0])


def _check(pixels: NDArray[Any], noise: Noise) -> None:
    """Say what speaks against this noise."""
    if noise.gain:
        check_counts(pixels, noise)
        return
    if "sigma" not in noise.estimated:
        check_range(pixels, noise.sigma)
    if noise.psd is None:
        check_white(pixels, noise)


@lru_cache(maxsize=len(MODES))
def _compile(mode: str) -> None:
    """Run the kernels of a mode once on next to nothing; later processes read them from the disk."""
    planes = np.random.default_rng(0).standard_normal((1, 24, 24)).astype(np.float32)
    if mode == "best":
        denoise_progressively(planes, 1.0, 8, 0)
    else:
        denoise_in_few_steps(planes, 1.0, 8, 0)
