"""The obvious ways to prepare a table for a compressor of bytes, each with its way back.

A preparation takes whole numbers from the columns (bits of the readings, decimals as whole numbers, or ranks among the
distinct values), fills or leaves out the gaps, takes differences, and lays out the bytes. What a reader must know
besides (shape, names, types, decimals, which preparation) is not counted: ours are whole files, so this favours the
others.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from hrpursuit.rivals.tables import hold, interpolate, row_mean

from .tables import Column, Table

Series = list[np.ndarray]  # of whole numbers
Undo = Callable[[Series], Series]
FILLS = {"held": hold, "interpolated": interpolate, "as the row": row_mean}
IN_PLACE, LEFT_OUT = "in place", "left out"
#: Columns of more distinct values than this share of the rows get no ranks.
MOST_DISTINCT = 0.5


@dataclass(frozen=True)
class Preparation:
    """How the bytes were made; the fields are tried in all combinations that make sense."""

    source: str  # bits, whole or ranks
    gaps: str  # "" where there are none, left out, or a fill
    order: int | None  # of the differences over time; None: the best of 0, 1, 2 for each column
    across: bool  # differences to the column on the left
    zigzag: bool  # signs in the lowest bit, in place of two's complement
    layout: str  # rows or columns, of whole numbers or of planes of their bytes

    def __str__(self) -> str:
        parts = [
            self.source,
            self.gaps and f"gaps {self.gaps}",
            "chosen differences" if self.order is None else f"differences of order {self.order}" if self.order else "",
            "across" if self.across else "",
            "zigzag" if self.zigzag else "",
            self.layout,
        ]
        return ", ".join(filter(None, parts))


# --- whole numbers of the columns ---------------------------------------------------------------------------------


def quantised(column: Column) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Whole numbers of a column within its bound, gaps as zeros, and the way back to readings."""
    if column.bound == 0:
        if column.whole_is_exact:
            return column.whole, column.from_whole
        return np.where(column.observed, column.bits, 0), column.from_bits
    if column.whole is not None:
        step = 2 * column.largest_step + 1
        return (column.whole + step // 2) // step, lambda numbers: column.from_whole(numbers * step)
    step = 2 * column.bound_of_floats
    seen = np.where(column.observed, column.values, 0).astype(np.float64)
    return np.rint(seen / step).astype(np.int64), lambda numbers: (numbers * step).astype(column.values.dtype)


def ranked(numbers: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The distinct values and the rank of each; None where there are too many."""
    distinct = np.unique(numbers[observed])
    if len(distinct) > MOST_DISTINCT * len(numbers):
        return None
    return distinct, np.searchsorted(distinct, numbers).clip(0, len(distinct) - 1)


@lru_cache(maxsize=64)
def source_of(table: Table, source: str) -> tuple[Series, Series, Undo]:
    """Whole numbers of the live columns, tables of values beside them, and the way back to readings."""
    numbers, tables, undos = [], [], []
    for column in table.live:
        if source == "bits":
            whole, back = column.bits, column.from_bits
        else:
            whole, back = quantised(column)
        found = ranked(whole, column.observed) if source == "ranks" else None
        if found is not None:
            distinct, whole = found
            tables.append(np.diff(distinct, prepend=0))
        numbers.append(whole)
        undos.append((found is not None, back))

    def undo(series: Series) -> Series:
        values, rest = [], iter(series[len(undos) :])
        for whole, (is_rank, back) in zip(series, undos, strict=False):
            values.append(back(np.cumsum(next(rest))[whole] if is_rank else whole))
        return values

    return numbers, tables, undo


# --- gaps -----------------------------------------------------------------------------------------------------------


def fill(table: Table, numbers: Series, gaps: str) -> Series:
    """Whole numbers with something in the gaps."""
    if gaps in ("", IN_PLACE):
        return numbers
    observed, whole = np.column_stack([column.observed for column in table.live]), np.column_stack(numbers)
    filled = np.rint(FILLS[gaps](np.where(observed, whole, np.nan))).astype(np.int64)
    return list(np.where(observed, whole, filled).T)  # floats do not hold all whole numbers


def put_gaps(table: Table, values: Series) -> Series:
    for column, decoded in zip(table.live, values, strict=True):
        if not column.observed.all():
            decoded[~column.observed] = np.nan
    return values


def leave_out(table: Table, numbers: Series) -> tuple[Series, Undo]:
    """Only what was observed."""

    def undo(series: Series) -> Series:
        whole = []
        for column, seen in zip(table.live, series, strict=False):
            whole.append(np.zeros(len(column.observed), np.int64))
            whole[-1][column.observed] = seen
        return whole

    return [whole[column.observed] for column, whole in zip(table.live, numbers, strict=True)], undo


# --- differences --------------------------------------------------------------------------------------------------


def difference(numbers: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Differences, the first `order` of them zero, and what these were."""
    changed = numbers
    for _ in range(order):
        changed = np.diff(changed, prepend=0)
    changed = changed.copy()
    starts = changed[:order].copy()
    changed[:order] = 0
    return changed, starts


def add_up(changed: np.ndarray, starts: np.ndarray) -> np.ndarray:
    changed = changed.copy()
    changed[: len(starts)] = starts
    for _ in range(len(starts)):
        changed = np.cumsum(changed)
    return changed


def best_order(numbers: np.ndarray) -> int:
    """Of 0, 1, 2, the one that leaves the smallest differences: the fewest bits if each took only its own."""
    return min(range(3), key=lambda order: np.log2(1 + np.abs(difference(numbers, order)[0].astype(float))).sum())


def differences(series: Series, order: int | None, across: bool) -> tuple[Series, np.ndarray, Callable]:
    orders = [best_order(numbers) if order is None else min(order, len(numbers)) for numbers in series]
    pairs = [difference(numbers, own) for numbers, own in zip(series, orders, strict=True)]
    changed, starts = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if across:
        changed = list(np.diff(np.stack(changed), axis=0, prepend=0))

    def undo(series: Series, starts: np.ndarray) -> Series:
        if across:
            series = list(np.cumsum(np.stack(series), axis=0))
        ends = np.cumsum(orders)
        return [
            add_up(numbers, starts[end - own : end]) for numbers, own, end in zip(series, orders, ends, strict=True)
        ]

    return changed, np.concatenate(starts).astype(np.int64), undo


# --- bytes --------------------------------------------------------------------------------------------------------


def zigzag(numbers: np.ndarray) -> np.ndarray:
    return (numbers << 1) ^ (numbers >> 63)


def undo_zigzag(numbers: np.ndarray) -> np.ndarray:
    return ((numbers >> 1) & np.int64(2**63 - 1)) ^ -(numbers & 1)


def width_of(numbers: np.ndarray, unsigned: bool) -> int:
    """Bytes of the shortest integers that hold the numbers."""
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    for width in (1, 2, 4):
        most = 1 << (8 * width)
        if (low >= 0 and high < most) if unsigned else (-most // 2 <= low and high < most // 2):
            return width
    return 8


def to_bytes(numbers: np.ndarray, zigzagged: bool) -> np.ndarray:
    """One row of bytes for each number, lowest first, in the shortest width."""
    unsigned = zigzagged or numbers.min(initial=0) >= 0
    numbers = zigzag(numbers) if zigzagged else numbers
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, 8)[:, : width_of(numbers, unsigned)]


def from_bytes(data: np.ndarray, zigzagged: bool, signed: bool) -> np.ndarray:
    width = data.shape[1]
    whole = np.zeros((len(data), 8), np.uint8)
    whole[:, :width] = data
    if signed and not zigzagged:
        whole[:, width:] = np.where(data[:, -1:] >= 128, 255, 0)
    numbers = whole.reshape(-1).view(np.int64)
    return undo_zigzag(numbers) if zigzagged else numbers


def planes(numbers: np.ndarray, zigzagged: bool) -> bytes:
    return to_bytes(numbers, zigzagged).T.tobytes()


LAYOUTS = ("rows", "columns", "planes by rows", "planes by columns")


def lay_out(series: Series, n_even: int, layout: str, zigzagged: bool) -> tuple[bytes, Callable[[bytes], Series]]:
    """Bytes of all series; the first `n_even` have the same length and may be laid out by rows."""
    pieces = [to_bytes(numbers, zigzagged) for numbers in series]
    signed = [bool(numbers.min(initial=0) < 0) for numbers in series]
    shapes = [piece.shape for piece in pieces]
    by_rows = "rows" in layout
    even = pieces[:n_even] if by_rows else []
    rest = pieces[len(even) :]
    blocks = []
    width = max((piece.shape[1] for piece in even), default=0)
    if by_rows and "planes" in layout:
        wide = np.zeros((width, len(even[0]), len(even)), np.uint8)
        for j, (piece, sign) in enumerate(zip(even, signed, strict=False)):
            wide[: piece.shape[1], :, j] = piece.T
            if sign and not zigzagged:
                wide[piece.shape[1] :, :, j] = np.where(piece[:, -1] >= 128, 255, 0)
        blocks.append(wide.tobytes())
    elif by_rows:
        blocks.append(np.concatenate(even, axis=1).tobytes())
    blocks += [piece.T.tobytes() if "planes" in layout else piece.tobytes() for piece in rest]

    def undo(data: bytes) -> Series:
        read = np.frombuffer(data, np.uint8)
        found = []
        if by_rows and "planes" in layout:
            n = width * shapes[0][0] * len(even)
            wide = read[:n].reshape(width, shapes[0][0], len(even))
            found = [wide[: shapes[j][1], :, j].T for j in range(len(even))]
        elif by_rows:
            widths = [shape[1] for shape in shapes[: len(even)]]
            n = shapes[0][0] * sum(widths)
            found = np.split(read[:n].reshape(shapes[0][0], -1), np.cumsum(widths)[:-1], axis=1)
        else:
            n = 0
        for length, own in shapes[len(even) :]:
            piece = read[n : n + length * own]
            found.append(piece.reshape(own, length).T if "planes" in layout else piece.reshape(length, own))
            n += length * own
        return [from_bytes(piece, zigzagged, sign) for piece, sign in zip(found, signed, strict=True)]

    return b"".join(blocks), undo


# --- all of it ----------------------------------------------------------------------------------------------------


def prepare(table: Table, preparation: Preparation) -> tuple[bytes, Callable[[bytes], Series]]:
    """The bytes, and the way back from them to the readings of the live columns."""
    numbers, tables, undo_source = source_of(table, preparation.source)
    n_columns = len(numbers)
    leaves_out = preparation.gaps == LEFT_OUT
    if leaves_out:
        numbers, undo_gaps = leave_out(table, numbers)
    else:
        numbers, undo_gaps = fill(table, numbers, preparation.gaps), lambda series: series
    changed, starts, undo_differences = differences(numbers, preparation.order, preparation.across)
    series = [*changed, starts, *tables]
    data, undo_layout = lay_out(series, 0 if leaves_out else n_columns, preparation.layout, preparation.zigzag)

    def undo(data: bytes) -> Series:
        series = undo_layout(data)
        whole = undo_differences(series[:n_columns], series[n_columns])
        values = undo_source([*undo_gaps(whole), *series[n_columns + 1 :]])
        return values if preparation.gaps == IN_PLACE else put_gaps(table, values)

    return data, undo


def preparations(table: Table) -> Iterator[Preparation]:
    """All that make sense for a table."""
    lossless = table.is_lossless
    sources = ["bits"] if lossless else []
    if not lossless or any(column.values.dtype.kind == "f" and column.whole_is_exact for column in table.live):
        sources.append("whole")
    columns = table.live
    if any(ranked(quantised(column)[0], column.observed) is not None for column in columns):
        sources.append("ranks")
    gaps = [IN_PLACE, LEFT_OUT, *FILLS] if table.has_gaps else [""]
    many = len(columns) > 2
    for source, gap, order, across, zigzagged, layout in product(
        sources, gaps, (0, 1, 2, None), (False, True), (False, True), LAYOUTS
    ):
        if gap == LEFT_OUT and ("rows" in layout or across):
            continue
        if table.has_gaps and (gap == IN_PLACE) != (source == "bits"):
            continue
        if gap not in ("", IN_PLACE, LEFT_OUT, "held") and source != "whole":
            continue
        if zigzagged and order == 0 and not across:
            continue
        if across and not many:
            continue
        if len(columns) == 1 and "rows" in layout:
            continue
        yield Preparation(source, gap, order, across, zigzagged, layout)
