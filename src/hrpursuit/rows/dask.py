"""Rows of a Dask array or DataFrame: every pass is one map over its chunks and a tree sum of small arrays."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.protocols import Array, Rows, Where
from hrpursuit.rows.array import ArrayRows, sample_indices
from hrpursuit.rows.columns import check_no_columns, frame_columns
from hrpursuit.rows.engines import ClusterEngine, Done, Engine, ThreadsEngine, current_client, key_of
from hrpursuit.rows.memory import without_mask
from hrpursuit.rows.source import BlockError, Opener, check_shape, float_type, no_rows
from hrpursuit.rows.survey import first_block, refusal, survey_block
from hrpursuit.rows.watch import pass_name, watched

_NAME = "the Dask collection"


class DaskRows(Rows):
    """The rows of a Dask collection, which stay where they are.

    With a distributed client the chunks are persisted, each on its worker, and each pass sends tasks to them; without
    one Dask's threads serve, and chunks are computed anew in every pass. Only sums of features x features arrays and
    the working sample come back.

    Parameters
    ----------
    collection : dask.array.Array or dask.dataframe.DataFrame
        An array whose columns are chunked is rechunked, with a warning.
    columns : sequence of str or None, default=None
        Columns of a DataFrame, by name; None uses all.
    name : str
        For messages.

    Attributes
    ----------
    n_passes : int
        Maps over all chunks, or over those that a sample needs.
    """

    def __init__(self, collection: Any, columns: Sequence[str] | None = None, name: str = _NAME) -> None:
        self.name = name
        if hasattr(collection, "to_dask_array"):
            collection = self._frame(collection, columns)
        else:
            check_no_columns(columns, _NAME)
            collection = self._array(collection)
        self.collection = collection
        self.n_samples: int | None = None if self._lengths is None else int(sum(self._lengths))
        self.n_passes = 0

    def _frame(self, frame: Any, columns: Sequence[str] | None) -> Any:
        if frame.ndim != 2:
            raise ValueError(f"{_NAME} must be two-dimensional, one sample per row; got a Series.")
        frame, self.feature_names, self.dtype = frame_columns(frame, columns, _NAME)
        self.n_features = len(frame.columns)
        self._lengths: list[int] | None = None
        return frame

    def _array(self, array: Any) -> Any:
        check_shape(array.shape, _NAME)
        self.n_features = array.shape[1]
        if np.isnan(self.n_features):
            raise ValueError(f"{_NAME} has an unknown number of columns; call compute_chunk_sizes() first.")
        self.dtype = float_type(array.dtype, _NAME)
        if array.numblocks[1] > 1:
            warnings.warn(
                f"{_NAME} has its {self.n_features} columns in {array.numblocks[1]} chunks; it is rechunked, since "
                "each task needs whole rows. Rechunk it before with x.rechunk({1: -1}) to choose how.",
                stacklevel=4,
            )
            array = array.rechunk({0: "auto", 1: -1})
        lengths = array.chunks[0]
        self._lengths = None if np.isnan(lengths).any() else [int(n) for n in lengths]
        return array

    @cached_property
    def _engine(self) -> Engine:
        """Made when the rows are first needed: a cluster loads them then."""
        client = current_client(self.collection)
        if client is None:
            return ThreadsEngine(np.ravel(self.collection.to_delayed()).tolist())
        return ClusterEngine(np.ravel(self.collection.to_delayed()).tolist(), client)

    @property
    def lengths(self) -> list[int]:
        """Rows of each chunk; counted if need be."""
        if self._lengths is None:
            self._lengths = [int(n) for n in self._each(_length, (), "count")]
            self.n_samples = sum(self._lengths)
        return self._lengths

    def blocks(self) -> Iterator[Array]:
        """Chunks one after the other, in blocks; the data is brought here, so that no solver uses this."""
        return self.map(_itself)

    def sum(self, kernel: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        self.n_passes += 1
        name = pass_name(kernel)
        with watched(self.watcher, name, self.n_samples) as advance:
            task = _Task(_sum_chunk, self.n_features, self.dtype)
            total = self._engine.total(task, (kernel, args), name, self._done(advance))
        if total is None:
            raise no_rows(_NAME)
        return total

    def map(self, kernel: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Kernels on blocks inside the tasks; the results of a few chunks at a time come back."""
        for parts in self._each(_map_chunk, (kernel, args), pass_name(kernel)):
            yield from parts

    def sample(self, n: int, seed: int, where: Where | None = None) -> Array:
        if where is None:
            lengths = self.lengths
        else:
            lengths = [int(found) for found in self._each(_count_where, (where,), "count")]
        edges = np.cumsum([0, *lengths])
        if where is None and edges[-1] == 0:
            raise no_rows(_NAME)
        chosen = sample_indices(int(edges[-1]), n, seed)
        if chosen is None:
            chosen = np.arange(edges[-1])
        local = [chosen[slice(*np.searchsorted(chosen, edges[i : i + 2]))] - edges[i] for i in range(len(lengths))]
        parts = self._each(_take, (where,), "sample", local)
        return np.concatenate([np.empty((0, self.n_features), self.dtype), *parts])

    def _each(self, function: Callable[..., Any], args: tuple[Any, ...], name: str, own: Any = None) -> Iterator[Any]:
        """Results of a task for each chunk, in order; `own` gives each an argument of its own, chunks with an empty one
        are left out.
        """
        self.n_passes += 1
        with watched(self.watcher, name, self.n_samples) as advance:
            task = _Task(function, self.n_features, self.dtype)
            yield from self._engine.each(task, args, name, own, self._done(advance))

    def _done(self, advance: Callable[[int], None]) -> Done | None:
        lengths = self._lengths
        if self.watcher is None:
            return None
        return lambda i: advance(0 if lengths is None else lengths[i])


