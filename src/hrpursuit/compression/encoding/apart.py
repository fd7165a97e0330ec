"""Cells that do not reach the coder of numbers: gaps, values of an unusual kind, and values that stand for something
else, such as -9999.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.apart import Apart
from hrpursuit.compression.encoding.columns import Column
from hrpursuit.compression.kernels.compiled import as_integers

_MOST_SENTINELS = 3  # of a column
_FEWEST_OF_A_SENTINEL = 8  # times that a value occurs, to be a symbol of its own rather than an exception
_OFTEN, _NOISE = 0.005, 0.85  # share of a column that such a value has, and of the rest that is different
_ISOLATED = 5  # ranges of the other values, that a sentinel lies away from them
_FAR = 30  # ranges of the middle 98%, that an exception lies away from them
_MOST_FAR = 0.01  # share of a column that may be so far away


def sort_cells(given: np.ndarray, bound: float) -> Column:
    """A column without ways: gaps, infinities, without loss (bound 0) negative zeros; sentinels, and values far away
    from all others unless single readings have no bound.
    """
    is_gap, is_odd = np.zeros(len(given), bool), np.zeros(len(given), bool)
    sentinels: list[np.ndarray] = []
    if given.dtype.kind == "f":
        is_gap, is_odd = np.isnan(given), np.isinf(given)
        if bound == 0:
            is_odd |= (given == 0) & np.signbit(given)
        sentinels = _frequent(given, is_odd)
        for places in sentinels:
            is_odd &= ~places
    column = Column(given, bound, is_gap, is_odd, sentinels)
    if given.dtype.kind == "b" or bound == np.inf:
        return column
    with np.errstate(over="ignore"):  # ranges of the largest floats
        return _with_far(column)


def _frequent(given: np.ndarray, is_odd: np.ndarray) -> list[np.ndarray]:
    """Places of the odd values that come often."""
    if not is_odd.any():
        return []
    bits = given.view(f"u{given.dtype.itemsize}")
    values, counts = np.unique(bits[is_odd], return_counts=True)
    return [is_odd & (bits == value) for value in values[counts >= _FEWEST_OF_A_SENTINEL][:_MOST_SENTINELS]]


def _with_far(column: Column) -> Column:
    """Values far away from all others are sentinels if they come often, and odd otherwise."""
    coded = np.flatnonzero(column.is_coded)
    if len(coded) < 20:
        return column
    values, sentinels = column.given[coded].astype(np.float64), list(column.sentinels)
    for end in (0, -1):
        while len(sentinels) < _MOST_SENTINELS and len(values) >= 20:
            value = values.min() if end == 0 else values.max()
            given = column.given[coded]
            at = given == (given.min() if end == 0 else given.max())  # beyond 2^53, floats do not tell numbers apart
            rest = values[~at]
            if len(rest) < 2 or np.count_nonzero(at) < _FEWEST_OF_A_SENTINEL:
                break
            span = rest.max() - rest.min()
            if not abs(value - (rest.min() if end == 0 else rest.max())) > _ISOLATED * span > 0:
                break
            places = np.zeros(len(column.given), bool)
            places[coded[at]] = True
            sentinels.append(places)
            coded, values = coded[~at], rest
    if len(sentinels) > len(column.sentinels):
        column = replace(column, sentinels=sentinels)
    ordered = np.sort(values)
    low, high = ordered[len(ordered) // 100], ordered[-1 - len(ordered) // 100]
    far = (values < low - _FAR * (high - low)) | (values > high + _FAR * (high - low))
    if not (high > low and 0 < np.count_nonzero(far) <= max(4, _MOST_FAR * len(values))):
        return column
    is_odd = column.is_odd.copy()
    is_odd[coded[far]] = True
    return replace(column, is_odd=is_odd)


def with_repeated(column: Column) -> Column:
    """Values that come often among others that hardly ever repeat are sentinels: the ends of a range that floats were
    cut to, or zeros of what was switched off.
    """
    values = column.given[column.is_coded]
    if values.dtype.kind != "f":
        return column
    distinct, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[: _MOST_SENTINELS - len(column.sentinels)]
    often = distinct[order[counts[order] >= max(_FEWEST_OF_A_SENTINEL, _OFTEN * len(values))]]
    n_left = len(values) - int(counts[np.isin(distinct, often)].sum())
    if not len(often) or len(distinct) - len(often) < max(_NOISE * n_left, _FEWEST_OF_A_SENTINEL):
        return column
    places = [column.is_coded & (column.given == value) for value in often]
    return replace(column, sentinels=[*column.sentinels, *places])


def cells_apart(columns: Sequence[Column]) -> Apart:
    """What is not coded of these columns together."""
    n = len(columns)
    seen = np.column_stack([~column.is_gap for column in columns])
    odd = [column.is_odd for column in columns]
    nan_bits = {}
    for size in (2, 4, 8):
        floats = [(j, column) for j, column in enumerate(columns) if column.given.dtype == np.dtype(f"f{size}")]
        patterns = [column.given.view(f"u{size}")[column.is_gap] for _, column in floats if column.bound == 0]
        if any(len(pattern) for pattern in patterns):
            values, counts = np.unique(np.concatenate(patterns), return_counts=True)
            common = values[np.argmax(counts)]
            if common != np.array(np.nan, f"f{size}").view(f"u{size}"):
                nan_bits[size] = int(common)
            for j, column in floats:
                if column.bound == 0 and len(values) > 1:
                    odd[j] = odd[j] | (column.is_gap & (column.given.view(f"u{size}") != common))
    cells = np.concatenate([np.flatnonzero(places) * n + j for j, places in enumerate(odd)])
    cells.sort()
    values = [_bits(columns[cell % n].given[cell // n]) for cell in cells.tolist()]
    sentinels = [
        (j, _bits(column.given[np.argmax(places)]), as_integers(places))
        for j, column in enumerate(columns)
        for places in column.sentinels
    ]
    return Apart(as_integers(seen), nan_bits, cells, values, sentinels)


def _bits(value: np.generic) -> bytes:
    return value.astype(value.dtype.newbyteorder("<")).tobytes()
