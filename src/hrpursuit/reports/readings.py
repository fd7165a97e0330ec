"""A table of readings taken apart: numbers, names, times."""

import io
import lzma
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.optional import needed

_MOST_DECIMALS = 6


@dataclass(frozen=True)
class Readings:
    """One time step per row, one sensor per column."""

    table: Any  # as it was given, for the codecs
    values: Array  # of shape (n_rows, n_columns), NaN in gaps
    names: tuple[str, ...]
    times: np.ndarray | None  # of the rows, in seconds; None where the index holds no time stamps
    labels: tuple[str, ...]  # of the rows

    @property
    def n_rows(self) -> int:
        return len(self.values)

    @property
    def n_columns(self) -> int:
        return self.values.shape[1]

    @cached_property
    def observed(self) -> np.ndarray:
        return ~np.isnan(self.values)

    @cached_property
    def n_observed(self) -> int:
        return int(self.observed.sum())

    @cached_property
    def rms(self) -> float:
        """Root mean square of the observed readings; 0 where there are none."""
        return float(np.sqrt(np.mean(self.values[self.observed] ** 2))) if self.n_observed else 0.0

    @cached_property
    def decimals(self) -> int | None:
        """Decimals that all readings have at most; None for more than six."""
        seen = self.values[self.observed]
        return next((d for d in range(_MOST_DECIMALS + 1) if np.array_equal(np.round(seen, d), seen)), None)


def take_apart(table: Any) -> Readings:
    """Numbers, names and times of a DataFrame or a 2-D array; a clear error for what is neither."""
    names = [str(name) for name in getattr(table, "columns", [])]
    for name, kind in getattr(table, "dtypes", {}).items():
        if str(kind).lower().strip("u").rstrip("0123456789") not in ("bool", "boolean", "int", "float"):
            raise ValueError(f"a report is about numbers; column {name!r} is {kind}: leave it out with --drop-column.")
    values = table.to_numpy(np.float64, na_value=np.nan) if names else np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            f"a report needs a table with at least one row and one column of readings; got shape {values.shape}."
        )
    n_infinite = int(np.isinf(values).sum())
    if n_infinite:
        raise ValueError(
            f"a report needs finite readings or gaps; {n_infinite} of the readings are infinite: make them gaps (NaN)."
        )
    names = names or [f"column {i + 1}" for i in range(values.shape[1])]
    index = getattr(table, "index", None)
    times = _times(index)
    if times is not None:
        labels = [_readable(text) for text in np.datetime_as_string(times, unit="s")]
    else:
        labels = [f"row {i}" for i in range(len(values))] if index is None else [str(label) for label in index]
    return Readings(table, values, tuple(names), times, tuple(labels))


def _times(index: Any) -> np.ndarray | None:
    """Time stamps that do not run backwards, in UTC where they have a zone."""
    if index is None or not hasattr(index, "tz"):
        return None
    if index.tz is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    times = np.asarray(index.to_numpy()).astype("datetime64[s]")
    if np.isnat(times).any() or (len(times) > 1 and (np.diff(times).astype(np.int64) < 0).any()):
        return None
    return times


def _readable(text: str) -> str:
    """2017-10-01T13:00:00 as 2017-10-01 13:00."""
    return text.replace("T", " ").removesuffix(":00")


@dataclass(frozen=True)
class PlainSizes:
    """Bytes of the table in files that everybody can read."""

    csv: int
    xz: int


def plain_sizes(readings: Readings) -> PlainSizes:
    """Bytes as CSV text with names and index, and of that text in `xz -9e`; both without loss."""
    pandas = needed("pandas", "Reports", "report")
    decimals = readings.decimals
    names = list(readings.names)
    frame = pandas.DataFrame(readings.values, columns=names, index=list(readings.labels))
    text = io.StringIO()
    frame.to_csv(text, float_format=None if decimals is None else f"%.{decimals}f", index_label="time")
    raw = text.getvalue().encode()
    return PlainSizes(len(raw), len(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME)))
