"""Statements of the paper, tried out: each part checks one of them by numbers that could contradict it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from hrpursuit.experiments.catalogue.theory import (
    concentration,
    gradient_inequality,
    growth,
    iterates,
    moments,
    optima,
    polar,
    stationary,
    step_ratio,
    tangent,
    theorem_1,
    theorem_2,
    theorem_3,
)
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Table, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: In the order of the paper.
PARTS: dict[str, Any] = {
    "polar": polar,
    "tangent": tangent,
    "moments": moments,
    "concentration": concentration,
    "stationary": stationary,
    "optima": optima,
    "gradient-inequality": gradient_inequality,
    "step-ratio": step_ratio,
    "iterates": iterates,
    "theorem-1": theorem_1,
    "theorem-2": theorem_2,
    "theorem-3": theorem_3,
    "growth": growth,
}


def plan(settings: Settings) -> list[Config]:
    return [{"part": name} | config for name, part in PARTS.items() for config in part.plan(settings)]


def run(part: str, **config: Any) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
    return PARTS[part].run(**config)


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    figures: dict[str, Figure] = {}
    tables: list[Table] = []
    verdicts: list[Verdict] = []
    for name, part in PARTS.items():
        rows = records[records.part == name].dropna(axis=1, how="all")
        if rows.empty:  # all its trials failed, which is told elsewhere
            continue
        findings = part.conclude(rows, settings)
        figures |= {f"{name}-{own}".rstrip("-"): figure for own, figure in findings.figures.items()}
        tables += [replace(table, part=name) for table in findings.tables]
        verdicts += [replace(verdict, part=name) for verdict in findings.verdicts]
    return Findings(figures, tables, verdicts)


EXPERIMENT = Experiment(
    "theory", "Lemmas and theorems of the paper, tried out on small cases", "Proposition 1, lemmas, Theorems 1 to 3",
    plan, run, conclude,
)  # fmt: skip
