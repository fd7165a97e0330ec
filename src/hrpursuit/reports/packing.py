"""The numbers of a study in the form that the page reads: a dictionary for JSON, and all cells as 16-bit integers."""

import base64
import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from hrpursuit.reports.hours import BadHour
from hrpursuit.reports.picture import ticks
from hrpursuit.reports.study import Curve, Setting, Study

GAP = -32768
_LARGEST = 16000  # so that the difference of two of them has 16 bits as well
_SHOWN = 0.995  # share of the readings that the colours tell apart


@dataclass(frozen=True)
class Packed:
    """What goes into the page."""

    figures: dict[str, Any]
    cells: str  # base64 of deflated int16, little-endian


def pack(study: Study, title: str) -> Packed:
    """All figures, and the cells of all pictures: readings, then one residual a setting, then the worst hours."""
    step = _step(study)
    readings = study.readings
    shown = whole(study.cells.of(readings.values), step)
    blocks = [shown]
    for setting in study.settings:
        blocks.append(np.where(shown == GAP, GAP, shown - whole(setting.picture, step)))
    for setting in study.settings:
        for hour in setting.hours:
            blocks += [whole(hour.across[:, study.cells.columns], step), whole(hour.around, step)]
    raw = np.concatenate([block.ravel() for block in blocks]).astype("<i2").tobytes()
    n_cells = readings.values.size
    figures = {
        "title": title,
        "nRows": readings.n_rows,
        "nColumns": readings.n_columns,
        "nObserved": readings.n_observed,
        "gaps": 1 - readings.n_observed / n_cells,
        "first": readings.labels[0],
        "last": readings.labels[-1],
        "hasTimes": readings.times is not None,
        "names": list(readings.names),
        "reports": readings.observed.any(axis=0).tolist(),
        "step": step,
        "decimals": _decimals(step),
        "csv": study.sizes.csv,
        "xz": study.sizes.xz,
        "picture": {
            "labels": [readings.labels[row] for row in study.cells.rows],
            "columns": study.cells.columns.tolist(),
            "everyRow": study.cells.every_row,
            "everyColumn": study.cells.every_column,
            "ticks": ticks(readings, study.cells.rows),
        },
        "scale": _scale(study),
        "settings": [_setting(setting, study) for setting in study.settings],
        "curves": [_curve(curve) for curve in study.curves],
        "atoms": _atoms(study),
        "notes": list(study.notes),
    }
    return Packed(figures, base64.b64encode(zlib.compress(raw, 9)).decode())


def whole(values: np.ndarray, step: float) -> np.ndarray:
    """Values as whole multiples of the step, gaps marked."""
    gaps = np.isnan(values)
    return np.where(gaps, GAP, np.round(np.where(gaps, 0.0, values) / step)).astype(np.int32)


def _step(study: Study) -> float:
    """A tenth of a unit of the last decimal, as a reconstruction lies between the units; the unit where 16 bits are not
    enough for that; else the finest that they allow.
    """
    everything = [study.readings.values, *(setting.picture for setting in study.settings)]
    everything += [hour.across for setting in study.settings for hour in setting.hours]
    everything += [hour.around for setting in study.settings for hour in setting.hours]
    largest = max((float(np.max(np.abs(part), initial=0.0, where=~np.isnan(part))) for part in everything), default=0.0)
    if study.readings.decimals is not None:
        for decimals in (study.readings.decimals + 1, study.readings.decimals):
            if largest <= _LARGEST * 10.0**-decimals:
                return 10.0**-decimals
    return largest / _LARGEST if largest else 1.0


def _decimals(step: float) -> int:
    """That a number in a tooltip needs."""
    return int(np.clip(np.ceil(-np.log10(step) - 1e-9), 0, 12))


def _scale(study: Study) -> dict[str, float]:
    """What the ends of the colours stand for; the same for all targets, so that they can be compared."""
    seen = study.readings.values[study.readings.observed]
    if not len(seen):
        return {"low": 0.0, "high": 1.0, "residual": 1.0}
    low, high = np.quantile(seen, [1 - _SHOWN, _SHOWN])
    low = min(low, 0.0) if abs(low) < (high - low) / 2 else low  # from zero on where that is near
    shown = study.cells.of(study.readings.values)
    residual = max((_spread(shown - setting.picture) for setting in study.settings), default=0.0)
    return {"low": float(low), "high": float(high if high > low else low + 1), "residual": residual or 1.0}


def _spread(differences: np.ndarray) -> float:
    known = np.abs(differences[~np.isnan(differences)])
    return float(np.quantile(known, _SHOWN)) if len(known) else 0.0


def _setting(setting: Setting, study: Study) -> dict[str, Any]:
    n_observed = max(study.readings.n_observed, 1)
    return {
        "short": str(setting.target).removeprefix("relative "),
        "text": str(setting.target),
        "bounds": _bounds(setting, study),
        "bytes": setting.n_bytes,
        "rmse": setting.rmse,
        "maxError": setting.max_error,
        "bits": 8 * setting.n_bytes / n_observed if study.readings.n_observed else None,
        "sensorRms": _short(setting.sensor_rms),
        "sensorMax": _short(setting.sensor_max),
        "hours": [_hour(hour, study) for hour in setting.hours],
    }


def _hour(hour: BadHour, study: Study) -> dict[str, Any]:
    labels = study.readings.labels[hour.first : hour.first + hour.around.shape[1]]
    return {
        "label": study.readings.labels[hour.row],
        "rms": hour.rms,
        "column": hour.column,
        "place": hour.column // study.cells.every_column,  # among the sensors that are shown
        "reading": float(hour.across[0, hour.column]),
        "restored": float(hour.across[1, hour.column]),
        "at": hour.row - hour.first,
        "ends": [labels[0], labels[-1]],
        "nAround": hour.around.shape[1],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    points = [{"bytes": p.n_bytes, "rmse": p.rmse, "maxError": p.max_error, "what": p.what} for p in curve.points]
    return {"method": curve.method, "label": curve.label, "points": points}


def _atoms(study: Study) -> dict[str, Any] | None:
    if study.atoms is None:
        return None
    shown = [{"weights": _short(a.weights), "share": a.share, "used": a.used} for a in study.atoms.shown]
    return {"nNonzero": study.atoms.n_nonzero, "nAll": study.atoms.n_all, "shown": shown}


def _bounds(setting: Setting, study: Study) -> list[float | None] | None:
    """Largest error that each column may have, None where single readings have no bound; None if all have the same."""
    if setting.target.by_column is None:
        return None
    bounds = setting.target.bounds(study.readings.n_columns).tolist()
    return [bound if math.isfinite(bound) else None for bound in bounds]


def _short(numbers: np.ndarray) -> list[float]:
    return [float(f"{number:.4g}") for number in numbers]
