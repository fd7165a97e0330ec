"""Tables of readings as files: CSV (plain, gzip, zstd), Parquet, Arrow and NumPy, standard input and output.

One row per moment, one column per sensor, NaN where there is a gap. `read_table` gives the whole table; `opened` gives
it piece by piece.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from hrpursuit.files import check_writable, named_if_full, replaced_when_done
from hrpursuit.rows.optional import needed
from hrpursuit.tables.arrow_files import ARROW, ArrowTable, ArrowWriter
from hrpursuit.tables.arrow_frames import as_frame
from hrpursuit.tables.csv_reader import CSVTable
from hrpursuit.tables.csv_writer import CSVWriter
from hrpursuit.tables.long_format import LongTable
from hrpursuit.tables.numpy_files import NumPyTable, NumPyWriter
from hrpursuit.tables.reading import Reading

DASH = "-"  # standard input or output
SUFFIXES = (".csv", ".csv.gz", ".csv.zst", ".parquet", *ARROW, ".npy")


class TableFile(Protocol):
    """A table in a file."""

    name: str
    n_rows: int | None  # None: not known before all is read
    n_bytes: int  # of the file
    memory: int  # bytes that the whole table takes, roughly

    def read(self) -> Any:
        """The whole table: a DataFrame, or an array where there are no names."""

    def pieces(self) -> Iterator[Any]:
        """The table in pieces of some rows, in order."""


def read_table(path: str | Path, **options: Any) -> Any:
    """Read a table of readings.

    Parameters
    ----------
    path : path-like
        A name that ends in `.csv`, `.csv.gz`, `.csv.zst`, `.parquet`, `.arrow`, `.feather`, `.ipc` or `.npy`; `-` is
        standard input, read as CSV.
    quantity : str or None, default=None
        Take the columns whose name ends in this, as in `171_pm25`. None takes all, but of the Airly layout (a number
        and a quantity in every name) pm25, with a warning that says so.
    index : str or bool, default=True
        Name of the column that is the index; True finds out whether the first is, False: none is.
    header : {"auto", "yes", "no"}, default="auto"
        Whether the first line of a CSV file is names; "auto": unless it is all numbers and time stamps.
    drop, texts : tuple of str, default=()
        Names or patterns of columns that are left out, and of columns of a CSV file that are texts even if they look
        like numbers.
    comment : str, default=""
        Lines of a CSV file that begin with this are left out.
    thousands : str, default=""
        Mark between thousands in the numbers of a CSV file. If it is a comma or a point, the other one is the decimal
        point.
    long : tuple of three str, default=None
        The columns time, sensor and value of a table with one reading per row, which is made wide.
    keep_text : bool, default=False
        Keep of a CSV file also cells whose text is not what their number gives: `1.50` among `1.25` and `1.5`.

    Returns
    -------
    table : DataFrame or array
        An array where there are no names and no index. `attrs["csv"]` of a DataFrame keeps what `write_table` needs to
        write the text as it was, `attrs["arrow"]` types that pandas has no name for.
    """
    with opened(path, **options) as table:
        return table.read()


@contextmanager
def opened(path: str | Path, **options: Any) -> Iterator[TableFile]:
    """Open a table to be read in pieces; the parameters are those of `read_table`."""
    reading = Reading(**options)
    with as_file(path) as file:
        name = "standard input" if str(path) == DASH else str(path)
        suffix = ".csv" if str(path) == DASH else checked_suffix(Path(path))
        if not file.exists():
            raise FileNotFoundError(f"{name} does not exist.")
        if file.is_dir():
            raise IsADirectoryError(f"{name} is a folder; give one file.")
        yield _open(file, name, suffix, reading)


def _open(file: Path, name: str, suffix: str, reading: Reading) -> TableFile:
    if suffix == ".npy":
        if reading != Reading(index=reading.index, keep_text=reading.keep_text) or isinstance(reading.index, str):
            raise ValueError(f"{name} has no column names: no quantity and no index can be chosen, and none left out.")
        return NumPyTable(file, name=name)
    if not suffix.startswith(".csv") and (reading.comment or reading.thousands or reading.texts):
        raise ValueError(f"{name} is no text: --comment, --thousands and --text-column are for CSV files.")
    if reading.long is not None:
        if reading.index is not True or reading.quantity is not None:
            raise ValueError("the index of a long table is its time: leave out --index-column, --no-index, --quantity.")
        time = replace(reading, index=reading.long[0], long=None, keep_text=False)
        return LongTable(_open(file, name, suffix, time), reading.long)
    if suffix.startswith(".csv"):
        return CSVTable(file, name=name, reading=reading)
    return ArrowTable(file, name=name, reading=reading, suffix=suffix)


@contextmanager
def as_file(path: str | Path) -> Iterator[Path]:
    """The path itself; what comes from standard input goes into a temporary file first."""
    if str(path) != DASH:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="hrpursuit-") as folder:
        file = Path(folder) / "input"
        with named_if_full(file, file), file.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)
        yield file


@contextmanager
def output_file(path: str | Path) -> Iterator[Path]:
    """A temporary path to write to: it becomes `path`, or goes to standard output, when all has gone well."""
    if str(path) != DASH:
        with replaced_when_done(path) as temporary:
            yield temporary
        return
    with tempfile.TemporaryDirectory(prefix="hrpursuit-") as folder:
        file = Path(folder) / "output"
        with named_if_full("standard output", file):
            yield file
        try:
            with named_if_full("standard output"), file.open("rb") as written:
                shutil.copyfileobj(written, sys.stdout.buffer, 1 << 20)
                sys.stdout.buffer.flush()
        except BrokenPipeError:  # the reader has all that it wants; what is left in the buffer goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(path: str | Path, *inputs: str | Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Refuse, before the work, a name of another kind, a place that cannot be written, or an input."""
    if str(path) != DASH:
        checked_suffix(Path(path), suffixes)
        check_writable(path, *(one for one in inputs if str(one) != DASH))


