"""Ways to store the readings, ours and others, as trials: each one writes a file and decodes the table from it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrpursuit.compression import Decoder, Target, compress, decompress
from hrpursuit.core.protocols import Array
from hrpursuit.reports.atoms import code_counts
from hrpursuit.reports.readings import Readings
from hrpursuit.rivals import RIVALS

OURS = "adaptive"
CODES = "n_nonzero"
BASES = {"hrp": "hrpursuit, basis by HRP", "pca": "hrpursuit, basis by PCA", "dct": "hrpursuit, DCT over sensors"}
_RIVALS = {re.sub(r"[^a-z0-9]+", "-", label.lower()): label for label in RIVALS}  # names without commas and spaces
Coded = tuple[int, Array]  # bytes, and the table that comes back


class NotReached(ValueError):
    """A method has no setting that reaches the error."""


@dataclass(frozen=True)
class Trial:
    """One file to be made."""

    method: str
    label: str
    what: str
    run: Callable[[], Coded]


def known() -> list[str]:
    """Names of all methods to compare with, installed or not."""
    return [*BASES, CODES, *_RIVALS]


def choose(text: str, *, rivals: bool = True) -> list[str]:
    """Methods that a list with commas names; `all` and `none` are names as well."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ValueError(f"--methods names none; the methods are {', '.join(known())}, all or none.")
    for name in names:
        if name not in {*known(), "all", "none"}:
            raise ValueError(f"unknown method {name!r}; the methods are {', '.join(known())}, all or none.")
    if "none" in names:
        return []
    return [name for name in (known() if "all" in names else names) if rivals or name not in _RIVALS]


def ours(readings: Readings, asked: Mapping[str, Any]) -> tuple[Target, Coded]:
    """Our file with the default settings, and its target."""
    data = compress(readings.table, **asked)
    return Decoder(data).target, _back(data)


def n_trials(name: str, readings: Readings, n_errors: int) -> int:
    """How many trials a method has."""
    return len(code_counts(readings.n_columns)) if name == CODES else n_errors


def trials(name: str, readings: Readings, errors: Sequence[float]) -> list[Trial]:
    """Files of one method: at these relative errors, or with some numbers of codes a time step."""
    if name == CODES:
        return [_by_codes(readings, n) for n in code_counts(readings.n_columns)]
    kind = _in_basis if name in BASES else _by_rival
    return [kind(readings, name, error) for error in errors]


def _in_basis(readings: Readings, basis: str, error: float) -> Trial:
    def run() -> Coded:
        return _back(compress(readings.table, relative_rmse=error, basis=basis))

    return Trial(basis, BASES[basis], _asked(error), run)


def _by_codes(readings: Readings, n_nonzero: int) -> Trial:
    def run() -> Coded:
        return _back(compress(readings.table, n_nonzero_coefs=n_nonzero))

    return Trial(CODES, "hrpursuit, T0 codes in an HRP dictionary", f"T0 = {n_nonzero}", run)


def _by_rival(readings: Readings, name: str, error: float) -> Trial:
    label = _RIVALS[name]

    def run() -> Coded:
        stored = RIVALS[label](readings.values, rmse=error)
        if stored is None:
            raise NotReached(f"cannot reach a {_asked(error)}")
        return stored.n_bytes, np.asarray(stored.table, dtype=np.float64)

    return Trial(name, label, _asked(error), run)


def _asked(error: float) -> str:
    return f"relative RMSE of {100 * error:.3g}%"


def _back(data: bytes) -> Coded:
    return len(data), np.asarray(decompress(data), dtype=np.float64)
