"""Lists of the different values of a column, as bytes."""

from collections.abc import Sequence

import numpy as np

from hrpursuit.compression.chunks.grids import DECIMALS, POWERS, Grid, floats_at, places_of_floats
from hrpursuit.compression.chunks.numbers import pack_numbers, unpack_numbers
from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.table_state import LIMIT
from hrpursuit.compression.layout import Cursor, shorter, signed, unpacked, varint

_INNER_SINGLE = 64  # beside the number of decimals plus one


def lists_bytes(grids: Sequence[Grid]) -> bytes:
    """Lists of values of several columns, those that an earlier column has as a reference to it."""
    out, earlier = [], list[tuple[np.dtype, bytes]]()
    for grid in grids:
        one = grid.values.dtype, list_bytes(grid)
        if one in earlier:
            out.append(varint(0) + varint(earlier.index(one)))
        else:
            out.append(one[1])
        earlier.append(one)
    return b"".join(out)


def list_bytes(grid: Grid) -> bytes:
    """Values in rising order: as decimals, with what is left in units of the last place, or else bit for bit."""
    inner = grid.decimals  # a number of decimals plus one, 0 where they have none
    head = varint(len(grid.values)) + bytes([inner | _INNER_SINGLE * grid.single])
    if inner:
        numbers, left, unit = decimal_parts(grid.values, inner - 1, grid.single)
        out = head + signed(int(numbers[0])) + pack_numbers(np.diff(numbers)) + bytes([unit])
        return out + (pack_numbers(left) if unit else b"")
    data = shorter(_planes(grid.values))
    return head + varint(len(data)) + data


def decimal_parts(values: np.ndarray, decimals: int, single: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Nearest whole numbers of values times 10^decimals, and what is left in units of the last place; and in which
    units: 0 nothing is left, 1 of the type of the values, 2 of single precision.
    """
    numbers = np.rint(values.astype(np.float64) * POWERS[decimals]).astype(np.int64)
    near = Grid(DECIMALS, decimals, single=single).to_values(numbers, values.dtype)
    if values.dtype.kind != "f":
        return numbers, values - near, 0
    unit = 1
    if single:
        with np.errstate(over="ignore"):
            narrow = values.astype(np.float32)
        if np.array_equal(narrow, values):
            values, near, unit = narrow, near.astype(np.float32), 2
    left = places_of_floats(values) - places_of_floats(near)
    return numbers, left, unit if left.any() else 0


def _planes(values: np.ndarray) -> bytes:
    """Differences of the bits, byte by byte of all of them."""
    bits = values.view(f"u{values.dtype.itemsize}")
    changes = np.diff(bits, prepend=bits.dtype.type(0))
    return changes.astype(changes.dtype.newbyteorder("<")).view(np.uint8).reshape(len(bits), -1).T.tobytes()


def read_list(cursor: Cursor, dtype: np.dtype, earlier: Sequence[np.ndarray] = ()) -> np.ndarray:
    """One list; `earlier` are those of the columns before, one of which it may refer to."""
    n = cursor.varint(1 << 24)
    if n == 0:
        place = cursor.varint(1 << 24)
        if place >= len(earlier) or earlier[place].dtype != dtype:
            raise DamagedFile("a list of values refers to none before it")
        return earlier[place]
    how = cursor.byte()
    inner, single = how & (_INNER_SINGLE - 1), bool(how & _INNER_SINGLE)
    if inner > len(POWERS) or how > 127:
        raise DamagedFile("a list of values is impossible")
    if inner:
        first = cursor.signed(2**53)
        numbers = np.concatenate([[0], np.cumsum(unpack_numbers(cursor, n - 1))]) + first
        near = Grid(DECIMALS, inner - 1, single=single).to_values(numbers, dtype)
        unit = cursor.byte()
        if unit == 0:
            return near
        left = unpack_numbers(cursor, n)
        if dtype.kind != "f" or unit > 2:
            raise DamagedFile("values in a list have impossible units")
        dtype_of_left = np.dtype(np.float32) if unit == 2 else dtype
        with np.errstate(over="ignore"):
            near = near.astype(dtype_of_left)
        places = places_of_floats(near) + np.clip(left, -LIMIT, LIMIT)
        return floats_at(places, dtype_of_left).astype(dtype)
    size = dtype.itemsize
    planes = unpacked(cursor.take(cursor.varint()), n * size)
    if len(planes) != n * size:
        raise DamagedFile("a list of values is too short")
    octets = np.ascontiguousarray(np.frombuffer(planes, np.uint8).reshape(size, n).T)
    bits = np.cumsum(octets.view(f"<u{size}")[:, 0].astype(f"=u{size}"), dtype=f"u{size}")
    if dtype.kind == "b" and bits.max() > 1:
        raise DamagedFile("a truth value is neither 0 nor 1")
    return bits.view(dtype)
