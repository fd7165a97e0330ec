"""polars DataFrames, and LazyFrames: queries that are run again in every pass, in batches."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.columns import check_numbers, choose_columns
from hrpursuit.rows.optional import is_a
from hrpursuit.rows.source import Opener, Source, repacked

_BATCH = 1 << 14  # rows collected at once


def _numbers(frame: Any, columns: Sequence[str] | None, name: str) -> tuple[Any, list[str], np.dtype[Any]]:
    """A query for the columns to use as floats, their names and their type."""
    pl = import_module("polars")
    schema = frame.lazy().collect_schema()
    names = choose_columns(schema.names(), columns, name)
    chosen = {column: schema[column] for column in names}
    check_numbers(chosen, name, lambda kind: kind.is_numeric() or kind in (pl.Boolean, pl.Null))
    single = bool(chosen) and all(kind == pl.Float32 for kind in chosen.values())
    query = frame.lazy().select(pl.col(names).cast(pl.Float32 if single else pl.Float64))
    return query, names, np.dtype(np.float32 if single else np.float64)


def frame_to_array(frame: Any, columns: Sequence[str] | None, name: str) -> tuple[Array, list[str]]:
    """The columns to use side by side, and their names; missing values become NaN."""
    query, names, _ = _numbers(frame, columns, name)
    return np.ascontiguousarray(query.collect().to_numpy()), names


class LazySource(Source):
    """The rows that a query gives, which must come in the same order every time: sort, or keep the order of groups."""

    name = "the LazyFrame"
    n_samples = None

    def __init__(self, frame: Any, columns: Sequence[str] | None = None) -> None:
        if not hasattr(frame, "collect_batches"):
            raise ImportError(
                f"LazyFrames need a polars that can collect in batches, and {import_module('polars').__version__} "
                "cannot: install a newer one, or write the query with sink_parquet and give the file."
            )
        self._query, self.feature_names, self.dtype = _numbers(frame, columns, self.name)
        self.n_features = len(self.feature_names)

    def pieces(self, n_rows: int) -> Iterator[Array]:
        return repacked(self._batches(), n_rows, self.n_features, self.dtype)

    def _batches(self) -> Iterator[Array]:
        for batch in self._query.collect_batches(chunk_size=_BATCH, maintain_order=True, lazy=True):
            yield batch.to_numpy()


OPENER = Opener(lambda data: is_a(data, "polars", "LazyFrame"), LazySource)
