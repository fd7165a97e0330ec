"""Theorem 1: from a good subset, Stage One comes as near to its atom as one likes, given enough samples."""

import numpy as np
import pandas as pd

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import Sphere
from hrpursuit.experiments.catalogue.theory.points import (
    THETA,
    bernoulli_gaussian,
    nearest_atoms,
    slope,
    starts_in_good_subsets,
    usual_zeta,
)
from hrpursuit.experiments.experiment import Config, Findings, Settings, Verdict
from hrpursuit.experiments.style import FAINT, LINES, panels
from hrpursuit.rows.array import ArrayRows


def plan(settings: Settings) -> list[Config]:
    sizes = (1000, 3000, 10_000, 30_000, 100_000) if settings.is_quick else (1000, 3000, 10_000, 30_000, 10**5, 10**6)
    return [
        {"n_features": n, "n_samples": size, "theta": THETA, "n_starts": 10, "trial": trial, "seed": settings.seed}
        for n in (10, 20, 50)
        for size in sizes
        for trial in range(2 if settings.is_quick else 10)
    ]


def run(n_features: int, n_samples: int, theta: float, n_starts: int, trial: int, seed: int) -> list[dict[str, float]]:
    rng = np.random.default_rng([seed, n_features, n_samples, trial])
    X = bernoulli_gaussian(n_samples, n_features, theta, rng)
    starts = starts_in_good_subsets(n_starts, n_features, usual_zeta(n_features), rng)
    reached = gpm(ArrayRows(X), starts, manifold=Sphere(), max_iter=60, tol=1e-8).components
    errors = np.linalg.norm(reached - nearest_atoms(starts), axis=1)
    return [{"start": i, "error": float(error)} for i, error in enumerate(errors)]


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    figure, axes = panels(1, 1, 6.4, 4.6)
    axis = axes[0, 0]
    slopes = []
    for (n, some), line in zip(records.groupby("n_features"), LINES, strict=False):
        cells = some.groupby("n_samples").error
        medians = cells.median()
        slopes.append(slope(medians.index.to_series(), medians))
        axis.loglog(medians.index, medians, **line, label=f"$N$ = {n:g}, slope {slopes[-1]:.2f}")
        axis.fill_between(medians.index, cells.quantile(0.1), cells.quantile(0.9), color=line["color"], alpha=0.15)
    x = np.array(sorted(records.n_samples.unique()), float)
    least = records[records.n_samples == x[0]].error.median()
    axis.loglog(x, 0.25 * least * np.sqrt(x[0] / x), color=FAINT, linestyle=":", label="slope -1/2")
    axis.set(xlabel="samples $L$", ylabel=r"error $\|r - e_n\|$ of Stage One")
    axis.legend(frameon=False, fontsize=11)
    largest = records[records.n_samples == records.n_samples.max()].error.max()
    text = (
        f"Theorem 1: the error of Stage One falls with L with slopes {', '.join(f'{s:.2f}' for s in slopes)} for N = "
        f"{', '.join(f'{n:g}' for n in sorted(records.n_features.unique()))} (the theorem: -1/2 up to logarithms); at L = "
        f"{records.n_samples.max():g} it is at most {largest:.2g}."
    )
    agrees = bool(min(slopes) > -0.65 and max(slopes) < -0.35 and largest < 0.1)
    return Findings({"": figure}, verdicts=[Verdict(agrees, text)])
