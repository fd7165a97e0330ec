"""What the two tables of CPU time share."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from hrpursuit.experiments.errors import SUCCESS, recovery_error
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Table, Verdict
from hrpursuit.experiments.methods import LEARNS_SPARSITY, METHODS, OURS, chosen, left_out, warm_up
from hrpursuit.experiments.quirks import MATCHING
from hrpursuit.experiments.style import LINES, panels
from hrpursuit.experiments.synthetic import draw, fit_seed, told

SPARSITY = 0.2
_EXACT = 1e-6  # median over the trials of the relative error of a method that recovers exactly
Cell = tuple[int, int]  # atoms, samples


def experiment(
    name: str,
    title: str,
    in_paper: str,
    cells: Sequence[Cell],
    paper: Mapping[str, Sequence[float]],
    by: str,
    caption: str,
) -> Experiment:
    """A table over these cells, of which the column `by` varies; `paper` has the paper's seconds by method."""
    return Experiment(
        name, title, in_paper, lambda settings: plan(cells, settings), run,
        lambda records, settings: conclude(records, settings, cells, paper, by, caption),
        is_timed=True, compares=True, quirks=(MATCHING,),
    )  # fmt: skip


def plan(cells: Sequence[Cell], settings: Settings) -> list[Config]:
    """Trials in the outermost loop, so that a change in the machine's speed meets all methods."""
    configs: list[Config] = []
    for trial in range(3 if settings.is_quick else 50):
        for n_features, n_samples in cells:
            for name in chosen(settings):
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
    n_nonzero = told(SPARSITY, n_features) if method in LEARNS_SPARSITY else None
    start = time.process_time()
    model = METHODS[method].estimator(n_nonzero, fit_seed(seed, trial)).fit(X)
    seconds = time.process_time() - start
    error = recovery_error(model.components_, truth, quirks)
    return {"seconds": seconds, "error": error, "success": error < SUCCESS}


def conclude(
    records: pd.DataFrame,
    settings: Settings,
    cells: Sequence[Cell],
    paper: Mapping[str, Sequence[float]],
    by: str,
    title: str,
) -> Findings:
    """The table with the paper's seconds beside ours, and a picture; `by` is the column that varies."""
    means = records.groupby(["method", by])[["seconds", "error"]].mean()
    means["median_error"] = records.groupby(["method", by]).error.median()
    values = [cell[0] if by == "n_features" else cell[1] for cell in cells]
    names = [name for name in METHODS if name in means.index]
    what = "atoms" if by == "n_features" else "samples"
    n_fits = records.groupby(["method", by]).size().groupby("method").max()
    tables = _tables(means, n_fits, names, values, what, paper, title)
    figure, axes = panels(1, 2, 13, 5.4)
    for i, name in enumerate(names):
        own = means.loc[name]
        line = LINES[i]
        axes[0, 0].plot(own.index, own.seconds, label=METHODS[name].label, **line)
        axes[0, 1].plot(own.index, own.error.clip(lower=1e-16), **line)
    for axis, label in zip(axes[0], ("CPU time of a fit (s)", "relative error of the dictionary"), strict=True):
        axis.set(xlabel=f"number of {what}", ylabel=label, yscale="log")
        axis.grid(alpha=0.25)
        if by == "n_samples":
            axis.set_xscale("log")
    figure.legend(loc="outside right center", frameon=False)
    return Findings({"": figure}, tables, _verdicts(means, settings, values, what, paper))


