"""Parameters of `compress` and `Encoder`, checked: exactly one target, for all columns or by column, and settings."""

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from hrpursuit.compression.encoding.chunk_coder import EFFORTS
from hrpursuit.compression.files.header import MAX_CHUNK_ROWS
from hrpursuit.compression.tables.lookup import Lookup, listed
from hrpursuit.compression.targets import MAX_COEFS, Target

BASES = ("adaptive", "hrp", "pca", "dct")
LOSSLESS = "lossless"  # in place of a number, for a column
#: Bounds that are a share of a range have so many significant digits: they take 3 bytes each in the header.
_DIGITS = Context(prec=4, rounding=ROUND_DOWN)

Name = str | int
#: A number, numbers by name or pattern (None: all others), or one number per column.
Amounts = float | Mapping[Any, Any] | Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Request:
    """The target that was asked for, checked as far as possible before the columns are known."""

    parameter: str
    amount: Any
    lossless: tuple[Any, ...] = ()

    def check(self, names: Sequence[Name]) -> None:
        """Raise ValueError if a column is not there, or nothing is said about one."""
        self._amounts(names)

    def target(self, names: Sequence[Name], columns: Sequence[np.ndarray], exact: Sequence[int] = ()) -> Target:
        """The target for these columns; shares of a range become bounds.

        Parameters
        ----------
        names : sequence of str or int
            Names of the columns; numbers for an array.
        columns : sequence of arrays
            The rows that are known when the file is begun.
        exact : sequence of int, default=()
            Places of columns that are lossless, whatever is asked for the others.

        Returns
        -------
        target : Target
        """
        amounts = self._amounts(names, exact)
        if self.parameter == "relative_error":
            bounds = [_share_of_range(column, share) for column, share in zip(columns, amounts, strict=True)]
            return Target.of_columns("max_error", bounds)
        if not names and not isinstance(self.amount, (dict, tuple)):
            return Target(self.parameter, self.amount)
        return Target.of_columns(self.parameter, amounts)

    def _amounts(self, names: Sequence[Name], exact: Sequence[int] = ()) -> list[Any]:
        """One amount per column, 0 where nothing may be lost."""
        amounts: list[Any] = [None] * len(names)
        if not names:
            return amounts
        lookup = Lookup(names)
        for key in self.lossless:
            for place in _found(lookup, key, "lossless"):
                amounts[place] = 0.0
        if isinstance(self.amount, dict):
            self._fill_in(amounts, lookup)
            return _with_zeros(amounts, exact)
        each = self.amount if isinstance(self.amount, tuple) else (self.amount,) * len(names)
        if len(each) != len(names):
            raise ValueError(
                f"{self.parameter} has {len(each)} entries for {len(names)} columns; give one per column, or a mapping "
                "from columns to numbers."
            )
        return _with_zeros(
            [given if amount is None else amount for amount, given in zip(amounts, each, strict=True)], exact
        )

    def _fill_in(self, amounts: list[Any], lookup: Lookup) -> None:
        """Columns by their names, then by the first pattern that fits, then the default."""
        patterns = []
        for key, amount in self.amount.items():
            places = lookup.exactly(key)
            for place in places:
                if amounts[place] is not None and amount != amounts[place]:
                    raise ValueError(f"column {key!r} is in lossless, and {self.parameter} is {amount:g} there.")
                amounts[place] = amount
            if key is not None and not places:
                patterns.append((_found(lookup, key, self.parameter), amount))
        for places, amount in patterns:
            for place in places:
                amounts[place] = amount if amounts[place] is None else amounts[place]
        left = [name for name, amount in zip(lookup.names, amounts, strict=True) if amount is None]
        if left and None not in self.amount:
            raise ValueError(
                f"{self.parameter} says nothing about {listed(left)}; add {'it' if len(left) == 1 else 'them'}, or "
                "None (on the command line *) for all other columns."
            )
        amounts[:] = [self.amount[None] if amount is None else amount for amount in amounts]


def request_target(
    *,
    relative_rmse: float | None = None,
    max_error: Amounts | None = None,
    relative_error: Amounts | None = None,
    n_nonzero_coefs: int | None = None,
    lossless: bool | Sequence[Name] = False,
) -> Request:
    """The one target that was given, checked. Raises ValueError if there is none, or more than one."""
    exact = _lossless_columns(lossless)
    parameters = {
        "relative_rmse": relative_rmse,
        "max_error": max_error,
        "relative_error": relative_error,
        "n_nonzero_coefs": n_nonzero_coefs,
    }
    given = [name for name, value in parameters.items() if value is not None] + ["lossless"] * (lossless is True)
    if len(given) != 1:
        came = " and ".join(given) if given else "none"
        hint = " Columns that are lossless need one for the others." if exact and not given else ""
        raise ValueError(
            "give exactly one of relative_rmse, max_error, relative_error, n_nonzero_coefs and lossless=True; got "
            f"{came}.{hint}"
        )
    if relative_rmse is not None:
        return Request("relative_rmse", _share("relative_rmse", relative_rmse), exact)
    if max_error is not None:
        return Request("max_error", _by_column("max_error", max_error, _bound), exact)
    if relative_error is not None:
        return Request("relative_error", _by_column("relative_error", relative_error, _share), exact)
    if n_nonzero_coefs is not None:
        return Request("n_nonzero_coefs", _whole("n_nonzero_coefs", n_nonzero_coefs, 1, MAX_COEFS), exact)
    return Request("lossless", 0.0)


