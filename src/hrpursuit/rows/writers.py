"""Blocks into a file of any kind that can be read; it appears whole or not at all."""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.files import check_writable, replaced_when_done
from hrpursuit.rows.optional import needed
from hrpursuit.rows.source import repacked

SUFFIXES = (".csv", ".npy", ".parquet", ".h5", ".hdf5", ".zarr")
DATASET = "X"  # its name in an HDF5 file
_HDF5_ROOM = 64 << 10  # bytes for what stands beside the rows
_GROUP_BYTES = 16 << 20  # a row group of Parquet, a chunk of HDF5 and Zarr


def check_suffix(path: str | PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{path}: expected a name that ends in {', '.join(SUFFIXES)}; got {suffix!r}."
            if suffix
            else f"{path}: expected a name that ends in {', '.join(SUFFIXES)}."
        )
    return suffix


def write_blocks(
    path: str | PathLike[str], blocks: Iterator[Array], names: Sequence[str], dtype: np.dtype[Any], source: Any = None
) -> int:
    """Write blocks with these columns, in the format of the suffix; returns the number of rows.

    `source` is what they are computed from: if it is a file, or an array that is kept in one, it may not be the same.
    """
    suffix = check_suffix(path)
    check_writable(path, *_files_of(source))
    write = {".npy": _write_npy, ".csv": _write_csv, ".parquet": _write_parquet, ".zarr": _write_zarr}
    group = max(1, _GROUP_BYTES // (max(1, len(names)) * dtype.itemsize))
    with replaced_when_done(path, folder=suffix == ".zarr") as temporary:
        pieces = repacked(blocks, group, len(names), dtype)
        return write.get(suffix, _write_hdf5)(temporary, pieces, list(names), dtype, group)


def _files_of(source: Any) -> list[str | PathLike[str]]:
    """The file or folder that data is read from: a path, or that of a memory map, an HDF5 dataset or a Zarr array."""
    if isinstance(source, str | PathLike):
        return [source]
    while isinstance(source, np.ndarray) and not isinstance(source, np.memmap):  # a view of a memory map, perhaps
        source = source.base
    owner = getattr(source, "file", None) or getattr(source, "store", None) or source
    found = getattr(owner, "filename", None) or getattr(owner, "root", None)
    return [found] if isinstance(found, str | PathLike) else []


def _write_npy(path: Path, pieces: Iterator[Array], names: list[str], dtype: np.dtype[Any], group: int) -> int:
    n_rows = 0
    with path.open("wb") as file:
        _write_npy_header(file, n_rows, len(names), dtype)
        for piece in pieces:
            file.write(piece.data)
            n_rows += len(piece)
        file.seek(0)
        _write_npy_header(file, n_rows, len(names), dtype)  # of the same length: NumPy leaves room for the number
    return n_rows


def _write_npy_header(file: BinaryIO, n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> None:
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": (n_rows, n_columns)}
    np.lib.format.write_array_header_1_0(file, header)


def _arrow_batches(pieces: Iterator[Array], schema: Any) -> Iterator[Any]:
    pa = needed("pyarrow", "CSV and Parquet files", "files")
    for piece in pieces:
        yield pa.record_batch([pa.array(np.ascontiguousarray(column)) for column in piece.T], schema=schema)


def _schema(names: list[str], dtype: np.dtype[Any]) -> Any:
    pa = needed("pyarrow", "CSV and Parquet files", "files")
    return pa.schema([(name, pa.from_numpy_dtype(dtype)) for name in names])


def _write_csv(path: Path, pieces: Iterator[Array], names: list[str], dtype: np.dtype[Any], group: int) -> int:
    schema, n_rows = _schema(names, dtype), 0
    with needed("pyarrow.csv", "CSV files", "files").CSVWriter(path, schema) as writer:
        for batch in _arrow_batches(pieces, schema):
            writer.write_batch(batch)
            n_rows += batch.num_rows
    return n_rows


def _write_parquet(path: Path, pieces: Iterator[Array], names: list[str], dtype: np.dtype[Any], group: int) -> int:
    schema, n_rows = _schema(names, dtype), 0
    with needed("pyarrow.parquet", "Parquet files", "files").ParquetWriter(
        path, schema, use_dictionary=False
    ) as writer:
        for batch in _arrow_batches(pieces, schema):
            writer.write_batch(batch)
            n_rows += batch.num_rows
    return n_rows


def _write_hdf5(path: Path, pieces: Iterator[Array], names: list[str], dtype: np.dtype[Any], group: int) -> int:
    n_rows = 0
    with needed("h5py", "HDF5 files", "files").File(path, "w") as file:
        data = file.create_dataset(
            DATASET, (0, len(names)), dtype, maxshape=(None, len(names)), chunks=(max(1, group // 16), len(names))
        )
        for piece in pieces:
            if shutil.disk_usage(path.parent).free < 1.1 * piece.nbytes + _HDF5_ROOM:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # HDF5 crashes where it cannot close a file
            data.resize(n_rows + len(piece), axis=0)
            data[n_rows:] = piece
            file.flush()
            n_rows += len(piece)
    return n_rows


def _write_zarr(path: Path, pieces: Iterator[Array], names: list[str], dtype: np.dtype[Any], group: int) -> int:
    zarr, n_rows = needed("zarr", "Zarr files", "files"), 0
    data = zarr.create_array(str(path), shape=(0, len(names)), chunks=(group, len(names)), dtype=dtype)
    for piece in pieces:
        data.resize((n_rows + len(piece), len(names)))
        data[n_rows:] = piece
        n_rows += len(piece)
    return n_rows
