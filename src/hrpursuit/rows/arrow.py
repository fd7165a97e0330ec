"""Tables of Arrow in memory, and its datasets: files of any kind that it reads, anywhere."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hrpursuit.core.protocols import Array
from hrpursuit.rows.columns import arrow_float_type, arrow_to_array, choose_columns
from hrpursuit.rows.optional import is_a, needed
from hrpursuit.rows.source import DataError, Opener, Source, file_opener, repacked

_BATCH = 1 << 14  # rows read at once


def is_table(data: Any) -> bool:
    return is_a(data, "pyarrow", "Table", "RecordBatch")


def table_to_array(table: Any, columns: Sequence[str] | None, name: str) -> tuple[Array, list[str]]:
    """The columns to use side by side, and their names."""
    names = choose_columns(table.schema.names, columns, name)
    table = table.select(names)
    return arrow_to_array(table, arrow_float_type(table.schema, name)), names


class DatasetSource(Source):
    """The rows of a `pyarrow.dataset.Dataset`, in its own order; two batches are read ahead."""

    name = "the Arrow dataset"
    n_samples = None

    def __init__(self, dataset: Any, columns: Sequence[str] | None = None) -> None:
        pa = needed("pyarrow", "Arrow datasets", "files")
        self.feature_names = choose_columns(dataset.schema.names, columns, self.name)
        self.n_features = len(self.feature_names)
        chosen = pa.schema([dataset.schema.field(column) for column in self.feature_names])
        self.dtype = arrow_float_type(chosen, self.name)
        self._dataset = dataset

    def pieces(self, n_rows: int) -> Iterator[Array]:
        return repacked(self._batches(), n_rows, self.n_features, self.dtype)

    def _batches(self) -> Iterator[Array]:
        options = {"batch_size": _BATCH, "batch_readahead": 2, "fragment_readahead": 1, "use_threads": False}
        for batch in self._dataset.to_batches(columns=self.feature_names, **options):
            yield arrow_to_array(batch, self.dtype)


class ArrowFileSource(DatasetSource):
    """The rows of an Arrow file (IPC, feather)."""

    def __init__(self, path: Path, columns: Sequence[str] | None = None) -> None:
        pa, datasets = (needed(name, "Arrow files", "files") for name in ("pyarrow", "pyarrow.dataset"))
        self.name = str(path)
        try:
            dataset = datasets.dataset(str(path), format="ipc")
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path} cannot be read: it is damaged, cut short or no Arrow file ({error}).") from error
        super().__init__(dataset, columns)


OPENER = Opener(lambda data: is_a(data, "pyarrow.dataset", "Dataset"), DatasetSource)
FILE_OPENER = file_opener(ArrowFileSource, ".arrow", ".feather", ".ipc")
