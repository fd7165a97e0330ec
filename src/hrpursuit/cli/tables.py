"""Tables of readings as the commands read and write them: CSV, Parquet and NumPy files, standard input and output.

One row a moment, one column a sensor, NaN where there is a gap. `read_table` gives the whole table; `opened` gives it
piece by piece.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from hrpursuit.cli.binary_tables import NumPyTable, NumPyWriter, ParquetTable, ParquetWriter
from hrpursuit.cli.csv_table import CSVTable
from hrpursuit.cli.csv_text import CSVWriter
from hrpursuit.files import check_writable, named_if_full, replaced_when_done
from hrpursuit.rows.csv import Header

DASH = "-"  # standard input or output
SUFFIXES = (".csv", ".parquet", ".npy")


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


def read_table(
    path: str | Path, *, quantity: str | None = None, index: str | bool = True, header: Header = "auto"
) -> Any:
    """Read a table of readings.

    Parameters
    ----------
    path : path-like
        A name that ends in `.csv`, `.parquet` or `.npy`; `-` is standard input, read as CSV.
    quantity : str or None, default=None
        Take the columns whose name ends in this, as in `171_pm25`. None takes all, but of the Airly layout (a number
        and a quantity in every name) pm25, with a warning that says so.
    index : str or bool, default=True
        Name of the column that is the index; True finds out whether the first is, False: none is.
    header : {"auto", "yes", "no"}, default="auto"
        Whether the first line of a CSV file is names; "auto": unless it is all numbers and time stamps.

    Returns
    -------
    table : DataFrame or array
        Numbers; an array where there are no names and no index. `attrs["csv"]` of a DataFrame keeps what
        `write_table` needs to write the text as it was.
    """
    with opened(path, quantity=quantity, index=index, header=header) as table:
        return table.read()


@contextmanager
def opened(
    path: str | Path, *, quantity: str | None = None, index: str | bool = True, header: Header = "auto"
) -> Iterator[TableFile]:
    """Open a table to be read in pieces; the parameters are those of `read_table`."""
    with as_file(path) as file:
        name = "standard input" if str(path) == DASH else str(path)
        suffix = ".csv" if str(path) == DASH else _checked_suffix(Path(path))
        if not file.exists():
            raise FileNotFoundError(f"{name} does not exist.")
        if file.is_dir():
            raise IsADirectoryError(f"{name} is a folder; give one file.")
        if suffix == ".csv":
            yield CSVTable(file, name=name, quantity=quantity, index=index, header=header)
        elif suffix == ".parquet":
            yield ParquetTable(file, name=name, quantity=quantity, index=index)
        else:
            if quantity is not None or isinstance(index, str):
                raise ValueError(f"{name} has no column names: no quantity and no index can be chosen.")
            yield NumPyTable(file, name=name)


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
        _checked_suffix(Path(path), suffixes)
        check_writable(path, *(one for one in inputs if str(one) != DASH))


def write_table(
    path: str | Path, tables: Any, *, names: list[str] | None = None, attrs: dict[str, Any] | None = None
) -> int:
    """Write a table, or the pieces of one, to a file that appears whole or not at all.

    Parameters
    ----------
    path : path-like
        A name that ends in `.csv`, `.parquet` or `.npy`; `-` is standard output, written as CSV.
    tables : DataFrame, array or iterable of these
        Pieces must have the same columns.
    names : list of str or None, default=None
        Names of the columns; None takes those of the first piece. An array has none.
    attrs : dict or None, default=None
        Attributes of the table; None takes those of the first piece. `attrs["csv"]` is the form of the text.

    Returns
    -------
    n_rows : int
    """
    suffix = ".csv" if str(path) == DASH else _checked_suffix(Path(path))
    pieces = iter([tables] if hasattr(tables, "shape") else tables)
    n_rows = 0
    with output_file(path) as temporary, temporary.open("wb") as file:
        writer: Any = None
        for piece in pieces:
            if writer is None:
                is_frame = hasattr(piece, "iloc")
                names = [str(name) for name in piece.columns] if names is None and is_frame else names
                attrs = dict(piece.attrs) if attrs is None and is_frame else attrs or {}
                kinds = {".csv": CSVWriter, ".parquet": ParquetWriter, ".npy": NumPyWriter}
                writer = kinds[suffix](file, names, attrs, piece.shape[1])
            writer.write(piece)
            n_rows += len(piece)
        if writer is not None and hasattr(writer, "close"):
            writer.close()
    return n_rows


def _checked_suffix(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        expected = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if len(suffixes) > 1 else suffixes[0]
        raise ValueError(f"{path}: expected a name that ends in {expected}; got {suffix or 'none'!r}.")
    return suffix
