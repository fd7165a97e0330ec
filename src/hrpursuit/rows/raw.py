"""NumPy's own files, and arrays that are mapped from a file: read, not mapped, since mapped pages count as memory."""

from collections.abc import Iterator
from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.array import ArrayRows
from hrpursuit.rows.memory import array_of
from hrpursuit.rows.source import DataError, Opener, RangeSource, check_shape, file_opener, float_type, repacked

_ROWS_PER_SEEK = 50  # reading one row by itself takes about as long as passing by so many


class RawSource(RangeSource):
    """Numbers that lie one after another in a file.

    Parameters
    ----------
    path : path-like
    offset : int
        Bytes before the first number.
    shape : tuple
    dtype : dtype
        Of the file.
    by_columns : bool, default=False
        Whether a column's numbers lie together (Fortran's order) rather than a row's.
    """

    slab = 1

    def __init__(
        self, path: Path, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, by_columns: bool = False
    ) -> None:
        self.name = str(path)
        self.path = Path(path)
        self.offset = offset
        check_shape(shape, self.name)
        self.n_rows, self.n_features = shape
        self.n_samples = self.n_rows
        self.stored = dtype
        self.dtype = float_type(dtype, self.name)
        self.by_columns = by_columns
        needed = offset + self.n_rows * self.n_features * dtype.itemsize
        size = self.path.stat().st_size
        if size < needed:
            raise ValueError(f"{path} cannot be read: it is cut short, {size} bytes of {needed}.")

    def pieces(self, n_rows: int) -> Iterator[Array]:
        if self.stored != self.dtype:  # to be converted
            yield from repacked(self._read(n_rows), n_rows, self.n_features, self.dtype)
        else:
            yield from self._read(n_rows)

    def _read(self, n_rows: int) -> Iterator[Array]:
        order = "F" if self.by_columns else "C"
        buffers = [np.empty((n_rows, self.n_features), self.stored, order=order) for _ in range(2)]  # type: ignore[call-overload]
        with self.path.open("rb", buffering=0) as file:
            for turn, start in enumerate(range(0, self.n_rows, n_rows)):
                piece = buffers[turn % 2][: self.n_rows - start]
                self._fill_rows(file, start, piece)
                yield piece

    def _fill_rows(self, file: RawIOBase, start: int, out: Array) -> None:
        if not self.by_columns:
            self._fill(file, start * self.n_features, out)
            return
        for j in range(self.n_features):
            self._fill(file, j * self.n_rows + start, out[:, j])

    def _fill(self, file: RawIOBase, first: int, out: Array) -> None:
        """Read the numbers from the first-th on."""
        file.seek(self.offset + first * self.stored.itemsize)
        view = memoryview(out.reshape(-1).view(np.uint8).data)
        while view:
            n_read = file.readinto(view)
            if not n_read:
                raise DataError(f"{self.name} cannot be read: it was cut short while it was read.")
            view = view[n_read:]

    def span(self, start: int, stop: int) -> Array:
        out = np.empty((stop - start, self.n_features), self.stored, order="F" if self.by_columns else "C")
        with self.path.open("rb", buffering=0) as file:
            self._fill_rows(file, start, out)
        return out.astype(self.dtype, order="C", copy=False)

    def take(self, chosen: np.ndarray[Any, np.dtype[np.int64]]) -> Array | None:
        if self.by_columns or len(chosen) * _ROWS_PER_SEEK > self.n_rows:
            return None
        out = np.empty((len(chosen), self.n_features), self.stored)
        with self.path.open("rb", buffering=0) as file:
            for row, index in zip(out, chosen, strict=True):
                self._fill(file, int(index) * self.n_features, row)
        return out.astype(self.dtype, copy=False)


def open_npy(path: Path) -> RawSource:
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, by_columns, dtype = read_header[version](file)
        except (ValueError, KeyError, EOFError) as error:
            file.seek(0)
            archive = file.read(2) == b"PK"
            why = "it is an archive of several arrays" if archive else "it is damaged, cut short or not a NumPy array"
            raise ValueError(f"{path} cannot be read: {why} ({error}).") from error
        offset = file.tell()
    if dtype.hasobject:
        raise ValueError(f"{path} must hold real numbers; got {dtype}.")
    return RawSource(path, offset, shape, dtype, by_columns=by_columns and len(shape) == 2 and shape[1] > 1)


def of_memmap(X: np.memmap[Any, Any]) -> RawSource | None:
    """The file behind a mapped array; None if that is not what the array shows (private changes, strides)."""
    root: Any = X
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c" or X.ndim != 2:
        return None
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        return None
    if root.mode != "r":
        root.flush()
    offset = root.offset + X.ctypes.data - root.ctypes.data
    try:
        source = RawSource(Path(root.filename), offset, X.shape, X.dtype, by_columns=not X.flags.c_contiguous)
        ends = [source.span(i, i + 1) for i in (0, len(X) - 1)] if len(X) else []
    except (OSError, DataError, ValueError):
        return None  # the file is gone or shorter: the map still has it
    same = all(np.array_equal(end, X[[i]], equal_nan=True) for end, i in zip(ends, (0, -1), strict=False))
    return source if same else None  # else another file has taken the place of the one that is mapped


def open_memmap(X: np.memmap[Any, Any]) -> RawSource | ArrayRows:
    source = of_memmap(X)
    return source if source is not None else ArrayRows(array_of(X)[0])


OPENERS = (file_opener(open_npy, ".npy"), Opener(lambda data: isinstance(data, np.memmap), open_memmap))
