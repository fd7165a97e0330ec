"""Arrays in HDF5 and Zarr files."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.optional import is_a, needed
from hrpursuit.rows.source import Opener, RangeSource, check_shape, file_opener, float_type, repacked

_SLAB_BYTES = 16 << 20


class ChunkedSource(RangeSource):
    """An array that is stored in chunks, read in slabs of whole chunks, since a part of a chunk costs as much as all.

    Parameters
    ----------
    array : h5py.Dataset, zarr.Array or anything with shape, dtype, chunks and slices
        Read while the caller keeps it open; with `opened`, only looked at.
    name : str
    opened : callable or None, default=None
        Gives a context manager that opens the array anew, for each pass.
    """

    def __init__(self, array: Any, name: str, opened: Any = None) -> None:
        check_shape(array.shape, name)
        self.name = name
        self.n_samples, self.n_features = array.shape
        self.dtype = float_type(np.dtype(array.dtype), name)
        chunk_rows = array.chunks[0] if getattr(array, "chunks", None) else 1
        row_bytes = max(1, self.n_features * self.dtype.itemsize)
        self.slab = chunk_rows * max(1, _SLAB_BYTES // (row_bytes * max(1, chunk_rows)))
        self._opened = opened if opened is not None else (lambda: nullcontext(array))

    def pieces(self, n_rows: int) -> Iterator[Array]:
        return repacked(self._slabs(), n_rows, self.n_features, self.dtype)

    def span(self, start: int, stop: int) -> Array:
        with self._opened() as array:
            return np.asarray(array[start:stop], dtype=self.dtype)

    def _slabs(self) -> Iterator[Array]:
        assert self.n_samples is not None
        with self._opened() as array:
            reads_in_place = hasattr(array, "read_direct")
            buffer = np.empty((min(self.slab, self.n_samples), self.n_features), self.dtype)
            for start in range(0, self.n_samples, self.slab):
                stop = min(start + self.slab, self.n_samples)
                if reads_in_place:
                    array.read_direct(buffer, np.s_[start:stop], np.s_[: stop - start])
                    yield buffer[: stop - start]
                else:
                    yield array[start:stop]


def open_hdf5(path: Path, dataset: str | None = None) -> ChunkedSource:
    h5py = needed("h5py", "HDF5 files", "files")

    @contextmanager
    def opened() -> Iterator[Any]:
        with h5py.File(path, "r") as file:
            yield file[dataset]

    try:
        with h5py.File(path, "r") as file:
            found = []
            file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
            dataset = _choose(path, found, dataset)
            if not isinstance(file[dataset], h5py.Dataset):
                raise ValueError(f"{path}: {dataset!r} is a group, not a dataset; it has {', '.join(found[:20])}.")
            return ChunkedSource(file[dataset], f"{path}:{dataset}", opened)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: it is damaged, cut short or not an HDF5 file ({error}).") from error


def open_zarr(path: Path, dataset: str | None = None) -> ChunkedSource:
    zarr = needed("zarr", "Zarr files", "files")
    try:
        node = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr has many, by version
        raise ValueError(f"{path} cannot be read: it is damaged or not a Zarr array ({error}).") from error
    if isinstance(node, zarr.Array):
        if dataset is not None:
            raise ValueError(f"{path} is a single array; leave out the dataset {dataset!r}.")
        return ChunkedSource(node, str(path))
    arrays = dict(node.arrays())
    dataset = _choose(path, list(arrays), dataset)
    return ChunkedSource(arrays[dataset], f"{path}:{dataset}")


def _choose(path: Path, found: list[str], dataset: str | None) -> str:
    if dataset is None and len(found) == 1:
        return found[0]
    if not found:
        raise ValueError(f"{path} is empty: it holds no dataset.")
    if dataset is None:
        raise ValueError(
            f"{path} holds several datasets, {', '.join(found[:20])}; say which one (dataset=, --dataset)."
        )
    if dataset.strip("/") not in found:
        raise ValueError(f"{path} has no dataset {dataset!r}; it has {', '.join(found[:20])}.")
    return dataset.strip("/")


def open_array(array: Any) -> ChunkedSource:
    return ChunkedSource(array, f"the dataset {array.name or ''}".strip())


OPENERS = (
    file_opener(open_hdf5, ".h5", ".hdf5"),
    file_opener(open_zarr, ".zarr"),
    Opener(lambda data: is_a(data, "h5py", "Dataset") or is_a(data, "zarr", "Array"), open_array),
)