def write_table(
    path: str | Path, tables: Any, *, names: list[str] | None = None, attrs: dict[str, Any] | None = None
) -> int:
    """Write a table, or the pieces of one, to a file that appears whole or not at all.

    Parameters
    ----------
    path : path-like
        A name as for `read_table`; `-` is standard output, written as CSV.
    tables : DataFrame, table of Arrow or polars, array, or iterable of these
        Pieces must have the same columns.
    names : list of str or None, default=None
        Names of the columns; None takes those of the first piece. An array has none.
    attrs : dict or None, default=None
        Attributes of the table; None takes those of the first piece. `attrs["csv"]` is the form of the text.

    Returns
    -------
    n_rows : int
    """
    suffix = ".csv" if str(path) == DASH else checked_suffix(Path(path))
    with output_file(path) as temporary, temporary.open("wb") as file:
        return write_pieces(file, tables, suffix, names=names, attrs=attrs)


def write_pieces(
    file: Any, tables: Any, suffix: str, *, names: list[str] | None = None, attrs: dict[str, Any] | None = None
) -> int:
    """The same to an open file, in the form of a suffix."""
    packing = {".csv.gz": "gzip", ".csv.zst": "zstd"}.get(suffix)
    sink = file if packing is None else needed("pyarrow", "Packed files", "files").output_stream(file, packing)
    writer: Any = None
    n_rows = 0
    for piece in map(as_frame, iter([tables] if hasattr(tables, "shape") else tables)):
        if writer is None:
            is_frame = hasattr(piece, "iloc")
            names = [str(name) for name in piece.columns] if names is None and is_frame else names
            attrs = dict(piece.attrs) if attrs is None and is_frame else attrs or {}
            writer = _writer(sink, suffix, names, attrs, piece.shape[1])
        writer.write(piece)
        n_rows += len(piece)
    if hasattr(writer, "close"):
        writer.close()
    if packing is not None:
        sink.close()
    return n_rows


def _writer(file: Any, suffix: str, names: list[str] | None, attrs: dict[str, Any], n_columns: int) -> Any:
    if suffix.startswith(".csv"):
        return CSVWriter(file, names, attrs, n_columns)
    if suffix == ".npy":
        return NumPyWriter(file, names, attrs, n_columns)
    return ArrowWriter(file, names, attrs, n_columns, suffix)


def checked_suffix(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    """How a name ends, in small letters; ValueError if it is none of those there are."""
    found = next((suffix for suffix in suffixes if path.name.lower().endswith(suffix)), None)
    if found is None:
        expected = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if len(suffixes) > 1 else suffixes[0]
        raise ValueError(f"{path}: expected a name that ends in {expected}; got {path.suffix.lower() or 'none'!r}.")
    return found
