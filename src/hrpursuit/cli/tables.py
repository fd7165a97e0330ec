"""Tables of numbers in CSV, NumPy and Parquet files."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hrpursuit.files import replaced_when_done

SUFFIXES = (".csv", ".npy", ".parquet")
Header = Literal["auto", "yes", "no"]
_MISSING = {"", "na", "n/a", "nan", "null", "none", "-"}  # in a first line these are cells, not names


@dataclass(frozen=True)
class Table:
    """Numbers, one sample a row, with the names of their columns where the file has them."""

    X: np.ndarray
    names: list[str] | None

    def named(self) -> Any:
        """For an estimator: with column names where there are any, so that it keeps and checks them."""
        return self.X if self.names is None else pa.table(dict(zip(self.names, self.X.T, strict=True)))


def check_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}; got {path.suffix or 'none'!r}.")


def read_table(
    path: Path, columns: Sequence[str] = (), *, expected: Sequence[str] | None = None, header: Header = "auto"
) -> Table:
    """Read a table of numbers without gaps.

    `columns` chooses some by name. `expected` are those of a model: taken by name from a file that has names, else by
    position.
    """
    check_suffix(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.suffix.lower() == ".npy":
        if columns:
            raise ValueError(f"{path}: a NumPy file has no column names; leave out --columns.")
        table = Table(_read_npy(path), None)
    else:
        table = _read_columns(path, list(columns), expected, header)
    if expected is not None and table.names is None:
        if table.X.shape[1] != len(expected):
            raise ValueError(f"{path} has {table.X.shape[1]} columns; the model was fitted on {len(expected)}.")
        table = Table(table.X, list(expected))
    _check_finite(path, table)
    return table


def _read_npy(path: Path) -> np.ndarray:
    try:
        with path.open("rb") as file:
            X = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} cannot be read: it is damaged, cut short or not a NumPy array ({error}).") from error
    if not isinstance(X, np.ndarray):
        raise ValueError(f"{path} must hold one NumPy array; it is an archive of several.")
    if X.ndim != 2:
        raise ValueError(f"{path} must hold a two-dimensional array, one sample a row; got {X.ndim} dimensions.")
    if X.dtype.kind not in "buif":
        raise ValueError(f"{path} must hold real numbers; got {X.dtype}.")
    return X.astype(np.float32 if X.dtype.kind == "f" and X.dtype.itemsize == 4 else np.float64, copy=False)


def _read_columns(path: Path, columns: list[str], expected: Sequence[str] | None, header: Header) -> Table:
    try:
        table = _read_csv(path, header) if path.suffix.lower() == ".csv" else pa.parquet.read_table(path)
        table = _without_index(path, table)
        names = table.column_names
    except pa.ArrowException as error:
        raise ValueError(f"{path} cannot be read: it is damaged, cut short or not a table ({error}).") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} cannot be read: its text is not UTF-8 ({error}); save it as UTF-8.") from error
    bare = names == [str(i) for i in range(len(names))]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{path} has several columns named {', '.join(map(repr, repeated[:5]))}; rename them.")
    wanted = columns or list(expected or ())
    if wanted and not bare:
        absent = [name for name in wanted if name not in names]
        if absent:
            raise ValueError(f"{path} has no column {', '.join(absent[:10])}; it has {', '.join(names[:20])}.")
        if len(set(wanted)) < len(wanted):
            raise ValueError(f"--columns names a column twice: {', '.join(wanted)}.")
        table = table.select(wanted)
    elif columns:
        raise ValueError(f"{path} has no column names; leave out --columns.")
    return Table(_to_numpy(path, table), None if bare else table.column_names)


def _is_cell(text: str) -> bool:
    text = text.strip().strip('"').strip()
    try:
        float(text.replace(",", "."))
    except ValueError:
        return text.lower() in _MISSING
    return True


def _read_csv(path: Path, header: Header) -> pa.Table:
    """Separated by commas, semicolons or tabs; the first line is a header unless it is all numbers or gaps.

    Numbers that count from 0 are a header too: pandas writes them for columns without names.
    """
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        first, *others = [line.strip("\r\n") for line in islice(file, 100)] or [""]
    if not first.strip():
        raise ValueError(f"{path} is empty or starts with an empty line.")
    unquoted = re.sub(r'"[^"]*"', "", first)
    delimiter = next((mark for mark in ";\t" if mark in unquoted), ",")
    fields = [field.strip().strip('"') for field in first.split(delimiter)]
    unnamed = [field for field in fields if field]
    positions = len(unnamed) >= len(fields) - 1 and unnamed == [str(i) for i in range(len(unnamed))]
    has_names = header == "yes" or (header == "auto" and (positions or not all(_is_cell(field) for field in fields)))
    names = None if has_names else [str(i) for i in range(len(fields))]
    decimal_point = "," if delimiter != "," and any("," in line for line in others or [first]) else "."
    return pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(column_names=names),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter),
        convert_options=pa.csv.ConvertOptions(decimal_point=decimal_point),
    )


def _without_index(path: Path, table: pa.Table) -> pa.Table:
    """Without a first column that has no name and counts the rows: pandas writes its index like that."""
    if table.num_columns > 1 and table.column_names[0] in ("", "__index_level_0__"):
        first = table.columns[0]
        if pa.types.is_integer(first.type) and first.to_pylist() == list(range(len(first))):
            click.echo(f"note: {path}: the first column has no name and counts the rows; it is left out.", err=True)
            return table.remove_column(0)
    return table


def _to_numpy(path: Path, table: pa.Table) -> np.ndarray:
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
            values = (str(value) for value in column.to_pylist())
            found = next((f" ({v!r} in row {i})" for i, v in enumerate(values, 1) if not _is_cell(v)), "")
            raise ValueError(
                f"{path}: column {name!r} holds {kind}, not numbers{found}; leave it out by naming the others with "
                "--columns, or mend it."
            )
    single = all(column.type == pa.float32() for column in table.columns)
    X = np.empty((table.num_rows, table.num_columns), np.float32 if single else np.float64)
    for j, column in enumerate(table.columns):
        X[:, j] = column.cast(pa.float32() if single else pa.float64(), safe=False).to_numpy()
    return X


def _check_finite(path: Path, table: Table) -> None:
    spoiled = np.argwhere(~np.isfinite(table.X))
    if len(spoiled):
        row, column = spoiled[0]
        name = column + 1 if table.names is None else repr(table.names[column])
        value = table.X[row, column]
        raise ValueError(
            f"{path}: {len(spoiled)} values are NaN, missing or infinite, the first ({value}) in row {row + 1}, column "
            f"{name}; fill the gaps or leave out such rows."
        )


def write_table(path: Path, X: np.ndarray, names: Sequence[str]) -> None:
    """Write numbers in the format of the suffix; the file appears whole or not at all."""
    check_suffix(path)
    with replaced_when_done(path) as temporary:
        if path.suffix.lower() == ".npy":
            with temporary.open("wb") as file:
                np.save(file, X)
            return
        table = pa.table({name: X[:, j] for j, name in enumerate(names)})
        if path.suffix.lower() == ".csv":
            pa.csv.write_csv(table, temporary)
        else:
            pa.parquet.write_table(table, temporary)
