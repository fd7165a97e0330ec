"""What counts as a zero: the rounding that the data itself has been through."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Size of a zero code, as a share of the rms of the data, by the format that the data was last rounded to. Each is well
#: above the rounding of a matrix product in that format, and small enough that few true codes fall below it; those that
#: do cost nothing.
_LEVELS: dict[np.dtype[Any], float] = {
    np.dtype(np.float64): 1e-9,
    np.dtype(np.float32): 6e-6,
    np.dtype(np.float16): 3e-3,
}
_MOST_DECIMALS = 9
_PROBE = 256
_COARSEST = 0.3  # a zero level above this share of the rms says nothing


def zero_levels(X: NDArray[Any]) -> tuple[float, ...]:
    """Magnitudes below which the code X @ w of a unit atom w counts as zero, finest first.

    The first follows from the narrowest float format that holds X without loss. Where X is rounded to decimals there is
    a second, from their spacing h: rounding adds an error of standard deviation h / sqrt(12) to a code, whatever the
    atom, and six of these bound all codes of a working sample. The first still counts: whole numbers may be exact.
    """
    if X.size == 0:
        return (0.0,)
    flat = np.ravel(X)
    n_live = max(1, int(np.count_nonzero(X.any(axis=1))))  # rows of zeros have no rounding
    rms = float(np.sqrt(np.sum(np.square(flat, dtype=np.float64)) / (n_live * X.shape[1])))
    level = max((share for kind, share in _LEVELS.items() if _holds(flat, kind)), default=1e-9) * rms
    spacing = _decimal_spacing(flat)
    coarse = 0.0 if spacing is None else 6 * spacing / np.sqrt(12)
    return (level, coarse) if level < coarse < _COARSEST * rms else (level,)


def _holds(flat: NDArray[Any], kind: np.dtype[Any]) -> bool:
    """Whether the format `kind` holds all values without loss; a short probe answers in most cases."""
    if kind.itemsize > flat.dtype.itemsize:
        return False
    with np.errstate(over="ignore"):
        return all(np.array_equal(part.astype(kind).astype(flat.dtype), part) for part in (flat[:_PROBE], flat))


def _decimal_spacing(flat: NDArray[Any]) -> float | None:
    """10^-d for the smallest d such that all values are multiples of it; None if they are not rounded to decimals."""
    largest = float(np.abs(flat).max())
    eps = float(np.finfo(flat.dtype).eps)
    if not 0 < largest < 1e-3 / eps:
        return None
    finest = min(
        _MOST_DECIMALS, int(np.floor(np.log10(1e-3 / (eps * largest))))
    )  # finer ones do not show in this format
    if not _are_whole(flat[:_PROBE] * 10.0**finest, eps):
        return None
    for decimals in range(finest + 1):
        if all(_are_whole(part * 10.0**decimals, eps) for part in (flat[:_PROBE], flat)):
            return 10.0**-decimals
    return None


def _are_whole(values: NDArray[Any], eps: float) -> bool:
    return bool(np.all(np.abs(values - np.rint(values)) <= 4 * eps * np.abs(values)))
