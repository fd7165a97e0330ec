"""Tables of readings in Parquet and Arrow files (IPC, feather)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hrpursuit.rows.optional import needed
from hrpursuit.rows.parquet import UNNAMED, open_parquet
from hrpursuit.rows.source import DataError
from hrpursuit.tables.arrow_frames import ATTRIBUTE, from_frame, kept_types, to_frame
from hrpursuit.tables.choosing import AIRLY_TIME, chosen_columns, looks_like_counter, without
from hrpursuit.tables.reading import Reading

BATCH = 1 << 14  # rows that are read at once
ARROW = (".arrow", ".feather", ".ipc")


class ArrowTable:
    """A Parquet or Arrow file; the index is that of pandas, or the first column if it is time."""

    def __init__(self, path: Path, *, name: str, reading: Reading, suffix: str) -> None:
        self._arrow = needed("pyarrow", "Tables", "files")
        self._pandas = needed("pandas", "Tables with names", "cli")
        self.name, self._path, self._suffix = name, path, suffix
        try:
            self._file: Any = open_parquet(path) if suffix == ".parquet" else _ArrowFile(self._arrow, path)
        except (self._arrow.ArrowException, OSError) as error:
            kind = "Parquet" if suffix == ".parquet" else "an Arrow file"
            raise DataError(f"{name} cannot be read: it is damaged, cut short or not {kind} ({error}).") from error
        self._schema = schema = self._file.schema_arrow
        metadata = schema.pandas_metadata or {}
        levels = metadata.get("index_columns", [])
        stored = [level for level in levels if isinstance(level, str)]
        repeated = next((column for column in schema.names if schema.names.count(column) > 1), None)
        if repeated is not None:
            raise DataError(f"{name} has several columns named {repeated!r}; each needs a name of its own.")
        columns = [column for column in schema.names if column not in stored]
        self.fields = [column for column in schema.names if not column.startswith(UNNAMED)]
        self.index = self._find_index(columns, stored, reading.index)
        others = without([column for column in columns if column != self.index], reading.drop, name)
        self.columns = chosen_columns(self.index, others, reading.quantity, name)
        n_rows: int = self._file.metadata.num_rows
        self.n_rows: int | None = n_rows
        self.n_bytes = path.stat().st_size
        self.memory = n_rows * len(self.columns) * 8
        #: What pandas wrote from floats has nulls for NaN.
        self._floats = {
            str(column.get("field_name"))
            for column in metadata.get("columns", [])
            if column.get("numpy_type") in ("float32", "float64")
        }
        self._floats &= {field.name for field in schema if self._arrow.types.is_floating(field.type)}
        attributes = metadata.get("attributes")
        self._attrs = dict(attributes) if isinstance(attributes, dict) else {}
        self._stored_index = bool(stored) and self.index in stored

    def _find_index(self, columns: list[str], stored: list[str], asked: str | bool) -> str | None:
        schema, types = self._schema, self._arrow.types
        if isinstance(asked, str):
            if asked not in schema.names:
                raise DataError(f"{self.name} has no column {asked!r}; it has {', '.join(schema.names[:10])}.")
            return asked
        if len(stored) > 1:
            raise DataError(f"{self.name} has an index of {len(stored)} levels; one is possible.")
        if not asked or stored or not columns:
            return stored[0] if asked and stored else None
        first = AIRLY_TIME if AIRLY_TIME in columns else columns[0]
        kind = schema.field(first).type
        is_counter = types.is_integer(kind) and looks_like_counter(first)
        return first if types.is_timestamp(kind) or types.is_date(kind) or is_counter else None

    def read(self) -> Any:
        """The whole table."""
        whole = self._arrow.Table.from_batches(self._batches(), self._wanted_schema)
        return self._frame(whole, 0, None)

    def pieces(self) -> Iterator[Any]:
        n_before, gaps, known = 0, self._columns_with_gaps(), self._dictionaries()
        for batch in self._batches():
            table = self._arrow.Table.from_batches([batch])
            for column, dictionary in known.items():
                place, kind = table.schema.get_field_index(column), table.schema.field(column).type
                texts = table.column(column).cast(kind.value_type)
                codes = self._compute.index_in(texts, value_set=dictionary)
                codes = codes.combine_chunks().cast(self._arrow.int32())
                coded = self._arrow.DictionaryArray.from_arrays(codes, dictionary, ordered=kind.ordered)
                table = table.set_column(place, column, coded.cast(kind))
            yield self._frame(table, n_before, gaps)
            n_before += batch.num_rows

    @property
    def _compute(self) -> Any:
        return needed("pyarrow.compute", "Tables", "files")

    @property
    def _wanted(self) -> list[str]:
        return [*([self.index] if self.index is not None else []), *self.columns]

    @property
    def _wanted_schema(self) -> Any:
        return self._arrow.schema([self._schema.field(column) for column in self._wanted])

    def _frame(self, table: Any, n_before: int, gaps: set[str] | None) -> Any:
        frame = to_frame(table, self.name, None if self.index is None else 0, gaps, self._floats)
        if self.index is None:
            frame.index = self._pandas.RangeIndex(n_before, n_before + len(frame))
        else:
            if frame.index.hasnans and not hasattr(frame.index, "tz"):
                raise DataError(f"{self.name}: the index {self.index!r} has gaps; fill them, or give --no-index.")
            frame.index = frame.index.rename(None if self.index.startswith(UNNAMED) else self.index)
        kept = dict(frame.attrs.get(ATTRIBUTE, {}))
        if self._stored_index:
            kept.pop("index", None)
        elif self.index is not None:
            kept["index"] = self._schema.get_field_index(self.index)
        frame.attrs = {**self._attrs, **({ATTRIBUTE: kept} if kept else {})}
        return frame

    def _columns_with_gaps(self) -> set[str]:
        """Whole numbers and truth values have no NaN: those that have gaps anywhere are nullable everywhere."""
        found: set[str] = set()
        if self._suffix != ".parquet":
            for batch in self._batches():
                found |= {column for column in self._wanted if batch.column(column).null_count}
            return found
        metadata = self._file.metadata
        places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
        for column in self._wanted:
            for group in range(metadata.num_row_groups):
                statistics = metadata.row_group(group).column(places[column]).statistics
                if statistics is None or not statistics.has_null_count or statistics.null_count:
                    found.add(column)
        return found

    def _dictionaries(self) -> dict[str, Any]:
        """All categories of each column of them: every piece needs the same."""
        columns = [c for c in self.columns if self._arrow.types.is_dictionary(self._schema.field(c).type)]
        found: dict[str, Any] = {}
        for batch in self._batches() if columns else ():
            for column in columns:
                here = batch.column(column).dictionary
                if column not in found:
                    found[column] = here
                elif not found[column].equals(here):
                    found[column] = self._compute.unique(self._arrow.concat_arrays([found[column], here]))
        return found

    def _batches(self) -> Iterator[Any]:
        wanted = self._wanted
        try:
            empty = True
            for batch in self._file.iter_batches(BATCH, columns=wanted):
                empty = False
                yield batch.select(wanted)
            if empty:
                yield self._arrow.RecordBatch.from_pylist([], self._wanted_schema)
        except (self._arrow.ArrowException, OSError) as error:
            raise DataError(f"{self.name} cannot be read: it is damaged or cut short ({error}).") from error


class _ArrowFile:
    """An Arrow file with the few methods of a Parquet file that are used here."""

    def __init__(self, arrow: Any, path: Path) -> None:
        self._ipc = needed("pyarrow.ipc", "Arrow files", "files")
        self._source = arrow.memory_map(str(path))
        try:
            self._file: Any = self._ipc.open_file(self._source)
        except arrow.ArrowInvalid:  # the form for streams
            self._source.seek(0)
            table = self._ipc.open_stream(self._source).read_all()
            sink = arrow.BufferOutputStream()
            with self._ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            self._file = self._ipc.open_file(sink.getvalue())
        self.schema_arrow = self._file.schema
        self.metadata = self
        self.num_rows = sum(self._file.get_batch(i).num_rows for i in range(self._file.num_record_batches))

    def iter_batches(self, n_rows: int, columns: list[str]) -> Iterator[Any]:
        for i in range(self._file.num_record_batches):
            batch = self._file.get_batch(i).select(columns)
            for start in range(0, batch.num_rows, n_rows):
                yield batch.slice(start, n_rows)


class ArrowWriter:
    """Writes Parquet or Arrow; types that pandas has no name for are those that the table had."""

    def __init__(self, file: Any, names: list[str] | None, attrs: dict[str, Any], n_columns: int, suffix: str) -> None:
        self._arrow = needed("pyarrow", "Parquet and Arrow files", "files")
        self._pandas = needed("pandas", "Tables with names", "cli")
        self._file, self._names, self._attrs, self._suffix = file, names, attrs, suffix
        self._writer: Any = None

    def write(self, table: Any) -> None:
        frame = table if hasattr(table, "iloc") else self._pandas.DataFrame(table)
        frame = frame.set_axis(self._names or [str(i) for i in range(frame.shape[1])], axis=1)
        frame.attrs = self._attrs
        batch = self._as_arrow(frame)
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._writer.write_table(batch.cast(self._writer.schema if self._suffix == ".parquet" else self._schema))

    def _as_arrow(self, frame: Any) -> Any:
        kept = kept_types(self._attrs)
        if kept.get("index") is not None and frame.index.name is not None:
            return from_frame(frame)  # the index was a column
        frame = frame.copy(deep=False)
        frame.attrs = {name: value for name, value in self._attrs.items() if name != ATTRIBUTE}
        counts = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
        table = self._arrow.Table.from_pandas(frame, preserve_index=not counts)
        frame.attrs = self._attrs
        typed = from_frame(frame)
        for column in typed.schema.names:
            place = table.schema.get_field_index(column)
            table = table.set_column(place, column, typed.column(column))
        return table

    def _open(self, schema: Any) -> Any:
        self._schema = schema
        if self._suffix == ".parquet":
            return needed("pyarrow.parquet", "Parquet files", "files").ParquetWriter(self._file, schema)
        return needed("pyarrow.ipc", "Arrow files", "files").new_file(self._file, schema)

    def close(self) -> None:
        self._writer.close()
