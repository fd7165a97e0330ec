"""Parquet: a file, or a folder of files that make up one table."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hrpursuit.core.protocols import Array
from hrpursuit.rows.columns import arrow_float_type, arrow_to_array, choose_columns
from hrpursuit.rows.optional import needed
from hrpursuit.rows.source import Opener, Source, file_opener, is_path, repacked

_BATCH = 1 << 14  # rows decoded at once: its columns stay in cache while they are put side by side
UNNAMED = "__index_level_"  # how pandas names an index that has no name


def open_parquet(path: Path) -> Any:
    """One file, to be read in batches; what Arrow raises at a bad one is left to the caller."""
    return needed("pyarrow.parquet", "Parquet files", "files").ParquetFile(path, pre_buffer=False)


class ParquetSource(Source):
    """The columns of one or several Parquet files, read batch by batch.

    A row group is decoded as a whole by some writers' layouts, so files with row groups of up to a million rows suit
    best.
    """

    def __init__(self, path: Path, columns: Sequence[str] | None = None) -> None:
        self._parquet = needed("pyarrow.parquet", "Parquet files", "files")
        self._arrow = needed("pyarrow", "Parquet files", "files")
        self.name = str(path)
        found = sorted(p for p in path.rglob("*.parquet") if p.is_file()) if path.is_dir() else [path]
        self.files = [p for p in found if not p.name.startswith((".", "_"))]
        if not self.files:
            raise ValueError(f"{path} is empty: the folder holds no .parquet file.")
        first = self._schema(self.files[0])
        names = [column for column in first.names if not column.startswith(UNNAMED)]
        self.columns = choose_columns(names, columns, self.name)
        self.feature_names = self.columns
        self.n_features = len(self.columns)
        self.n_samples = 0
        for file in self.files:
            schema = self._schema(file)
            absent = [column for column in self.columns if column not in schema.names]
            if absent or (not columns and len(schema.names) != len(first.names)):
                raise ValueError(
                    f"{file} has the columns {', '.join(schema.names[:10])} where {self.files[0].name} has "
                    f"{', '.join(first.names[:10])} ({len(schema.names)} and {len(first.names)} in all); the files of "
                    "a folder must have the same columns."
                )
            chosen = self._arrow.schema([schema.field(column) for column in self.columns])
            dtype = arrow_float_type(chosen, str(file))
            self.dtype = dtype if file == self.files[0] else max(self.dtype, dtype, key=lambda kind: kind.itemsize)
            self.n_samples += self._metadata(file).num_rows

    def _schema(self, file: Path) -> Any:
        return self._guarded(file, self._parquet.read_schema)

    def _metadata(self, file: Path) -> Any:
        return self._guarded(file, self._parquet.read_metadata)

    def _guarded(self, file: Path, read: Any) -> Any:
        try:
            return read(file)
        except (self._arrow.ArrowException, OSError) as error:
            raise ValueError(
                f"{file} cannot be read: it is damaged, cut short or not a Parquet file ({error})."
            ) from error

    def pieces(self, n_rows: int) -> Iterator[Array]:
        return repacked(self._batches(n_rows), n_rows, self.n_features, self.dtype)

    def _batches(self, n_rows: int) -> Iterator[Array]:
        for path in self.files:
            with open_parquet(path) as file:
                for batch in file.iter_batches(min(n_rows, _BATCH), columns=self.columns, use_threads=False):
                    yield arrow_to_array(batch.select(self.columns), self.dtype)


OPENERS = (
    file_opener(ParquetSource, ".parquet"),
    Opener(lambda data: is_path(data) and Path(data).suffix != ".zarr" and Path(data).is_dir(), ParquetSource),
)
