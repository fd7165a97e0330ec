"""The time steps that a coding keeps worst, and what is around them."""

from dataclasses import dataclass

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.reports.readings import Readings

N_HOURS = 8
AROUND = 24  # time steps before and after


@dataclass(frozen=True)
class BadHour:
    """One row of the table."""

    row: int
    rms: float  # root mean square error of its readings
    column: int  # the sensor with the largest error
    first: int  # row where the stretch around it begins
    across: Array  # readings and reconstruction of all sensors in this row, of shape (2, n_columns)
    around: Array  # those of this sensor in the rows around, of shape (2, n_steps)


def worst_hours(readings: Readings, restored: Array) -> tuple[BadHour, ...]:
    """Rows with the largest root mean square error, worst first; none that have no error or no reading."""
    errors = np.where(readings.observed, readings.values - restored, 0.0)
    counts = np.maximum(readings.observed.sum(axis=1), 1)
    rms = np.sqrt(np.sum(errors**2, axis=1) / counts)
    order = np.argsort(-rms, kind="stable")[:N_HOURS]
    return tuple(_hour(readings, restored, errors, int(row), float(rms[row])) for row in order if rms[row] > 0)


def _hour(readings: Readings, restored: Array, errors: Array, row: int, rms: float) -> BadHour:
    column = int(np.argmax(np.abs(errors[row])))
    first = max(0, row - AROUND)
    rows = slice(first, row + AROUND + 1)
    across = np.stack([readings.values[row], restored[row]])
    around = np.stack([readings.values[rows, column], restored[rows, column]])
    return BadHour(row, rms, column, first, across, around)
