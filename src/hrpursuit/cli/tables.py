"""Tables of numbers in CSV, NumPy and Parquet files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hrpursuit.files import replaced_when_done

SUFFIXES = (".csv", ".npy", ".parquet")


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
        raise ValueError(
            f"{path}: expected a file name that ends in {', '.join(SUFFIXES)}; got {path.suffix or 'none'!r}."
        )


def read_table(path: Path, columns: Sequence[str] = ()) -> Table:
    """Read a table of numbers; `columns` chooses some by name."""
    check_suffix(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.suffix.lower() == ".npy":
        if columns:
            raise ValueError(f"{path}: a NumPy file has no column names; leave out --columns.")
        return Table(_read_npy(path), None)
    try:
        table = _read_csv(path) if path.suffix.lower() == ".csv" else pa.parquet.read_table(path)
    except pa.ArrowException as error:
        raise ValueError(f"{path} cannot be read: it is damaged, cut short or not a table ({error}).") from error
    absent = [name for name in columns if name not in table.column_names]
    if absent:
        raise ValueError(f"{path} has no column {', '.join(absent[:20])}; it has {', '.join(table.column_names[:20])}.")
    if columns:
        table = table.select(list(columns))
    return Table(_to_numpy(path, table), None if _are_positions(table.column_names) else table.column_names)


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
    return X


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def _read_csv(path: Path) -> pa.Table:
    """The first line is a header unless all of it is numbers."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline().strip()
    if not first:
        raise ValueError(f"{path} is empty or starts with an empty line.")
    fields = first.split(",")
    bare = all(_is_number(field.strip().strip('"')) for field in fields)
    names = [str(i) for i in range(len(fields))] if bare else None
    return pa.csv.read_csv(path, read_options=pa.csv.ReadOptions(column_names=names))


def _are_positions(names: Sequence[str]) -> bool:
    return list(names) == [str(i) for i in range(len(names))]


def _to_numpy(path: Path, table: pa.Table) -> np.ndarray:
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
            raise ValueError(
                f"{path}: column {name!r} holds {kind}, not numbers; choose the columns with numbers by --columns."
            )
    single = all(column.type == pa.float32() for column in table.columns)
    X = np.empty((table.num_rows, table.num_columns), np.float32 if single else np.float64)
    for j, column in enumerate(table.columns):
        X[:, j] = column.cast(pa.float32() if single else pa.float64()).to_numpy()
    return X


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
