"""How far a decoded table is from the readings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrpursuit.compression import Target
from hrpursuit.compression.encoding.decimals import allowance
from hrpursuit.tables import as_frame

_SLACK = 1 + 1e-9  # of an RMSE, which depends on the order of its sums


@dataclass
class Agreement:
    """Sums over all rows, a number for each column."""

    names: list[str]
    n_rows: int = 0
    n_other_labels: int = 0

    def __post_init__(self) -> None:
        n = len(self.names)
        self.n_observed, self.n_other_gaps = (np.zeros(n, np.int64) for _ in range(2))
        self.n_different = np.zeros(n, np.int64)  # readings that are not the same to the last bit
        self.squares, self.squared_errors, self.largest_errors = (np.zeros(n) for _ in range(3))
        self.largest_readings = np.zeros(n)
        self.n_single = np.zeros(n, np.int64)  # readings that are floats of single precision

    @property
    def rmse(self) -> float:
        """Relative to the readings, over the observed entries."""
        return _ratio(float(self.squared_errors.sum()), float(self.squares.sum()))

    @property
    def largest_error(self) -> float:
        return float(self.largest_errors.max(initial=0.0))

    @property
    def n_gaps(self) -> int:
        return self.n_rows * len(self.names) - int(self.n_observed.sum())

    def rmse_of(self, column: int) -> float:
        return _ratio(float(self.squared_errors[column]), float(self.squares[column]))

    def faults(self, target: Target) -> list[str]:
        """What is not as the target of a file promises, in words."""
        found = []
        if self.n_other_gaps.any():
            found.append(f"{self.n_other_gaps.sum()} gaps are not where they were")
        if self.n_other_labels:
            found.append(f"{self.n_other_labels} rows have another index label")
        return found + (self._column_faults(target) if self.names else [])

    def _column_faults(self, target: Target) -> list[str]:
        bounds, found = target.bounds(len(self.names)), []
        n_different = int(self.n_different[bounds == 0].sum())
        if target.kind == "lossless" and n_different:
            return [f"{n_different} readings differ, and the file is to be lossless"]
        exceeds = self.largest_errors > [self._most_error(place, bound) for place, bound in enumerate(bounds.tolist())]
        if target.kind == "max_error" and target.by_column is None and exceeds.any():
            return [f"an error of {self.largest_error:.6g} exceeds the bound of {target.amount:g}"]
        for place, name in enumerate(self.names):
            if bounds[place] == 0 and self.n_different[place]:
                found.append(f"column {name!r}: {self.n_different[place]} readings differ, and it is to be lossless")
            elif exceeds[place]:
                error, bound = self.largest_errors[place], bounds[place]
                found.append(f"column {name!r}: an error of {error:.6g} exceeds its bound of {bound:g}")
        rest = bounds > 0
        rmse = _ratio(float(self.squared_errors[rest].sum()), float(self.squares[rest].sum()))
        if target.kind == "relative_rmse" and rmse > target.amount * _SLACK:
            found.append(f"a relative RMSE of {rmse:.4%} exceeds the target of {target.amount:.4%}")
        return found

    def _most_error(self, place: int, bound: float) -> float:
        """Of the readings as doubles: a bound is judged on their decimals, which doubles round."""
        is_single = 2 * self.n_single[place] > self.n_observed[place]
        largest = np.array([self.largest_readings[place]], np.float32 if is_single else np.float64)
        return bound + allowance(largest, bound) if 0 < bound < np.inf else bound


def _ratio(error: float, size: float) -> float:
    return float(np.sqrt(error / size)) if size else (0.0 if error == 0 else float("inf"))


def agreement(tables: Iterable[Any], decoded: Iterable[Any], name: str, n_columns: int) -> Agreement:
    """Compare the pieces of a table with those of another, whatever their lengths."""
    found: Agreement | None = None
    for one, other in _in_step(map(as_frame, tables), map(as_frame, decoded), name):
        if found is None:
            names = _names(one)
            if one.shape[1] != n_columns or (hasattr(other, "columns") and names != _names(other)):
                raise ValueError(
                    f"{name} has the columns {_some(names)}; the compressed file has {_some(_names(other))}: it was "
                    "made of another table, or of other columns of it."
                )
            found = Agreement(names)
        _add(found, one, other)
    return found if found is not None else Agreement([])


def _add(found: Agreement, one: Any, other: Any) -> None:
    if hasattr(one, "index") and hasattr(other, "index") and not one.index.equals(other.index):
        try:
            found.n_other_labels += int(np.sum(one.index != other.index))
        except TypeError:  # as of time stamps with and without a zone
            found.n_other_labels += len(one)
    found.n_rows += len(one)
    for j, (x, y) in enumerate(zip(_columns(one), _columns(other), strict=True)):
        if x.dtype == object or y.dtype == object:
            _add_others(found, j, x, y)
            continue
        wide, back = x.astype(np.float64), y.astype(np.float64)
        observed, kept = ~np.isnan(wide), ~np.isnan(back)
        both = observed & kept
        finite = both & np.isfinite(wide) & np.isfinite(back)
        with np.errstate(over="ignore"):
            error = np.abs(wide[finite] - back[finite])
            found.squares[j] += np.sum(wide[finite] ** 2)
            found.squared_errors[j] += np.sum(error**2)
            found.n_single[j] += np.sum(wide[observed] == wide[observed].astype(np.float32))
        found.largest_readings[j] = max(found.largest_readings[j], np.abs(wide[finite]).max(initial=0.0))
        found.n_observed[j] += np.sum(observed)
        found.n_other_gaps[j] += np.sum(observed != kept)
        found.n_different[j] += int(np.sum((x[both] != y[both]) | (np.signbit(wide[both]) != np.signbit(back[both]))))
        found.largest_errors[j] = max(found.largest_errors[j], error.max(initial=0.0))
        if np.any(wide[both & ~finite] != back[both & ~finite]):
            found.largest_errors[j] = found.squared_errors[j] = np.inf


def _add_others(found: Agreement, j: int, x: np.ndarray, y: np.ndarray) -> None:
    """Texts, categories and times: they are the same, or are not."""
    observed, kept = ([one is not None for one in column.tolist()] for column in (x, y))
    found.n_observed[j] += sum(observed)
    found.n_other_gaps[j] += sum(a != b for a, b in zip(observed, kept, strict=True))
    both = np.array(observed, bool) & np.array(kept, bool)
    found.n_different[j] += sum(bool(a != b) for a, b in zip(x[both], y[both], strict=True))


def _columns(table: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Numbers, with NaN in gaps; everything else as objects, with None."""
    for j in range(table.shape[1]):
        column = table.iloc[:, j] if hasattr(table, "iloc") else table[:, j]
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
            yield np.asarray(column)
        elif str(column.dtype).lower().rstrip("0123456789") in ("boolean", "int", "uint", "float"):
            yield column.to_numpy(np.float64, na_value=np.nan)
        else:
            values = np.array(column.astype(object), dtype=object)
            values[np.asarray(column.isna())] = None
            yield values


def _names(table: Any) -> list[str]:
    return [str(name) for name in getattr(table, "columns", range(table.shape[1]))]


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f", ... ({len(names)})" if len(names) > 5 else "")


def _in_step(tables: Iterator[Any], decoded: Iterator[Any], name: str) -> Iterator[tuple[Any, Any]]:
    one, other, n_rows = next(tables, None), next(decoded, None), 0
    while one is not None and other is not None:
        n = min(len(one), len(other))
        yield one[:n], other[:n]
        n_rows += n
        one = one[n:] if n < len(one) else next(tables, None)
        other = other[n:] if n < len(other) else next(decoded, None)
    if (one is not None and len(one)) or (other is not None and len(other)):
        which = ("more", "fewer") if one is not None else ("fewer", "more")
        raise ValueError(
            f"{name} has {which[0]} rows than the compressed file: they agree in number up to row {n_rows}."
        )
