"""The first look at rows that are not in memory: how many there are, and whether all are numbers."""

import numpy as np

from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows.source import DataError, GapsError

#: Largest magnitudes for which third powers and their sums stay within the range of the format.
LARGEST = {np.dtype(np.float64): 1e90, np.dtype(np.float32): 1e10}

#: What to do about gaps where none are taken.
REFUSED = "fill the gaps or leave out such rows"


def survey_block(X: Array) -> tuple[int, int, int, int]:
    """Rows; entries that are NaN; entries that are infinite; entries that are too large to compute with."""
    if X.size == 0:
        return len(X), 0, 0, 0
    limit = LARGEST[X.dtype]
    if X.max() < limit and X.min() > -limit:  # no second array unless there is something to find
        return len(X), 0, 0, 0
    finite = np.isfinite(X)
    n_gaps = int(np.isnan(X).sum())
    return len(X), n_gaps, int(X.size - finite.sum()) - n_gaps, int((np.abs(X[finite]) >= limit).sum())


def first_gap_block(X: Array, gaps: bool = False) -> Array:
    """Rows of the block; row, column and value of its first entry that is not finite (-1: none); NaN does not count if
    `gaps` are allowed.
    """
    spoiled = np.argwhere(np.isinf(X) if gaps else ~np.isfinite(X))
    if len(spoiled) == 0:
        return np.array([len(X), -1.0, -1.0, 0.0])
    row, column = spoiled[0]
    return np.array([len(X), row, column, X[row, column]], dtype=np.float64)


def survey(rows: Rows, name: str, *, bounded: bool = False, gaps: bool = False, advice: str = REFUSED) -> int:
    """Count the rows and refuse gaps, named by row and column; if `bounded` values too large to learn from, too.

    `gaps` allows NaN, but nothing that is infinite; `advice` ends the message where it is not allowed.
    """
    if rows.n_features == 0 or rows.n_samples == 0:
        raise DataError(f"{name} is empty: it has {rows.n_samples or 0} rows and {rows.n_features} columns.")
    n_samples, n_gaps, n_infinite, n_huge = (int(total) for total in rows.sum(survey_block))
    if n_samples == 0:
        raise DataError(f"{name} is empty: it has no rows.")
    if n_infinite or (n_gaps and not gaps):
        _raise_first_gap(rows, name, n_infinite + (0 if gaps else n_gaps), gaps, advice if n_infinite == 0 else REFUSED)
    if n_huge and bounded:
        raise DataError(
            f"{name}: {n_huge} values are {LARGEST[rows.dtype]:g} or larger in magnitude, too large to compute with in "
            f"{rows.dtype}; use another unit, or leave out such rows."
        )
    if rows.n_samples is None:
        rows.n_samples = n_samples
    return n_samples


def _raise_first_gap(rows: Rows, name: str, n_spoiled: int, gaps: bool, advice: str) -> None:
    seen = 0
    for n_rows, row, column, value in rows.map(first_gap_block, gaps):
        if row >= 0:
            names: list[str] | None = getattr(rows, "feature_names", None)
            label = f"{int(column) + 1}" if names is None else f"{names[int(column)]!r}"
            kind = "infinite" if gaps else "NaN, missing or infinite"
            raise (DataError if advice is REFUSED else GapsError)(
                f"{name}: {n_spoiled} values are {kind}, the first ({value:g}) in row {seen + int(row) + 1}, column "
                f"{label}; {advice}."
            )
        seen += int(n_rows)
