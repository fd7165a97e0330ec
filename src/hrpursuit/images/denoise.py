"""The function `denoise`: checks, takes images apart into tiles and puts them together again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from numbers import Real
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.team import in_order
from hrpursuit.images.channels import across_channels
from hrpursuit.images.grouped import denoise_in_few_steps, denoise_progressively
from hrpursuit.images.noise import sigma_of
from hrpursuit.images.options import check_patch_size, check_run, check_sigma, is_number, seed_from
from hrpursuit.images.paper import N_SAMPLED, denoise_as_the_paper, learn_as_the_paper
from hrpursuit.images.poisson import Anscombe
from hrpursuit.images.stack import LARGEST_PATCH, SMALLEST_PATCH, check_images, spread, store
from hrpursuit.images.tiles import Blend, Tile, tiles

Values = NDArray[np.float64]
Planes = NDArray[np.float32]
Denoiser = Callable[[Planes, float, int, int], Planes]  # planes, sigma, size of patches, seed

MODES = ("best", "fast", "paper")
_WIDEST = 2.0**21  # range in units of the noise that is worth the work: single precision resolves an eighth of it
_NARROWEST = 2.0**-40  # the same, below which no structure is left anyway, and single precision would end


def denoise(
    image: ArrayLike,
    sigma: float | None = None,
    *,
    mode: Literal["best", "fast", "paper"] = "best",
    patch_size: int = 8,
    channel_axis: int | None = None,
    noise: Literal["gaussian", "poisson"] = "gaussian",
    gain: float = 1.0,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> NDArray[Any]:
    """Remove noise from an image with dictionaries learned on its own patches.

    Parameters
    ----------
    image : array-like of shape (..., height, width)
        Integers or floats of any range. With `channel_axis` one more axis, of any number of channels, anywhere. Further
        axes in front make a stack, of which each image is denoised alone.
    sigma : float or None, default=None
        Standard deviation of the noise in the unit of the image, the same in all pixels and channels. None estimates it
        for each image, see :func:`estimate_sigma`; for `noise="poisson"` it is that of the noise of reading out,
        besides the noise of counting, and None is 0. Without any noise the image comes back as it is.
    mode : {"best", "fast", "paper"}, default="best"
        "best" filters groups of similar patches together, in six steps at three scales. "fast" filters such groups
        in three, in about an eighth of the time. "paper" is Example 2 of Xue, Lau and Cai
        (2021): see Notes.
    patch_size : int, default=8
        Height and width of the patches in pixels, 2 to 32.
    channel_axis : int or None, default=None
        Axis of the channels; None for grey images.
    noise : {"gaussian", "poisson"}, default="gaussian"
        White Gaussian noise, or that of counted photons: then the image is made to have unit noise by the generalised
        Anscombe transform, denoised, and brought back without bias.
    gain : float, default=1.0
        For `noise="poisson"`: what one count adds to a pixel.
    n_jobs : int or None, default=None
        Tiles of large images, and images of a stack, that are worked on at a time, in threads; -1 is one for each core.
        The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the patches to learn from. None is 0, so that the result is the same every time.
    progress : callable or None, default=None
        Called as `progress(n_tiles_done, n_tiles)` after each tile, in the thread of the caller.

    Returns
    -------
    denoised : array of the shape and dtype of `image`
        Whole numbers are rounded and kept in the range of their dtype.

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
    sigma) + b` up to rounding, if the noise is Gaussian. Work is done in single precision; noise of less than
    a four-millionth of the range is left alone.

    The channels are decorrelated by an orthonormal cosine transform over them. An alpha channel is none of them: leave
    it out.

    Images of more than 576 pixels a side are cut in tiles that overlap by 64 pixels and fade into each other. Memory is
    that of the image, the result and a few tiles.

    The mode "paper": a dictionary is learned by Algorithm 1 from patches drawn at random from the whole noisy image;
    all its overlapping patches are coded in it, small codes set to zero, and overlapping pixels averaged. The paper
    leaves open how many patches (10,000), which codes are small (below 2.7 sigma) and what is zero brightness (here the
    darkest pixel). For colour images each of the decorrelated channels has its dictionary.

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
    _check_noise(mode, noise, gain)
    check_sigma(sigma, "estimates it")
    check_run(n_jobs, progress)
    patch_size = check_patch_size(patch_size, SMALLEST_PATCH, LARGEST_PATCH)
    images = check_images(image, channel_axis, patch_size)
    seed = seed_from(random_state)
    room = images.room()
    cut = tiles(*images.pixels.shape[2:])
    n_tiles, n_done = len(images.pixels) * len(cut), 0
    _compile(mode)

    def calls() -> Iterator[Callable[[], tuple[_Task, Tile, Planes | None]]]:
        for pixels, out in zip(images.pixels, room, strict=True):
            task = _prepare(pixels, out, sigma, noise, float(gain), mode, patch_size, seed)
            for tile in cut:
                yield partial(_run, task, tile)

    with one_blas_thread():
        for task, tile, correction in in_order(calls(), joblib.effective_n_jobs(n_jobs)):
            if correction is None:
                task.out[:, tile.rows.pixels, tile.columns.pixels] = task.pixels[
                    :, tile.rows.pixels, tile.columns.pixels
                ]
            else:
                _finish(task, tile, cut, correction)
            n_done += 1
            if progress is not None:
                progress(n_done, n_tiles)
    return images.as_given(room)


@dataclass(frozen=True)
class _Task:
    """One image of the stack: where it is, its unit, and how its tiles are denoised."""

    pixels: NDArray[Any]  # (n_channels, height, width)
    out: NDArray[Any]
    anscombe: Anscombe | None
    offset: float
    unit: float  # standard deviation of the noise; 0 if there is nothing to do
    denoiser: Denoiser
    patch_size: int
    seed: int
    blend: Blend

    def values(self, *where: Any) -> Values:
        """Pixels, after the stabilising transform if there is one."""
        values = self.pixels[(slice(None), *where)].astype(np.float64)
        return values if self.anscombe is None else self.anscombe.forward(values)

    def planes(self, *where: Any) -> Planes:
        """Decorrelated channels in units of the noise."""
        return across_channels(((self.values(*where) - self.offset) / self.unit).astype(np.float32))


def _prepare(
    pixels: NDArray[Any],
    out: NDArray[Any],
    sigma: float | None,
    noise: str,
    gain: float,
    mode: str,
    patch_size: int,
    seed: int,
) -> _Task:
    middle, half_range = spread(pixels)
    anscombe = None
    if noise == "poisson":
        anscombe, unit = Anscombe(gain, float(sigma or 0)), 1.0
        low, high = anscombe.forward(np.array([middle - half_range, middle + half_range]))
        middle, half_range = (low + high) / 2, (high - low) / 2
    else:
        unit = sigma_of(pixels) if sigma is None else float(sigma)
        unit = min(unit, half_range / _NARROWEST)
    if half_range >= _WIDEST * unit:  # also where nothing but a constant is
        unit = 0.0
    offset = middle - half_range if mode == "paper" else middle
    blend = Blend(len(pixels), pixels.shape[2])
    denoiser: Denoiser = denoise_progressively if mode == "best" else denoise_in_few_steps
    task = _Task(pixels, out, anscombe, offset, unit, denoiser, patch_size, seed, blend)
    if mode == "paper" and unit > 0:
        dictionaries = [learn_as_the_paper(patches, seed) for patches in _sampled_patches(task)]
        return _Task(pixels, out, anscombe, offset, unit, partial(_paper, dictionaries), patch_size, seed, blend)
    return task


def _run(task: _Task, tile: Tile) -> tuple[_Task, Tile, Planes | None]:
    """What has to be added to a tile, in units of the noise."""
    if task.unit == 0:
        return task, tile, None
    planes = task.planes(tile.rows.pixels, tile.columns.pixels)
    denoised = task.denoiser(planes, 1.0, task.patch_size, task.seed + tile.number)
    return task, tile, across_channels(denoised - planes, inverse=True)


def _finish(task: _Task, tile: Tile, cut: list[Tile], correction: Planes) -> None:
    """Blend a tile in; store the rows of the image to which no further tile adds."""
    task.blend.add(tile, correction)
    if not tile.last_in_row:
        return
    done = tile.number + 1 == len(cut)
    rows, corrections = task.blend.take(tile.rows.stop if done else cut[tile.number + 1].rows.start)
    values = task.values(rows) + task.unit * corrections.astype(np.float64)
    store(values if task.anscombe is None else task.anscombe.backward(values), task.out[:, rows])


def _paper(dictionaries: list[Planes], planes: Planes, sigma: float, size: int, seed: int) -> Planes:
    return np.stack(
        [denoise_as_the_paper(plane, atoms, sigma) for plane, atoms in zip(planes, dictionaries, strict=True)]
    )


def _sampled_patches(task: _Task) -> Planes:
    """Patches drawn at random from the whole image, of shape (n_channels, n_patches, patch_size**2)."""
    size, (n_channels, height, width) = task.patch_size, task.pixels.shape
    n_corners = (height - size + 1) * (width - size + 1)
    rng = np.random.default_rng(task.seed)
    corners = np.sort(rng.choice(n_corners, min(N_SAMPLED, n_corners), replace=False))
    y, x = np.divmod(corners, width - size + 1)
    inside = np.arange(size)
    patches = task.planes(y[:, None, None] + inside[:, None], x[:, None, None] + inside)
    return patches.reshape(n_channels, len(corners), size * size)


@lru_cache(maxsize=len(MODES))
def _compile(mode: str) -> None:
    """Run the kernels of a mode once on next to nothing; later processes read them from the disk."""
    planes = np.random.default_rng(0).standard_normal((1, 24, 24)).astype(np.float32)
    if mode == "best":
        denoise_progressively(planes, 1.0, 8, 0)
    else:
        denoise_in_few_steps(planes, 1.0, 8, 0)


def _check_noise(mode: Any, noise: Any, gain: Any) -> None:
    if mode not in MODES:
        raise ValueError(f'mode must be "best", "fast" or "paper"; got {mode!r}.')
    if noise not in ("gaussian", "poisson"):
        raise ValueError(f'noise must be "gaussian" or "poisson"; got {noise!r}.')
    if not is_number(gain, Real):
        raise TypeError(f"gain must be a number, what one count adds to a pixel; got {gain!r}.")
    if not 0 < gain < np.inf:
        raise ValueError(f"gain must be positive and finite; got {gain}.")
