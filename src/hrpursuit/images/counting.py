"""Noise of counting, estimated from an image: how its variance grows with brightness."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import dctn
from scipy.stats import chi2

Values = NDArray[np.float64]

BLOCK = 8  # pixels a side
_HIGH = 9  # sum of the two frequencies from which cosine coefficients are taken for noise, in the calmest blocks
_SHARE = 0.05  # of the blocks of like brightness, the calmest
_N_CLASSES = 24  # of brightness, of as many blocks each
_FEWEST = 60  # blocks in a class, below which there are fewer classes
_MOST_BLOCKS = 60_000
_BRIGHT, _DARK = 0.02, 0.2  # share of pixels at the ends of the range from which a block is clipped; few counts are 0
_N_ROUNDS = 50
#: Weight of a variance above the line, where one below has the rest, and the relative error up to which errors count
#: by their squares. On the tuning images, with counts of 10 to 1000, the relative error of the standard deviation is
#: 0.032, and 0.044 with a half and 0.02; on white noise the gain that is found, which should be none, is no larger.
_ABOVE, _SMALL = 0.2, 0.2


def variance_and_mean(pixels: NDArray[Any], sigma: float | None, gain: float | None) -> tuple[float, float]:
    """The line `gain * brightness + variance at zero` that the variance of the noise follows.

    For pixels (n_channels, height, width) with like noise in all channels. What is given, as the standard deviation at
    zero and the gain, is kept, and the other estimated. A gain of 0 means noise that does not depend on brightness;
    a negative variance at zero means that zero counts are not at zero brightness.

    The variance of the highest cosine coefficients of blocks, in the calmest twentieth of the blocks of like
    brightness; then the line with the least absolute relative error, in which texture of one brightness does not
    count for much. What is above the line counts less than what is below: texture adds to the variance.
    """
    means, variances = _calm(pixels.astype(np.float64))
    if means.size == 0 or not np.any(variances > 0):
        return gain or 0.0, (sigma or 0.0) ** 2
    largest = variances.max()
    design = np.stack([means, np.ones_like(means)], axis=1)
    free = np.array([gain is None, sigma is None])
    line = np.array([gain or 0.0, (sigma or 0.0) ** 2])
    weights = 1 / np.maximum(variances, 1e-3 * largest)
    for _ in range(_N_ROUNDS):
        rest = variances - design[:, ~free] @ line[~free]
        line[free] = np.linalg.lstsq(design[:, free] * weights[:, None], rest * weights, rcond=None)[0]
        expected = np.maximum(design @ line, 1e-3 * largest)
        errors = variances / expected - 1
        shares = np.where(errors > 0, _ABOVE, 1 - _ABOVE)
        weights = np.sqrt(2 * shares / np.maximum(np.abs(errors), _SMALL)) / expected
    if gain is None and line[0] <= 0:  # texture in dark parts, or no noise of counting at all
        return 0.0, float(np.median(variances)) if sigma is None else line[1]
    return float(line[0]), float(line[1])


def _calm(pixels: Values) -> tuple[Values, Values]:
    """Brightness of each class, and the variance of the noise there."""
    low, high = pixels.min(), pixels.max()
    brightness, power = [], []
    for plane in pixels:
        blocks = _blocks(plane, _MOST_BLOCKS // len(pixels))
        clipped = ((blocks == high).mean(axis=(1, 2)) > _BRIGHT) | ((blocks == low).mean(axis=(1, 2)) > _DARK)
        blocks = blocks[~clipped]
        brightness.append(blocks.mean(axis=(1, 2)))
        power.append(fine_power(blocks))
    found, strength = np.concatenate(brightness), np.concatenate(power)
    if found.size == 0:
        return found, strength
    classes = np.array_split(np.argsort(found, kind="stable"), np.clip(len(found) // _FEWEST, 2, _N_CLASSES))
    means = np.array([found[one].mean() for one in classes if len(one)])
    return means, np.array([calm_variance(strength[one]) for one in classes if len(one)])


def fine_power(blocks: Values) -> Values:
    """Mean square of the highest cosine coefficients of blocks of 8 x 8 pixels."""
    return np.asarray((high_coefficients(blocks) ** 2).mean(axis=1))


def high_coefficients(blocks: Values) -> Values:
    """The highest cosine coefficients of each of the blocks."""
    return np.asarray(dctn(blocks, axes=(1, 2), norm="ortho")[:, _high(BLOCK)])


def calm_variance(power: Values) -> float:
    """Variance of the noise, of which the power of the calmest blocks tells."""
    degrees = np.count_nonzero(_high(BLOCK))
    # such a share of the powers of noise alone is below
    return float(np.quantile(power, _SHARE) / (chi2.ppf(_SHARE, degrees) / degrees))


def _blocks(plane: Values, n_most: int) -> Values:
    """Overlapping blocks, at least two pixels apart."""
    if min(plane.shape) < BLOCK:
        return np.empty((0, BLOCK, BLOCK))
    views = sliding_window_view(plane, (BLOCK, BLOCK))
    step = max(2, int(np.ceil(np.sqrt(views.shape[0] * views.shape[1] / n_most))))
    return views[::step, ::step].reshape(-1, BLOCK, BLOCK)


@lru_cache(maxsize=1)
def _high(size: int) -> NDArray[np.bool_]:
    return np.add.outer(np.arange(size), np.arange(size)) >= _HIGH
