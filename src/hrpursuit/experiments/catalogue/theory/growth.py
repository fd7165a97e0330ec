"""How deviations, errors and needed samples grow with N and theta, against the powers in the lemma and the theorems.

These are upper bounds: what is measured may grow more slowly, not faster. Powers are slopes in logarithms.
"""

import numpy as np
import pandas as pd

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import Sphere
from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.core.tangent import tangent_descent
from hrpursuit.experiments.catalogue.theory import concentration
from hrpursuit.experiments.catalogue.theory.points import (
    THETA,
    nearest_atoms,
    slope,
    starts_in_good_subsets,
    usual_zeta,
)
from hrpursuit.experiments.experiment import Config, Findings, Settings, Table, Verdict
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.rows.array import ArrayRows

#: Statement: (what is measured, power of N, power of theta); of the samples that are needed, or of what is left with as
#: many samples. Logarithms are left out. Fixed before the runs, with SLACK for them and for chance.
POWERS = {
    "concentration": ("deviation of the gradient with 30,000 samples", 0.5, 0.5),
    "theorem-1": ("error of Stage One with 100,000 samples", 2.5, -1.5),
    "theorem-2": ("samples for Stage Two to be exact from a distance of 0.1", 1.0, -2.0),
    "theorem-3": ("samples for both stages to be exact from random starts", 5.0, -3.0),
}
SLACK = 0.25
SIZES = (10, 14, 20, 28, 40)
THETAS = (0.06, 0.075, 0.09, THETA)  # within the range of the theorems for N = 20
_N, _THETA = 20, THETA  # held while the other varies
_EXACT, _SUCCESS = 1e-6, 0.9  # error, and the share of the starts that have to get there


def plan(settings: Settings) -> list[Config]:
    cells = [(n, _THETA, "N") for n in SIZES] + [(_N, theta, "theta") for theta in THETAS]
    return [
        {"statement": name, "n_features": n, "theta": theta, "varied": varied, "trial": trial, "seed": settings.seed}
        for name in POWERS
        for n, theta, varied in cells
        for trial in range(2 if settings.is_quick else 10)
    ]


def run(statement: str, n_features: int, theta: float, varied: str, trial: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, n_features, round(1000 * theta), trial])
    if statement == "concentration":
        found = concentration.run(n_features, 30_000, theta, n_points=150, trial=trial, seed=seed)
        return {"measured": found["gradient"]}
    if statement == "theorem-1":
        rows = ArrayRows(bernoulli_gaussian(100_000, n_features, theta, rng))
        starts = starts_in_good_subsets(10, n_features, usual_zeta(n_features), rng)
        ends = gpm(rows, starts, manifold=Sphere(), max_iter=60, tol=1e-8).components
        return {"measured": float(np.median(np.linalg.norm(ends - nearest_atoms(ends), axis=1)))}
    X = bernoulli_gaussian(2**15, n_features, theta, rng)
    return {"measured": fewest(X, statement, rng)}


def fewest(X: Array, statement: str, rng: np.random.Generator) -> float:
    """Samples, 2 N times powers of the fourth root of 2, from which on nine starts of ten end at an atom: the first of
    three such sizes in a row. Infinite where there are none.
    """
    n_features = X.shape[1]
    sides = random_on_sphere(20, n_features - 1, rng)
    angle = 2 * np.arcsin(0.05)
    near = np.column_stack([np.full(20, np.cos(angle)), np.sin(angle) * sides])
    anywhere = random_on_sphere(20, n_features, rng)
    n_samples, in_a_row = 2.0 * n_features, 0
    while n_samples <= len(X):
        rows = ArrayRows(X[: int(n_samples)])
        anchors = near
        if statement == "theorem-3":
            anchors = gpm(rows, anywhere, manifold=Sphere(), max_iter=100, tol=1e-6).components
        ends = tangent_descent(rows, anchors, manifold=Sphere(), step_size=1.0, decay=0.9, n_steps=150).components
        is_enough = np.mean(np.linalg.norm(ends - nearest_atoms(ends), axis=1) < _EXACT) >= _SUCCESS
        in_a_row = in_a_row + 1 if is_enough else 0
        if in_a_row == 3:
            return float(n_samples / 2**0.5)
        n_samples *= 2**0.25
    return np.inf


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    rows, verdicts = [], []
    for name, (what, of_n, of_theta) in POWERS.items():
        found = records[(records.statement == name) & np.isfinite(records.measured)]
        powers = {}
        for varied, column in (("N", "n_features"), ("theta", "theta")):
            medians = found[found.varied == varied].groupby(column).measured.median()
            powers[varied] = slope(medians.index.to_series(), medians) if len(medians) > 1 else np.nan
        rises = powers["N"] <= of_n + SLACK
        falls = powers["theta"] <= of_theta + SLACK if of_theta > 0 else powers["theta"] >= of_theta - SLACK
        rows.append([name, what, f"{powers['N']:.2f}", f"{of_n:g}", f"{powers['theta']:.2f}", f"{of_theta:g}"])
        verdicts.append(
            Verdict(
                bool(rises and falls),
                f"Growth, {name.replace('-', ' ')}: {what} goes as N^{powers['N']:.2f} and "
                f"theta^{powers['theta']:.2f}; "
                f"the paper's bound: N^{of_n:g} and theta^{of_theta:g}, up to logarithms (slack {SLACK:g}).",
            )
        )
    table = Table(
        "Growth with N and theta: measured power, and that of the bound",
        ["statement", "measured", "N", "bound", "theta", "bound"],
        rows,
        f"N = {SIZES[0]} to {SIZES[-1]} at theta = {_THETA:g}, theta = {THETAS[0]:g} to {THETAS[-1]:g} at N = {_N}; "
        "the paper's theorems ask for 1/N < theta < 0.104.",
    )
    return Findings(tables=[table], verdicts=verdicts)
