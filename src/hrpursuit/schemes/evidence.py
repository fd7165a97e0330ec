"""Rows as evidence: those that are not zero, each counted once."""

from functools import lru_cache

import numpy as np

from hrpursuit.core.protocols import Array, Rows

_NEARLY_ALL = 0.9  # share of rows that count from which on a second draw is not worth it
_SEED = 0  # of the rows that are drawn: the same ones for every seed of a fit, which only orders them
_STANDARD_ERRORS = 5.0  # by which the mean of a feature has to differ from zero
_SAME = 1e-9  # relative difference of a random projection below which two rows are compared entry by entry


def is_live(X: Array) -> Array:
    """Which rows are not zero."""
    return np.asarray(X.any(axis=1))


def has_mean(X: Array) -> bool:
    """Whether the mean of some feature differs from zero by more than chance."""
    error = np.std(X, axis=0, dtype=np.float64) / np.sqrt(len(X))
    return bool((np.abs(X.mean(axis=0, dtype=np.float64)) > _STANDARD_ERRORS * error).any())


def distinct_live(X: Array) -> Array:
    """Indices of the rows that are not zero, in order; of rows that are equal up to their sign the first."""
    live = np.flatnonzero(is_live(X))
    return live[distinct(X[live], either_sign=True)]


def distinct(X: Array, *, either_sign: bool = False) -> Array:
    """Indices of the rows, in order; of equal ones, or of those equal up to their sign, the first."""
    size = np.asarray(X, dtype=np.float64) @ _direction(X.shape[1])
    if either_sign:
        size = np.abs(size)
    order = np.argsort(size, kind="stable")
    size = size[order]
    close = np.flatnonzero(np.diff(size) <= _SAME * np.abs(size[1:]))
    if len(close) == 0:
        return np.arange(len(X))
    first, second = X[order[close]], X[order[close + 1]]
    same = (first == second).all(axis=1)
    if either_sign:
        same |= (first == -second).all(axis=1)
    begins = np.ones(len(X), bool)  # a group of equal rows
    begins[close[same] + 1] = False
    return np.sort(np.minimum.reduceat(order, np.flatnonzero(begins)))


@lru_cache(maxsize=16)
def _direction(n_features: int) -> Array:
    """A random direction, on which different rows have different projections."""
    return np.random.default_rng(0).standard_normal(n_features)


def sample_evidence(rows: Rows, n: int, first: Array | None = None) -> Array:
    """About n distinct rows that are not zero, or all there are; `first` are n rows that were drawn before."""
    X = rows.sample(n, _SEED) if first is None else first
    chosen = distinct_live(X)
    if len(chosen) >= _NEARLY_ALL * len(X) or len(X) == rows.n_samples:
        return X if len(chosen) == len(X) else X[chosen]
    if np.count_nonzero(is_live(X)) < n / 4:
        X = rows.sample(n, _SEED, where=is_live)  # so few that a plain sample misses them
    else:
        X = rows.sample(int(np.ceil(min(4 * n, n * n / max(1, len(chosen))))), _SEED)
    return X[distinct_live(X)]
