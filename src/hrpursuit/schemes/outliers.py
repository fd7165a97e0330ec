"""Rows that no dictionary explains, and that would decide what is learned from the others: glitches."""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.densities import safe_units
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows import KeptRows

_FAR = 30.0  # squared norm of the codes, over the quantile of it that nine rows of ten are below
_QUANTILE = 0.9
#: Share of the largest code in that square. A row with one huge code is no outlier, but tells most about the others.
ONE_CODE = 0.6
_MOST = 0.1  # share of rows: where there are more, they are no exceptions


@dataclass(frozen=True)
class IsUsual:
    """Which rows are no outliers; codes X @ encoder are in units of their columns."""

    encoder: Array
    limit: float
    one_code: float = ONE_CODE

    def __call__(self, X: Array) -> Array:
        squares = np.square(np.asarray(X, dtype=np.float64) @ self.encoder)
        total = squares.sum(axis=1)
        return np.asarray((total <= self.limit) | (squares.max(axis=1, initial=0.0) >= self.one_code * total))


def is_usual(sample: Array, encoder: Array) -> IsUsual:
    """The condition by which rows are told from outliers, from a sample of them."""
    codes = np.asarray(sample, dtype=np.float64) @ encoder
    units = safe_units(codes)
    norms = np.square(codes / units).sum(axis=1)
    return IsUsual(encoder / units, _FAR * float(np.quantile(norms, _QUANTILE)))


def usual_sample(sample: Array, encoder: Array) -> tuple[Array, float]:
    """The rows of a sample but outliers, if these are few, and the share of those."""
    if len(sample) == 0:
        return sample, 0.0
    usual = is_usual(sample, encoder)(sample)
    share = 1 - float(np.mean(usual))
    return (sample[usual], share) if share <= _MOST else (sample, 0.0)


def outliers_block(X: Array, where: IsUsual) -> tuple[int, int]:
    return int(np.count_nonzero(~where(X))), len(X)


def without_outliers(rows: Rows, sample: Array, encoder: Array, one_code: float = ONE_CODE) -> Rows:
    """The rows but outliers, if these are few; one pass. `sample` has some of the rows. With a `one_code` above 1 all
    far rows are outliers, since an atom that is far from right may have been turned towards one.
    """
    if len(sample) == 0:
        return rows
    where = replace(is_usual(sample, encoder), one_code=one_code)
    n_outliers, n = rows.sum(outliers_block, where)
    return KeptRows(rows, where, int(n - n_outliers)) if 0 < n_outliers <= _MOST * n else rows
