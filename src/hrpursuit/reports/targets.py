"""How closely the readings are to be kept: what a list of targets says, and a list that suits the data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hrpursuit.reports.readings import Readings

Kind = Literal["rmse", "max_error", "lossless"]
_PERCENTS = (2, 4, 6, 8, 10)
_SHARE = 0.02  # of the root mean square reading: the smallest bound that is tried


@dataclass(frozen=True)
class Goal:
    """One target of `compress`."""

    kind: Kind
    amount: float = 0.0

    @property
    def options(self) -> dict[str, Any]:
        """For `compress`."""
        return {"lossless": True} if self.kind == "lossless" else {self.kind: self.amount}

    @property
    def short(self) -> str:
        if self.kind == "lossless":
            return "exact"
        return f"{100 * self.amount:.4g}%" if self.kind == "rmse" else f"±{self.amount:.4g}"

    @property
    def text(self) -> str:
        if self.kind == "lossless":
            return "no loss"
        if self.kind == "rmse":
            return f"relative RMSE of {self.short}"
        return f"no reading off by more than {self.amount:.4g}"


def read_targets(text: str) -> list[Goal]:
    """Read a list of targets.

    Parameters
    ----------
    text : str
        With commas: `2%` is a relative RMSE, `5` a bound on every error in the unit of the table, `lossless` neither.

    Returns
    -------
    goals : list of Goal
    """
    goals = [_read(part.strip()) for part in text.split(",") if part.strip()]
    if not goals:
        raise ValueError(f"--targets names none; expected e.g. 2%,5%,1,lossless; got {text!r}.")
    return list(dict.fromkeys(goals))


def _read(part: str) -> Goal:
    if part.lower() in {"lossless", "exact"}:
        return Goal("lossless")
    try:
        amount = float(part.removesuffix("%"))
    except ValueError:
        amount = math.nan
    if not (0 < amount < math.inf):
        raise ValueError(
            f"target {part!r}: expected a relative RMSE like 5%, a largest error like 1.5 in the unit of the readings, "
            "or lossless."
        )
    if not part.endswith("%"):
        return Goal("max_error", amount)
    if amount >= 100:
        raise ValueError(f"target {part!r}: a relative RMSE must be below 100%, which is what all zeros give.")
    return Goal("rmse", amount / 100)


def suitable(readings: Readings) -> list[Goal]:
    """No loss, three bounds that are round numbers, and relative RMSE of 2 to 10%."""
    goals = [Goal("lossless")]
    finest = 0.0 if readings.decimals is None else 10.0**-readings.decimals
    if readings.rms > 0:
        goals += [Goal("max_error", bound) for bound in _round_numbers(max(_SHARE * readings.rms, finest))]
        goals += [Goal("rmse", percent / 100) for percent in _PERCENTS]
    return goals


def _round_numbers(smallest: float) -> Sequence[float]:
    """Three of ..., 1, 2, 5, 10, 20, ... from the one nearest to `smallest` on."""
    power = math.floor(math.log10(smallest))
    row = [float(f"{digit}e{power + shift}") for shift in (0, 1) for digit in (1, 2, 5)]
    nearest = min(range(4), key=lambda i: abs(math.log(row[i] / smallest)))
    return row[nearest : nearest + 3]
