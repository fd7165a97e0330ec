"""One way in for all kinds of rows."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows.array import ArrayRows
from hrpursuit.rows.calls import CalledSource
from hrpursuit.rows.chunked import ChunkedSource, open_hdf5, open_zarr
from hrpursuit.rows.columns import check_no_columns, choose_columns
from hrpursuit.rows.csv import CSVSource, Header
from hrpursuit.rows.dask import DaskRows
from hrpursuit.rows.parquet import ParquetSource
from hrpursuit.rows.raw import of_memmap, open_npy
from hrpursuit.rows.source import DataError, Source, check_shape, float_type
from hrpursuit.rows.stream import StreamedRows

SUFFIXES = (".csv", ".npy", ".parquet", ".h5", ".hdf5", ".zarr")


def open_rows(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    dataset: str | None = None,
    header: Header = "auto",
    block_size: int | None = None,
) -> Rows:
    """Rows for an estimator, wherever they are.

    Parameters
    ----------
    data : path, array, DataFrame, memmap, h5py.Dataset, zarr.Array, Dask array or DataFrame, or callable
        A path is a file by its suffix: `.npy`, `.csv`, `.parquet` (or a folder of Parquet files), `.h5` or `.hdf5`,
        `.zarr`. A callable without arguments gives the blocks, two-dimensional arrays, anew for every pass. Files are
        read in every pass, in blocks, ahead of the computation: they may be larger than memory. One sample a row;
        float32 stays float32, all other numbers become float64.
    columns : sequence of str or None, default=None
        Columns to use, by name; None uses all.
    dataset : str or None, default=None
        Which array of an HDF5 file or a Zarr group; may be left out if there is only one.
    header : {"auto", "yes", "no"}, default="auto"
        Whether the first line of a CSV file is names; "auto": unless it is all numbers.
    block_size : int or None, default=None
        Rows a block; None chooses blocks whose codes stay in cache.

    Returns
    -------
    rows : Rows
    """
    if is_rows(data):
        return data
    _refuse_what_is_read_once(data)
    if isinstance(data, str | os.PathLike):
        return StreamedRows(open_source(Path(data), columns, dataset, header), block_size)
    if _is_dask(data):
        return DaskRows(data, columns)
    source = _open_object(data)
    if source is not None:
        check_no_columns(columns, source.name)
        return StreamedRows(source, block_size)
    X, names = _array(data, columns)
    return ArrayRows(X, block_size, names)


def _refuse_what_is_read_once(data: Any) -> None:
    if _is_iterator(data):
        raise DataError(
            "an iterator can be read only once, and a fit makes several passes; give the function that makes it, "
            "fit(blocks) rather than fit(blocks())."
        )
    if _is_list_of_paths(data):
        raise DataError(
            "a list of paths is not one table; give a folder of Parquet files, or a function that reads the files one "
            "after the other and yields their rows."
        )


def _is_iterator(data: Any) -> bool:
    return hasattr(data, "__next__")


def _is_list_of_paths(data: Any) -> bool:
    return isinstance(data, list | tuple) and len(data) > 0 and all(isinstance(x, str | os.PathLike) for x in data)


def is_rows(data: Any) -> bool:
    """Whether the object is a source of rows itself."""
    return all(hasattr(data, name) for name in ("n_features", "blocks", "sum", "map", "sample"))


def is_outside_memory(data: Any) -> bool:
    """Whether `open_rows` is needed: anything but arrays, tables and lists in memory."""
    return (
        isinstance(data, str | os.PathLike | np.memmap)
        or is_rows(data)
        or _is_iterator(data)
        or _is_list_of_paths(data)
        or _is_dask(data)
        or _is_chunked(data)
        or (callable(data) and not hasattr(data, "__array__") and not isinstance(data, type))
    )


def _loaded(module: str) -> Any:
    """A module if someone has imported it: an object of its types cannot come from anyone else."""
    return sys.modules.get(module)


def _is_dask(data: Any) -> bool:
    return _loaded("dask") is not None and hasattr(data, "__dask_graph__") and hasattr(data, "ndim")


def _is_chunked(data: Any) -> bool:
    h5py, zarr = _loaded("h5py"), _loaded("zarr")
    return (h5py is not None and isinstance(data, h5py.Dataset)) or (zarr is not None and isinstance(data, zarr.Array))


def open_source(path: Path, columns: Sequence[str] | None, dataset: str | None, header: Header) -> Source:
    suffix = path.suffix.lower()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if suffix == ".parquet" or (path.is_dir() and suffix != ".zarr" and any(path.rglob("*.parquet"))):
        return ParquetSource(path, columns)
    if suffix in (".h5", ".hdf5", ".zarr"):
        check_no_columns(columns, str(path))
        return (open_zarr if suffix == ".zarr" else open_hdf5)(path, dataset)
    if dataset is not None:
        raise ValueError(f"{path} has no datasets; leave out {dataset!r}.")
    if suffix == ".csv":
        return CSVSource(path, columns, header)
    if suffix == ".npy":
        check_no_columns(columns, str(path))
        return open_npy(path)
    if path.is_dir() and not any(path.iterdir()):
        raise ValueError(f"{path} is empty: the folder holds no .parquet file.")
    what = "a folder without .parquet files" if path.is_dir() else repr(suffix or "no suffix")
    raise ValueError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}; got {what}.")


def _open_object(data: Any) -> Source | None:
    if isinstance(data, np.memmap):
        return of_memmap(data)
    if _is_chunked(data):
        return ChunkedSource(data, f"the dataset {getattr(data, 'name', '') or ''}".strip())
    if callable(data) and not hasattr(data, "__array__"):
        call: Callable[[], Any] = data
        return CalledSource(call)
    return None


def _array(data: Any, columns: Sequence[str] | None) -> tuple[Array, list[str] | None]:
    """A table or array in memory as floats, and the names of its columns."""
    labels = getattr(data, "column_names", None) or getattr(data, "columns", None)
    names = None
    if labels is None or callable(labels):
        check_no_columns(columns, "the array")
        X = np.asarray(data)
    else:
        labels = list(labels)
        if all(isinstance(label, str) for label in labels):
            names = labels = choose_columns(labels, columns, "the table")
        else:
            check_no_columns(columns, "the table")
        X = np.column_stack([np.asarray(data[label]) for label in labels]) if labels else np.empty((len(data), 0))
    check_shape(X.shape, "the data")
    return X.astype(float_type(X.dtype, "the data"), copy=False), names
