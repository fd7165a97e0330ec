"""What counts as a zero: the rounding that the data itself has been through."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Magnitude below which a code counts as zero, relative to the typical rms of a row, by the format that the data was
#: last rounded to. Each is well above the rounding of a matrix product in that format, and small enough that few true
#: codes fall below it; those that do cost nothing.
_SHARES: dict[np.dtype[Any], float] = {
    np.dtype(np.float64): 1e-9,
    np.dtype(np.float32): 6e-6,
    np.dtype(np.float16): 3e-3,
}
_MOST_DECIMALS = 9
_PROBE = 256  # values that are looked at before all of them
#: Spacing of decimals, relative to the typical rms of a row, from which on it is their own and not that of float16,
#: whose values lie at most 2^-10 of their magnitude apart.
_WIDE = 2.0**-8
#: Largest rounding of a code, relative to the largest offset of a feature and to the precision of the data, of which a
#: difference of two samples has a standard deviation of 0.4; products are in double precision, and err by the root of
#: the number of features.
_ROUNDED = 4.0
#: Such a rounding, relative to the rms of a row without the offset, from which on it is noise: above .05 searches for
#: exact zeros began to fail, where fits of sparse codes in noise do not.
_NOISE = 0.03
_COARSEST = 0.3  # a zero level above this share of the rms of a row says nothing


@dataclass(frozen=True)
class ZeroLevel:
    """Magnitude below which the code of a unit atom counts as zero.

    Attributes
    ----------
    floor : float
        For rows of ordinary size, in the unit of the data.
    share : float
        For larger rows, relative to the rms of the row: their rounding grows with them.
    """

    floor: float
    share: float

    def of_rows(self, X: NDArray[Any]) -> NDArray[Any]:
        """One level per row of X."""
        rms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64) / max(1, X.shape[1]))
        return np.maximum(self.floor, self.share * rms)


def zero_levels(
    X: NDArray[Any], units: NDArray[Any] | None = None, centre: NDArray[Any] | None = None
) -> tuple[ZeroLevel, ...]:
    """Zero levels of data, finest first; with `units` (one per feature) of the data divided by them, with `centre` less
    an offset that is about this. Then rows are as large as without the offset, but rounded as they are with it.

    The first follows from the narrowest float format that holds X without loss, unless X holds decimals or whole
    numbers so coarse that it means nothing if they fit into a narrow one. Where X is rounded to decimals there is a
    second, from their spacing h: rounding adds an error of standard deviation h / sqrt(12) to a code, whatever the
    atom, and six of these bound all codes of a working sample. The first still counts: whole numbers may be exact.
    """
    scaled = X if centre is None else X - centre
    scaled = scaled if units is None else scaled / units
    squares = np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64)
    squares = squares[squares > 0]  # rows of zeros have no rounding
    if squares.size == 0:
        return (ZeroLevel(0.0, 0.0),)
    middle = np.partition(squares, len(squares) // 2)[len(squares) // 2]
    typical = float(np.sqrt(middle / X.shape[1]))  # the median, in effect: a few huge rows do not decide
    flat = np.ravel(X)
    spacing = _decimal_spacing(flat) if units is None else _largest_spacing(X, units)
    is_coarse = spacing is not None and spacing > _WIDE * typical
    kind = flat.dtype if is_coarse else _narrowest(flat)
    share = _SHARES[kind]
    floor = share * typical
    if centre is not None:
        largest = float(np.abs(centre if units is None else centre / units).max(initial=0.0))
        of_data, of_products = np.finfo(kind).eps, np.sqrt(X.shape[1]) * np.finfo(np.float64).eps
        rounding = min(share, _ROUNDED * float(of_data + of_products)) * largest
        if rounding < _NOISE * typical:
            floor = max(floor, rounding)
    levels = [ZeroLevel(floor, share)]
    if spacing is not None:
        coarse = 6 * spacing / np.sqrt(12)
        if levels[0].floor < coarse < _COARSEST * typical:
            levels.append(ZeroLevel(coarse, coarse / typical))
    return tuple(levels)


def _narrowest(flat: NDArray[Any]) -> np.dtype[Any]:
    """The narrowest format that holds all values without loss; a short probe answers in most cases."""
    found = np.dtype(np.float64)
    for kind in _SHARES:
        if kind.itemsize < flat.dtype.itemsize:
            with np.errstate(over="ignore"):
                parts = (flat[:_PROBE], flat)
                if not all(np.array_equal(part.astype(kind).astype(flat.dtype), part) for part in parts):
                    break
        found = kind
    return found


def _largest_spacing(X: NDArray[Any], units: NDArray[Any]) -> float | None:
    """The largest decimal spacing of a feature in its unit; None if a feature is not rounded to decimals."""
    found = 0.0
    for column, unit in zip(X.T, units, strict=True):
        spacing = _decimal_spacing(np.ascontiguousarray(column))
        if spacing is None:
            return None
        found = max(found, spacing / float(unit))
    return found


def _decimal_spacing(flat: NDArray[Any]) -> float | None:
    """10^-d for the smallest d such that all values are multiples of it; None if they are not rounded to decimals."""
    eps = float(np.finfo(flat.dtype).eps)
    finest = None
    for part in (flat[:_PROBE], flat):  # the probe answers in most cases
        largest = float(np.abs(part).max())
        if largest == 0:
            continue
        if not largest < 1e-3 / eps:
            return None
        finest = min(_MOST_DECIMALS, int(np.floor(np.log10(1e-3 / eps) - np.log10(largest))))  # finer ones do not show
        if not _are_whole(part * 10.0**finest, eps):
            return None
    if finest is None:
        return None
    for decimals in range(finest + 1):
        if all(_are_whole(part * 10.0**decimals, eps) for part in (flat[:_PROBE], flat)):
            return 10.0**-decimals
    return None


def _are_whole(values: NDArray[Any], eps: float) -> bool:
    return bool(np.all(np.abs(values - np.rint(values)) <= 4 * eps * np.abs(values)))
