"""The 2 N signed unit vectors, k = 1 among the stationary points, are the global optima of the population problem."""

import numpy as np
import pandas as pd

from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.experiments.catalogue.theory.points import nearest_atoms
from hrpursuit.experiments.catalogue.theory.stationary import random_stationary
from hrpursuit.experiments.experiment import Config, Findings, Settings, Table, Verdict
from hrpursuit.experiments.population import gamma, population_gradient

#: Fixed before the runs: relative excess over the optimum that is rounding, and distance that counts as the optimum.
ROUNDING, AT_ATOM = 1e-12, 1e-6


def plan(settings: Settings) -> list[Config]:
    sizes = (3, 8, 20) if settings.is_quick else (2, 3, 5, 8, 12, 20, 50)
    return [
        {"n_features": n, "theta": theta, "n_starts": 60 if settings.is_quick else 2000, "seed": settings.seed}
        for n in sizes
        for theta in ((1 / n + 0.5) / 2, 0.49)
    ]


def run(n_features: int, theta: float, n_starts: int, seed: int) -> dict[str, float]:
    """All objectives relative to that of a signed unit vector, -gamma_3 theta, so that 1 is the optimum."""
    rng = np.random.default_rng([seed, n_features, round(1000 * theta)])
    starts = random_on_sphere(n_starts, n_features, rng)
    D = starts
    for _ in range(60):  # power iterations on the population: each raises the share
        D = normalize_rows(-population_gradient(D, theta))
    others = np.concatenate([random_stationary(20, n_features, k, rng) for k in range(2, n_features + 1)])

    def shares(points: np.ndarray) -> np.ndarray:
        return -np.sum(population_gradient(points, theta) * points, axis=1) / (3 * gamma(3) * theta)

    distances = np.linalg.norm(D - nearest_atoms(D), axis=1)
    return {
        "largest": float(max(shares(starts).max(), shares(D).max())),
        "at_atom": float((distances < AT_ATOM).mean()),
        "atoms": float(np.abs(shares(np.eye(n_features)) - 1).max()),
        "others": float(shares(others).max()),
    }


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    rows = [
        [
            f"{row.n_features:g}",
            f"{row.theta:.3g}",
            f"{row.largest - 1:+.0e}",
            f"{row.at_atom:.1%}",
            f"{row.others:.4f}",
        ]
        for row in records.itertuples()
    ]
    table = Table(
        "Global optima of the population problem",
        ["N", "theta", "best found, over the optimum", "climbs that end at an atom", "best of k > 1"],
        rows,
        "Objectives relative to -gamma_3 theta, that of the 2 N signed unit vectors.",
    )
    agrees = bool(records.largest.max() <= 1 + ROUNDING and records.atoms.max() < ROUNDING and records.others.max() < 1)
    text = (
        f"Global optima: of {records.n_starts.sum():g} climbs from random points none passes the objective of the "
        f"signed unit vectors (by more than {ROUNDING:g}, relative), at least {records.at_atom.min():.0%} of each cell "
        f"end within {AT_ATOM:g} of one, and the points with k > 1 reach {records.others.max():.3f} of it at the most."
    )
    return Findings(tables=[table], verdicts=[Verdict(agrees, text)])
