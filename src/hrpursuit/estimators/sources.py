"""From what a user gives to rows: arrays are validated by scikit-learn, everything else is opened and looked at."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from hrpursuit.core.protocols import Array, Rows
from hrpursuit.progress import Bars
from hrpursuit.rows import ArrayRows, is_outside_memory, open_rows, survey
from hrpursuit.rows.columns import NoNamesError
from hrpursuit.rows.open import is_rows
from hrpursuit.rows.source import DataError
from hrpursuit.rows.survey import REFUSED

FLOATS = [np.float64, np.float32]
_IN_MEMORY = (
    "fill the gaps, leave out such rows, or give the data as an array or a DataFrame: HRP learns from gaps in memory, "
    "where it can keep the codes of each row"
)


def _is_plain(X: Any) -> bool:
    """Whether X is an array of finite floats, in which scikit-learn would find nothing to convert or to complain of.
    Its checks take longer than the search of a small fit.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in FLOATS or min(X.shape) < 2:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))


def _validated(model: Any, X: Any, gaps: bool, **options: Any) -> Array:
    """An array that scikit-learn has looked at; with NaN only where `gaps` are taken."""
    try:
        return validate_data(model, X, dtype=FLOATS, ensure_all_finite="allow-nan" if gaps else True, **options)
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        what = "its certificate needs rows without gaps" if takes_gaps(model) else "it does not take gaps"
        raise ValueError(
            f"Input X contains NaN. {type(model).__name__}: {what}; {REFUSED}"
            f"{'' if takes_gaps(model) else ', or use HRP, which takes NaN as missing'}."
        ) from None


def takes_gaps(model: Any) -> bool:
    """Whether NaN is a missing value to the model."""
    return bool(getattr(model, "_takes_gaps", False))


def training_rows(model: Any, X: Any) -> Rows:
    """Rows to fit on; those that are not in memory are still to be surveyed."""
    if _is_plain(X):
        return ArrayRows(X, is_checked=True, is_finite=True)
    if not is_outside_memory(X):
        X = _validated(model, X, takes_gaps(model), ensure_min_samples=2)
        return ArrayRows(X, feature_names=getattr(model, "feature_names_in_", None), is_checked=True)
    return open_rows(X)


def look_over(rows: Rows, *, bounded: bool = False, gaps: bool = False) -> None:
    """Survey the rows, unless they came as an array, which scikit-learn has checked. With `gaps` NaN is allowed in
    memory, where the codes of each row can be kept.
    """
    if not getattr(rows, "is_checked", False):
        advice = _IN_MEMORY if gaps else REFUSED
        survey(rows, name_of(rows), bounded=bounded, gaps=gaps and isinstance(rows, ArrayRows), advice=advice)


def remember_features(model: Any, rows: Rows) -> None:
    """Set what scikit-learn sets for arrays; at the end of a fit, so that one that fails changes nothing."""
    model.n_features_in_ = rows.n_features
    names = getattr(rows, "feature_names", None)
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def matching_rows(model: Any, X: Any, *, gaps: bool = False, **options: Any) -> Rows:
    """Rows to code with a fitted model; columns that have names are taken by name. `gaps` allows NaN in an array. Other
    options as for `open_rows`.
    """
    if not is_outside_memory(X):
        return ArrayRows(_validated(model, X, gaps, reset=False), is_checked=True)
    rows = open_by_name(X, getattr(model, "feature_names_in_", None), **options)
    check_n_features(rows, model.n_features_in_, type(model).__name__)
    return rows


def open_by_name(X: Any, known: Sequence[str] | np.ndarray | None, **options: Any) -> Rows:
    """Rows with these columns, whatever their order and whatever stands beside them; by position where rows or model
    have no names.
    """
    if known is None:
        return open_rows(X, **options)
    if is_rows(X):
        names = getattr(X, "feature_names", None)
        if names is not None and list(names) != [str(name) for name in known]:
            raise ValueError(
                f"{name_of(X)} has the columns {', '.join(map(str, names[:20]))}; expected "
                f"{', '.join(map(str, known[:20]))}. Open them with columns=..."
            )
        return X
    try:
        return open_rows(X, columns=[str(name) for name in known], **options)
    except NoNamesError:
        return open_rows(X, **options)


def check_n_features(rows: Rows, expected: int, name: str) -> None:
    if rows.n_features != expected:
        raise ValueError(
            f"{name_of(rows)} has {rows.n_features} features, but {name} is expecting {expected} features as input."
        )


def name_of(rows: Rows) -> str:
    """What a message calls the rows."""
    return str(rows) if type(rows).__str__ is not object.__str__ else "X"


def checked(blocks: Iterator[Array], rows: Rows, *, gaps: bool = False) -> Iterator[Array]:
    """Results for rows that nobody has looked at yet: those with a gap are refused, named by row and column, unless
    `gaps` are taken.
    """
    is_known, is_empty = getattr(rows, "is_checked", False), True
    for block in blocks:
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = is_known or np.isfinite(block.sum())
        if not is_finite:
            survey(rows, name_of(rows), gaps=gaps)
            is_known = True  # nothing wrong with the rows: the results are just too large
        is_empty = is_empty and len(block) == 0
        yield block
    if is_empty:
        raise DataError(f"{name_of(rows)} is empty: it has no rows.")


@contextmanager
def shown(rows: Rows, verbose: int) -> Iterator[None]:
    """A bar for each pass over rows that are not in memory, from verbose=2 on, unless somebody watches already."""
    if verbose < 2 or getattr(rows, "watcher", rows) is not None:  # watched already, or nothing to watch
        yield
        return
    try:
        bars = Bars()
    except ImportError as error:
        warnings.warn(str(error), stacklevel=2)
        yield
        return
    with bars.watching(rows):
        yield
