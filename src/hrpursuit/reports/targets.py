"""How closely a report keeps the readings: what a list of targets says, and a list that suits the data.

A target is a dictionary with the parameters of `compress`, such as `{"max_error": 2}`.
"""

import math
from collections.abc import Sequence
from typing import Any

from hrpursuit.compression.parameters import read_bounds
from hrpursuit.reports.readings import Readings

_PERCENTS = (2, 4, 6, 8, 10)
_SHARE = 0.02  # of the root mean square reading: the smallest bound that is tried


def read_targets(text: str) -> list[dict[str, Any]]:
    """Read a list of targets.

    Parameters
    ----------
    text : str
        With commas: `2%` is a relative RMSE, `5` a bound on every error in the unit of the table, `lossless` neither.
        With semicolons where one of them has bounds by column: `2%; flow=1e-6,*=1; lossless`.

    Returns
    -------
    targets : list of dict
        Parameters of `compress`.
    """
    parts = [text] if "=" in text and ";" not in text else text.split(";" if ";" in text else ",")
    targets = [_read(part.strip()) for part in parts if part.strip()]
    if not targets:
        raise ValueError(f"--targets names none; expected e.g. 2%,5%,1,lossless; got {text!r}.")
    return [target for i, target in enumerate(targets) if target not in targets[:i]]


def _read(part: str) -> dict[str, Any]:
    if part.lower() in {"lossless", "exact"}:
        return {"lossless": True}
    try:
        if not part.endswith("%"):
            return {"max_error": read_bounds(part, _positive)}
        amount = _positive(part.removesuffix("%"))
    except ValueError as error:
        raise ValueError(
            f"target {part!r}: expected a relative RMSE like 5%, a largest error like 1.5 in the unit of the readings, "
            f"one by column like flow=1e-6,*=1, or lossless ({error})"
        ) from error
    if amount >= 100:
        raise ValueError(f"target {part!r}: a relative RMSE must be below 100%, which is what all zeros give.")
    return {"relative_rmse": amount / 100}


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise ValueError(f"{text!r} is not above 0")
    return number


def suitable(readings: Readings) -> list[dict[str, Any]]:
    """No loss, three bounds that are round numbers, and relative RMSE of 2 to 10%."""
    targets: list[dict[str, Any]] = [{"lossless": True}]
    finest = 0.0 if readings.decimals is None else 10.0**-readings.decimals
    if readings.rms > 0:
        targets += [{"max_error": bound} for bound in _round_numbers(max(_SHARE * readings.rms, finest))]
        targets += [{"relative_rmse": percent / 100} for percent in _PERCENTS]
    return targets


def _round_numbers(smallest: float) -> Sequence[float]:
    """Three of ..., 1, 2, 5, 10, 20, ... from the one nearest to `smallest` on."""
    power = math.floor(math.log10(smallest))
    row = [float(f"{digit}e{power + shift}") for shift in (0, 1) for digit in (1, 2, 5)]
    nearest = min(range(4), key=lambda i: abs(math.log(row[i] / smallest)))
    return row[nearest : nearest + 3]
