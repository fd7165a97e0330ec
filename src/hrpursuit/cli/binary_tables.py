"""Tables of readings in Parquet and NumPy files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.cli.layout import AIRLY_TIME, chosen_columns, looks_like_counter
from hrpursuit.rows.optional import needed
from hrpursuit.rows.raw import open_npy
from hrpursuit.rows.source import DataError

_BATCH = 1 << 14  # rows that are read at once
_UNNAMED = "__index_level_"  # how pandas names an index that has no name


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


class ParquetTable:
    """A Parquet file with numeric columns; the index is that of pandas, or the first column if it is time."""

    def __init__(self, path: Path, *, name: str, quantity: str | None, index: str | bool) -> None:
        parquet, self._arrow = needed("pyarrow.parquet", "Parquet files", "files"), needed("pyarrow", "Tables", "files")
        self._pandas = needed("pandas", "Tables with names", "cli")
        self.name = name
        try:
            self._file = parquet.ParquetFile(path)
        except (self._arrow.ArrowException, OSError) as error:
            raise DataError(f"{name} cannot be read: it is damaged, cut short or not Parquet ({error}).") from error
        schema = self._file.schema_arrow
        levels = (schema.pandas_metadata or {}).get("index_columns", [])
        stored = [level for level in levels if isinstance(level, str)]
        columns = [column for column in schema.names if column not in stored]
        self.fields = [column for column in schema.names if not column.startswith(_UNNAMED)]
        self.index = self._find_index(schema, columns, stored, index)
        others = [column for column in columns if column != self.index]
        self.columns = chosen_columns(self.index, others, quantity, name)
        for column in self.columns:
            kind = schema.field(column).type
            types = self._arrow.types
            if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
                raise DataError(f"{name}: column {column!r} holds {kind}, not numbers; leave it out.")
        n_rows: int = self._file.metadata.num_rows
        self.n_rows: int | None = n_rows
        self.n_bytes = path.stat().st_size
        self.memory = n_rows * len(self.columns) * 8
        self._with_gaps = self._columns_with_gaps()

    def _find_index(self, schema: Any, columns: list[str], stored: list[str], asked: str | bool) -> str | None:
        if isinstance(asked, str):
            if asked not in schema.names:
                raise DataError(f"{self.name} has no column {asked!r}; it has {', '.join(schema.names[:10])}.")
            return asked
        if len(stored) > 1:
            raise DataError(f"{self.name} has an index of {len(stored)} levels; one is possible.")
        if not asked or stored or not columns:
            return stored[0] if asked and stored else None
        first, types = AIRLY_TIME if AIRLY_TIME in columns else columns[0], self._arrow.types
        kind = schema.field(first).type
        is_counter = types.is_integer(kind) and looks_like_counter(first)
        return first if types.is_timestamp(kind) or types.is_date(kind) or is_counter else None

    def _columns_with_gaps(self) -> set[str]:
        """Whole numbers have no NaN: columns of them that have gaps anywhere become floats everywhere."""
        found, metadata = set(), self._file.metadata
        places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
        for column in self.columns:
            for group in range(metadata.num_row_groups):
                statistics = metadata.row_group(group).column(places[column]).statistics
                if statistics is None or not statistics.has_null_count or statistics.null_count:
                    found.add(column)
        return found

    def read(self) -> Any:
        """The whole table."""
        pieces = list(self.pieces())
        table = pieces[0] if len(pieces) == 1 else self._pandas.concat(pieces)
        table.attrs = pieces[0].attrs
        return table

    def pieces(self) -> Iterator[Any]:
        n_before, pandas = 0, self._pandas
        wanted = [*self.columns, *([self.index] if self.index is not None else [])]
        metadata = self._file.schema_arrow.pandas_metadata or {}
        for batch in self._batches(wanted):
            arrays = {}
            for column in self.columns:
                values = batch.column(column)
                is_gappy = column in self._with_gaps and not self._arrow.types.is_floating(values.type)
                arrays[column] = (values.cast(self._arrow.float64()) if is_gappy else values).to_numpy(
                    zero_copy_only=False
                )
            table = pandas.DataFrame(arrays)
            if self.index is None:
                table.index = pandas.RangeIndex(n_before, n_before + len(table))
            else:
                labels = batch.column(self.index)
                if self._arrow.types.is_date(labels.type):
                    labels = labels.cast(self._arrow.timestamp("s"))
                labels = pandas.Index(labels.to_pandas())
                table.index = labels.rename(None if self.index.startswith(_UNNAMED) else self.index)
            table.attrs = dict(metadata.get("attributes", {}))
            n_before += batch.num_rows
            yield table

    def _batches(self, columns: list[str]) -> Iterable[Any]:
        empty = self._arrow.RecordBatch.from_pylist([], self._file.schema_arrow) if self.n_rows == 0 else None
        try:
            yield from [empty] if empty is not None else self._file.iter_batches(_BATCH, columns=columns)
        except (self._arrow.ArrowException, OSError) as error:
            raise DataError(f"{self.name} cannot be read: it is damaged or cut short ({error}).") from error


class ParquetWriter:
    def __init__(self, file: Any, names: list[str] | None, attrs: dict[str, Any], n_columns: int) -> None:
        self._arrow = needed("pyarrow", "Parquet files", "files")
        self._parquet, self._pandas = (
            needed("pyarrow.parquet", "Parquet files", "files"),
            needed("pandas", "Tables with names", "cli"),
        )
        self._file, self._names, self._attrs = file, names, attrs
        self._writer: Any = None

    def write(self, table: Any) -> None:
        frame = table if hasattr(table, "iloc") else self._pandas.DataFrame(np.asarray(table))
        frame = frame.set_axis(self._names or [str(i) for i in range(frame.shape[1])], axis=1)
        frame.attrs = self._attrs
        counts = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
        batch = self._arrow.Table.from_pandas(frame, preserve_index=not counts)
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._file, batch.schema)
        self._writer.write_table(batch.cast(self._writer.schema))

    def close(self) -> None:
        self._writer.close()


class NumPyWriter:
    """The numbers alone; the header is written again at the end, when the number of rows is known."""

    def __init__(self, file: Any, names: list[str] | None, attrs: dict[str, Any], n_columns: int) -> None:
        self._file, self._n_rows, self._n_columns = file, 0, n_columns

    def write(self, table: Any) -> None:
        block = np.ascontiguousarray(table.to_numpy() if hasattr(table, "iloc") else table)
        if self._n_rows == 0:
            self._dtype = block.dtype
            self._write_header()
        self._file.write(block.astype(self._dtype, copy=False).data)
        self._n_rows += len(block)

    def _write_header(self) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(self._file, header | {"shape": (self._n_rows, self._n_columns)})

    def close(self) -> None:
        self._file.seek(0)
        self._write_header()
