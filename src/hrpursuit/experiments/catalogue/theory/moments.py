"""Moments of Bernoulli-Gaussian sums: E|d.x|^p = gamma_p E||d_Omega||^p, and when that is at most gamma_p theta."""

import numpy as np
import pandas as pd

from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.experiments.experiment import Config, Findings, Settings, Table, Verdict
from hrpursuit.experiments.population import gamma, moment
from hrpursuit.experiments.style import FAINT, INK, LINES, letter, panels
from hrpursuit.experiments.synthetic import bernoulli_gaussian

POWERS = (1, 2, 3, 4)


def plan(settings: Settings) -> list[Config]:
    n_samples = 100_000 if settings.is_quick else 1_000_000
    return [
        {"n_features": n, "theta": theta, "n_samples": n_samples, "n_points": 12, "seed": settings.seed}
        for n in ((3, 10) if settings.is_quick else (3, 6, 10))
        for theta in (0.05, 0.1, 0.3, 0.5)
    ]


def run(n_features: int, theta: float, n_samples: int, n_points: int, seed: int) -> list[dict[str, float]]:
    rng = np.random.default_rng([seed, n_features, round(1000 * theta)])
    D = random_on_sphere(n_points, n_features, rng)
    rows = []
    for i, d in enumerate(D):  # samples of its own for each point, so that the scores are independent
        sums = np.abs(bernoulli_gaussian(n_samples, n_features, theta, rng) @ d)
        for p in POWERS:
            powers = sums**p
            exact = float(moment(D[i : i + 1], theta, p)[0])
            error = float(powers.std() / np.sqrt(n_samples))
            rows.append({
                "p": p, "point": i, "exact": exact, "mean": float(powers.mean()), "standard_error": error,
                "z": (float(powers.mean()) - exact) / error, "over_bound": exact / (gamma(p) * theta),
            })  # fmt: skip
    return rows


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    figure, axes = panels(1, 2, 11, 4.6)
    left, right = axes[0]
    edges = np.linspace(-4, 4, 25)
    left.hist(np.clip(records.z, -4, 4), edges, density=True, color=LINES[5]["color"], label="found")
    x = np.linspace(-4, 4, 201)
    left.plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), color=INK, label="standard normal")
    left.set(xlabel="(Monte Carlo - exact) / standard error", ylabel="density")
    left.legend(frameon=False, loc="upper left", fontsize=11)
    letter(left, "(a) equality with the sum over supports")
    thetas = sorted(records.theta.unique())
    for i, (theta, line) in enumerate(zip(thetas, LINES, strict=False)):
        some = records[records.theta == theta]
        shift = 0.14 * (i - (len(thetas) - 1) / 2)
        right.plot(
            some.p + shift, some.over_bound, **line | {"linestyle": "", "markersize": 6}, label=rf"$\theta$ = {theta:g}"
        )
    right.axhline(1, color=FAINT, linestyle="--")
    right.set(xlabel="power $p$", ylabel=r"$E\|d_\Omega\|^p\,/\,\theta$", xticks=POWERS, yscale="log")
    right.set_yticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
    right.minorticks_off()
    right.legend(frameon=False)
    letter(right, r"(b) bound: at most 1?")
    rows = []
    for p, some in records.groupby("p"):
        rows.append([
            f"{p:g}", f"{some.z.abs().max():.2f}", f"{(some.z.abs() > 2).mean():.1%}", f"{some.over_bound.min():.3f}",
            f"{some.over_bound.max():.3f}", "yes" if some.over_bound.max() <= 1 + 1e-12 else "no",
        ])  # fmt: skip
    table = Table(
        "Moments of d.x for Bernoulli-Gaussian x",
        ["p", "largest |z|", "share |z| > 2", "least E/theta", "largest E/theta", "bound holds"],
        rows,
        "z: difference of Monte Carlo and exact value in standard errors; E: mean of ||d_Omega||^p.",
    )
    return Findings({"": figure}, [table], _verdicts(records))


def _verdicts(records: pd.DataFrame) -> list[Verdict]:
    largest, beyond = records.z.abs().max(), (records.z.abs() > 2).mean()
    top = records.groupby("p").over_bound.max()
    above = top[[p for p in top.index if p >= 2]]
    verdicts = [
        Verdict(
            bool(largest < 5.5 and beyond < 0.12),
            f"Moment lemma (a): E|d.x|^p = gamma_p E||d_Omega||^p for p = 1 to 4: {len(records)} Monte Carlo means are "
            f"within {largest:.1f} standard errors of it, {beyond:.1%} beyond 2.",
        ),
        Verdict(
            bool((above <= 1 + 1e-12).all()),
            f"Moment lemma (b) for p >= 2, the case it is used for (p = 3): E||d_Omega||^p is at most theta, largest "
            f"ratio {above.max():.3f}.",
        ),
    ]
    is_held = bool(top[1] <= 1 + 1e-12)
    reason = "" if is_held else " For p < 2 the inequality points the other way, since ||d_Omega|| <= 1."
    verdicts.append(
        Verdict(
            is_held,
            f"Moment lemma (b) for p = 1, which the statement does not exclude: E||d_Omega|| is up to {top[1]:.2f} "
            f"theta.{reason}",
        )
    )
    return verdicts
