"""What a file is asked to keep: exactly one target, and the settings beside it, checked."""

import math
from dataclasses import dataclass
from numbers import Integral, Real

KINDS = ("lossless", "rmse", "max_error", "n_nonzero")
EFFORTS = ("fast", "default")
BASES = ("adaptive", "hrp", "pca", "dct")
MAX_CHUNK_ROWS = 65536


@dataclass(frozen=True)
class Target:
    """What was asked for when a file was written.

    Attributes
    ----------
    kind : {"lossless", "rmse", "max_error", "n_nonzero"}
        What is bounded.
    amount : float or int
        The relative RMSE as a fraction, the largest error of a reading in the unit of the table, or the number of
        coefficients a row; 0.0 if nothing may be lost.
    """

    kind: str
    amount: float

    def __str__(self) -> str:
        if self.kind == "lossless":
            return "lossless"
        return f"relative RMSE {self.amount:.4%}" if self.kind == "rmse" else f"{self.kind} {self.amount:g}"


def choose_target(
    *, rmse: float | None = None, max_error: float | None = None, n_nonzero: int | None = None, lossless: bool = False
) -> Target:
    """The one target that was given, checked. Raises ValueError if there is none, or more than one."""
    if not isinstance(lossless, bool):
        raise ValueError(f"lossless must be True or False; got {lossless!r}.")
    given = [
        name
        for name, value in (("rmse", rmse), ("max_error", max_error), ("n_nonzero", n_nonzero))
        if value is not None
    ]
    given += ["lossless"] * lossless
    if len(given) != 1:
        came = " and ".join(given) if given else "none"
        raise ValueError(f"give exactly one of rmse, max_error, n_nonzero and lossless=True; got {came}.")
    if rmse is not None:
        return Target("rmse", _fraction(rmse))
    if max_error is not None:
        if not _is_real(max_error) or not 0 < _as_float(max_error) < math.inf:
            raise ValueError(
                f"max_error must be a finite number above 0, in the unit of the table; got {max_error!r}. "
                "For no error at all, give lossless=True."
            )
        return Target("max_error", float(max_error))
    if n_nonzero is not None:
        return Target("n_nonzero", _whole("n_nonzero", n_nonzero, 1, 2**20))
    return Target("lossless", 0.0)


def check_settings(effort: str, basis: str, chunk_rows: int) -> int:
    """Raise ValueError if a setting is none of those there are; give the rows of a chunk as an int."""
    for name, value, known in (("effort", effort, EFFORTS), ("basis", basis, BASES)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}.")
    return _whole("chunk_rows", chunk_rows, 1, MAX_CHUNK_ROWS)


def _fraction(rmse: float) -> float:
    if not _is_real(rmse) or not 0 < rmse < 1:
        hint = ""
        if _is_real(rmse) and 1 <= rmse < 100:
            hint = f" For {rmse:g}% give rmse={rmse / 100:g}."
        elif _is_real(rmse) and rmse == 0:
            hint = " For no error at all, give lossless=True."
        raise ValueError(f"rmse must be a fraction above 0 and below 1 (0.05 is 5%); got {rmse!r}.{hint}")
    return float(rmse)


def _whole(name: str, value: int, least: int, most: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}; got {value!r}.")
    return int(value)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
