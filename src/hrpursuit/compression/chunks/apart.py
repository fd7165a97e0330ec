"""Cells of a table: numbers that are coded, and what is not coded as a number (gaps, exceptions, sentinels)."""

from dataclasses import dataclass, field

import numpy as np

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.compiled import integers
from hrpursuit.compression.kernels.gaps import code_gaps, new_gap_model
from hrpursuit.compression.layout import Cursor, varint, varints

_GAPS, _NAN_BITS, _EXCEPTIONS, _SENTINELS = 1, 2, 4, 8


@dataclass
class Numbers:
    """What is coded of each cell: whole numbers, low bits, bits of floats. rows x columns."""

    whole: np.ndarray
    low: np.ndarray = field(default_factory=lambda: integers((0, 0)))  # empty where no column has low bits
    bits: np.ndarray = field(default_factory=lambda: integers((0, 0)))  # empty where no column is of kind FLOAT


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
    values : list of bytes
        Their bits, lowest byte first.
    sentinels : list of (column, bits as bytes, array of shape (n_rows,))
        A value that stands for something else, such as -9999, and where it is.
    """

    seen: np.ndarray
    nan_bits: dict[int, int] = field(default_factory=dict)
    cells: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: list[bytes] = field(default_factory=list)
    sentinels: list[tuple[int, bytes, np.ndarray]] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is anything but gaps."""
        return bool(self.nan_bits or len(self.cells) or self.sentinels)

    def of_columns(self, places: np.ndarray) -> "Apart":
        """Of these columns, counted anew."""
        n = self.seen.shape[1]
        new = {place: j for j, place in enumerate(places.tolist())}
        inside = [i for i, cell in enumerate(self.cells.tolist()) if cell % n in new]
        cells = [cell // n * len(new) + new[cell % n] for cell in self.cells[inside].tolist()]
        sentinels = [(new[j], bits, at) for j, bits, at in self.sentinels if j in new]
        values = [self.values[i] for i in inside]
        return Apart(self.seen[:, places], self.nan_bits, np.array(cells, dtype=np.int64), values, sentinels)

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
            out += [varint(len(self.cells)), varints(np.diff(self.cells, prepend=0).tolist()), *self.values]
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
            found.values = [cursor.take(dtypes[cell % n].itemsize) for cell in found.cells.tolist()]
        if flags & _SENTINELS:
            for _ in range(cursor.varint(min(4 * n, cursor.left))):
                column = cursor.varint(n - 1)
                bits = cursor.take(dtypes[column].itemsize)
                found.sentinels.append((column, bits, integers(n_rows)))
        return found, bool(flags & _GAPS)

    def code_places(self, coder: np.ndarray, buffer: np.ndarray, decoding: bool, has_gaps: bool = True) -> None:
        """Write gaps and places of sentinels, or read them."""
        if has_gaps:
            code_gaps(coder, buffer, decoding, self.seen, integers(self.seen.shape[1]), *new_gap_model())
        for _, _, places in self.sentinels:
            code_gaps(coder, buffer, decoding, places.reshape(-1, 1), integers(1), *new_gap_model())

    def set_values(self, columns: list[np.ndarray]) -> None:
        """Put gaps, exceptions and sentinels in their places."""
        for j, column in enumerate(columns):
            gaps = self.seen[:, j] == 0
            if column.dtype.kind != "f":
                continue
            size, nan = column.dtype.itemsize, np.array(np.nan, column.dtype)
            if size in self.nan_bits:
                nan = np.array(self.nan_bits[size], f"u{size}").view(column.dtype)
            column[gaps] = nan
        for cell, bits in zip(self.cells.tolist(), self.values, strict=True):
            row, j = divmod(cell, len(columns))
            columns[j][row] = _from_bits(bits, columns[j].dtype)
        for j, bits, places in self.sentinels:
            columns[j][places != 0] = _from_bits(bits, columns[j].dtype)


def _from_bits(data: bytes, dtype: np.dtype) -> np.ndarray:
    value = np.frombuffer(data, dtype=dtype.newbyteorder("<"))[0]
    if dtype.kind == "b" and data not in (b"\x00", b"\x01"):
        raise DamagedFile("a truth value is neither 0 nor 1")
    return value
