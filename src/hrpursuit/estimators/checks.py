"""Checks of what a user gives: what was expected, what came, what to do."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from hrpursuit.core.evaluate import gram, mean
from hrpursuit.core.manifolds import polar
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows import ArrayRows, MappedRows, survey
from hrpursuit.rows.memory import as_plain, naming_the_column
from hrpursuit.rows.source import DataError
from hrpursuit.rows.survey import LIMITS

FLOATS = [np.float64, np.float32]
#: For scikit-learn's checks: what is left to the survey, whose words are the same wherever the rows are.
LATER: dict[str, Any] = {
    "dtype": FLOATS, "ensure_all_finite": False, "ensure_min_samples": 0, "ensure_min_features": 0,
}  # fmt: skip
_SHOWN = 8
_ROUNDING = 1e-20  # share of its square that a constant feature leaves when its mean is taken off


class MisspecifiedWarning(UserWarning):
    """Samples are exactly sparse, but only with other settings than those of the fit, which the message names."""


def check_enough_samples(n_samples: int, n_features: int, name: str) -> None:
    if n_samples < max(2, n_features):
        raise ValueError(
            f"{name} needs at least as many samples as features, and 2: X has {n_samples} samples and {n_features} "
            f"features. Give at least {max(2, n_features)} samples (about {10 * n_features} for a reliable answer), or "
            "fewer features."
        )


def check_table(X: Any, name: str = "X", *, gaps: bool = False) -> Array:
    """An array or a table in memory as an array of floats; with NaN only where `gaps` are taken."""
    with naming_the_column(X, name):
        X = check_array(as_plain(X), input_name=name, **LATER)
    survey(ArrayRows(X), name, gaps=gaps)
    return X


def check_scale(X: np.ndarray, *, smallest: bool = True) -> None:
    """Refuse units in which the arithmetic would over- or underflow; some of the rows will do.

    A part of a stream may be as small as it likes: then `smallest` is False.
    """
    survey(ArrayRows(X), "X", bounded=True)
    low = LIMITS[X.dtype][0]
    if smallest and 0 < float(np.abs(X).max()) <= low:
        raise DataError(
            f"X: no value is larger than {low:g} in magnitude, too small to compute with in {X.dtype}; use another "
            "unit, for instance X / abs(X).max()."
        )


def check_observed(X: Array, dictionary: str, names: Sequence[str] | np.ndarray | None, *, free: bool = False) -> None:
    """Refuse a table with gaps that has nothing else; for a complete dictionary that is to be invertible (not `free`)
    also a feature that has nothing else, since the samples say nothing about it.
    """
    blank = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(blank) == X.shape[1]:
        raise ValueError("all entries of X are NaN; there is nothing to learn from.")
    if len(blank) and dictionary == "complete" and not free:
        label = (lambda i: repr(str(names[i]))) if names is not None else (lambda i: str(i + 1))
        raise ValueError(
            f'dictionary="complete" needs features that are observed somewhere; columns without any entry but NaN: '
            f'{_list(blank, label)}. Remove them, or use dictionary="orthogonal" or n_nonzero_coefs, which allow them.'
        )


def check_n_nonzero(n_nonzero: int | None, n_features: int) -> None:
    if n_nonzero is not None and (isinstance(n_nonzero, bool) or n_nonzero > n_features):
        raise ValueError(f"n_nonzero_coefs must be from 1 to {n_features}, the number of features; got {n_nonzero}.")


def check_dict_init(
    dict_init: ArrayLike | None, n_features: int, *, orthogonal: bool, invertible: bool = True
) -> Array | None:
    """The dictionary to start from in double, made exactly orthogonal where it has to be."""
    if dict_init is None:
        return None
    W = check_array(dict_init, dtype=np.float64, input_name="dict_init")
    if W.shape != (n_features, n_features):
        raise ValueError(
            f"dict_init must have shape ({n_features}, {n_features}) to match X with {n_features} features; "
            f"got {W.shape}."
        )
    if orthogonal:
        defect = float(np.abs(W @ W.T - np.eye(n_features)).max())
        if defect > 1e-3:
            raise ValueError(
                "dict_init must have orthonormal rows; "
                f"dict_init @ dict_init.T is off the identity by up to {defect:.2g}. "
                'Orthonormalise it, or use dictionary="complete".'
            )
        return polar(W)
    if invertible and np.linalg.matrix_rank(W) < n_features:
        raise ValueError(
            f"dict_init must be invertible; got a matrix of rank {np.linalg.matrix_rank(W)} for {n_features} features."
        )
    return W


def check_full_rank(
    G: Array, sample: Array, names: Sequence[str] | np.ndarray | None, dead_means: str = "always zero"
) -> None:
    """A complete dictionary needs features that are linearly independent over all rows (G = X^T X); name those that are
    not. The sample only tells which of these are constant.
    """
    scale = np.sqrt(np.diag(G))
    label = (lambda i: repr(str(names[i]))) if names is not None else (lambda i: str(i + 1))
    dead = np.flatnonzero(scale == 0)
    if len(dead):
        _raise_rank(f"{dead_means}: {_list(dead, label)}")
    correlation = G / np.outer(scale, scale)
    values, V = np.linalg.eigh(correlation)
    tol = len(G) * float(np.finfo(sample.dtype).eps)
    null = V[:, values <= tol]
    if null.shape[1]:
        dependent = np.flatnonzero((np.abs(null) > 1e-3).any(axis=1))
        constant = [int(i) for i in dependent if np.ptp(sample[:, i]) == 0]
        what = f"linearly dependent on one another: {_list(dependent, label)}"
        if len(constant) > 1:
            what += f" (constant: {_list(constant, label)})"
        _raise_rank(what)


def check_independent(rows: Rows, sample: Array, *, offset: bool) -> None:
    """`check_full_rank` for rows, less their mean where an offset is learned."""
    G = gram(rows)
    if offset:
        centred = gram(MappedRows(rows, None, mean(rows)))
        varies = np.diag(centred) > _ROUNDING * np.diag(G)
        G = centred * np.outer(varies, varies)
    check_full_rank(G, sample, rows.feature_names, "constant" if offset else "always zero")


def _list(indices: Sequence[int] | np.ndarray, label: Callable[[int], str]) -> str:
    shown = ", ".join(label(i) for i in indices[:_SHOWN])
    return shown + (f" and {len(indices) - _SHOWN} more" if len(indices) > _SHOWN else "")


def _raise_rank(what: str) -> None:
    raise ValueError(
        f'dictionary="complete" needs features that are linearly independent over the samples. Columns {what}. '
        'Remove or combine them, or use dictionary="orthogonal" or n_nonzero_coefs, which allow them.'
    )
