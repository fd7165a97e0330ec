"""What the names of columns tell: which is time, and which of several quantities to take."""

import re
import warnings
from collections.abc import Sequence
from fnmatch import fnmatchcase

from hrpursuit.rows.source import DataError

AIRLY_TIME = "UTC time"
_COUNTERS = {"hour", "time", "date", "day", "minute", "second", "datetime", "timestamp", "index", "step", "row", "t"}
_SENSOR_AND_QUANTITY = re.compile(r"(.+)_([^_]+)")
_DEFAULT_QUANTITY = "pm25"


def looks_like_counter(name: str) -> bool:
    """Whether a column of growing whole numbers with this name is the time of the rows, not a reading."""
    return name.strip().lower().split(" ")[0] in _COUNTERS or name == AIRLY_TIME


def is_airly(index: str | None, columns: list[str]) -> bool:
    """Whether it is the layout of the Airly data on Kaggle: UTC time, and for each sensor 171_pm25, 171_pm1, ..."""
    return index == AIRLY_TIME and all(re.fullmatch(r"\d+_[^_]+", name) for name in columns)


def chosen_columns(index: str | None, columns: list[str], quantity: str | None, name: str) -> list[str]:
    """The readings of one quantity if there are several; all columns of any other table."""
    if not columns:
        raise DataError(f"{name} has no column of readings, only an index.")
    found = {column: _SENSOR_AND_QUANTITY.fullmatch(column) for column in columns}
    quantities = sorted({match.group(2) for match in found.values() if match})
    if quantity is None:
        if not is_airly(index, columns) or len(quantities) == 1:
            return columns
        if _DEFAULT_QUANTITY not in quantities:
            raise DataError(f"{name} holds several quantities; choose one with --quantity: {', '.join(quantities)}.")
        quantity = _DEFAULT_QUANTITY
        others = ", ".join(other for other in quantities if other != quantity)
        warnings.warn(f"{name}: {quantity} is taken; --quantity chooses another: {others}.", stacklevel=4)
    chosen = [column for column, match in found.items() if match and match.group(2) == quantity]
    if not chosen:
        have = f"the quantities are {', '.join(quantities)}" if quantities else "its columns have no quantities"
        raise DataError(f"{name} has no column whose name ends in _{quantity}; {have}.")
    return chosen


def matching(columns: Sequence[str], keys: Sequence[str], name: str) -> list[str]:
    """The columns with these names, or that fit these patterns (`note*`)."""
    found: list[str] = []
    for key in keys:
        fitting = [key] if key in columns else [column for column in columns if fnmatchcase(column, key)]
        if not fitting:
            raise DataError(f"{name} has no column {key!r}; it has {', '.join(columns[:10])}.")
        found += fitting
    return found


def without(columns: Sequence[str], keys: Sequence[str], name: str) -> list[str]:
    """All columns but these."""
    dropped = set(matching(columns, keys, name))
    return [column for column in columns if column not in dropped]
