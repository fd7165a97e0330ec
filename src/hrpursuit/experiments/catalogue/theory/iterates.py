"""Power iterates stay in the good subset that they start in, and converge to a stationary point."""

import numpy as np
import pandas as pd

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import Sphere
from hrpursuit.core.protocols import Array, Iterate
from hrpursuit.core.sphere import in_good_subset
from hrpursuit.experiments.catalogue.theory.points import (
    LARGEST_THETA,
    THETA,
    gradient,
    nearest_atoms,
    on_sphere,
    starts_in_good_subsets,
    usual_zeta,
)
from hrpursuit.experiments.experiment import Config, Findings, Settings, Verdict
from hrpursuit.experiments.style import LINES, letter, panels
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.rows.array import ArrayRows

N_ITER = 150


def plan(settings: Settings) -> list[Config]:
    sizes = [300, 1000, 3000, 10_000, 30_000, 100_000]
    if not settings.is_quick:
        sizes.append(300_000)
    return [
        {"n_features": n, "n_samples": size, "theta": theta, "n_starts": 20, "trial": trial, "seed": settings.seed}
        for n in (10, 20, 50)
        for theta in (0.06, THETA, 0.3)
        for size in sizes
        for trial in range((1 if size == sizes[-1] else 2) if settings.is_quick else 5)
        if theta > 1 / n
    ]


def run(n_features: int, n_samples: int, theta: float, n_starts: int, trial: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, n_features, n_samples, round(1000 * theta), trial])
    X = bernoulli_gaussian(n_samples, n_features, theta, rng)
    zeta = usual_zeta(n_features)
    starts = starts_in_good_subsets(n_starts, n_features, zeta, rng)
    stays = np.ones(n_starts, dtype=bool)

    def watch(iterate: Iterate) -> bool:
        stays[:] &= is_still_inside(iterate.components, starts, zeta)
        return False

    end = gpm(ArrayRows(X), starts, manifold=Sphere(), max_iter=N_ITER, tol=1e-13, callback=watch).components
    stays &= is_still_inside(end, starts, zeta)
    norms = np.linalg.norm(on_sphere(end, gradient(X, end)), axis=1)
    at_start = np.linalg.norm(on_sphere(starts, gradient(X, starts)), axis=1)
    return {
        "stay": float(stays.mean()),
        "gradient_start": float(np.median(at_start)),
        "gradient_median": float(np.median(norms)),
        "gradient_largest": float(norms.max()),
    }


def is_still_inside(D: Array, starts: Array, zeta: float) -> np.ndarray:
    """Whether each row is in the good subset of its start."""
    return in_good_subset(D, zeta) & (np.sum(nearest_atoms(D) * nearest_atoms(starts), axis=1) > 0.5)


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    thetas = sorted(records.theta.unique())
    figure, axes = panels(1, len(thetas), 4.2 * len(thetas), 4.6, sharey=True)
    styles = dict(zip(sorted(records.n_features.unique()), LINES, strict=False))
    for axis, theta in zip(axes[0], thetas, strict=True):
        for n, some in records[records.theta == theta].groupby("n_features"):
            share = 100 * some.groupby("n_samples").stay.mean()
            axis.semilogx(share.index, share, **styles[n], label=f"$N$ = {n:g}")
        outside = "" if theta < LARGEST_THETA else " (outside)"
        letter(axis, rf"$\theta$ = {theta:g}{outside}")
        axis.set(xlabel="samples $L$", ylim=(0, 104))
        axis.legend(frameon=False, loc="lower right")
    axes[0, 0].set_ylabel("runs that stay in their\ngood subset [%]")
    return Findings({"": figure}, verdicts=_verdicts(records))


def _verdicts(records: pd.DataFrame) -> list[Verdict]:
    """With as many samples as were tried; the lemma asks for enough of them."""
    most = records[records.n_samples == records.n_samples.max()]
    inside, outside = most[most.theta < LARGEST_THETA], most[most.theta >= LARGEST_THETA]
    stay, fewest = inside.stay.mean(), records[records.n_samples == records.n_samples.min()].stay.mean()
    beyond = (
        f"; for theta = {outside.theta.min():g}, outside its range, {outside.stay.mean():.1%}" if len(outside) else ""
    )
    fall = (most.gradient_largest / most.gradient_start).max()
    converged = (records.gradient_median / records.gradient_start).median()
    return [
        Verdict(
            bool(stay >= 0.9 and stay > fewest),
            f"Power iterates with theta in the lemma's range: {stay:.1%} of the runs stay in their good subset at "
            f"every iteration with L = {most.n_samples.max():g} samples (asked: 90%; all theta with L = "
            f"{records.n_samples.min():g}: {fewest:.1%}){beyond}.",
        ),
        Verdict(
            bool(fall < 1e-8),
            f"Power iterates converge: after {N_ITER} iterations with L = {most.n_samples.max():g} the Riemannian "
            f"gradient is at most {fall:.0e} of that at the start; the median over all cells is {converged:.0e}.",
        ),
    ]
