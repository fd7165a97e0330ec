"""CPU time of all methods against the number of atoms, with 1000 samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from hrpursuit.experiments import timing
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings
from hrpursuit.experiments.quirks import MATCHING, TRUTH

CELLS = tuple((n_atoms, 1000) for n_atoms in (10, 20, 40, 50))
#: Seconds in the paper's table, by method.
PAPER = {
    "proposed": (0.010, 0.014, 0.03, 0.04),
    "ksvd": (0.04, 0.04, 0.10, 0.14),
    "spams": (0.54, 1.45, 4.48, 6.82),
    "translearn": (3.64, 5.80, 12.38, 18.92),
    "logcosh-rtr": (22.60, 51.70, 128.13, 127.61),
    "l1-rgd": (0.051, 0.26, 2.32, 5.15),
    "l4-msp": (0.02, 0.04, 0.09, 0.11),
    "l3-s1": (0.006, 0.010, 0.02, 0.03),
}


def plan(settings: Settings) -> list[Config]:
    return timing.plan(CELLS, settings)


def run(method: str, n_features: int, n_samples: int, trial: int, seed: int, quirks: Sequence[str]) -> dict[str, Any]:
    return timing.run(method, n_features, n_samples, trial, seed, quirks)


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    return timing.conclude(records, settings, CELLS, PAPER, "n_features", "CPU time with 1000 samples, θ = .2")


EXPERIMENT = Experiment(
    "time-by-atoms", "CPU time against the number of atoms", "Table: CPU time with L = 1000 and different N",
    plan, run, conclude, is_timed=True, compares=True, quirks=(MATCHING, TRUTH),
)  # fmt: skip