def check_settings(effort: str, basis: str, chunk_rows: int | None) -> int | None:
    """Raise ValueError if a setting is none of those there are; give the rows of a chunk as an int, or None."""
    for name, value, known in (("effort", effort, EFFORTS), ("basis", basis, BASES)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}.")
    return None if chunk_rows is None else _whole("chunk_rows", chunk_rows, 1, MAX_CHUNK_ROWS)


def read_bounds(text: str, read_number: Callable[[str], float] = float) -> float | dict[str | None, float | str]:
    """Read bounds as the command line has them.

    Parameters
    ----------
    text : str
        A number, or columns with theirs: `flow=1e-6,pressure=.1,*=1`. Columns may be patterns, `lossless` may stand
        for a number, and a name that has a comma goes in quotes with its number: `"a,b=1",*=2`.
    read_number : callable, default=float
        Makes a number of a text, or raises ValueError.

    Returns
    -------
    amounts : float or dict
        What `max_error` of `compress` takes.
    """
    if "=" not in text:
        return read_number(text.strip())
    amounts: dict[str | None, float | str] = {}
    for part in next(csv.reader([text], skipinitialspace=True)):
        name, sign, number = (piece.strip() for piece in part.rpartition("="))
        if not sign or not name:
            raise ValueError(f"{part!r} is not a column and its bound; write name=number, and *=number for the others.")
        if name in amounts:
            raise ValueError(f"the column {name!r} is named twice.")
        amounts[name] = LOSSLESS if number.lower() == LOSSLESS else read_number(number)
    return amounts


def _found(lookup: Lookup, key: Any, parameter: str) -> list[int]:
    places = lookup.fitting(key)
    if not places:
        raise lookup.missing(key, parameter)
    return places


def _with_zeros(amounts: list[Any], places: Sequence[int]) -> list[Any]:
    for place in places:
        amounts[place] = 0.0
    return amounts


def _by_column(parameter: str, value: Any, check: Callable[..., float]) -> Any:
    """A number, a dict or a tuple of numbers, each of them checked; 0 stands for a lossless column."""
    if _is_real(value):
        return check(parameter, value)
    if hasattr(value, "items"):  # a dictionary, or a Series with the names of the columns
        return {key: _of_column(f"{parameter} of column {key!r}", one, check) for key, one in value.items()}
    entries = np.asarray(value, dtype=object)
    if entries.ndim != 1:
        raise ValueError(
            f"{parameter} must be a number, a mapping from columns to numbers, or an array with one number per column; "
            f"got {value!r}."
        )
    return tuple(_of_column(f"{parameter} of column {i}", one, check) for i, one in enumerate(entries.tolist()))


def _of_column(what: str, value: Any, check: Callable[..., float]) -> float:
    if isinstance(value, str) and value == LOSSLESS:
        return 0.0
    return check(what, value, may_be_zero=True)


def _bound(what: str, value: Any, may_be_zero: bool = False) -> float:
    number = _as_float(value)
    if not (0 < number < math.inf or (number == 0 and may_be_zero)):
        least, exact = ("at least 0", "0 or 'lossless'") if may_be_zero else ("above 0", "lossless=True")
        raise ValueError(
            f"{what} must be a finite number {least}, in the unit of the table; got {value!r}. For no error at all, "
            f"give {exact}."
        )
    return number


def _share(what: str, value: Any, may_be_zero: bool = False) -> float:
    number = _as_float(value)
    if not (0 < number < 1 or (number == 0 and may_be_zero)):
        hint = ""
        if 1 <= number < 100:
            hint = f" For {number:g}% give {number / 100:g}."
        elif number == 0:
            hint = " For no error at all, give lossless=True."
        least = "at least 0" if may_be_zero else "above 0"
        raise ValueError(f"{what} must be a fraction {least} and below 1 (0.05 is 5%); got {value!r}.{hint}")
    return number


def _share_of_range(column: np.ndarray, share: float) -> float:
    """So much of the largest minus the smallest finite reading, in decimals and rounded down; 0 without a range."""
    if column.dtype.kind == "f":
        column = column[np.isfinite(column)]
    if share == 0 or not len(column):
        return 0.0
    low, high = (Decimal(str(end) if column.dtype.kind == "f" else int(end)) for end in (column.min(), column.max()))
    return float(_DIGITS.multiply(Decimal(repr(share)), high - low))


def _lossless_columns(lossless: Any) -> tuple[Any, ...]:
    if isinstance(lossless, bool):
        return ()
    if isinstance(lossless, (str, bytes)) or not isinstance(lossless, Iterable) or hasattr(lossless, "items"):
        raise ValueError(f"lossless must be True or False, or a list of columns as ['status']; got {lossless!r}.")
    return tuple(lossless)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}; got {value!r}.")
    return int(value)


def _as_float(value: Any) -> float:
    """NaN for what is no number."""
    if not _is_real(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
