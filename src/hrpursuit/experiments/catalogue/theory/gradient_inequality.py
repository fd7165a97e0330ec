"""In a good subset the negative gradient points to the target entry by entry: for the population, and for L samples."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import expit

from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import in_good_subset, random_on_sphere
from hrpursuit.experiments.catalogue.theory.points import (
    gradient,
    on_sphere,
    power,
    slope,
    usual_zeta,
)
from hrpursuit.experiments.experiment import Config, Findings, Settings, Table, Verdict
from hrpursuit.experiments.population import gamma, mean_norms, population_gradient
from hrpursuit.experiments.style import FAINT, LINES, letter, panels
from hrpursuit.experiments.synthetic import bernoulli_gaussian

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRINTED = 3 * np.sqrt(2 * np.pi)  # the lemma's constant, over N
CLEAR_OF_BOUNDARY = 0.7  # distance from the target; at the boundary of the subset the left side is small anyway
PROVED = 3 * gamma(3) / 2  # where its proof ends: smaller by a factor of pi


def plan(settings: Settings) -> list[Config]:
    n_points = 100 if settings.is_quick else 1000
    population: list[Config] = [
        {"kind": "population", "n_features": n, "theta": theta, "zeta": zeta, "n_points": n_points}
        for n in ((5, 10, 30) if settings.is_quick else (3, 5, 10, 30, 100))
        for theta in (0.04, 0.07, 0.103, 0.15, 0.21, 0.3, 0.4, 0.49)
        for zeta in (0.02, 0.2, 0.9)
        if theta > 1 / n
    ]
    sizes = (10**3, 10**4, 10**5, 10**6) if settings.is_quick else (10**3, 10**4, 10**5, 10**6, 4 * 10**6)
    empirical: list[Config] = [
        {"kind": "empirical", "n_features": 10, "theta": 0.2, "zeta": float(usual_zeta(10)), "n_samples": size,
         "n_points": 15, "trial": trial}
        for size in sizes
        for trial in range((2 if size >= 10**6 else 5) if settings.is_quick else 10)
    ]  # fmt: skip
    return [config | {"seed": settings.seed} for config in population + empirical]


def run(kind: str, **config: Any) -> list[dict[str, float]]:
    return _run_population(**config) if kind == "population" else _run_empirical(**config)


def left_sides(D: Array, theta: float) -> Array:
    """<-grad E f, e_N / d_N - e_j / d_j> for each j but the last; exact where d_j is small, and its limit at zero.

    The inner product with d vanishes, so that the gradient of the space serves as well.
    """
    norms = mean_norms(D, theta)
    return 3 * gamma(3) * theta * (norms[:, -1:] - norms[:, :-1])


def _run_population(n_features: int, theta: float, zeta: float, n_points: int, seed: int) -> list[dict[str, float]]:
    rng = np.random.default_rng([seed, n_features, round(1000 * theta), round(1000 * zeta)])
    D = points_of_subset(n_points, n_features, zeta, rng)
    left = left_sides(D, theta).min(axis=1)
    unit = theta * (1 - theta) * zeta / (1 + zeta) / n_features
    worst = int(left.argmin())
    return [{
        "smallest": float(left.min()), "over_printed": float(left.min() / (PRINTED * unit)),
        "over_proved": float(left.min() / (PROVED * unit)), "n_nonzero": int(np.count_nonzero(D[worst])),
    }]  # fmt: skip


def points_of_subset(n_points: int, n_features: int, zeta: float, rng: np.random.Generator) -> Array:
    """Of the subset of e_N: uniform ones, the same moved onto its boundary, and its corners, where k entries tie."""
    D = random_on_sphere(40 * n_points, n_features, rng)
    D = D[in_good_subset(D, zeta)][:n_points]
    top = np.abs(D).argmax(axis=1)
    D[np.arange(len(D)), top], D[:, -1] = D[:, -1].copy(), np.abs(D[np.arange(len(D)), top])
    edge = D.copy()
    edge[:, :-1] *= edge[:, -1:] / (np.sqrt(1 + zeta) * np.abs(edge[:, :-1]).max(axis=1, keepdims=True))
    corners = np.tril(np.ones((n_features - 1, n_features))) / np.sqrt(1 + zeta)
    corners[:, -1] = 1
    P = np.concatenate([D, edge, corners])
    return np.asarray(P / np.linalg.norm(P, axis=1, keepdims=True))


def _run_empirical(
    n_features: int, theta: float, zeta: float, n_samples: int, n_points: int, trial: int, seed: int
) -> list[dict[str, float]]:
    rng = np.random.default_rng([seed, n_samples, trial])
    X = bernoulli_gaussian(n_samples, n_features, theta, rng)
    bound = PROVED / n_features * theta * (1 - theta) * zeta / (1 + zeta)
    rows, gaps = [], []
    for distance in np.geomspace(2e-3, 0.92 * farthest(n_features, zeta), 15):
        D = points_at(distance, n_points, n_features, zeta, rng)
        G = gradient(X, D)
        steep = -G / D
        left = steep[:, -1:] - steep[:, :-1]
        reach = np.sqrt(1 / D[:, -1:] ** 2 + 1 / D[:, :-1] ** 2)
        off = on_sphere(D, G - population_gradient(D, theta))
        gaps.append(((bound - left) / reach).max())  # the least delta for which the lemma's bound holds at these points
        rows.append({
            "distance": float(distance), "positive": float((left.min(axis=1) > 0).mean()),
            "deviation": float(np.linalg.norm(off, axis=1).max()),
        })  # fmt: skip
    delta = max(row["deviation"] for row in rows)
    return [row | {"delta_needed": float(max(gaps)), "delta": delta} for row in rows]


def farthest(n_features: int, zeta: float) -> float:
    """Distance from e_N to the corner of its good subset where all other entries tie."""
    return float(np.sqrt(2 - 2 / np.sqrt(1 + (n_features - 1) / (1 + zeta))))


def points_at(distance: float, n_points: int, n_features: int, zeta: float, rng: np.random.Generator) -> Array:
    """Points of the subset of e_N at this distance from it, uniform among those."""
    if distance > 0.99 * farthest(n_features, zeta):
        raise ValueError(f"the good subset has no points, or very few, at a distance of {distance:g}.")
    angle = 2 * np.arcsin(distance / 2)
    found = np.empty((0, n_features))
    while len(found) < n_points:
        sides = random_on_sphere(4 * n_points, n_features - 1, rng)
        D = np.column_stack([np.sin(angle) * sides, np.full(len(sides), np.cos(angle))])
        is_inside = in_good_subset(D, zeta) & (np.abs(D).argmax(axis=1) == n_features - 1)
        found = np.concatenate([found, D[is_inside]])
    return found[:n_points]


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    population, empirical = (records[records.kind == kind] for kind in ("population", "empirical"))
    figures, tables, verdicts = {}, [], []
    if len(population):
        tables.append(_table(population))
        verdicts += _population_verdicts(population)
    if len(empirical):
        figure, radii = _picture(empirical)
        figures[""] = figure
        verdicts.append(_empirical_verdict(empirical, radii))
    return Findings(figures, tables, verdicts)


def _table(population: pd.DataFrame) -> Table:
    least = population.groupby(["n_features", "theta"])[["over_printed", "over_proved"]].min()
    rows = [
        [f"{n:g}", f"{theta:g}", f"{row.over_printed:.3f}", f"{row.over_proved:.3f}"]
        for (n, theta), row in least.iterrows()  # type: ignore[misc]
    ]
    return Table(
        "Gradient inequality of the population: least ratio of its two sides in the good subset",
        ["N", "theta", "constant as printed", "constant as proved"],
        rows,
        "At least 1 where the inequality holds; least over zeta = .02, .2, .9, over random points, points of the "
        "boundary and corners. Printed: 3 sqrt(2 pi)/N; the proof ends at 3 gamma_3/(2N) = 3 sqrt(2/pi)/N.",
    )


def _population_verdicts(population: pd.DataFrame) -> list[Verdict]:
    printed, proved = population.over_printed.min(), population.over_proved.min()
    failing = population[population.over_printed < 1]
    where = (
        f"; of the theta tried it fails from {failing.theta.min():g} on. It is pi times what the proof gives."
        if len(failing)
        else "."
    )
    return [
        Verdict(
            bool(proved >= 1),
            f"Gradient inequality of the population, with the constant that its proof ends with, 3 sqrt(2/pi)/N: "
            f"the left side is at least {proved:.2f} times the right at all points tried.",
        ),
        Verdict(
            bool(printed >= 1),
            f"Gradient inequality of the population, with the constant as printed, 3 sqrt(2 pi)/N: the left side is at "
            f"least {printed:.2f} times the right{where}",
        ),
    ]


def _picture(empirical: pd.DataFrame) -> "tuple[Figure, pd.Series]":
    """The figure, and by number of samples the distance below which the sign is wrong more often than not."""
    figure, axes = panels(1, 2, 11, 4.6)
    left, right = axes[0]
    radii = {}
    for (size, some), line in zip(empirical.groupby("n_samples"), LINES, strict=False):
        share = some.groupby("distance").positive.mean()
        left.semilogx(share.index, 100 * share, **line, label=f"$L$ = {power(float(size))}")
        radii[float(size)] = crossing(share)
    left.set(xlabel="distance from the target", ylabel="share of points that point to it [%]", ylim=(-3, 103))
    left.legend(frameon=False, loc="upper left", fontsize=11)
    letter(left, "(a) sign of the left side")
    known = pd.Series(radii).dropna()
    right.loglog(known.index, known, **LINES[0] | {"linestyle": ""}, label="found")
    if len(known) > 1:
        x = known.index.to_numpy(float)
        right.loglog(x, known.iloc[0] * np.sqrt(x[0] / x), color=FAINT, linestyle=":", label="slope -1/2")
    right.set(xlabel="samples $L$", ylabel="radius of failure")
    ticks = [
        tick
        for tick in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
        if len(known) and known.min() / 2 < tick < 2 * known.max()
    ]
    right.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()
    right.legend(frameon=False)
    letter(right, "(b) distance at which half do")
    return figure, known


def crossing(share: pd.Series) -> float:
    """Distance at which half point to the target, of the curve 1 / (1 + (r / distance)^k) that fits best below
    `CLEAR_OF_BOUNDARY`; NaN where it is outside the distances. All points count: the last distance with less than half
    alone is a matter of chance.
    """
    some = share[share.index < CLEAR_OF_BOUNDARY]
    x, y = np.log(some.index.to_numpy(float)), some.to_numpy(float)
    fit = least_squares(lambda v: expit(np.exp(v[1]) * (x - v[0])) - y, [x.mean(), 0.5])
    return float(np.exp(fit.x[0])) if x[0] < fit.x[0] < x[-1] else np.nan


def _empirical_verdict(empirical: pd.DataFrame, radii: pd.Series) -> Verdict:
    far = empirical[
        (empirical.n_samples == empirical.n_samples.max())
        & (empirical.distance > 0.2)
        & (empirical.distance < CLEAR_OF_BOUNDARY)
    ]
    far = far.groupby("distance").positive.mean().min()
    found = slope(radii.index.to_series(), radii) if len(radii) > 1 else np.nan
    needed = float((empirical.delta_needed / empirical.delta).max())
    agrees = bool(radii.is_monotonic_decreasing and -0.75 < found < -0.3 and far > 0.9 and needed <= 1)
    unknown = ", ".join(f"{n:.0e}" for n in sorted(set(empirical.n_samples) - set(radii.index)))
    missing = f" No radius within the distances tried: L = {unknown}." if unknown else ""
    text = (
        f"Gradient inequality with L samples (N = {empirical.n_features.iloc[0]:g}): with its trade-off term it "
        f"{'holds at all points tried' if needed <= 1 else 'fails at some points'} (of delta, the largest deviation of "
        f"the gradient that was seen, {needed:.2f} is needed). The left side is not positive in a region around the "
        f"target, whose radius falls from {radii.iloc[0]:.2g} at L = {radii.index[0]:.0e} to {radii.iloc[-1]:.2g} "
        f"at {radii.index[-1]:.0e} (slope {found:.2f}); between .2 and .7 away at least {far:.0%} of the points have "
        f"the right sign at the largest L.{missing}"
        if len(radii)
        else "Gradient inequality with L samples: no radius of failure was found among the distances tried."
    )
    return Verdict(agrees, text)