def map_lazily(
    kernel: Callable[..., Array], args: tuple[Any, ...], rows: DaskRows, n_columns: int, gaps: bool = False
) -> Any:
    """The kernel on all chunks, as a Dask array of `n_columns` that is computed when it is asked for. `gaps` says that
    the kernel takes NaN.
    """
    array = rows.collection.to_dask_array() if hasattr(rows.collection, "to_dask_array") else rows.collection
    run = partial(_apply_kernel, kernel=kernel, args=args, dtype=rows.dtype, gaps=gaps)
    meta = np.empty((0, 0), rows.dtype)
    chunks = (array.chunks[0], (n_columns,))
    return array.map_blocks(run, dtype=rows.dtype, meta=meta, chunks=chunks, name=key_of(pass_name(kernel)))


def _apply_kernel(
    chunk: Array,
    kernel: Callable[..., Array],
    args: tuple[Any, ...],
    dtype: np.dtype[Any],
    gaps: bool,
    block_info: Any = None,
) -> Array:
    X = np.asarray(without_mask(chunk)).astype(dtype, copy=False)
    _, n_gaps, n_infinite, _ = survey_block(X)
    if n_infinite or (n_gaps and not gaps):
        _, row, column = first_block(X, bool(n_infinite))
        where = f"chunk {block_info[0]['chunk-location'][0] + 1} of {_NAME}" if block_info else f"a chunk of {_NAME}"
        raise refusal(where, n_infinite or n_gaps, int(row), int(column), None, infinite=bool(n_infinite))
    with one_blas_thread():
        return kernel(X, *args)


class _Task:
    """A function of a chunk, as an array of the right type, with one thread for its linear algebra."""

    def __init__(self, function: Callable[..., Any], n_features: int, dtype: np.dtype[Any]) -> None:
        self.function = function
        self.n_features = n_features
        self.dtype = dtype

    def __call__(self, i: int, chunk: Any, args: tuple[Any, ...], *own: Any) -> Any:
        X = np.asarray(without_mask(chunk))
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise BlockError(
                f"chunk {i + 1} of {_NAME} has the shape {X.shape}; it must have {self.n_features} columns."
            )
        try:
            X = X.astype(self.dtype, copy=False)
        except (TypeError, ValueError) as error:
            raise BlockError(f"chunk {i + 1} of {_NAME} must hold real numbers; got {X.dtype}.") from error
        with one_blas_thread():
            return self.function(X, *args, *own)


def _itself(X: Array) -> Array:
    return X


def _length(X: Array) -> int:
    return len(X)


def _sum_chunk(X: Array, kernel: Callable[..., tuple[Any, ...]], args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    return ArrayRows(X).sum(kernel, *args) if len(X) else None


def _map_chunk(X: Array, kernel: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    return list(ArrayRows(X).map(kernel, *args))


def _count_where(X: Array, where: Where) -> int:
    return sum(int(found.sum()) for found in ArrayRows(X).map(where))


def _take(X: Array, where: Where | None, chosen: Array) -> Array:
    if where is not None:
        X = X[np.concatenate(list(ArrayRows(X).map(where)))]
    return X[chosen]


def _is_dask(data: Any) -> bool:
    return "dask" in sys.modules and hasattr(data, "__dask_graph__") and hasattr(data, "ndim")


OPENER = Opener(_is_dask, DaskRows)