def _short(number: float) -> str:
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def _tables(
    means: pd.DataFrame,
    n_fits: pd.Series,
    names: Sequence[str],
    values: Sequence[int],
    what: str,
    paper: Mapping[str, Sequence[float]],
    title: str,
) -> list[Table]:
    """Seconds with the paper's beside them, the ratio to ours, and the error that a time is worth nothing without."""
    header = ["", *(f"{value} {what}" for value in values)]
    seconds, errors = means.seconds.unstack(), means.error.unstack()
    times, ratios, ends = [], [], []
    for name in names:
        label, own = METHODS[name].label, seconds.loc[name]
        theirs = [f" ({s:g})" for s in paper[name]] if name in paper else [""] * len(values)
        times.append([label, *(f"{own[value]:.2g}{their}" for value, their in zip(values, theirs, strict=True))])
        if OURS in seconds.index:
            ratios.append([label, *(f"{_short(own[value] / seconds.loc[OURS, value])}" for value in values)])
        ends.append([label, *(f"{errors.loc[name, value]:.1e}" for value in values), f"{n_fits[name]}"])
    note = "The paper's seconds, in brackets, are of MATLAB on another machine: compare the order, not the seconds."
    tables = [Table(f"{title}: mean seconds of a fit (the paper's)", header, times, note)]
    if ratios:
        tables.append(Table("CPU time as a ratio to hrpursuit", header, ratios))
    return [*tables, Table("Mean relative error of the dictionary", [*header, "fits per cell"], ends)]


def _verdicts(
    means: pd.DataFrame, settings: Settings, values: Sequence[int], what: str, paper: Mapping[str, Sequence[float]]
) -> list[Verdict]:
    seconds, error = means.seconds.unstack(), means.median_error.unstack()
    order = [_order(seconds, values, paper)] if set(paper) <= set(seconds.index) else []
    if OURS not in seconds.index:
        return [*order, *left_out(settings)]
    exact = error.loc[OURS] < _EXACT
    faster = [
        f"{METHODS[name].label} at {value} {what}"
        for name in seconds.index
        for value in values
        if name != OURS and error.loc[name, value] < _EXACT and seconds.loc[name, value] < seconds.loc[OURS, value]
    ]
    text = "hrpursuit recovers exactly in every cell"
    if len(seconds) > 1:
        text += " and is the fastest of the methods that do"
    if not exact.all():
        text = f"hrpursuit does not recover exactly at {', '.join(map(str, exact.index[~exact]))} {what}"
    elif faster:
        text = f"hrpursuit recovers exactly in every cell, but {', '.join(faster)} does so faster"
    verdicts = [Verdict(bool(exact.all()) and not faster, text + ".", is_paper=False)]
    sooner = [
        f"{METHODS[name].label} at {value} {what} ({seconds.loc[name, value] / seconds.loc[OURS, value]:.2f} of the "
        f"time, error {error.loc[name, value]:.0e})"
        for name in seconds.index
        for value in values
        if seconds.loc[name, value] < seconds.loc[OURS, value] and error.loc[name, value] >= _EXACT
    ]
    if sooner:
        verdicts.append(Verdict(None, f"Faster than hrpursuit, but not exact: {', '.join(sooner)}."))
    return [*verdicts, *order, *left_out(settings)]


def _order(seconds: pd.DataFrame, values: Sequence[int], paper: Mapping[str, Sequence[float]]) -> Verdict:
    """Which methods are faster here than one that is faster than them in the paper."""
    known = [name for name in METHODS if name in paper and name in seconds.index]
    overtakes = {
        name: [
            METHODS[other].label
            for other in known
            if any(
                paper[name][i] > paper[other][i] and seconds.loc[name, value] < seconds.loc[other, value]
                for i, value in enumerate(values)
            )
        ]
        for name in known
    }
    changes = [f"{METHODS[name].label} before {' and '.join(others)}" for name, others in overtakes.items() if others]
    if not changes:
        return Verdict(True, "From fast to slow the paper's methods stand in the paper's order in every cell.")
    text = (
        f"From fast to slow the order is not the paper's in some cells: {'; '.join(changes)}. The paper's are programs "
    )
    return Verdict(
        False,
        text + "of several authors in MATLAB, two of them run until the true dictionary says so; here all share one "
        "library, none sees the truth, and linear programs are solved in their dual form.",
    )
