"""Types of columns by code: those of numpy, and those of pandas that know missing values."""

from typing import Any

import numpy as np

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import Cursor, varint

NUMPY = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)
NULLABLE = ("boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
_FIRST_NULLABLE, _ALL_THE_REST = 32, 128
_EXACT = 2**53  # whole numbers beyond this are not all floats


def coded_type(kind: str) -> np.dtype:
    """The type in which a column reaches the coder of chunks: missing values are NaN there."""
    if kind in NUMPY:
        return np.dtype(kind)
    return np.dtype("float32" if kind == "Float32" else "float64")


def rounded_between(kind: str) -> tuple[float, float] | None:
    """Between which whole numbers decoded values of this type are rounded; None if they are not."""
    if kind in NUMPY or kind.startswith("Float"):
        return None
    if kind == "boolean":
        return 0.0, 1.0
    limits = np.iinfo(kind.lower())
    return max(float(limits.min), -float(_EXACT)), min(float(limits.max), float(_EXACT))


def kinds_to_bytes(kinds: list[str]) -> bytes:
    """Runs of a code and how often; the last run says that it lasts to the end."""
    out, at = [], 0
    while at < len(kinds):
        stop = at
        while stop < len(kinds) and kinds[stop] == kinds[at]:
            stop += 1
        kind = kinds[at]
        code = NUMPY.index(kind) if kind in NUMPY else _FIRST_NULLABLE + NULLABLE.index(kind)
        out.append(bytes([code | _ALL_THE_REST]) if stop == len(kinds) else bytes([code]) + varint(stop - at))
        at = stop
    return b"".join(out)


def read_kinds(cursor: Cursor, n_columns: int) -> list[tuple[str, int]]:
    """What `kinds_to_bytes` wrote, as runs: whether there are so many columns is seen later."""
    runs: list[tuple[str, int]] = []
    left = n_columns
    while left:
        byte = cursor.byte()
        count = left if byte & _ALL_THE_REST else cursor.varint(left - 1)
        code = byte & ~_ALL_THE_REST
        names, place = (NULLABLE, code - _FIRST_NULLABLE) if code >= _FIRST_NULLABLE else (NUMPY, code)
        if place >= len(names) or count == 0:
            raise DamagedFile(f"a column is of the unknown type {code}")
        runs.append((names[place], count))
        left -= count
    return runs


def check_type(dtype: Any, what: str) -> str:
    """The name of a type that can be stored, or ValueError with what to do."""
    name = dtype.newbyteorder("=").name if isinstance(dtype, np.dtype) else str(dtype)
    if name in NUMPY or name in NULLABLE:
        return name
    todo = {
        "O": "convert it: pandas.to_numeric, or leave it out",
        "M": "make it the index (set_index), or whole numbers (astype('int64'))",
        "m": "make it the index (set_index), or whole numbers (astype('int64'))",
        "c": "give real and imaginary parts as two columns",
    }.get(getattr(dtype, "kind", ""), "convert it with astype, or leave it out")
    raise ValueError(
        f"{what} is of type {name}; only bool, whole numbers and floats up to 64 bits can be stored: {todo}."
    )


def to_coded(values: Any, kind: str, what: str) -> np.ndarray:
    """A column of pandas (or numpy) as the coder takes it."""
    if kind in NUMPY:
        return np.asarray(values).astype(kind, copy=False)
    missing = np.asarray(values.isna())
    if kind.startswith("Float"):
        return values.to_numpy(dtype=coded_type(kind), na_value=np.nan)
    whole = values.to_numpy(dtype="bool" if kind == "boolean" else kind.lower(), na_value=0)
    if whole.dtype.itemsize == 8 and ((whole > _EXACT).any() or (whole < -_EXACT).any()):
        raise ValueError(
            f"{what} ({kind}) has whole numbers beyond 2^53, where gaps cannot be kept; "
            f"fill the gaps and give it as {kind.lower()}."
        )
    out = whole.astype(np.float64)
    out[missing] = np.nan
    return out


def from_coded(column: np.ndarray, kind: str, pandas: Any) -> Any:
    """A decoded column in its own type."""
    if kind in NUMPY:
        return column
    missing = np.isnan(column)
    if kind.startswith("Float"):
        return pandas.arrays.FloatingArray(np.where(missing, column.dtype.type(0), column), missing)
    whole = np.clip(np.rint(np.where(missing, 0.0, column)), *(rounded_between(kind) or ()))
    if kind == "boolean":
        return pandas.arrays.BooleanArray(whole > 0, missing)
    return pandas.arrays.IntegerArray(whole.astype(kind.lower()), missing)
