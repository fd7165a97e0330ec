"""Tables of readings in NumPy files: numbers of one type, without names and index."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.rows.raw import open_npy

_BATCH = 1 << 14  # rows that are read at once
_EXACT = 2**53


class NumPyTable:
    """A two-dimensional array of numbers; its dtype stays."""

    def __init__(self, path: Path, *, name: str) -> None:
        source = open_npy(path)  # says what is wrong with it
        self.name = name
        self.n_rows: int | None = source.n_rows
        self._path = path
        self.n_bytes = self.memory = path.stat().st_size

    def read(self) -> Any:
        return np.load(self._path, allow_pickle=False)

    def pieces(self) -> Iterator[Any]:
        array = np.load(self._path, mmap_mode="r", allow_pickle=False)
        for start in range(0, max(1, len(array)), _BATCH):
            yield np.array(array[start : start + _BATCH])


class NumPyWriter:
    """The numbers alone; the header is written again at the end, when the number of rows is known."""

    def __init__(self, file: Any, names: list[str] | None, attrs: dict[str, Any], n_columns: int) -> None:
        self._file, self._n_rows, self._n_columns = file, 0, n_columns
        self._dtype: Any = None

    def write(self, table: Any) -> None:
        block = _numbers(table) if hasattr(table, "iloc") else np.ascontiguousarray(table)
        if self._dtype is None:
            self._dtype = block.dtype
            self._write_header()
        if not np.can_cast(block.dtype, self._dtype, "safe"):
            raise ValueError(f"the first rows are {self._dtype}, others {block.dtype}; write .csv or .parquet.")
        self._file.write(np.ascontiguousarray(block.astype(self._dtype, copy=False)).data)
        self._n_rows += len(block)

    def _write_header(self) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(self._file, header | {"shape": (self._n_rows, self._n_columns)})

    def close(self) -> None:
        self._file.seek(0)
        self._write_header()


def _numbers(frame: Any) -> np.ndarray:
    """The numbers of a DataFrame in their common type; refused where there is none that holds them all."""
    columns = []
    for place, name in enumerate(frame.columns):
        column, kind = frame.iloc[:, place], str(frame.dtypes.iloc[place])
        if kind.startswith("Float"):
            column = column.to_numpy(kind.lower(), na_value=np.nan)
        if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "biuf":
            raise ValueError(
                f"a .npy file holds numbers of one type; column {name!r} is {kind}: write .csv, .parquet or .arrow, or "
                "leave it out with --columns."
            )
        columns.append(np.asarray(column))
    kinds = {column.dtype for column in columns}
    if len(kinds) > 1 and np.dtype(bool) in kinds:
        name = next(name for name, column in zip(frame.columns, columns, strict=True) if column.dtype == bool)
        raise ValueError(
            f"a .npy file holds numbers of one type; column {name!r} is truth values among others: write .csv, "
            ".parquet or .arrow, or leave it out with --columns."
        )
    common = np.result_type(*kinds) if kinds else np.dtype(float)
    for name, column in zip(frame.columns, columns, strict=True):
        wide = column.dtype.kind in "iu" and column.dtype.itemsize == 8 and common.kind == "f"
        if wide and len(column) and (column.max() > _EXACT or column.min() < -_EXACT):
            raise ValueError(
                f"a .npy file holds numbers of one type; column {name!r} has whole numbers beyond 2^53 among floats: "
                "write .csv, .parquet or .arrow."
            )
    out = np.empty((len(frame), len(columns)), common)
    for place, column in enumerate(columns):
        out[:, place] = column
    return out
