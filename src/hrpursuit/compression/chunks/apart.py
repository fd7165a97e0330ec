"""Cells of a table that are not coded as whole numbers: gaps, exceptions, sentinels."""

from dataclasses import dataclass, field

import numpy as np

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.compiled import integers
from hrpursuit.compression.layout import Cursor, varint, varints

_GAPS, _NAN_BITS, _EXCEPTIONS, _SENTINELS = 1, 2, 4, 8


@dataclass
class Apart:
    """Cells that are not coded as whole numbers.

    Attributes
    ----------
    seen : array of shape (n_rows, n_columns)
        0 where there is a gap.
    nan_bits : dict of int to int
        The bits of all NaN of the floats of a size, where they are not the usual ones.
    cells : array of int
        Places (row times columns plus column, rising) of values that are kept bit for bit.
    cell_data : bytes
        Their bits, lowest byte first.
    sentinels : list of (column, bits as bytes, array of shape (n_rows,))
        A value that stands for something else, such as -9999, and where it is.
    """

    seen: np.ndarray
    nan_bits: dict[int, int] = field(default_factory=dict)
    cells: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    cell_data: bytes = b""
    sentinels: list[tuple[int, bytes, np.ndarray]] = field(default_factory=list)

    def coded(self) -> np.ndarray:
        """1 where there is a whole number."""
        coded = self.seen.copy()
        coded.reshape(-1)[self.cells] = 0
        for column, _, places in self.sentinels:
            coded[places != 0, column] = 0
        return coded

    def to_bytes(self) -> bytes:
        flags = _GAPS * (not self.seen.all()) | _NAN_BITS * bool(self.nan_bits)
        flags |= _EXCEPTIONS * bool(len(self.cells)) | _SENTINELS * bool(self.sentinels)
        out = [bytes([flags])]
        if self.nan_bits:
            out.append(bytes([sum(self.nan_bits)]))  # 2, 4, 8: a bit for each size
            out += [bits.to_bytes(size, "little") for size, bits in sorted(self.nan_bits.items())]
        if len(self.cells):
            out += [varint(len(self.cells)), varints(np.diff(self.cells, prepend=0).tolist()), self.cell_data]
        if self.sentinels:
            out.append(varint(len(self.sentinels)))
            out += [varint(column) + bits for column, bits, _ in self.sentinels]
        return b"".join(out)

    @classmethod
    def from_cursor(cls, cursor: Cursor, shape: tuple[int, int], dtypes: list[np.dtype]) -> tuple["Apart", bool]:
        """All but gaps and places of sentinels, which are coded with the numbers; and whether there are gaps."""
        n_rows, n = shape
        flags = cursor.byte()
        if flags > 15:
            raise DamagedFile(f"a table has the unknown flags {flags}")
        found = cls(integers(shape, 1))
        if flags & _NAN_BITS:
            sizes = cursor.byte()
            if sizes & ~14:
                raise DamagedFile("floats have an unknown size")
            found.nan_bits = {size: int.from_bytes(cursor.take(size), "little") for size in (2, 4, 8) if sizes & size}
        if flags & _EXCEPTIONS:
            n_cells = cursor.varint(min(n_rows * n, cursor.left))
            found.cells = np.cumsum([cursor.varint(n_rows * n) for _ in range(n_cells)], dtype=np.int64)
            if n_cells and (found.cells[-1] >= n_rows * n or (np.diff(found.cells) <= 0).any()):
                raise DamagedFile("values beside the coded ones have no place in the table")
            found.cell_data = cursor.take(sum(dtypes[cell % n].itemsize for cell in found.cells.tolist()))
        if flags & _SENTINELS:
            for _ in range(cursor.varint(min(4 * n, cursor.left))):
                column = cursor.varint(n - 1)
                bits = cursor.take(dtypes[column].itemsize)
                found.sentinels.append((column, bits, integers(n_rows)))
        return found, bool(flags & _GAPS)

    def set_values(self, columns: list[np.ndarray]) -> None:
        """Put gaps, exceptions and sentinels in their places."""
        for j, column in enumerate(columns):
            gaps = self.seen[:, j] == 0
            if column.dtype.kind != "f":
                if gaps.any():
                    raise DamagedFile("a column of whole numbers has gaps")
                continue
            bits = self.nan_bits.get(column.dtype.itemsize)
            nan = np.array(np.nan, column.dtype)
            if bits is not None:
                nan = np.array(bits, f"u{column.dtype.itemsize}").view(column.dtype)
            column[gaps] = nan
        start = 0
        for cell in self.cells.tolist():
            row, j = divmod(cell, len(columns))
            size = columns[j].dtype.itemsize
            columns[j][row] = _from_bits(self.cell_data[start : start + size], columns[j].dtype)
            start += size
        for j, bits, places in self.sentinels:
            columns[j][places != 0] = _from_bits(bits, columns[j].dtype)


def _from_bits(data: bytes, dtype: np.dtype) -> np.ndarray:
    value = np.frombuffer(data, dtype=dtype.newbyteorder("<"))[0]
    if dtype.kind == "b" and data not in (b"\x00", b"\x01"):
        raise DamagedFile("a truth value is neither 0 nor 1")
    return value
