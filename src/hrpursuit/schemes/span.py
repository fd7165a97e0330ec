"""What rows span, the units of their features, and the whitening of a complete dictionary."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf

from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array, Rows

_SAFE_CONDITION = 1e-10  # reciprocal condition of X^T X below which the singular values of X decide
_DEAD = 1e-13  # singular value, relative to the largest, of a direction that the rows do not have
_MOST_ROUNDS = 3  # of looking for rows along directions that a sample misses
#: Mean square along a direction, relative to the median one, that is left when large rows are left out: less would take
#: the rows of an atom that is used seldom for outliers, more would keep outliers along many directions.
_LEAST_SHARE = 1e-3
_OUTLIER, _TRIM_ROUNDS = 6.0, 4  # squared norm relative to the median beyond which a row is left out, and how often


@dataclass(frozen=True)
class IsAlong:
    """Which rows have a part along any of the directions."""

    directions: Array
    level: float

    def __call__(self, X: Array) -> Array:
        return np.asarray((np.abs(X @ self.directions) > self.level).any(axis=1))


def missing_directions(X: Array) -> Array:
    """Orthonormal columns that span what the rows of X do not."""
    n = X.shape[1]
    X = normalize_rows(X)  # or one huge row would hide what the others span
    if len(X) >= n and _has_full_rank(X.T @ X):
        return np.empty((n, 0))
    _, sizes, Vt = np.linalg.svd(np.linalg.qr(X, mode="r"))  # squares would hide what is 1e-8 of the rest
    rank = int(np.sum(sizes > _DEAD * max(X.shape) * sizes[0]))
    return Vt[rank:].T


def _has_full_rank(gram: Array) -> bool:
    """Whether the estimated condition leaves no doubt; False where it takes a closer look."""
    factor, failed = dpotrf(gram)
    if failed:
        return False
    reciprocal, _ = dpocon(factor, float(np.abs(gram).sum(axis=0).max()))
    return bool(reciprocal > _SAFE_CONDITION)


def spanning(rows: Rows, X: Array, level: float, *, fixed: bool) -> tuple[Array, Array]:
    """Rows X, with more of them where these span less than all rows do, since an atom may be used seldom, and unless
    they are `fixed`; and orthonormal columns for what they do not span.
    """
    missing = missing_directions(X)
    for _ in range(_MOST_ROUNDS):
        if missing.shape[1] == 0 or fixed or len(X) >= (rows.n_samples or 0):
            break
        more = np.asarray(rows.sample(len(X), 0, where=IsAlong(missing, level)), dtype=np.float64)
        if len(more) == 0:
            break  # dead, not seldom
        X = np.concatenate([more, X])  # first, so that a part of the rows has them
        missing = missing_directions(X)
    return X, missing


def units_of(X: Array) -> Array:
    """For each feature the power of two nearest to its rms: division by it is exact. One where it is zero."""
    largest = np.abs(X).max(axis=0, initial=0.0)
    unit = np.ldexp(1.0, np.frexp(largest)[1])  # or squares may leave the range of the format
    rms = unit * np.sqrt(np.mean(np.square(X / unit, dtype=np.float64), axis=0))
    return np.where(rms > 0, np.exp2(np.round(np.log2(np.where(rms > 0, rms, 1.0)))), 1.0)


def whitening_of(X: Array) -> Array:
    """P such that the rows X @ P, each divided by its norm, have nearly the identity for second moment.

    Rows far larger than the others are left out, but for directions that hardly any other row has: an atom may be used
    seldom. Then one step of Tyler's fixed point, which weighs every row alike. More steps fit sparse rows ever worse:
    many of them lie in few dimensions.
    """
    n = X.shape[1]
    P = _inverse_root(X.T @ X / len(X))
    Y = X @ P
    for _ in range(_TRIM_ROUNDS):
        squares = np.square(Y).sum(axis=1)
        usual = squares < _OUTLIER * np.median(squares)
        if usual.all() or np.count_nonzero(usual) < 2 * n:
            break
        P = P @ _inverse_root(Y[usual].T @ Y[usual] / np.count_nonzero(usual), _LEAST_SHARE)
        Y = X @ P
    Y *= np.sqrt(n / np.maximum(np.square(Y).sum(axis=1), np.finfo(float).tiny))[:, None]
    return P @ _inverse_root(Y.T @ Y / len(Y))


def _inverse_root(C: Array, least: float = 0.0) -> Array:
    """C^(-1/2), with eigenvalues raised to this share of their median, and to rounding in any case."""
    values, V = np.linalg.eigh(C)
    floor = max(1e-15 * values[-1], least * float(np.median(values)))
    return np.asarray((V / np.sqrt(np.maximum(values, floor))) @ V.T)
