"""The first look at rows that are not in memory: how many there are, and whether all are numbers."""

import numpy as np

from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows.source import DataError

#: Largest magnitudes for which third powers and their sums stay within the range of the format.
LARGEST = {np.dtype(np.float64): 1e90, np.dtype(np.float32): 1e10}


def survey_block(X: Array) -> tuple[int, int, int]:
    """Rows; entries that are NaN or infinite; entries that are too large to compute with."""
    if X.size == 0:
        return len(X), 0, 0
    limit = LARGEST[X.dtype]
    if X.max() < limit and X.min() > -limit:  # no second array unless there is something to find
        return len(X), 0, 0
    finite = np.isfinite(X)
    return len(X), int(X.size - finite.sum()), int((np.abs(X[finite]) >= limit).sum())


def first_gap_block(X: Array) -> Array:
    """Rows of the block; row, column and value of its first entry that is not finite (-1: none)."""
    spoiled = np.argwhere(~np.isfinite(X))
    if len(spoiled) == 0:
        return np.array([len(X), -1.0, -1.0, 0.0])
    row, column = spoiled[0]
    return np.array([len(X), row, column, X[row, column]], dtype=np.float64)


def survey(rows: Rows, name: str, *, bounded: bool = False) -> int:
    """Count the rows and refuse gaps, named by row and column; if `bounded` values too large to learn from, too."""
    if rows.n_features == 0 or rows.n_samples == 0:
        raise DataError(f"{name} is empty: it has {rows.n_samples or 0} rows and {rows.n_features} columns.")
    n_samples, n_spoiled, n_huge = (int(total) for total in rows.sum(survey_block))
    if n_samples == 0:
        raise DataError(f"{name} is empty: it has no rows.")
    if n_spoiled:
        _raise_first_gap(rows, name, n_spoiled)
    if n_huge and bounded:
        raise DataError(
            f"{name}: {n_huge} values are {LARGEST[rows.dtype]:g} or larger in magnitude, too large to compute with in "
            f"{rows.dtype}; use another unit, or leave out such rows."
        )
    if rows.n_samples is None:
        rows.n_samples = n_samples
    return n_samples


def _raise_first_gap(rows: Rows, name: str, n_spoiled: int) -> None:
    seen = 0
    for n_rows, row, column, value in rows.map(first_gap_block):
        if row >= 0:
            names: list[str] | None = getattr(rows, "feature_names", None)
            label = f"{int(column) + 1}" if names is None else f"{names[int(column)]!r}"
            raise DataError(
                f"{name}: {n_spoiled} values are NaN, missing or infinite, the first ({value:g}) in row "
                f"{seen + int(row) + 1}, column {label}; fill the gaps or leave out such rows."
            )
        seen += int(n_rows)
