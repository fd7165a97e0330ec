"""The first look at rows: how many there are, whether all are numbers, and of a size that can be computed with. Its
errors use the same words wherever the rows are.
"""

from collections.abc import Sequence

import numpy as np

from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows.source import DataError, GapsError, no_rows

#: What the largest value must exceed, and stay below, so that third powers and their sums stay within the format.
LIMITS = {np.dtype(np.float64): (1e-90, 1e90), np.dtype(np.float32): (1e-10, 1e10)}

#: What to do about gaps where none are taken.
REFUSED = "fill the gaps or leave out such rows (fit, transform and score of HRP take gaps)"
_INFINITE = "replace them or leave out such rows"


def survey_block(X: Array) -> tuple[int, int, int, int]:
    """Rows; entries that are NaN; entries that are infinite; entries that are too large to compute with."""
    if X.size == 0:
        return len(X), 0, 0, 0
    limit = LIMITS[X.dtype][1]
    if X.max() < limit and X.min() > -limit:  # no second array unless there is something to find
        return len(X), 0, 0, 0
    finite = np.isfinite(X)
    n_gaps = int(np.isnan(X).sum())
    return len(X), n_gaps, int(X.size - finite.sum()) - n_gaps, int((np.abs(X[finite]) >= limit).sum())


def first_block(X: Array, infinite: bool) -> Array:
    """Rows of the block; row and column of its first entry that is infinite, or else NaN (-1: none)."""
    found = np.argwhere(np.isinf(X) if infinite else np.isnan(X))
    return np.array([len(X), *(found[0] if len(found) else (-1, -1))])


def refusal(
    name: str, n: int, row: int, column: int, names: Sequence[str] | None, *, infinite: bool, advice: str = REFUSED
) -> DataError:
    """The error for n entries that are infinite, or else NaN, the first of them in this row and column, from 0 on."""
    kind = "infinite" if infinite else "NaN or missing"
    label = f"{column + 1}" if names is None else f"{str(names[column])!r}"
    error = DataError if infinite or advice is REFUSED else GapsError
    return error(
        f"{name}: {n} {'value is' if n == 1 else 'values are'} {kind}, the first in row {row + 1}, column {label}; "
        f"{_INFINITE if infinite else advice}."
    )


def survey(rows: Rows, name: str, *, bounded: bool = False, gaps: bool = False, advice: str = REFUSED) -> int:
    """Count the rows, and refuse what is infinite or NaN, named by row and column; if `bounded` also values too large
    to learn from. Returns the number of gaps.

    `gaps` allows NaN, but nothing that is infinite; `advice` ends the message where it is not allowed.
    """
    if rows.n_features == 0:
        raise DataError(
            f"{name} is empty: 0 feature(s) (shape=({rows.n_samples or 0}, 0)) while a minimum of 1 is required."
        )
    if rows.n_samples == 0:
        raise no_rows(name)
    n_samples, n_gaps, n_infinite, n_huge = (int(total) for total in rows.sum(survey_block))
    if n_samples == 0:
        raise no_rows(name)
    if n_infinite or (n_gaps and not gaps):
        seen = 0
        for n_rows, row, column in rows.map(first_block, bool(n_infinite)):
            if row >= 0:
                raise refusal(
                    name, n_infinite or n_gaps, seen + int(row), int(column), rows.feature_names,
                    infinite=bool(n_infinite), advice=advice,
                )  # fmt: skip
            seen += int(n_rows)
    if n_huge and bounded:
        raise DataError(
            f"{name}: {n_huge} {'value is' if n_huge == 1 else 'values are'} {LIMITS[rows.dtype][1]:g} or larger in "
            f"magnitude, too large to compute with in {rows.dtype}; use another unit, or leave out such rows."
        )
    if rows.n_samples is None:
        rows.n_samples = n_samples
    return n_gaps
