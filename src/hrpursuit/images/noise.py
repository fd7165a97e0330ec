"""How strong the noise of an image is."""

from functools import lru_cache
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hrpursuit.blas import one_blas_thread
from hrpursuit.images.channels import across_channels
from hrpursuit.images.counting import calm_variance, fine_power
from hrpursuit.images.stack import check_images, spread

Values = NDArray[np.float64]

# What is measured among these constants, and what follows from the normal distribution, is derived anew by
# python benchmarks/noise_constants.py.
_BLOCK, _PATCH_OF_BLOCK = 32, 5  # pixels a side
_N_BLOCKS = 256
_ENOUGH = 40  # blocks for the calmest of the squares in them to be many
_LOW = 0.1  # share of the blocks that are taken to have no structure in half of their directions
_PATCH = 6
_N_PATCHES = 50_000
_LEAK = 0.012  # share of the estimate that is structure which passes for noise, in images that have structure
_FLAT, _STRUCTURED = 1.03, 1.07  # upper quartile of the variances of the components, in those of the noise
_BY_CHANCE = 0.78  # measured on white noise, for overlapping patches of 3 to 6 pixels a side
_LEAST = 0.12  # share of the principal components, those with the least variance
_CUT = 2.0  # codes beyond so many standard deviations are structure
_RMS_WITHIN_CUT = 0.8796  # rms of a unit Gaussian within two standard deviations
_TENTH = 0.12566  # a tenth of a unit Gaussian lies within this distance from zero
_CLIPPED = 0.05  # share of pixels at the ends of the range from which a patch or block tells nothing of the noise
_BLANK = 0.05  # the same for the share of its squares of 3 x 3 pixels that are all equal
_COARSE = 0.25  # share of the noise of the first channel below which the others do not show all of theirs
_FEW = 0.02  # unless no more than this share of the patches or blocks is left


@overload
def estimate_sigma(image: ArrayLike, average_sigmas: Literal[True], *, channel_axis: int | None = None) -> float: ...
@overload
def estimate_sigma(image: ArrayLike, average_sigmas: bool = False, *, channel_axis: None = None) -> float: ...
@overload
def estimate_sigma(
    image: ArrayLike, average_sigmas: bool = False, *, channel_axis: int | None = None
) -> float | list[float]: ...
def estimate_sigma(
    image: ArrayLike, average_sigmas: bool = False, *, channel_axis: int | None = None
) -> float | list[float]:
    """Standard deviation of white Gaussian noise in an image.

    Parameters
    ----------
    image : array-like of shape (..., height, width)
        As for :func:`denoise`. For a stack the root mean square of the estimates of its images is returned.
    average_sigmas : bool, default=False
        Whether to return one estimate for all channels, which assumes that their noise is equally strong, instead of
        one per channel.
    channel_axis : int or None, default=None
        Axis of the channels; None for grey images.

    Returns
    -------
    sigma : float or list of float
        In the unit of the image. A list, with one estimate per channel, if there is a `channel_axis` and
        `average_sigmas` is False.

    Notes
    -----
    The result is the lowest of three estimates. One is from blocks of 32 x 32 pixels: the mean of the lower half of the
    eigenvalues of the covariance of their patches, in the tenth of the blocks where it is least. One is from patches of
    the whole image: the spread of small codes for the principal components with the least variance, as by Pyatykh,
    Hesser and Zheng [1]_. One is from the highest cosine coefficients of the calmest twentieth of all squares of 8 x 8
    pixels, as by Ponomarenko et al. [2]_. Patches with blank areas, or with many pixels at the ends of the range, are
    left out if there are others.

    If the image has structure, the estimate is lowered by about one in a hundred, the part of the structure that passes
    for noise.

    With `average_sigmas` the channels are decorrelated, and the median of their estimates is returned. If the noise of
    the colours is less than a quarter of that of the brightness, the latter is returned: most JPEG files store one
    colour for 2 x 2 pixels, and grey images saved as RGB have no colours.

    If there is nothing but texture as fine as the pixels, or all else is clipped, the estimate is too high: that of a
    photograph of grass without noise is not zero. Faint noise is also estimated a little too high.

    References
    ----------
    .. [1] Pyatykh, Hesser, Zheng, IEEE Trans. Image Processing 22, 2013.
    .. [2] Ponomarenko, Lukin, Zriakhov, Kaarna, Astola, IEEE Int. Geoscience and Remote Sensing Symp., 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from hrpursuit.images import estimate_sigma
    >>> y, x = np.mgrid[:128, :128]
    >>> noise = np.random.default_rng(0).standard_normal((128, 128))
    >>> round(estimate_sigma(100 + x + 50 * np.sin(y / 9) + 7 * noise))
    7
    """
    images = check_images(image, channel_axis, 1)
    if channel_axis is None or average_sigmas:
        return _over_stack(images.pixels)
    return [_over_stack(images.pixels[:, [channel]]) for channel in range(images.pixels.shape[1])]


