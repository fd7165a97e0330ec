"""What the two tables of CPU time share."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from hrpursuit.experiments.errors import SUCCESS, recovery_error
from hrpursuit.experiments.experiment import Config, Findings, Settings, Table, Verdict
from hrpursuit.experiments.methods import METHODS, OURS, installed, left_out, warm_up
from hrpursuit.experiments.style import LINES, panels
from hrpursuit.experiments.synthetic import draw, told

SPARSITY = 0.2
_EXACT = 1e-6  # median relative error of a method that recovers exactly
Cell = tuple[int, int]  # atoms, samples


def plan(cells: Sequence[Cell], settings: Settings) -> list[Config]:
    """Trials in the outermost loop, so that a change in the machine's speed meets all methods."""
    configs: list[Config] = []
    for trial in range(3 if settings.is_quick else 50):
        for n_features, n_samples in cells:
            for name in installed():
                if trial == 0 or not (settings.is_quick and METHODS[name].is_slow):
                    configs.append(
                        {"method": name, "n_features": n_features, "n_samples": n_samples, "trial": trial,
                         "seed": settings.seed, "quirks": sorted(settings.quirks)}
                    )  # fmt: skip
    return configs


def run(method: str, n_features: int, n_samples: int, trial: int, seed: int, quirks: Sequence[str]) -> dict[str, Any]:
    """CPU time of a fit in a process with one BLAS thread, and the error that it ends with."""
    X, truth = draw(n_samples, n_features, SPARSITY, seed, trial)
    warm_up(method)
    model = METHODS[method].estimator(told(SPARSITY, n_features) if method in ("ksvd", "translearn") else None, trial)
    start = time.process_time()
    model.fit(X)
    seconds = time.process_time() - start
    error = recovery_error(model.components_, truth, quirks)
    return {"seconds": seconds, "error": error, "success": error < SUCCESS}


def conclude(
    records: pd.DataFrame, cells: Sequence[Cell], paper: Mapping[str, Sequence[float]], by: str, title: str
) -> Findings:
    """The table with the paper's seconds beside ours, and a picture; `by` is the column that varies."""
    medians = records.groupby(["method", by])[["seconds", "error"]].median()
    values = [cell[0] if by == "n_features" else cell[1] for cell in cells]
    names = [name for name in METHODS if name in medians.index]
    what = "atoms" if by == "n_features" else "samples"
    header = ["", *(f"{value} {what}" for value in values)]
    seconds, errors = medians.seconds, medians.error

    def cell(name: str, i: int) -> str:
        key = (name, values[i])
        if key not in seconds.index:
            return "failed"
        ratio = seconds[key] / seconds[(OURS, values[i])] if (OURS, values[i]) in seconds.index else float("nan")
        return f"{seconds[key]:.3g} s = {ratio:.3g}x, error {errors[key]:.0e}"

    rows = [[METHODS[name].label, *(cell(name, i) for i in range(len(values)))] for name in names]
    note = (
        "Median CPU seconds of a fit, the ratio to hrpursuit, and the median relative error beside it: a time is worth "
        "nothing without it. The paper's are of MATLAB on another machine; compare the order, not the seconds."
    )
    in_paper = [[METHODS[name].label, *(f"{s:g} s" for s in paper[name])] for name in METHODS if name in paper]
    tables = [Table(title, header, rows, note), Table("The paper's own seconds", header, in_paper)]
    figure, axes = panels(1, 2, 13, 5.4)
    for i, name in enumerate(names):
        own = medians.loc[name]
        line = LINES[i % len(LINES)] | ({"markerfacecolor": "white"} if i >= len(LINES) else {})
        axes[0, 0].plot(own.index, own.seconds, label=METHODS[name].label, **line)
        axes[0, 1].plot(own.index, own.error.clip(lower=1e-16), **line)
    for axis, label in zip(axes[0], ("CPU time of a fit (s)", "relative error of the dictionary"), strict=True):
        axis.set(xlabel=f"number of {what}", ylabel=label, yscale="log")
        axis.grid(alpha=0.25)
        if by == "n_samples":
            axis.set_xscale("log")
    figure.legend(loc="outside right center", frameon=False)
    return Findings({"": figure}, tables, _verdicts(medians, values, what, paper))


def _verdicts(
    medians: pd.DataFrame, values: Sequence[int], what: str, paper: Mapping[str, Sequence[float]]
) -> list[Verdict]:
    seconds, error = medians.seconds.unstack(), medians.error.unstack()
    if OURS not in seconds.index:
        return []
    exact = error.loc[OURS] < _EXACT
    faster = [
        f"{METHODS[name].label} at {value} {what}"
        for name in seconds.index
        for value in values
        if name != OURS and error.loc[name, value] < _EXACT and seconds.loc[name, value] < seconds.loc[OURS, value]
    ]
    text = "hrpursuit recovers exactly in every cell and is the fastest of the methods that do"
    if not exact.all():
        text = f"hrpursuit does not recover exactly at {', '.join(map(str, exact.index[~exact]))} {what}"
    elif faster:
        text = f"hrpursuit recovers exactly in every cell, but {', '.join(faster)} does so faster"
    verdicts = [Verdict(bool(exact.all()) and not faster, text + ".")]
    known = [name for name in paper if name in seconds.index]
    differences = []
    for i, value in enumerate(values):
        theirs = sorted(known, key=lambda name: paper[name][i])
        here = sorted(known, key=lambda name: seconds.loc[name, value])
        if theirs != here:
            labels = ", ".join(METHODS[name].label for name in here)
            differences.append(f"at {value} {what} the order from fast to slow is {labels}")
    text = "The order of the paper's methods from fast to slow is the paper's in every cell."
    if differences:
        text = (
            "The order of the paper's methods from fast to slow is not always the paper's: "
            + "; ".join(differences)
            + ". Implementations differ: the paper's are MATLAB programs of several authors, ours share one library, "
            "and two of them are not stopped by the true dictionary here."
        )
    verdicts.append(Verdict(not differences, text))
    if left_out():
        verdicts.append(Verdict(False, left_out()))
    return verdicts
