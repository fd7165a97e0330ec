"""Columns of a table: which ones are used, and how they become one array."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.optional import needed
from hrpursuit.rows.source import DataError


class NoNamesError(DataError):
    """Columns were asked for by name, and there are no names."""


def choose_columns(names: Sequence[str], wanted: Sequence[str] | None, name: str) -> list[str]:
    """The columns to use, by name; all of them by default."""
    repeated = sorted(column for column, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"{name} has several columns named {', '.join(map(repr, repeated[:5]))}; rename them.")
    if not wanted:
        return list(names)
    present = set(names)
    absent = [column for column in wanted if column not in present]
    if absent:
        raise ValueError(f"{name} has no column {', '.join(absent[:10])}; it has {', '.join(names[:20])}.")
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"a column is named twice: {', '.join(wanted)}.")
    return list(wanted)


def check_no_columns(wanted: Sequence[str] | None, name: str) -> None:
    if wanted:
        raise NoNamesError(f"{name} has no column names, so none can be chosen by name; got {', '.join(wanted[:10])}.")


def arrow_to_array(table: Any, dtype: np.dtype[Any]) -> Array:
    """Columns of an Arrow table or batch side by side; missing values become NaN."""
    X = np.empty((table.num_rows, table.num_columns), dtype)
    for j, column in enumerate(table.columns):
        values = column.to_numpy(zero_copy_only=False) if hasattr(column, "buffers") else column.to_numpy()
        X[:, j] = np.nan if values.dtype == object else values  # object: a column of nothing but gaps
    return X


def arrow_float_type(schema: Any, name: str) -> np.dtype[Any]:
    """float32 if all columns are, else float64; refuses columns that are not numbers."""
    pa = needed("pyarrow", "Parquet files", "files")
    for field in schema:
        kind = field.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
            raise ValueError(
                f"{name}: column {field.name!r} holds {kind}, not numbers; leave it out by naming the others "
                "(columns=, --columns), or mend it."
            )
    single = len(schema) > 0 and all(field.type == pa.float32() for field in schema)
    return np.dtype(np.float32 if single else np.float64)
