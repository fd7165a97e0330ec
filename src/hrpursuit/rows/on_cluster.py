"""Files as Dask collections, for a cluster whose workers see the same files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hrpursuit.core.protocols import Array
from hrpursuit.rows.csv import CSVSource, Header
from hrpursuit.rows.dask import DaskRows
from hrpursuit.rows.engines import key_of
from hrpursuit.rows.open import open_rows
from hrpursuit.rows.optional import needed
from hrpursuit.rows.parquet import ParquetSource
from hrpursuit.rows.source import RangeSource, Source
from hrpursuit.rows.stream import StreamedRows

_CHUNK_BYTES = 64 << 20


def open_on_cluster(
    path: Path, *, columns: Sequence[str] | None = None, dataset: str | None = None, header: Header = "auto"
) -> DaskRows:
    """The rows of a file, each chunk read by the worker that computes with it; options as for `open_rows`."""
    path = path.resolve()
    source = _source(path, columns=columns, dataset=dataset, header=header)
    if isinstance(source, RangeSource):
        return DaskRows(_ranges(path, dataset, source), name=str(path))
    frames = needed("dask.dataframe", "Tables on a cluster", "dask")
    if isinstance(source, ParquetSource):
        frame = frames.read_parquet([str(file) for file in source.files], columns=source.columns)
        return DaskRows(frame, name=str(path))
    if not isinstance(source, CSVSource) or path.suffix.lower() != ".csv":
        raise ValueError(f"{path}: a cluster reads .npy, .csv, .parquet, .h5, .hdf5 and .zarr; unpack or convert it.")
    frame = _read_csv(frames, source)
    return DaskRows(frame if source.feature_names is not None else frame.to_dask_array(), name=str(path))


def _source(path: Path, **options: Any) -> Source:
    rows = open_rows(path, **options)
    assert isinstance(rows, StreamedRows)
    return rows.source


def _read_csv(frames: Any, source: CSVSource) -> Any:
    layout = source.layout
    try:
        frame = frames.read_csv(
            str(source.path),
            sep=layout.delimiter,
            decimal=layout.decimal_point,
            header=0 if layout.has_names else None,
            names=source.fields,
            usecols=source.columns,
            dtype=dict.fromkeys(source.columns, "float64"),
            encoding="utf-8-sig",
        )
    except (ValueError, TypeError) as error:  # in the part of the file that Dask looks at first
        source.raise_at_fault(error)
    return frame[source.columns]


def _ranges(path: Path, dataset: str | None, source: RangeSource) -> Any:
    """An array of chunks of about `_CHUNK_BYTES`, whole slabs of the file each."""
    arrays, delayed = needed("dask.array", "Clusters", "dask"), needed("dask", "Clusters", "dask").delayed
    assert source.n_samples is not None
    row_bytes = max(1, source.n_features * source.dtype.itemsize)
    n_rows = source.slab * max(1, _CHUNK_BYTES // (row_bytes * source.slab))
    key = key_of("load")  # another each time: a file of the same name may hold something else
    chunks = []
    for start in range(0, source.n_samples, n_rows):
        stop = min(start + n_rows, source.n_samples)
        part = delayed(load_range, pure=False)(path, dataset, start, stop, dask_key_name=f"{key}-{start}")
        chunks.append(arrays.from_delayed(part, (stop - start, source.n_features), source.dtype))
    return arrays.concatenate(chunks) if chunks else arrays.empty((0, source.n_features))


def load_range(path: Path, dataset: str | None, start: int, stop: int) -> Array:
    source = _source(path, dataset=dataset)
    assert isinstance(source, RangeSource)
    return source.span(start, stop)
