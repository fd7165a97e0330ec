"""The sensor readings of the paper's application, and the ways to fill their gaps."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hrpursuit.core.coding import codes_block
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
        return None, f"needs the sensor readings: give --data FILE, or set {VARIABLE} to the folder that has {FILE}."
    path = Path(folder) / FILE if Path(folder).is_dir() else Path(folder)
    if not path.is_file():
        return None, f"needs the sensor readings: {VARIABLE} says {folder}, but there is no file {path}."
    return path, ""


def config_of(settings: Settings) -> Config:
    """What tells one file of readings from another, in the configuration of a trial."""
    assert settings.readings is not None
    return {"path": str(settings.readings), "digest": hashlib.sha256(settings.readings.read_bytes()).hexdigest()[:16]}


def read(path: str | Path) -> np.ndarray:
    """Hours x sensors; NaN where a sensor did not report. The first column is the hour."""
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    if table.ndim != 2 or table.shape[1] < 3:
        raise ValueError(f"{path}: expected a CSV table with a line of names, the hour first; got shape {table.shape}.")
    return table[:, 1:]


def _published(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each gap the mean of the indices, from 1, of the sensors that report, plus unit Gaussian noise."""
    observed = ~np.isnan(X)
    index = np.arange(1, X.shape[1] + 1)
    mean_index = (observed * index).sum(axis=1) / np.maximum(observed.sum(axis=1), 1)
    return np.where(observed, X, mean_index[:, None] + rng.standard_normal(X.shape))


def _written(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each gap the mean of the sensors that report at that hour."""
    observed = ~np.isnan(X)
    mean = np.where(observed, X, 0).sum(axis=1) / np.maximum(observed.sum(axis=1), 1)
    return np.where(observed, X, mean[:, None])


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
    "ours": Fill("as written, then again and again with what the dictionary makes of the gaps", _written),
}
