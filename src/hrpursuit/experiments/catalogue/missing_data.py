"""The sensor readings with their gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Verdict
from hrpursuit.experiments.readings import digest_of, path_of, read
from hrpursuit.experiments.style import GAP_COLOUR, READINGS_MAP, panels

MOST_SHOWN = 0.995  # share of the readings; a few are much higher, and would leave the rest dark


def plan(settings: Settings) -> list[Config]:
    return [digest_of(settings)]


def run(digest: str, path: str) -> list[dict[str, Any]]:
    readings = read(path)
    return [
        {"hour": hour, "sensor": sensor + 1, "reading": reading, "when": readings.when}
        for hour, row in enumerate(readings.values)
        for sensor, reading in enumerate(row)
    ]


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    from matplotlib import colormaps  # noqa: PLC0415 - an optional package
    from matplotlib.patches import Patch  # noqa: PLC0415

    X = records.pivot(index="sensor", columns="hour", values="reading").to_numpy(dtype=float)
    figure, axes = panels(1, 1, 13, 5.6)
    axis = axes[0, 0]
    colours = colormaps[READINGS_MAP].with_extremes(bad=GAP_COLOUR)
    least, most = min(0.0, float(np.nanmin(X))), float(np.nanquantile(X, MOST_SHOWN))
    image = axis.imshow(X, aspect="auto", cmap=colours, vmin=least, vmax=most,
                        interpolation="nearest",
                        extent=(0, X.shape[1], len(X) + 0.5, 0.5))  # fmt: skip
    axis.set(xlabel=f"hour {records.when.iloc[0]}".strip(), ylabel="sensor")
    axis.set_xticks(np.arange(0, X.shape[1] + 1, max(1, round(X.shape[1] / 6 / 24)) * 24))
    bar = figure.colorbar(image, ax=axis, extend="max", pad=0.01)
    bar.set_label("reading")
    figure.legend(handles=[Patch(color=GAP_COLOUR, label="no reading")], loc="outside upper right", frameon=False)
    gaps, dead = np.isnan(X).mean(), int(np.isnan(X).all(axis=1).sum())
    shape = f"{len(X)} sensors and {X.shape[1]} hours"
    text = f"{shape}, {100 * gaps:.1f}% of the readings are missing, and {dead} sensors never report."
    return Findings({"": figure}, verdicts=[Verdict(X.shape == (56, 744), text + " The paper has 56 x 744 readings.")])


EXPERIMENT = Experiment(
    "missing-data", "The sensor readings and their gaps", "Figure: raw data of PM2.5 from 56 sensors in Krakow",
    plan, run, conclude, needs_readings=True, given=path_of,
)  # fmt: skip
