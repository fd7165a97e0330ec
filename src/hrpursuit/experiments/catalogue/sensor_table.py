"""Compression of the sensor readings by all methods: error on the readings that there are, and time.

Each method twice where the published code has quirks: as published, beside the paper's row, and as it should be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Table, Verdict
from hrpursuit.experiments.methods import METHODS, OURS, PROPOSED, chosen, left_out
from hrpursuit.experiments.quirks import OF_METHOD, of_method
from hrpursuit.experiments.readings import FILLS, digest_of, path_of
from hrpursuit.experiments.style import LINES, panels
from hrpursuit.experiments.trials.sensors import KEPT, REFILLED, T0, run

#: Error in percent in the paper's table.
PAPER = {
    "proposed": (9.42, 8.10, 6.22, 4.07, 2.13),
    "ksvd": (18.55, 15.68, 8.57, 6.99, 4.04),
    "spams": (26.03, 20.35, 13.50, 8.16, 4.36),
    "translearn": (92.45, 75.49, 75.00, 73.28, 65.05),
    "logcosh-rtr": (10.19, 8.59, 6.44, 4.09, 2.32),
    "l1-rgd": (11.42, 9.94, 7.91, 5.56, 3.26),
    "l4-msp": (10.18, 8.83, 6.93, 4.60, 2.44),
    "l3-s1": (9.58, 8.20, 6.32, 4.18, 2.18),
}
#: Seconds in the paper's table, the mean over T0 where it has one for each.
PAPER_SECONDS = {
    "proposed": 0.05,
    "ksvd": 0.256,
    "spams": 46.97,
    "translearn": 16.70,
    "logcosh-rtr": 1704,
    "l1-rgd": 17.30,
    "l4-msp": 0.19,
    "l3-s1": 0.04,
}
#: Starts at quick scale where a start of the published code moves the row by more than a point.
STARTS = {"ksvd": 20, "spams": 10, "translearn": 5}
#: Percentage points within which the median over starts reproduces a row of the paper; stated before the runs.
CLOSE = {"translearn": 1.5}
_CLOSE = 0.3
#: Why the paper's row differs from what the method can do, or from the median of the rerun.
WHY = {
    "ksvd": "The toolbox replaces idle and doubled atoms after its last sweep and returns the codes of before, so that "
    "10 to 22 of 56 atoms at T0 = 5 (ten starts) do not belong to their codes; how many is chance, and the paper has "
    "one run.",
    "spams": "The longer SPAMS learns, the worse conditioned its dictionary is (condition number 8 to 14 after 300 "
    "iterations, 40 to 2,600 after the 1,000 of the paper), by how much is chance of the start, and the codes by its "
    "inverse differ with it; the paper has one run.",
    "translearn": "The transform is scaled to rows of unit norm, and its transpose decodes as if it were orthogonal. "
    "Codes that tie are all kept, as the authors' decoder does: the first codes are readings, many of them equal.",
    "l1-rgd": "One start per atom, stopped where it comes near an atom of the proposed scheme.",
    "logcosh-rtr": "Each atom is rounded outside of the complement of those before it, so that the dictionary is not "
    "orthogonal. The step of the rounding, 0.1 times 0.95^t, was not read: it was found by this row.",
}


def plan(settings: Settings) -> list[Config]:
    configs: list[Config] = []
    for fill in settings.fills:
        for name in chosen(settings):
            method = METHODS[name]
            if (fill == REFILLED and name not in (OURS, PROPOSED)) or (fill == KEPT and name != OURS):
                continue
            if settings.is_quick and method.is_slow and fill != settings.fills[0]:
                continue
            learns = method.learns_sparsity or fill == REFILLED
            for quirks in _columns(name, fill, settings):
                for start in range(_n_starts(name, fill, quirks) if settings.is_quick else 10):
                    for n_nonzero in T0 if learns else (None,):
                        configs.append(
                            digest_of(settings)
                            | {"fill": fill, "scaling": settings.scaling, "method": name, "start": start}
                            | {"n_nonzero": n_nonzero, "seed": settings.seed, "quirks": quirks}
                        )
    return sorted(configs, key=lambda config: config["start"])


def _columns(name: str, fill: str, settings: Settings) -> list[list[str]]:
    """The quirks of each column: as it should be, and for the published fill as published, where that differs."""
    own, published = of_method(name, settings.quirks), of_method(name)
    return [own] if own == published or fill != "published" else [own, published]


def _n_starts(name: str, fill: str, quirks: Sequence[str]) -> int:
    """At quick scale; ten where one fit serves all T0."""
    method = METHODS[name]
    if quirks and name in STARTS:
        return STARTS[name]
    if method.is_slow or fill == KEPT:
        return 1
    return 3 if method.learns_sparsity else 10


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    habits = records.method.map(lambda name: len(of_method(name)))
    is_published = (records.quirks.map(len) == habits) & (records.fill == "published")
    published = records[is_published]
    records = records[~is_published | (habits == 0)] if (~is_published | (habits == 0)).any() else records
    means = records.groupby(["fill", "method", "t0"]).mean(numeric_only=True)
    fills = [fill for fill in settings.fills if fill in means.index]
    is_papers = bool((records.n_sensors == 56).all() and (records.n_hours == 744).all())
    is_papers &= settings.scaling == "largest"
    tables = [_beside(means.loc["published"], published)] if is_papers and "published" in fills else []
    tables += [_table(means.loc[fill], fill, is_papers) for fill in fills]
    figure, axes = panels(1, 1, 11, 6)
    axis = axes[0, 0]
    own_style = {
        REFILLED: (", gaps refilled", {"linestyle": ":", "markerfacecolor": "white"}),
        KEPT: (", gaps kept", {"linestyle": "-.", "markerfacecolor": "white"}),
    }
    plain = [fill for fill in fills if fill not in own_style][:1]
    for fill in [*plain, *(fill for fill in fills if fill in own_style)]:
        what, changes = own_style.get(fill, ("", {}))
        for i, name in enumerate(METHODS):
            if (fill, name) in means.index:
                own = means.loc[fill, name]
                axis.plot(own.index, own.error_percent, label=METHODS[name].label + what, **(LINES[i] | changes))
    axis.set(xlabel="T0, coefficients kept of each hour", ylabel="error on the observed readings (%)")
    axis.set_xticks(T0)
    axis.grid(alpha=0.25)
    if plain:
        axis.set_title(f"gaps filled {FILLS[plain[0]].text}", loc="left", fontsize=12)
    figure.legend(loc="outside right center", frameon=False)
    return Findings({"": figure}, tables, _verdicts(means, published, settings, fills, is_papers))


def _table(means: pd.DataFrame, fill: str, is_papers: bool) -> Table:
    ratios = means.ratio.groupby("t0").first()
    header = ["", *(f"T0 {k} (1:{ratios.get(k, 0):.0f})" for k in T0), "seconds"]
    rows = []
    for name in METHODS:
        if name in means.index.get_level_values(0):
            own = means.loc[name]
            cells = [f"{own.error_percent[k]:.2f}%" if k in own.index else "" for k in T0]
            rows.append([METHODS[name].label, *cells, f"{own.seconds.mean():.3g}"])
    if fill == KEPT and is_papers:
        rows.append(["Proposed, in paper", *(f"{error:.2f}%" for error in PAPER[PROPOSED]), ""])
    note = (
        "Mean over starts; in brackets the paper's compression ratio; CPU seconds of one fit; others may have run "
        "at the same time."
    )
    title = f"Gaps {FILLS[fill].text}" if fill == KEPT else f"Gaps filled {FILLS[fill].text}"
    return Table(title, header, rows, note)


def _verdicts(
    means: pd.DataFrame, published: pd.DataFrame, settings: Settings, fills: Sequence[str], is_papers: bool
) -> list[Verdict]:
    verdicts = []
    if is_papers:
        verdicts += [
            _beside_paper(published[published.method == name], name) for name in PAPER if name in set(published.method)
        ]
        verdicts += _sentences(means, published)
    for fill in fills:
        if not {OURS, PROPOSED} <= set(means.loc[fill].index.get_level_values(0)):
            continue
        ours, theirs = (means.loc[fill, name].error_percent for name in (OURS, PROPOSED))
        ratio = ours / theirs
        text = (
            f"Fill '{fill}': hrpursuit has {ratio.min():.2f} to {ratio.max():.2f} times the error of the paper's scheme"
        )
        better = _better(means.loc[fill], ours)
        text += f". Smaller errors than hrpursuit's: {better}." if better else ", and no method has a smaller one."
        verdicts.append(Verdict(bool(ratio.max() < 1), text, is_paper=False))
    if {"written", REFILLED} <= set(fills) and (REFILLED, PROPOSED) in means.index:
        gain = (means.loc[REFILLED, PROPOSED].error_percent / means.loc["written", PROPOSED].error_percent).dropna()
        factors = f"{gain.min():.2f} to {gain.max():.2f}"
        text = f"Refilling the gaps alone multiplies the error of the paper's scheme by {factors}"
        verdicts.append(Verdict(None, text + "."))
    if {"written", KEPT} <= set(fills) and ("written", PROPOSED) in means.index:
        gain = (means.loc[KEPT, OURS].error_percent / means.loc["written", PROPOSED].error_percent).dropna()
        text = (
            f"Gaps kept as gaps: hrpursuit has {gain.min():.2f} to {gain.max():.2f} times the error of the paper's "
            "scheme with the gaps filled as written."
        )
        verdicts.append(Verdict(bool(gain.max() < 1), text, is_paper=False))
    return [*verdicts, *left_out(settings)]


def _better(means: pd.DataFrame, ours: pd.Series) -> str:
    """Methods with a smaller error than ours, and where."""
    parts = []
    for name in means.index.get_level_values(0).unique():
        own = means.loc[name].error_percent
        where = [f"{k}" for k in own.index if k in ours.index and own[k] < ours[k]]
        if name != OURS and where:
            free = ", whose atoms need not be orthogonal," if name in ("ksvd", "spams", "translearn") else ""
            parts.append(f"{METHODS[name].label}{free} at T0 = {', '.join(where)}")
    return "; ".join(parts)


def _beside(means: pd.DataFrame, published: pd.DataFrame) -> Table:
    """The paper's table, and each of its rows as published and as it should be."""
    rows = []
    for name, theirs in PAPER.items():
        if name in set(published.method):
            own = published[published.method == name]
            cells = own.groupby("t0").error_percent.agg(["median", "min", "max"]).reindex(T0)
            rows.append([METHODS[name].label, *(f"{e:.2f}%" for e in theirs), f"{PAPER_SECONDS[name]:.4g}"])
            rows.append(["· as published", *(f"{e:.2f}%" for e in cells["median"]), f"{own.seconds.mean():.3g}"])
            if (cells["max"] - cells["min"]).max() > 1:
                ranges = (f"{least:.1f} to {most:.1f}" for least, most in cells[["min", "max"]].to_numpy())
                rows.append(["· single starts", *ranges, ""])
            if name in means.index.get_level_values(0) and name in OF_METHOD:
                best = means.loc[name].reindex(T0)
                rows.append(
                    ["· as it should be", *(f"{e:.2f}%" for e in best.error_percent), f"{best.seconds.mean():.3g}"]
                )
    note = (
        "The paper's figures first. As published: median over starts, and the least and largest of single starts where "
        "they differ by more than a point. As it should be: mean over starts."
    )
    return Table("The paper's table, rerun", ["", *(f"T0 {k}" for k in T0), "seconds"], rows, note)


