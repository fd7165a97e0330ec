"""Warn of columns that a relative RMSE over the whole table leaves in error."""

import warnings
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from hrpursuit.compression.errors import stack_level

#: A column is named if its own relative error is above both: on the readings of Kraków no sensor gets beyond 4 times
#: the target, where one glitch or another unit in the table gives 5 to 100 times.
_TIMES_TARGET, _LARGE = 5, 0.2
#: Readings beyond so many times the median magnitude of their column are not counted: one of them would hide what
#: happens to all others.
_GLITCH = 100
_MOST_NAMED = 8

Columns = Sequence[np.ndarray]


class LostColumnsWarning(UserWarning):
    """The target is met over the whole table, but some columns have a large relative error of their own."""


class ColumnErrors:
    """Sums up how far the columns of a table are off, chunk by chunk.

    Parameters
    ----------
    columns : sequence of arrays
        All rows that are compared.
    """

    def __init__(self, columns: Columns) -> None:
        self._limits = [_GLITCH * _typical_size(column) for column in columns]
        self._squares = self.squared(columns, [np.zeros_like(column) for column in columns])
        self._squared_errors = np.zeros(len(columns))

    def squared(self, given: Columns, decoded: Columns) -> np.ndarray:
        """Sums of squared errors of the columns of a chunk as they were given and as they are decoded."""
        sums = np.zeros(len(given))
        for place, (one, other, limit) in enumerate(zip(given, decoded, self._limits, strict=True)):
            if limit == 0:  # no reading but zeros
                continue
            one, other = one.astype(np.float64), other.astype(np.float64)
            counts = np.isfinite(one) & (np.abs(one) <= limit)
            with np.errstate(over="ignore"):  # beside a column that is larger by many powers of ten, all may be lost
                one, other = one[counts] / limit, other[counts] / limit
                sums[place] = np.sum((one - other) ** 2)
        return sums

    def add(self, squared_errors: np.ndarray) -> None:
        """What `squared` gave for a chunk."""
        self._squared_errors += squared_errors

    def lost(self, relative_rmse: float) -> dict[int, float]:
        """Columns whose own relative error is far above that of the table.

        Parameters
        ----------
        relative_rmse : float
            What was asked for, over the whole table.

        Returns
        -------
        lost : dict of int to float
            Places of the columns, and their relative errors: the root of the sum of squared errors over that of
            squared readings, glitches not counted. Largest first.
        """
        errors = np.sqrt(self._squared_errors / np.where(self._squares > 0, self._squares, 1.0))
        is_lost = errors > max(_TIMES_TARGET * relative_rmse, _LARGE)
        return {int(place): float(errors[place]) for place in np.argsort(-errors, kind="stable") if is_lost[place]}

    def warn(self, relative_rmse: float, names: Sequence[str | int], but: Collection[int] = ()) -> set[int]:
        """A warning with the names of these columns, if there are any `but` those; gives their places."""
        lost = {place: error for place, error in self.lost(relative_rmse).items() if place not in but}
        if lost:
            _warn_of(lost, names)
        return set(lost)


def _warn_of(lost: Mapping[int, float], names: Sequence[str | int]) -> None:
    shares = {place: f"{error:.0%}" if error < 10 else "over 999%" for place, error in lost.items()}
    named = [f"{names[place]!r} ({share})" for place, share in list(shares.items())[:_MOST_NAMED]]
    more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
    warnings.warn(
        "relative_rmse counts all readings of the table together, and leaves some columns with a large relative error "
        f"of their own: {', '.join(named)}{more}. A glitch or another unit elsewhere allows it. Bound each column "
        "instead: relative_error=0.01 (a share of its range), or max_error={column: bound, None: bound of the others}.",
        LostColumnsWarning,
        stacklevel=stack_level(),
    )


def _typical_size(column: np.ndarray) -> float:
    """Median magnitude of the readings that are finite and not zero; 0 if there are none."""
    sizes = np.abs(column[np.isfinite(column)].astype(np.float64))
    sizes = sizes[sizes > 0]
    with np.errstate(over="ignore"):  # of the two in the middle, where they are the largest floats
        return float(np.median(sizes)) if len(sizes) else 0.0
