"""Opens rows of every kind."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Rows
from hrpursuit.rows import arrow, calls, chunked, csv, dask, memory, parquet, polars, raw
from hrpursuit.rows.columns import check_no_columns
from hrpursuit.rows.csv import Header
from hrpursuit.rows.source import DataError, Opener, Source, is_path
from hrpursuit.rows.stream import StreamedRows


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
    data : path, array, table or anything else that `OPENERS` lists
        A path is a file by its suffix: `.npy`, `.csv` (`.csv.gz` and `.csv.zst` too), `.parquet` (or a folder of
        Parquet files), `.arrow`, `.feather` or `.ipc`, `.h5` or `.hdf5`, `.zarr`. Other data outside memory: memory
        maps, h5py.Dataset, zarr.Array, Dask arrays and DataFrames, polars LazyFrames, pyarrow Datasets, and functions
        without arguments that give the blocks, arrays or tables, anew for every pass. All of these are read in every
        pass, in blocks, ahead of the computation: they may be larger than memory. In memory: arrays, and tables of
        pandas, polars and Arrow. One sample per row; float32 stays float32, all other numbers become float64; masked,
        null and NA are missing values, which are NaN.
    columns : sequence of str or None, default=None
        Columns to use, by name; None uses all.
    dataset : str or None, default=None
        Which array of an HDF5 file or a Zarr group; may be left out if there is only one.
    header : {"auto", "yes", "no"}, default="auto"
        Whether the first line of a CSV file is names; "auto": unless it is all numbers.
    block_size : int or None, default=None
        Rows per block; None chooses blocks whose codes stay in cache.

    Returns
    -------
    rows : Rows
    """
    opener = _opener_of(data)
    if opener.suffixes and not Path(data).exists():
        raise FileNotFoundError(f"{data} does not exist.")
    options = {"columns": columns, "dataset": dataset, "header": header, "block_size": block_size}
    taken = list(inspect.signature(opener.open).parameters)[1:]
    opened: Rows | Source = opener.open(
        Path(data) if opener.suffixes else data, **{key: value for key, value in options.items() if key in taken}
    )
    if "columns" not in taken:
        check_no_columns(columns, opened.name)
    if dataset is not None and "dataset" not in taken:
        raise ValueError(f"{opened.name} has no datasets; leave out {dataset!r}.")
    return StreamedRows(opened, block_size) if isinstance(opened, Source) else opened


def is_outside_memory(data: Any) -> bool:
    """Whether `open_rows` is needed: anything but arrays, tables and lists in memory."""
    if type(data) is np.ndarray:  # no need to ask all openers, which takes as long as a small batch of a stream
        return False
    return not _opener_of(data).in_memory


def _opener_of(data: Any) -> Opener:
    return next(opener for opener in OPENERS if opener.matches(data))


def _is_rows(data: Any) -> bool:
    return all(hasattr(data, name) for name in ("n_features", "blocks", "sum", "map", "sample"))


def _as_given(rows: Any, columns: Sequence[str] | None = None) -> Rows:
    """Rows of a user's own, or that are open already."""
    if not isinstance(rows, Rows):
        lacking = [name for name in (*Rows.__annotations__, "blocks") if not hasattr(rows, name)]
        raise DataError(
            f"{type(rows).__name__} has the methods of rows, but lacks {', '.join(lacking)}; derive it from "
            "hrpursuit.rows.Rows, which has defaults for all but n_samples, n_features and dtype."
        )
    if columns and rows.feature_names is None:
        check_no_columns(columns, rows.name)
    elif columns and list(columns) != list(rows.feature_names or ()):
        raise DataError(
            f"{rows.name} has the columns {', '.join(map(str, rows.feature_names or ()))}; expected "
            f"{', '.join(columns[:20])}. Open them with columns=..."
        )
    return rows


def _is_iterator(data: Any) -> bool:
    return hasattr(data, "__next__")


def _refuse_iterator(data: Any) -> None:
    raise DataError(
        "an iterator can be read only once, and several passes are made; give the function that makes it, "
        "fit(blocks) rather than fit(blocks())."
    )


def _is_list_of_paths(data: Any) -> bool:
    return isinstance(data, list | tuple) and len(data) > 0 and all(is_path(item) for item in data)


def _refuse_list_of_paths(data: Any) -> None:
    raise DataError(
        "a list of paths is not one table; give a folder of Parquet files, or a function that reads the files one "
        "after the other and yields their rows."
    )


def _refuse_path(path: Any) -> None:
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist.")
    suffixes = ", ".join(suffix for opener in OPENERS for suffix in opener.suffixes)
    raise ValueError(f"{path}: expected a name that ends in {suffixes}; got {Path(path).suffix or 'no suffix'!r}.")


#: How each kind of data is opened. The first one that matches does, and the last one matches everything.
OPENERS = [
    Opener(_is_rows, _as_given),
    Opener(_is_iterator, _refuse_iterator),
    Opener(_is_list_of_paths, _refuse_list_of_paths),
    csv.OPENER,
    arrow.FILE_OPENER,
    *raw.OPENERS,
    *parquet.OPENERS,
    *chunked.OPENERS,
    Opener(is_path, _refuse_path),
    dask.OPENER,
    polars.OPENER,
    arrow.OPENER,
    calls.OPENER,
    memory.OPENER,
]
