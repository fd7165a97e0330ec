"""The lemma on steps in the appendix: tau / (1 - tau g_n / d_n) is at least 1 in a good subset."""

import numpy as np
import pandas as pd

from hrpursuit.core.protocols import Array
from hrpursuit.experiments.catalogue.theory.points import LARGEST_THETA, gradient, starts_in_good_subsets, usual_zeta
from hrpursuit.experiments.experiment import Config, Findings, Settings, Table, Verdict
from hrpursuit.experiments.population import population_gradient
from hrpursuit.experiments.synthetic import bernoulli_gaussian

#: Fixed before the runs. Entries below NOT_SMALL are counted apart: the lemma's number of samples grows without bound
#: as d_n goes to zero. Of the others so many have to hold with the most samples.
NOT_SMALL, SHARE = 0.05, 0.99
THETAS = (0.06, 0.103, 0.3)  # the last one is outside of the lemma's range


def plan(settings: Settings) -> list[Config]:
    sizes = (1000, 10_000, 100_000) if settings.is_quick else (1000, 10_000, 100_000, 1_000_000)
    return [
        {"n_features": n, "theta": theta, "n_samples": size, "n_points": 200, "seed": settings.seed}
        for n in (20, 50)
        for theta in THETAS
        for size in sizes
    ]


def run(n_features: int, theta: float, n_samples: int, n_points: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, n_features, n_samples, round(1000 * theta)])
    X = bernoulli_gaussian(n_samples, n_features, theta, rng)
    D = starts_in_good_subsets(n_points, n_features, usual_zeta(n_features), rng)
    is_other = np.abs(D) < np.abs(D).max(axis=1, keepdims=True)  # all entries but that of the target
    exact, found = ratios(D, population_gradient(D, theta)), ratios(D, gradient(X, D))
    is_large = is_other & (np.abs(D) >= NOT_SMALL)
    return {
        "population": float(exact[is_other].min()),
        "held": float((found[is_large] >= 1).mean()),
        "held_small": float((found[is_other & ~is_large] >= 1).mean()),
    }


def ratios(D: Array, G: Array) -> Array:
    """Tau / (1 - tau g_n / d_n) for each entry n of each row d, tau = -1 / (d . G), g the Riemannian gradient."""
    along = np.sum(D * G, axis=1, keepdims=True)
    tau = -1 / along
    return tau / (1 - tau * (G - along * D) / D)


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    rows = [
        [f"{row.n_features:g}", f"{row.theta:g}", f"{row.n_samples:g}", f"{row.population:.2f}", f"{row.held:.1%}",
         f"{row.held_small:.1%}"]
        for row in records.itertuples()
    ]  # fmt: skip
    table = Table(
        "tau / (1 - tau g_n / d_n) in good subsets",
        ["N", "theta", "samples", "least, population", "at least 1", "at least 1, |d_n| < 0.05"],
        rows,
        "Shares of points and entries, n not the target's.",
    )
    inside, outside = records[records.theta < LARGEST_THETA], records[records.theta >= LARGEST_THETA]
    most = inside[inside.n_samples == inside.n_samples.max()]
    least = inside.population.min()
    verdicts = [
        Verdict(
            bool(least >= 1 and most.held.min() >= SHARE),
            f"Lemma on steps: for the population the ratio is {least:.2f} or more with theta in its range (its proof: "
            f"2; {outside.population.min():.2f} with theta = {outside.theta.min():g}, outside). With "
            f"{most.n_samples.max():g} samples it is at least 1 for at least {most.held.min():.1%} of the entries from "
            f"{NOT_SMALL:g} on (asked: {SHARE:.0%}).",
        ),
        Verdict(
            None,
            f"Lemma on steps, entries below {NOT_SMALL:g}: the ratio is at least 1 for {most.held_small.min():.1%} or "
            "more. For an entry near zero no number of samples is enough, which the statement does not say and the "
            "proof, where delta is proportional to |d_n|, does.",
        ),
    ]
    return Findings(tables=[table], verdicts=verdicts)
