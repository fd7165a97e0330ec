"""Columns of a table: which ones are used, and how they become one array."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
        raise DataError(f"{name} has several columns named {', '.join(map(repr, repeated[:5]))}; rename them.")
    if not wanted:
        return list(names)
    present = set(names)
    absent = [column for column in wanted if column not in present]
    if absent:
        raise DataError(f"{name} has no column {', '.join(absent[:10])}; it has {', '.join(names[:20])}.")
    if len(set(wanted)) < len(wanted):
        raise DataError(f"a column is named twice: {', '.join(wanted)}.")
    return list(wanted)


def check_no_columns(wanted: Sequence[str] | None, name: str) -> None:
    if wanted:
        raise NoNamesError(f"{name} has no column names, so none can be chosen by name; got {', '.join(wanted[:10])}.")


def check_numbers(kinds: Mapping[str, Any], name: str, is_number: Callable[[Any], bool]) -> None:
    """Refuse columns, given with their types, that do not hold numbers."""
    for column, kind in kinds.items():
        if not is_number(kind):
            raise DataError(
                f"{name}: column {column!r} holds {kind}, not numbers; leave it out by naming the others (columns=, "
                "--columns), or correct it."
            )


def frame_columns(frame: Any, wanted: Sequence[str] | None, name: str) -> tuple[Any, list[str] | None, np.dtype[Any]]:
    """The columns to use of a pandas or Dask DataFrame, their names if they have some, and their common type; the gaps
    of nullable numbers become NaN.
    """
    labels, names = list(frame.columns), None
    if all(isinstance(label, str) for label in labels):
        labels = names = choose_columns(labels, wanted, name)
    else:
        check_no_columns(wanted, name)
    frame = frame[labels]
    check_numbers(dict(zip(labels, frame.dtypes, strict=True)), name, lambda kind: _plain_type(kind).kind in "buif")
    kinds = [_plain_type(kind) for kind in frame.dtypes]
    dtype = np.dtype(np.float32 if kinds and set(kinds) == {np.dtype(np.float32)} else np.float64)
    return frame if kinds == list(frame.dtypes) else frame.astype(dtype), names, dtype


def _plain_type(kind: Any) -> np.dtype[Any]:
    """NumPy's type for a type of pandas: of nullable numbers the one that they hold."""
    kind = getattr(kind, "numpy_dtype", kind)
    return kind if isinstance(kind, np.dtype) else np.dtype(object)


def arrow_to_array(table: Any, dtype: np.dtype[Any]) -> Array:
    """Columns of an Arrow table or batch side by side; missing values become NaN."""
    pa = needed("pyarrow", "Arrow tables", "files")
    X = np.empty((table.num_rows, table.num_columns), dtype)
    for j, column in enumerate(table.columns):
        column = column.cast(pa.from_numpy_dtype(dtype), safe=False)  # integers and truth values with gaps: now NaN
        X[:, j] = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    return X


def arrow_float_type(schema: Any, name: str) -> np.dtype[Any]:
    """float32 if all columns are, else float64; refuses columns that are not numbers."""
    pa = needed("pyarrow", "Arrow tables", "files")
    tests = [getattr(pa.types, f"is_{kind}") for kind in ("integer", "floating", "boolean", "decimal", "null")]
    check_numbers({field.name: field.type for field in schema}, name, lambda kind: any(test(kind) for test in tests))
    single = len(schema) > 0 and all(field.type == pa.float32() for field in schema)
    return np.dtype(np.float32 if single else np.float64)
