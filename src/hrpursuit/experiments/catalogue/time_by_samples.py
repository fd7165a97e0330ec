"""CPU time of all methods against the number of samples, with 20 atoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from hrpursuit.experiments import timing
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings
from hrpursuit.experiments.quirks import MATCHING, TRUTH

CELLS = tuple((20, n_samples) for n_samples in (100, 2300, 4500, 10_000))
#: Seconds in the paper's table, by method.
PAPER = {
    "proposed": (0.005, 0.019, 0.023, 0.09),
    "ksvd": (0.02, 0.08, 0.14, 0.30),
    "spams": (0.35, 1.58, 1.74, 2.02),
    "translearn": (1.95, 13.87, 23.36, 82.73),
    "logcosh-rtr": (49.25, 50.59, 54.87, 287.20),
    "l1-rgd": (0.23, 0.29, 0.34, 2.47),
    "l4-msp": (0.01, 0.09, 0.16, 0.36),
    "l3-s1": (0.005, 0.016, 0.019, 0.07),
}


def plan(settings: Settings) -> list[Config]:
    return timing.plan(CELLS, settings)


def run(method: str, n_features: int, n_samples: int, trial: int, seed: int, quirks: Sequence[str]) -> dict[str, Any]:
    return timing.run(method, n_features, n_samples, trial, seed, quirks)


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    return timing.conclude(records, settings, CELLS, PAPER, "n_samples", "CPU time with 20 atoms, θ = .2")


EXPERIMENT = Experiment(
    "time-by-samples", "CPU time against the number of samples", "Table: CPU time with N = 20 and different L",
    plan, run, conclude, is_timed=True, compares=True, quirks=(MATCHING, TRUTH),
)  # fmt: skip
