"""What the commands that read a file share."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from hrpursuit import HRP, MiniBatchHRP, baselines
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.estimators.base import DictionaryEstimator
from hrpursuit.rows import ArrayRows, Source, StreamedRows, open_rows
from hrpursuit.rows.csv import SUFFIXES as CSV
from hrpursuit.rows.csv import Header
from hrpursuit.rows.on_cluster import open_on_cluster
from hrpursuit.rows.optional import needed
from hrpursuit.rows.source import DataError, repacked
from hrpursuit.tables.arrow_files import ARROW, ArrowTable
from hrpursuit.tables.csv_reader import CSVTable
from hrpursuit.tables.files import TableFile, opened
from hrpursuit.tables.reading import Reading

_COPIES = 10  # of the table that a fit with gaps holds at the most: filled, codes, residual and what they need
KINDS = ".npy, .csv, .parquet, .h5, .hdf5 or .zarr"
_TEXT_OPTIONS = ("comment", "thousands", "long")  # which only the reader of tables knows


def model_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The fitted model that a command uses."""
    return click.option("-m", "--model", "model_path", type=click.Path(path_type=Path), required=True,
                        help="Model from `hrpursuit fit`, or saved by an estimator.")(command)  # fmt: skip


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how a file is to be read."""
    header = click.option(
        "--header",
        type=click.Choice(["auto", "yes", "no"]),
        default="auto",
        show_default=True,
        help="Whether the first line of a CSV file is names; auto: unless it is all numbers.",
    )
    dataset = click.option("--dataset", help="Which array of an HDF5 file or Zarr group; not needed if it has one.")
    return header(dataset(command))


class _Readings(Source):
    """The numbers of a table as `hrpursuit.tables` reads it."""

    n_samples = None
    dtype = np.dtype(np.float64)

    def __init__(self, table: TableFile, columns: list[str], has_names: bool) -> None:
        self._table, self.name, self.n_features = table, table.name, len(columns)
        self.feature_names = columns if has_names else None

    def pieces(self, n_rows: int) -> Iterator[Array]:
        numbers = (_numbers(piece, self.name) for piece in self._table.pieces())
        return repacked(numbers, n_rows, self.n_features, self.dtype)


def _numbers(piece: Any, name: str) -> Array:
    if not hasattr(piece, "iloc"):
        return np.asarray(piece)
    try:
        return piece.to_numpy(np.float64, na_value=np.nan)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name}: a column holds no numbers; leave it out with --drop-column ({error}).") from error


def open_samples(
    data: Path,
    *,
    reading: dict[str, Any],
    columns: str = "",
    header: Header = "auto",
    dataset: str | None = None,
    on_cluster: bool = False,
) -> tuple[Rows, str | None]:
    """Rows of a file, to be read in blocks, without its index; and the name of the index, empty where it has none.

    The index, and the quantity of the Airly layout, are recognised as `hrpursuit compress` does, unless `columns` are
    named. `reading` has the other options of that command.
    """
    read = open_on_cluster if on_cluster else open_rows
    chosen = [name.strip() for name in columns.split(",") if name.strip()]
    if chosen and any(reading[name] for name in ("quantity", "drop", "long", *_TEXT_OPTIONS)):
        raise click.UsageError(
            "--columns names all that is read: leave out --quantity, --drop-column, --long, --comment and --thousands."
        )
    if chosen and reading["index"] is not True:
        raise click.UsageError("--columns names all that is read: leave out --quantity, --index-column and --no-index.")
    if any(reading[name] for name in _TEXT_OPTIONS):
        if on_cluster:
            raise ValueError("a cluster reads files as they are: --comment, --thousands and --long are not for it.")
        return _as_table(data, {**reading, "header": header})
    table = None if chosen else _table(data, Reading(**reading, header=header))
    is_asked = reading["quantity"] is not None or reading["drop"] or isinstance(reading["index"], str)
    if table is None and not chosen and is_asked:
        raise ValueError(f"{data} has no column names: no quantity and no index can be chosen, and none left out.")
    if table is None:
        return read(data, columns=chosen, dataset=dataset, header=header), None
    features = table.fields
    if isinstance(table, CSVTable) and table.layout.counts_rows:
        features = features[1:]  # left out by those who read the file, with a warning
    left_out = table.index if table.index in features else None
    if left_out is not None:
        what = f"column {left_out!r}" if left_out else "first column"
        warnings.warn(f"{data}: the {what} is the index, not a feature; --no-index would keep it.", stacklevel=2)
    if table.columns == features:
        return read(data, dataset=dataset, header=header), None
    if isinstance(table, CSVTable) and (table.layout.is_bare or set(table.columns) > set(features)):
        if on_cluster:
            raise ValueError(f"{data} has an index and no column names; a cluster needs names to leave it out.")
        return StreamedRows(_Readings(table, table.columns, False)), left_out
    return read(data, columns=table.columns, dataset=dataset, header=header), left_out


def is_plain(reading: dict[str, Any]) -> bool:
    """Whether nothing is asked for."""
    return Reading(**reading) == Reading()


def _as_table(data: Path, options: dict[str, Any]) -> tuple[Rows, str | None]:
    with opened(data, **options) as table:
        if isinstance(table, CSVTable):
            return StreamedRows(_Readings(table, table.columns, table.layout.has_names)), table.index
        columns = [str(name) for name in table.read()]
        return StreamedRows(_Readings(table, columns, True)), options["long"][0]


def _table(data: Path, reading: Reading) -> CSVTable | ArrowTable | None:
    """What the columns of a table are; of a folder of Parquet files those of the first."""
    if data.name.lower().endswith(CSV) and data.is_file():
        return CSVTable(data, name=str(data), reading=reading)
    if data.suffix.lower() in ARROW and data.is_file():
        return ArrowTable(data, name=str(data), reading=reading, suffix=data.suffix.lower())
    files = sorted(data.rglob("*.parquet")) if data.is_dir() else [data] if data.suffix.lower() == ".parquet" else []
    first = next((file for file in files if file.is_file() and not file.name.startswith((".", "_"))), None)
    return None if first is None else ArrowTable(first, name=str(data), reading=reading, suffix=".parquet")


def load_any(path: Path) -> DictionaryEstimator:
    """A model of any estimator."""
    others = [MiniBatchHRP, *(getattr(baselines, name) for name in baselines.__all__)]
    try:
        return HRP.load(path)
    except ValueError as error:
        kind = next((kind for kind in others if f"holds a {kind.__name__}," in str(error)), None)
        if kind is None:
            raise
    return kind.load(path)


def memory_needed(rows: Rows) -> tuple[int, int | None]:
    """Bytes that a fit of all rows in memory needs at most, and how many are free (None if the system does not say)."""
    if rows.n_samples is None:
        rows.n_samples = sum(len(block) for block in rows.blocks())
    needed = 8 * _COPIES * rows.n_samples * rows.n_features
    try:
        return needed, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return needed, None


def in_memory(rows: Rows) -> ArrayRows:
    """Rows of a file, read as a whole."""
    X = np.concatenate([block.copy() for block in rows.blocks()])
    return ArrayRows(X, feature_names=getattr(rows, "feature_names", None))


def loaded(rows: Rows) -> ArrayRows:
    """Rows of a file in memory, for a fit that keeps something for each of them; refused where they are too many."""
    needed, free = memory_needed(rows)
    if free is not None and needed > free:
        raise MemoryError(
            f"{rows} has gaps, and learning from gaps takes about {needed / 2**30:.1f} GiB of memory for it; "
            f"{free / 2**30:.1f} GiB are free. Fill the gaps, or take fewer rows."
        )
    return in_memory(rows)


def loaded_if_small(rows: Rows) -> Rows:
    """Rows of a file in memory where a fit of them fits there, so that its runs can share the cores."""
    needed, free = memory_needed(rows)
    return in_memory(rows) if free is not None and needed <= free else rows


@contextmanager
def connected(scheduler: str) -> Iterator[None]:
    """With a Dask cluster to compute on."""
    distributed = needed("distributed", "Clusters", "dask")
    try:
        client = distributed.Client(scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {scheduler} ({error}); expected an address like tcp://host:8786."
        ) from error
    with client:
        yield
