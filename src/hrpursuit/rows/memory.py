"""Arrays, tables and lists in memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.array import ArrayRows
from hrpursuit.rows.arrow import is_table, table_to_array
from hrpursuit.rows.columns import check_no_columns, frame_columns
from hrpursuit.rows.optional import is_a
from hrpursuit.rows.polars import frame_to_array
from hrpursuit.rows.source import DataError, Opener, check_shape, float_type


def without_mask(data: Any) -> Any:
    """A masked array as a plain one: what is masked is missing, which is NaN. All else as it is."""
    if not isinstance(data, np.ma.MaskedArray):
        return data
    return np.where(np.ma.getmaskarray(data), np.nan, data.data).astype(float_type(data.dtype, "a masked array"))


def is_new_table(data: Any) -> bool:
    """Whether data is a table of Arrow or polars, whose single precision scikit-learn does not keep."""
    return is_table(data) or is_a(data, "polars", "DataFrame")


def as_plain(data: Any) -> Any:
    """Masked arrays and tables of Arrow and polars as arrays with NaN where something is missing; all else as it is."""
    return array_of(data)[0] if is_new_table(data) else without_mask(data)


@contextmanager
def naming_the_column(data: Any, name: str = "X") -> Iterator[None]:
    """Where a DataFrame of pandas cannot become floats, say which of its columns cannot."""
    try:
        yield
    except (TypeError, ValueError) as error:
        fault = _column_without_numbers(data) if is_a(data, "pandas", "DataFrame") else None
        if fault is None:
            raise
        raise DataError(f"{name}: column {fault}; leave it out, or correct it.") from error


def _column_without_numbers(frame: Any) -> str | None:
    for label, column in zip(frame.columns, (frame.iloc[:, i] for i in range(frame.shape[1])), strict=True):
        if getattr(column.dtype, "kind", "O") in "mMc":
            return f"{label!r} holds {column.dtype}, not numbers"
        try:
            column.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            place = next((i for i, value in enumerate(column) if not _is_number(value)), None)
            what = str(column.dtype) if place is None else f"{column.iloc[place]!r:.40} in row {place + 1}"
            return f"{label!r} holds {what}, not {'numbers' if place is None else 'a number'}"
    return None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def array_of(data: Any, columns: Sequence[str] | None = None, name: str = "the data") -> tuple[Array, list[str] | None]:
    """A table or array as floats, and the names of its columns; whatever is missing in a table is NaN."""
    if is_table(data):
        return table_to_array(data, columns, name)
    if is_a(data, "polars", "DataFrame"):
        return frame_to_array(data, columns, name)
    if is_a(data, "pandas", "DataFrame"):
        frame, names, dtype = frame_columns(data, columns, name)
        return np.ascontiguousarray(frame.to_numpy(dtype)), names
    check_no_columns(columns, name)
    X = np.asarray(without_mask(data))
    check_shape(X.shape, name)
    return X.astype(float_type(X.dtype, name), copy=False), None


def open_memory(data: Any, columns: Sequence[str] | None = None, block_size: int | None = None) -> ArrayRows:
    X, names = array_of(data, columns)
    return ArrayRows(X, block_size, names)


OPENER = Opener(lambda data: True, open_memory, in_memory=True)  # whatever is nothing else
