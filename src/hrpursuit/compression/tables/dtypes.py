"""Types of columns by code: those of numpy, those of pandas that know missing values, texts, categories and times."""

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
TEXT = ("object", "str", "string")
CATEGORY = "category"
UNITS = ("s", "ms", "us", "ns")
TIMES = tuple(f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in UNITS)  # a zone is kept apart
_NAMED = (*TEXT, CATEGORY, *TIMES)
_FIRST_NULLABLE, _FIRST_NAMED, _ALL_THE_REST = 32, 64, 128
_EXACT = 2**53  # whole numbers beyond this are not all floats


def coded_type(kind: str) -> np.dtype:
    """The type in which a column reaches the coder of chunks: missing values are NaN there."""
    if kind in NUMPY:
        return np.dtype(kind)
    if kind in TEXT or kind == CATEGORY:
        return np.dtype(np.int32)
    if is_time(kind):
        return np.dtype(np.int64)
    return np.dtype("float32" if kind == "Float32" else "float64")


def is_time(kind: str) -> bool:
    """Whether columns of this type are times or time differences: `datetime64[us, Europe/Warsaw]` is."""
    return kind.startswith(("datetime64", "timedelta64"))


def zone_of(kind: str) -> str:
    """The time zone of a column of times; empty if it has none."""
    return kind.partition(", ")[2].removesuffix("]")


def with_zone(kind: str, zone: str) -> str:
    plain = _without_zone(kind)
    return f"{plain.removesuffix(']')}, {zone}]" if zone else plain


def is_exact(kind: str) -> bool:
    """Whether every bit of such a column is kept, whatever the target: an error in it would have no size."""
    return kind in ("bool", "boolean", CATEGORY, *TEXT) or is_time(kind)


def rounded_between(kind: str) -> tuple[float, float] | None:
    """Between which whole numbers decoded values of this type are rounded; None if they are not."""
    if kind not in NULLABLE or kind.startswith("Float"):
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
        kind = _without_zone(kinds[at])
        while stop < len(kinds) and _without_zone(kinds[stop]) == kind:
            stop += 1
        code = _code_of(kind)
        out.append(bytes([code | _ALL_THE_REST]) if stop == len(kinds) else bytes([code]) + varint(stop - at))
        at = stop
    return b"".join(out)


def _without_zone(kind: str) -> str:
    return kind.partition(",")[0] + "]" if "," in kind else kind


def _code_of(kind: str) -> int:
    if kind in NUMPY:
        return NUMPY.index(kind)
    return _FIRST_NULLABLE + NULLABLE.index(kind) if kind in NULLABLE else _FIRST_NAMED + _NAMED.index(kind)


def read_kinds(cursor: Cursor, n_columns: int) -> list[tuple[str, int]]:
    """What `kinds_to_bytes` wrote, as runs: whether there are so many columns is seen later."""
    runs: list[tuple[str, int]] = []
    left = n_columns
    while left:
        byte = cursor.byte()
        count = left if byte & _ALL_THE_REST else cursor.varint(left - 1)
        code = byte & ~_ALL_THE_REST
        first = max(start for start in (0, _FIRST_NULLABLE, _FIRST_NAMED) if start <= code)
        names, place = {0: NUMPY, _FIRST_NULLABLE: NULLABLE, _FIRST_NAMED: _NAMED}[first], code - first
        if place >= len(names) or count == 0:
            raise DamagedFile(f"a column is of the unknown type {code}")
        runs.append((names[place], count))
        left -= count
    return runs


def check_type(dtype: Any, what: str, in_frame: bool = False) -> str:
    """The name of a type that can be stored, or ValueError with what to do. DataFrames can have more types."""
    name = dtype.newbyteorder("=").name if isinstance(dtype, np.dtype) else str(dtype)
    if name in NUMPY or (in_frame and (name in NULLABLE or name in _NAMED or _without_zone(name) in TIMES)):
        return name
    todo = {
        "O": "convert it: pandas.to_numeric, or leave it out",
        "U": "give texts in a DataFrame",
        "M": "make it the index of a DataFrame, or whole numbers (astype('int64'))",
        "m": "make it the index of a DataFrame, or whole numbers (astype('int64'))",
        "c": "give real and imaginary parts as two columns",
    }.get(getattr(dtype, "kind", ""), "convert it with astype, or leave it out")
    raise ValueError(
        f"{what} is of type {name}; only bool, whole numbers and floats up to 64 bits can be stored"
        f"{', and texts, categories and times' if in_frame else ''}: {todo}."
    )


def to_coded(values: Any, kind: str, what: str) -> np.ndarray:
    """A column of pandas (or numpy) as the coder takes it."""
    if kind in NUMPY:
        return np.asarray(values).astype(kind, copy=False)
    if kind in TEXT:
        return _texts(values, what)
    if is_time(kind):
        return values.array.view("int64")
    if kind == CATEGORY:
        return values.cat.codes.to_numpy().astype(np.int32) + np.int32(1)
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


def _texts(values: Any, what: str) -> np.ndarray:
    """Texts as objects, None where one is missing."""
    missing = np.asarray(values.isna())
    out = np.array(values.array, dtype=object)
    out[missing] = None
    wrong = next((value for value in out[~missing] if not isinstance(value, str)), None)
    if wrong is not None:
        raise ValueError(
            f"{what} holds {wrong!r} ({type(wrong).__name__}); a column of objects can be stored if it holds texts: "
            "convert it with astype, or leave it out."
        )
    return out


def from_coded(column: np.ndarray, kind: str, pandas: Any, categories: Any = None) -> Any:
    """A decoded column in its own type; texts come as objects, the numbers of categories with what they stand for."""
    if kind in NUMPY:
        return column
    if kind in TEXT:
        return column if kind == "object" else pandas.array(column, dtype=kind)
    if kind == CATEGORY:
        return pandas.Categorical.from_codes(column - 1, categories.values, ordered=categories.is_ordered)
    if is_time(kind):
        zone, plain = zone_of(kind), _without_zone(kind)
        times = column.view("M8" + plain[10:] if kind.startswith("d") else "m8" + plain[11:])
        return pandas.DatetimeIndex(times).tz_localize("UTC").tz_convert(zone).array if zone else times
    missing = np.isnan(column)
    if kind.startswith("Float"):
        return pandas.arrays.FloatingArray(np.where(missing, column.dtype.type(0), column), missing)
    whole = np.clip(np.rint(np.where(missing, 0.0, column)), *(rounded_between(kind) or ()))
    if kind == "boolean":
        return pandas.arrays.BooleanArray(whole > 0, missing)
    return pandas.arrays.IntegerArray(whole.astype(kind.lower()), missing)
