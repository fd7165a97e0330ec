"""The sensor readings of the paper's application, and the ways to fill their gaps."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from hrpursuit.core.coding import codes_block
from hrpursuit.core.masked import fill_with_row_means
from hrpursuit.core.procrustes import hard_threshold_procrustes
from hrpursuit.experiments.experiment import Config, Settings
from hrpursuit.rows import ArrayRows

FILE = "krakow_pm25_2017_10.csv"
VARIABLE = "HRPURSUIT_DATA"


def find_readings(given: Path | None) -> tuple[Path | None, str]:
    """The file of readings, or None and what to do about it. What was given by name has to exist."""
    if given is not None:
        path = given / FILE if given.is_dir() else given
        if not path.is_file():
            raise FileNotFoundError(f"there are no readings at {path}; --data is a CSV file or a folder with {FILE}.")
        return path, ""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return None, (
            f"needs the sensor readings (`hrpursuit airly --help` says how to get them): give --data FILE, or set "
            f"{VARIABLE} to the folder that has {FILE}."
        )
    path = Path(folder) / FILE if Path(folder).is_dir() else Path(folder)
    if not path.is_file():
        return None, f"needs the sensor readings: {VARIABLE} says {folder}, but there is no file {path}."
    return path, ""


def digest_of(settings: Settings) -> Config:
    """What tells one file of readings from another, in the configuration of a trial."""
    assert settings.readings is not None
    return {"digest": hashlib.sha256(settings.readings.read_bytes()).hexdigest()[:16]}


def path_of(settings: Settings) -> Config:
    """Where the readings are, which does not tell one trial from another."""
    return {"path": str(settings.readings)}


@dataclass(frozen=True)
class Readings:
    """A table of readings.

    Attributes
    ----------
    values : array of shape (n_hours, n_sensors)
        NaN where a sensor did not report.
    first, last : str or None
        What the first column says of the first and the last hour, where it is no number.
    """

    values: np.ndarray
    first: str | None = None
    last: str | None = None

    @property
    def when(self) -> str:
        """The time that the table covers, as far as it says so."""
        return "" if self.first is None else f"from {self.first} to {self.last}"


def read(path: str | Path) -> Readings:
    """Hours x sensors. The first column is the hour, as a number or as a time."""
    expected = f"{path}: expected a CSV file with a line of names, then a line per hour: the hour, a number per sensor"
    lines = Path(path).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    if not lines or all(_is_number(name) for name in lines[0].split(",")):
        raise ValueError(f"{expected}; got no line of names.")
    rows = [line.split(",", 1) for line in lines[1:] if line.strip()]
    hours = [row[0].strip().strip('"') for row in rows]
    try:
        table = np.genfromtxt(
            [row[1] if len(row) == 2 else "" for row in rows], delimiter=",", encoding="utf-8", ndmin=2
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{expected}; got lines of different lengths, or no table at all.") from error
    if table.shape[1] < 2 or len(table) < table.shape[1] + 1:
        shape = (len(table), table.shape[1] + 1)
        raise ValueError(f"{expected}, at least two sensors and as many hours as sensors; got shape {shape}.")
    are_times = [_is_time(hour) for hour in hours]
    if not (all(are_times) or all(_is_number(hour) for hour in hours)):
        raise ValueError(f"{expected}; got something else than numbers or times as hours.")
    if not np.isfinite(np.nanmax(table, initial=-np.inf)):
        raise ValueError(f"{expected}; got something else than numbers, or no reading at all.")
    return Readings(table, hours[0], hours[-1]) if all(are_times) else Readings(table)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return not _is_number(text)


def _published(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each gap the mean of the indices, from 1, of the sensors that report, plus unit Gaussian noise."""
    observed = ~np.isnan(X)
    index = np.arange(1, X.shape[1] + 1)
    mean_index = (observed * index).sum(axis=1) / np.maximum(observed.sum(axis=1), 1)
    return np.where(observed, X, mean_index[:, None] + rng.standard_normal(X.shape))


def _written(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each gap the mean of the sensors that report at that hour."""
    return fill_with_row_means(X)


def refill(
    X: np.ndarray, readings: np.ndarray, components: np.ndarray, n_nonzero: int, n_rounds: int = 200
) -> tuple[np.ndarray, np.ndarray]:
    """Each gap of `readings` what the codes of its hour say, then one Procrustes step, in turn; both lower the error on
    the readings that there are.
    """
    observed = ~np.isnan(readings)
    for _ in range(n_rounds):
        X = np.where(observed, readings, codes_block(X, components.T, n_nonzero) @ components)
        components = hard_threshold_procrustes(ArrayRows(X), components, n_nonzero=n_nonzero, max_iter=1).components
    return X, components


def _kept(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Gaps stay gaps."""
    return X


#: What the readings are divided by. The steps of Stage Two and of some baselines are absolute, so the unit matters.
SCALINGS = {
    "largest": "by the largest reading, as in the published code",
    "none": "not at all: the paper's text speaks of no scaling",
}


@dataclass(frozen=True)
class Fill:
    """A way to fill gaps."""

    text: str
    apply: Callable[[np.ndarray, np.random.Generator], np.ndarray]


FILLS = {
    "published": Fill(
        "as in the published code: the mean of the indices of the sensors that report, plus noise", _published
    ),
    "written": Fill("as the paper's text says: the mean of the sensors that report at that hour", _written),
    "refilled": Fill("as written, then by what the codes of the hour say, with a Procrustes step, 200 times", _written),
    "kept": Fill("kept: hrpursuit learns and codes by the readings that there are", _kept),
}
