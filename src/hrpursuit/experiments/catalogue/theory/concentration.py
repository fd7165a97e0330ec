"""Concentration: how far objective and Riemannian gradient are from their means, at worst over the sphere."""

import numpy as np
import pandas as pd

from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.experiments.catalogue.theory.points import gradient, on_sphere, slope
from hrpursuit.experiments.catalogue.theory.stationary import random_stationary
from hrpursuit.experiments.experiment import Config, Findings, Settings, Verdict
from hrpursuit.experiments.population import population_gradient
from hrpursuit.experiments.style import FAINT, LINES, letter, panels
from hrpursuit.experiments.synthetic import bernoulli_gaussian

MEASURES = {"value": "objective", "gradient": "Riemannian gradient"}


def plan(settings: Settings) -> list[Config]:
    sizes = (1000, 3000, 10_000, 30_000, 100_000) if settings.is_quick else tuple(np.geomspace(1e3, 1e6, 7).astype(int))
    return [
        {"n_features": n, "n_samples": int(size), "theta": 0.25, "n_points": 150, "trial": trial, "seed": settings.seed}
        for n in (5, 10, 20)
        for size in sizes
        for trial in range(5 if settings.is_quick else 10)
    ]


def run(n_features: int, n_samples: int, theta: float, n_points: int, trial: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, n_features, n_samples, trial])
    X = bernoulli_gaussian(n_samples, n_features, theta, rng)
    D = np.concatenate([
        random_on_sphere(n_points, n_features, rng),
        *(random_stationary(4, n_features, k, rng) for k in range(1, n_features + 1)),
    ])  # fmt: skip
    value, slant = deviations(X, D, theta)
    largest = {"value": float(np.abs(value).max()), "gradient": float(slant.max())}
    climbers = D[np.argsort(-np.abs(value))[:24]]
    for step in 0.5 * 0.7 ** np.arange(10):  # uphill from the worst points
        difference = gradient(X, climbers) - population_gradient(climbers, theta)
        move = on_sphere(climbers, difference) * np.sign(np.sum(difference * climbers, axis=1, keepdims=True))
        climbers = climbers + step * move / (np.linalg.norm(move, axis=1, keepdims=True) + 1e-300)
        climbers /= np.linalg.norm(climbers, axis=1, keepdims=True)
        value, slant = deviations(X, climbers, theta)
        largest["value"] = max(largest["value"], float(np.abs(value).max()))
        largest["gradient"] = max(largest["gradient"], float(slant.max()))
    return largest


def deviations(X: Array, D: Array, theta: float) -> tuple[Array, Array]:
    """Of the objective from its mean, and the norm of the difference of Riemannian gradients, for each row of D."""
    difference = gradient(X, D) - population_gradient(D, theta)
    return np.sum(difference * D, axis=1) / 3, np.asarray(np.linalg.norm(on_sphere(D, difference), axis=1))


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    figure, axes = panels(1, 2, 11, 4.6, sharex=True)
    slopes = {}
    for panel, (name, title), axis in zip("ab", MEASURES.items(), axes[0], strict=True):
        for (n, some), line in zip(records.groupby("n_features"), LINES, strict=False):
            medians = some.groupby("n_samples")[name].median()
            slopes[name, n] = slope(medians.index.to_series(), medians)
            axis.loglog(medians.index, medians, **line, label=f"$N$ = {n:g}, slope {slopes[name, n]:.2f}")
        x = np.array(sorted(records.n_samples.unique()), float)
        first = records[records.n_samples == x[0]][name].min()
        axis.loglog(x, 0.6 * first * np.sqrt(x[0] / x), color=FAINT, linestyle=":", label="slope -1/2")
        axis.set(xlabel="samples $L$", ylabel="largest deviation found")
        axis.legend(frameon=False, fontsize=11)
        letter(axis, f"({panel}) {title}")
    low, high = min(slopes.values()), max(slopes.values())
    text = (
        f"Concentration lemma: the largest deviation over the sphere falls with L with slopes from {low:.2f} to "
        f"{high:.2f} (objective and Riemannian gradient, N = "
        f"{', '.join(f'{n:g}' for n in sorted(records.n_features.unique()))}); the lemma's delta goes as L^(-1/2) up "
        f"to logarithms."
    )
    return Findings({"": figure}, verdicts=[Verdict(bool(low > -0.62 and high < -0.38), text)])