def _over_stack(stack: NDArray[Any]) -> float:
    estimates = [sigma_of(pixels) for pixels in stack]
    return float(np.hypot.reduce(estimates) / np.sqrt(len(estimates)))  # squares could overflow


def sigma_of(pixels: NDArray[Any]) -> float:
    """The estimate for one image of shape (n_channels, height, width)."""
    middle, half_range = spread(pixels)
    if half_range == 0:
        return 0.0
    with one_blas_thread():
        estimates = [_sigma_of_plane(*squares) for squares in zip(*_squares(pixels, middle, half_range), strict=True)]
    brightness, colours = estimates[0], estimates[1:]
    if colours and np.median(colours) < _COARSE * brightness:
        return brightness * half_range
    return float(np.median(estimates)) * half_range


def _squares(pixels: NDArray[Any], middle: float, half_range: float) -> tuple[Values, Values]:
    """Patches and blocks of the decorrelated channels, in units of half the range."""
    rng = np.random.default_rng(0)
    side = min(pixels.shape[1:])
    size = max(1, min(_PATCH, side // 4))
    found = []
    for squares in (_sample(pixels, size, _N_PATCHES, rng), _sample(pixels, min(_BLOCK, side), _N_BLOCKS, rng)):
        found.append(across_channels((squares.astype(np.float64) - middle) / half_range))
    return found[0], found[1]


def _sigma_of_plane(patches: Values, blocks: Values) -> float:
    side = blocks.shape[1]
    if side < 8:
        return _from_differences(blocks)
    patches = patches.reshape(len(patches), -1)
    variances, components = _principal_components(patches)
    sigma = min(_from_patches(patches, components), _from_blocks(blocks, min(_PATCH_OF_BLOCK, side // 4)))
    if side == _BLOCK and len(blocks) >= _ENOUGH:
        sigma = min(sigma, _from_cosines(blocks))
    if sigma == 0:
        return 0.0
    structure = np.interp(np.quantile(variances, 0.75) / sigma**2, (_FLAT, _STRUCTURED), (0, 1))
    return float(sigma * (1 - _LEAK * structure))


def _sample(pixels: NDArray[Any], size: int, n_most: int, rng: np.random.Generator) -> NDArray[Any]:
    """Squares of `size` pixels a side, of shape (n_channels, n_squares, size, size); without clipped and blank ones.

    Blocks, of which there are few, are spread evenly; patches are drawn at random.
    """
    height, width = pixels.shape[1:]
    n_down, n_across = height - size + 1, width - size + 1
    if size > _PATCH:  # corners on a grid, whose squares overlap only if the image is small
        y, x = _grid(n_down, size, int(np.sqrt(n_most))), _grid(n_across, size, int(np.sqrt(n_most)))
        y, x = (a.ravel() for a in np.meshgrid(y, x, indexing="ij"))
    else:
        corners = np.arange(n_down * n_across)
        if len(corners) > n_most:
            corners = np.sort(rng.choice(len(corners), n_most, replace=False))
        y, x = np.divmod(corners, n_across)
    inside = np.arange(size)
    squares = pixels[:, y[:, None, None] + inside[:, None], x[:, None, None] + inside]
    low, high = pixels.min(), pixels.max()
    clipped = ((squares == low) | (squares == high)).mean(axis=(0, 2, 3)) > _CLIPPED
    good = ~(clipped | (_share_blank(squares) > _BLANK))
    return squares[:, good] if np.count_nonzero(good) >= max(4, _FEW * len(good)) else squares


def _share_blank(squares: NDArray[Any]) -> Values:
    """Of all 3 x 3 pixels in each square, the share that have one value."""
    if squares.shape[-1] < 3:
        return np.zeros(squares.shape[1])
    across = squares[..., 1:] == squares[..., :-1]
    across = across[..., 1:] & across[..., :-1]  # three in a row
    down = squares[..., 1:, 2:] == squares[..., :-1, 2:]
    equal = across[..., 2:, :] & across[..., 1:-1, :] & across[..., :-2, :] & down[..., 1:, :] & down[..., :-1, :]
    return np.asarray(equal.mean(axis=(0, 2, 3)))


def _grid(n_corners: int, size: int, n_most: int) -> NDArray[np.intp]:
    n = int(np.clip((n_corners - 1) // size + 1, min(4, n_corners), n_most))
    return np.unique(np.linspace(0, n_corners - 1, n).round().astype(np.intp))


def _principal_components(patches: Values) -> tuple[Values, Values]:
    """Their variances, least first, and the components as columns."""
    patches = patches - patches.mean(axis=0)
    variances, components = np.linalg.eigh(patches.T @ patches / len(patches))
    return variances, components


def _from_patches(patches: Values, components: Values) -> float:
    """Spread of the small codes for the principal components with the least variance."""
    patches = patches - patches.mean(axis=0)
    n_least = max(1, int(_LEAST * patches.shape[1]))
    size = np.abs(patches @ components[:, :n_least]).ravel()
    sigma = float(np.quantile(size, 0.1)) / _TENTH
    for _ in range(20):
        inside = size[size <= _CUT * sigma]
        if inside.size == 0:
            break
        sigma = float(np.sqrt(np.mean(inside**2))) / _RMS_WITHIN_CUT
    # of noise alone the components with the least variance have less than the others, by chance, as the patches are few
    return sigma / max(0.5, 1 - _BY_CHANCE * np.sqrt(patches.shape[1] / len(patches)))


def _from_blocks(blocks: Values, size: int) -> float:
    return float(np.sqrt(_low_variance(blocks, size) / _low_variance_of_noise(blocks.shape[1], size)))


def _low_variance(blocks: Values, size: int) -> float:
    """Mean of the lower half of the eigenvalues of a block's patches, in the blocks where it is least."""
    patches = np.lib.stride_tricks.sliding_window_view(blocks, (size, size), axis=(1, 2))
    patches = patches.reshape(len(blocks), -1, size * size)
    patches = patches - patches.mean(axis=1, keepdims=True)
    values = np.linalg.eigvalsh(patches.transpose(0, 2, 1) @ patches / patches.shape[1])
    return float(np.quantile(np.maximum(values[:, : size * size // 2].mean(axis=1), 0), _LOW))


@lru_cache(maxsize=64)
def _low_variance_of_noise(block: int, size: int) -> float:
    """The same for unit white noise, where it is below one as the least is looked for."""
    return _low_variance(np.random.default_rng(1).standard_normal((256, block, block)), size)


def _from_cosines(blocks: Values) -> float:
    """From the highest cosine coefficients of the calmest squares of 8 x 8 pixels in the blocks."""
    squares = np.lib.stride_tricks.sliding_window_view(blocks, (8, 8), axis=(1, 2))[:, ::4, ::4]
    return float(np.sqrt(calm_variance(fine_power(squares.reshape(-1, 8, 8)))))


def _from_differences(blocks: Values) -> float:
    """For images of a few pixels: the spread of the differences of neighbours."""
    differences = np.concatenate([np.diff(blocks, axis=axis).ravel() for axis in (1, 2)])
    return float(np.median(np.abs(differences))) if differences.size else 0.0