def _beside_paper(own: pd.DataFrame, name: str) -> Verdict:
    cells = own.groupby("t0").error_percent.agg(["median", "min", "max"]).reindex(T0)
    differences = cells["median"].to_numpy() - np.array(PAPER[name])
    largest, close = float(np.nanmax(np.abs(differences))), CLOSE.get(name, _CLOSE)
    label, why = METHODS[name].label, WHY.get(name, "")
    if largest <= close:
        text = f"{label}, as published: within {largest:.2f} percentage points of the paper's row (asked: {close:g})."
        return Verdict(True, f"{text} {why}".strip())
    signed = ", ".join(f"{difference:+.2f}" for difference in differences)
    theirs = np.array(PAPER[name])
    within = int(((cells["min"] <= theirs) & (theirs <= cells["max"])).sum())
    text = (
        f"{label}, as published: the median over {own.start.nunique()} starts is off the paper's row by {signed} "
        f"percentage points (asked: {close:g}); {within} of its {len(T0)} figures lie between the least and the "
        f"largest of single starts."
    )
    return Verdict(False, f"{text} {why}".strip())


def _sentences(means: pd.DataFrame, published: pd.DataFrame) -> list[Verdict]:
    """The paper's sentence on this table."""
    if not set(PAPER) <= set(published.method):
        return []
    published = published[published.method != OURS]
    errors = published.groupby(["method", "t0"]).error_percent.median().unstack().reindex(columns=T0)
    seconds = published.groupby("method").seconds.mean()
    ahead = [METHODS[str(name)].label for name in errors.index[(errors < errors.loc[PROPOSED]).any(axis=1)]]
    fastest = list(seconds.sort_values().index[:2])
    best = means.loc["published"].error_percent.unstack().reindex(columns=T0)
    better = [METHODS[str(n)].label for n in best.index if n != OURS and (best.loc[n] < best.loc[PROPOSED]).any()]
    rivals = "no other method has a smaller median error at any T0"
    if ahead:
        rivals = f"methods with a smaller median error at some T0 are {', '.join(ahead)}"
    superior = (
        f"Superior error of the two-stage scheme: as published {rivals}; as they should be, "
        f"{', '.join(better) or 'none'} have a smaller mean error at some."
    )
    fast = (
        f"Fastest: {METHODS['l3-s1'].label} takes {seconds['l3-s1']:.3f} s and the proposed scheme "
        f"{seconds[PROPOSED]:.3f} s (the paper: below 0.1 s, the two fastest); the two fastest here are "
        f"{' and '.join(METHODS[str(name)].label for name in fastest)}."
    )
    is_fast = bool(seconds[PROPOSED] < 0.1 and set(fastest) == {"l3-s1", PROPOSED})
    return [Verdict(not ahead, superior), Verdict(is_fast, fast)]


EXPERIMENT = Experiment(
    "sensor-table", "Compression of the sensor readings", "Table: performance of different methods for compressing",
    plan, run, conclude, needs_readings=True, compares=True, given=path_of,
    quirks=tuple(sorted({quirk for habits in OF_METHOD.values() for quirk in habits})),
)  # fmt: skip
