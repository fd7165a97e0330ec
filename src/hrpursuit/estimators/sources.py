"""From what a user gives to rows: arrays are validated by scikit-learn, everything else is opened and surveyed."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from hrpursuit.core.protocols import Array, Rows
from hrpursuit.estimators.checks import FLOATS, LATER
from hrpursuit.progress import Bars
from hrpursuit.rows import ArrayRows, is_outside_memory, open_rows, survey
from hrpursuit.rows.columns import NoNamesError
from hrpursuit.rows.memory import array_of, as_plain, is_new_table, naming_the_column
from hrpursuit.rows.optional import is_a
from hrpursuit.rows.source import DataError, no_rows
from hrpursuit.rows.survey import REFUSED, survey_block

_IN_MEMORY = (
    "fill the gaps, leave out such rows, or give the data as an array or a DataFrame: HRP learns from gaps in memory, "
    "where it can keep the codes of each row"
)


def _is_plain(X: Any) -> bool:
    """Whether X is an array of floats, in which scikit-learn would find nothing to convert or to complain of. Its
    checks take longer than the search of a small fit.
    """
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS


def validated(model: Any, X: Any, **options: Any) -> Array:
    """An array of floats, by scikit-learn's rules; a survey has still to look for gaps."""
    if not is_new_table(X):
        with naming_the_column(X):
            return validate_data(model, as_plain(X), **LATER, **options)
    table = X.schema.empty_table().from_batches([X]) if is_a(X, "pyarrow", "RecordBatch") else X
    validate_data(model, table, skip_check_array=True, **options)  # its names, and their number
    return array_of(X)[0]


def training_rows(model: Any, X: Any) -> Rows:
    """Rows to fit on, still to be looked over."""
    if _is_plain(X):
        return ArrayRows(X)
    if not is_outside_memory(X):
        X = validated(model, X)
        return ArrayRows(X, feature_names=getattr(model, "feature_names_in_", None))
    return open_rows(X)


def look_over(rows: Rows, *, bounded: bool = False, gaps: bool = False) -> int:
    """Survey the rows, unless that was done; returns the number of gaps. With `gaps` NaN is allowed in memory, where
    the codes of each row can be kept.
    """
    if rows.is_checked:
        return 0
    advice = _IN_MEMORY if gaps else REFUSED
    return survey(rows, rows.name, bounded=bounded, gaps=gaps and isinstance(rows, ArrayRows), advice=advice)


def features_of(rows: Rows) -> dict[str, Any]:
    """The attributes that scikit-learn sets for arrays."""
    names = rows.feature_names
    named = {} if names is None else {"feature_names_in_": np.asarray(names, dtype=object)}
    return {"n_features_in_": rows.n_features, **named}


def remember_features(model: Any, rows: Rows) -> None:
    """Set what scikit-learn sets for arrays; at the end of a fit, so that one that fails changes nothing."""
    vars(model).pop("feature_names_in_", None)
    vars(model).update(features_of(rows))


def matching_rows(model: Any, X: Any, *, gaps: bool = False, **options: Any) -> Rows:
    """Rows to code with a fitted model; columns that have names are taken by name. `gaps` allows NaN in an array. Other
    options as for `open_rows`.
    """
    if not is_outside_memory(X):
        rows: Rows = ArrayRows(
            validated(model, X, reset=False), feature_names=getattr(model, "feature_names_in_", None)
        )
        survey(rows, rows.name, gaps=gaps)
        rows.is_checked = True
        return rows
    rows = open_by_name(X, getattr(model, "feature_names_in_", None), **options)
    check_n_features(rows, model.n_features_in_, type(model).__name__)
    return rows


def open_by_name(X: Any, known: Sequence[str] | np.ndarray | None, **options: Any) -> Rows:
    """Rows with these columns, whatever their order and whatever stands beside them; by position where rows or model
    have no names.
    """
    try:
        return open_rows(X, columns=None if known is None else [str(name) for name in known], **options)
    except NoNamesError:
        return open_rows(X, **options)


def check_n_features(rows: Rows, expected: int, name: str) -> None:
    if rows.n_features != expected:
        raise ValueError(
            f"{rows.name} has {rows.n_features} features, but {name} is expecting {expected} features as input."
        )


class _Spoiled(DataError):
    """A block has what it must not have; a survey says where."""


@dataclass(frozen=True)
class _Guarded:
    """The kernel on blocks that nobody has looked at yet; a class, since tasks for other processes are pickled."""

    kernel: Callable[..., Any]
    gaps: bool

    @property
    def __name__(self) -> str:
        return self.kernel.__name__

    def __call__(self, X: Array, *args: Any) -> Any:
        _, n_gaps, n_infinite, _ = survey_block(X)
        if n_infinite or (n_gaps and not self.gaps):
            raise _Spoiled
        return self.kernel(X, *args)


@contextmanager
def _located(rows: Rows, gaps: bool) -> Iterator[None]:
    try:
        yield
    except _Spoiled:
        survey(rows, rows.name, gaps=gaps)
        raise


def guarded_sum(rows: Rows, kernel: Callable[..., tuple[Any, ...]], *args: Any, gaps: bool) -> tuple[Any, ...]:
    """`rows.sum` for rows that nobody has looked at yet: those with a gap are refused, named by row and column, unless
    `gaps` are taken.
    """
    with _located(rows, gaps):
        return rows.sum(kernel if rows.is_checked else _Guarded(kernel, gaps), *args)


def guarded_map(rows: Rows, kernel: Callable[..., Array], *args: Any, gaps: bool) -> Iterator[Array]:
    """`rows.map`, likewise."""
    is_empty = True
    with _located(rows, gaps):
        for block in rows.map(kernel if rows.is_checked else _Guarded(kernel, gaps), *args):
            is_empty = is_empty and len(block) == 0
            yield block
    if is_empty:
        raise no_rows(rows.name)


@contextmanager
def shown(rows: Rows, verbose: int) -> Iterator[None]:
    """A bar for each pass over rows that are not in memory, from verbose=2 on, unless somebody watches already."""
    if verbose < 2 or rows.watcher is not None or isinstance(rows, ArrayRows):
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
