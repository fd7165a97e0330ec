"""Cells that do not reach the coder of numbers: gaps, values of an unusual kind, and values that stand for something
else, such as -9999.
"""

from dataclasses import dataclass, field

import numpy as np

_MOST_SENTINELS = 3  # of a column
_FEWEST_OF_A_SENTINEL = 8  # times that a value occurs, to be a symbol of its own rather than an exception
_ISOLATED = 5  # ranges of the other values, that a sentinel lies away from them
_FAR = 30  # ranges of the middle 98%, that an exception lies away from them
_MOST_FAR = 0.01  # share of a column that may be so far away


@dataclass
class ApartCells:
    """Of one column: which cells are gaps, which are exceptions, and sentinels with their places."""

    is_gap: np.ndarray
    is_odd: np.ndarray
    sentinels: list[np.ndarray] = field(default_factory=list)  # places of each, as bool

    @classmethod
    def nothing(cls, n_rows: int) -> "ApartCells":
        """All cells are gaps."""
        return cls(np.ones(n_rows, bool), np.zeros(n_rows, bool))

    def first_rows(self, n_rows: int) -> "ApartCells":
        return ApartCells(self.is_gap[:n_rows], self.is_odd[:n_rows], [places[:n_rows] for places in self.sentinels])

    @property
    def is_coded(self) -> np.ndarray:
        """Cells whose values are numbers to be coded."""
        coded = ~(self.is_gap | self.is_odd)
        for places in self.sentinels:
            coded &= ~places
        return coded


def take_cells_apart(column: np.ndarray, bound: float) -> ApartCells:
    """Gaps, infinities, without loss (bound 0) negative zeros; sentinels, and values far away from all others unless
    single readings have no bound.
    """
    if column.dtype.kind != "f":
        found = ApartCells(np.zeros(len(column), bool), np.zeros(len(column), bool))
    else:
        found = ApartCells(np.isnan(column), np.isinf(column))
        if bound == 0:
            found.is_odd |= (column == 0) & np.signbit(column)
        _promote(found, column)
    if column.dtype.kind != "b" and bound < np.inf:
        with np.errstate(over="ignore"):  # ranges of the largest floats
            _set_far_apart(found, column)
    return found


def _promote(found: ApartCells, column: np.ndarray) -> None:
    """Odd values that come often become sentinels."""
    if not found.is_odd.any():
        return
    bits = column.view(f"u{column.dtype.itemsize}")
    values, counts = np.unique(bits[found.is_odd], return_counts=True)
    for value in values[counts >= _FEWEST_OF_A_SENTINEL][:_MOST_SENTINELS]:
        places = found.is_odd & (bits == value)
        found.sentinels.append(places)
        found.is_odd &= ~places


def _set_far_apart(found: ApartCells, column: np.ndarray) -> None:
    coded = np.flatnonzero(found.is_coded)
    if len(coded) < 20:
        return
    values = column[coded].astype(np.float64)
    for end in (0, -1):
        while len(found.sentinels) < _MOST_SENTINELS and len(values) >= 20:
            value = values.min() if end == 0 else values.max()
            given = column[coded]
            at = given == (given.min() if end == 0 else given.max())  # beyond 2^53, floats do not tell numbers apart
            rest = values[~at]
            if len(rest) < 2 or np.count_nonzero(at) < _FEWEST_OF_A_SENTINEL:
                break
            span = rest.max() - rest.min()
            if not abs(value - (rest.min() if end == 0 else rest.max())) > _ISOLATED * span > 0:
                break
            places = np.zeros(len(column), bool)
            places[coded[at]] = True
            found.sentinels.append(places)
            coded, values = coded[~at], rest
    ordered = np.sort(values)
    low, high = ordered[len(ordered) // 100], ordered[-1 - len(ordered) // 100]
    if not high > low:
        return
    far = (values < low - _FAR * (high - low)) | (values > high + _FAR * (high - low))
    if 0 < np.count_nonzero(far) <= max(4, _MOST_FAR * len(values)):
        found.is_odd[coded[far]] = True
