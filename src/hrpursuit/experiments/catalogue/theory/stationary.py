"""Stationary points of the population problem: signs of k entries over sqrt(k), and no others."""

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.experiments.catalogue.theory.points import on_sphere
from hrpursuit.experiments.experiment import Config, Findings, Settings, Verdict
from hrpursuit.experiments.population import population_gradient
from hrpursuit.experiments.style import LINES, letter, panels

ZERO = 1e-9  # gradients below are zero; those at random points are 1e-1 to 1


def plan(settings: Settings) -> list[Config]:
    sizes = (3, 5, 8) if settings.is_quick else (2, 3, 4, 5, 6, 7, 8)
    return [
        {"n_features": n, "theta": theta, "n_starts": 40 if settings.is_quick else 300, "seed": settings.seed}
        for n in sizes
        for theta in ((1 / n + 0.5) / 2, 0.49)
    ]


def run(n_features: int, theta: float, n_starts: int, seed: int) -> list[dict[str, float]]:
    rng = np.random.default_rng([seed, n_features, round(1000 * theta)])
    rows: list[dict[str, float]] = []
    for k in range(1, n_features + 1):
        D = random_stationary(50, n_features, k, rng)
        rows.append({"is_search": 0, "k": k, "gradient": float(gradient_norms(D, theta).max()), "distance": 0.0})
    for start in random_on_sphere(n_starts, n_features, rng):
        d = search(start, theta)
        k, distance = nearest_stationary(d)
        rows.append(
            {"is_search": 1, "k": k, "gradient": float(gradient_norms(d[None], theta)[0]), "distance": distance}
        )
    return rows


def random_stationary(n_points: int, n_features: int, k: int, rng: np.random.Generator) -> Array:
    """Points of the paper's set with k entries that are not zero."""
    D = np.zeros((n_points, n_features))
    for d in D:
        d[rng.choice(n_features, k, replace=False)] = rng.choice([-1.0, 1.0], k) / np.sqrt(k)
    return D


def gradient_norms(D: Array, theta: float) -> Array:
    return np.asarray(np.linalg.norm(on_sphere(D, population_gradient(D, theta)), axis=1))


def search(start: Array, theta: float) -> Array:
    """Where least squares on the Riemannian gradient ends; the length is held at 1 by a residual of its own."""

    def residuals(v: Array) -> Array:
        d = (v / np.linalg.norm(v))[None]
        return np.append(on_sphere(d, population_gradient(d, theta))[0], v @ v - 1)

    v = least_squares(residuals, start, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=300).x
    return np.asarray(v / np.linalg.norm(v))


def nearest_stationary(d: Array) -> tuple[int, float]:
    """Number of nonzero entries of the nearest point of the paper's set, and its distance."""
    sizes = np.sort(np.abs(d))[::-1]
    k = np.arange(1, len(d) + 1)
    products = np.cumsum(sizes) / np.sqrt(k)
    best = int(products.argmax())
    target = np.where(np.arange(len(d)) <= best, 1 / np.sqrt(best + 1), 0)
    return best + 1, float(np.linalg.norm(sizes - target))


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    known, found = records[records.is_search == 0], records[records.is_search == 1]
    zero = found[found.gradient < ZERO]
    figure, axes = panels(1, 2, 11, 4.6)
    left, right = axes[0]
    for (n, some), line in zip(zero.groupby("n_features"), LINES, strict=False):
        shares = some.k.value_counts(normalize=True).sort_index()
        left.plot(shares.index, 100 * shares, **line, label=f"$N$ = {n:g}")
        right.loglog(
            np.maximum(some.distance, 1e-17), np.maximum(some.gradient, 1e-17), **line | {"linestyle": ""},
            label=f"$N$ = {n:g}", alpha=0.7,
        )  # fmt: skip
    left.set(xlabel="nonzero entries $k$ of the point reached", ylabel="share of searches [%]", ylim=(0, None))
    left.set_xticks(range(1, int(records.n_features.max()) + 1))
    left.legend(frameon=False)
    letter(left, "(a) which stationary points are found")
    right.set(xlabel="distance to the nearest point of S' (0: $10^{-17}$)", ylabel="norm of Riemannian gradient")
    letter(right, "(b) how far they are from S'")
    verdicts = [
        Verdict(
            bool(known.gradient.max() < 1e-13),
            f"Stationary points: at the points of S' (N up to {records.n_features.max():g}, all k) the Riemannian "
            f"gradient of the population objective is at most {known.gradient.max():.0e}.",
        ),
        Verdict(
            bool(len(zero) > 0.5 * len(found) and zero.distance.max() < 1e-6),
            f"No other stationary point: of {len(found)} searches for a zero of the gradient from random points "
            f"{len(zero)} found one, each within {zero.distance.max():.0e} of S' ({len(found) - len(zero)} ended at a "
            f"gradient that is not zero).",
        ),
    ]
    return Findings({"": figure}, verdicts=verdicts)
