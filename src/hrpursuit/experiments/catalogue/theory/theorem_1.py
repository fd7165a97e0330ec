"""Theorem 1: from a good subset, Stage One comes as near to its atom as one likes, given enough samples."""

import numpy as np
import pandas as pd

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import Sphere
from hrpursuit.experiments.catalogue.theory.points import (
    THETA,
    nearest_atoms,
    slope,
    starts_in_good_subsets,
    usual_zeta,
)
from hrpursuit.experiments.experiment import Config, Findings, Settings, Verdict
from hrpursuit.experiments.style import FAINT, LINES, letter, panels
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.rows.array import ArrayRows

AT_ATOM = 0.5  # errors below: the run has ended at the atom of its good subset, or beside it


def plan(settings: Settings) -> list[Config]:
    sizes = (1000, 3000, 10_000, 30_000, 100_000) if settings.is_quick else (1000, 3000, 10_000, 30_000, 10**5, 10**6)
    return [
        {"n_features": n, "n_samples": size, "theta": THETA, "n_starts": 10, "trial": trial, "seed": settings.seed}
        for n in (10, 20, 50)
        for size in sizes
        for trial in range(3 if settings.is_quick else 10)
    ]


def run(n_features: int, n_samples: int, theta: float, n_starts: int, trial: int, seed: int) -> list[dict[str, float]]:
    rng = np.random.default_rng([seed, n_features, n_samples, trial])
    X = bernoulli_gaussian(n_samples, n_features, theta, rng)
    starts = starts_in_good_subsets(n_starts, n_features, usual_zeta(n_features), rng)
    reached = gpm(ArrayRows(X), starts, manifold=Sphere(), max_iter=60, tol=1e-8).components
    errors = np.linalg.norm(reached - nearest_atoms(starts), axis=1)
    return [{"start": i, "error": float(error)} for i, error in enumerate(errors)]


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    """Slopes are those of runs that end at the atom of their subset, where most do: with few samples many leave."""
    figure, axes = panels(1, 2, 11, 4.6)
    left, right = axes[0]
    slopes = {}
    for (n, some), line in zip(records.groupby("n_features"), LINES, strict=False):
        shares = (some.error < AT_ATOM).groupby(some.n_samples).mean()
        right.semilogx(shares.index, 100 * shares, **line, label=f"$N$ = {n:g}")
        there = some[(some.error < AT_ATOM) & some.n_samples.isin(shares.index[shares >= 0.5])]
        cells = there.groupby("n_samples").error
        medians = cells.median()
        slopes[n] = slope(medians.index.to_series(), medians) if len(medians) > 1 else np.nan
        left.loglog(medians.index, medians, **line, label=f"$N$ = {n:g}, slope {slopes[n]:.2f}")
        left.fill_between(medians.index, cells.quantile(0.1), cells.quantile(0.9), color=line["color"], alpha=0.15)
    x = np.array(sorted(records.n_samples.unique()), float)
    left.loglog(x, 0.06 * np.sqrt(x[0] / x), color=FAINT, linestyle=":", label="slope -1/2")
    left.set(xlabel="samples $L$", ylabel=r"error $\|r - e_n\|$ of Stage One")
    left.legend(frameon=False, fontsize=11)
    letter(left, "(a) runs that end at their atom")
    right.set(xlabel="samples $L$", ylabel="share of such runs [%]", ylim=(0, 104))
    right.legend(frameon=False, loc="lower right")
    letter(right, "(b) how many do")
    most = records[records.n_samples == records.n_samples.max()]
    share, largest = (most.error < AT_ATOM).mean(), most[most.error < AT_ATOM].error.max()
    text = (
        f"Theorem 1: the error of Stage One falls with L with slopes {', '.join(f'{s:.2f}' for s in slopes.values())} "
        f"for N = {', '.join(f'{n:g}' for n in slopes)} (the theorem: -1/2 up to logarithms); with "
        f"{most.n_samples.max():g} samples {share:.0%} of the runs (asked: 90%) end at the atom of their subset, "
        f"within {largest:.2g}."
    )
    agrees = bool(share >= 0.9 and largest < 0.1 and all(-0.65 < found < -0.35 for found in slopes.values()))
    return Findings({"": figure}, verdicts=[Verdict(agrees, text)])
