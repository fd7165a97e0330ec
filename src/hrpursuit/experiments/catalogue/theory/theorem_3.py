"""Theorem 3: how many random starts it takes to recover one atom, and how many to find them all."""

import numpy as np
import pandas as pd

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import Sphere
from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import in_good_subset, random_on_sphere
from hrpursuit.core.tangent import tangent_descent
from hrpursuit.experiments.catalogue.theory.points import THETA, nearest_atoms, usual_zeta
from hrpursuit.experiments.experiment import Config, Findings, Settings, Verdict
from hrpursuit.experiments.style import FAINT, LINES, letter, panels
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.rows.array import ArrayRows

RECOVERED = 1e-6
NEAR = 0.5  # Stage One ends at an atom: two runs that do so have the same limit
LARGEST = 40  # restarts per feature, after which a trial gives up


def plan(settings: Settings) -> list[Config]:
    sizes = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if settings.is_quick else (
        2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100, 140, 200, 300, 500, 700, 1000)  # fmt: skip
    n_points = 4000 if settings.is_quick else 40_000
    starts: list[Config] = [{"kind": "start", "n_features": n, "n_points": n_points} for n in sizes]
    restarts: list[Config] = [
        {"kind": "restarts", "n_features": n, "n_samples": 500 * n, "trial": trial}
        for n in ((5, 10, 20, 40) if settings.is_quick else (5, 7, 10, 14, 20, 28, 40))
        for trial in range(6 if settings.is_quick else 20)
    ]
    return [config | {"seed": settings.seed} for config in starts + restarts]


def run(kind: str, **config: int) -> dict[str, float]:
    return _run_start(**config) if kind == "start" else _run_restarts(**config)


def _run_start(n_features: int, n_points: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, n_features])
    is_good = in_good_subset(random_on_sphere(n_points, n_features, rng), usual_zeta(n_features))
    share = float(is_good.mean())
    return {"share": share, "standard_error": float(np.sqrt(share * (1 - share) / n_points))}


def _run_restarts(n_features: int, n_samples: int, trial: int, seed: int) -> dict[str, float]:
    """Restarts until one atom is recovered, and until all have been; 0 where that did not happen."""
    rng = np.random.default_rng([seed, n_features, trial])
    rows = ArrayRows(bernoulli_gaussian(n_samples, n_features, THETA, rng))
    atoms = np.empty(0, dtype=int)  # that the restarts have found, -1 for none
    known: dict[int, bool] = {}  # whether Stage Two recovers them
    while sum(known.values()) < n_features and len(atoms) < LARGEST * n_features:
        starts = random_on_sphere(2 * n_features, n_features, rng)
        reached = gpm(rows, starts, manifold=Sphere(), max_iter=100, tol=1e-6).components
        nearest = np.abs(reached).argmax(axis=1)
        nearest[np.linalg.norm(reached - nearest_atoms(reached), axis=1) > NEAR] = -1
        new = [int(np.flatnonzero(nearest == atom)[0]) for atom in set(nearest.tolist()) - set(known) - {-1}]
        if new:
            known |= dict(zip(nearest[new].tolist(), is_recovered(rows, reached[new]).tolist(), strict=True))
        atoms = np.append(atoms, nearest)
    good = np.array([known.get(atom, False) for atom in atoms.tolist()])
    firsts = [int(np.flatnonzero(atoms == atom)[0]) + 1 for atom, is_good in known.items() if is_good]
    return {
        "until_one": min(firsts, default=0),
        "until_all": max(firsts) if len(firsts) == n_features else 0,
        "recovered": float(good.mean()),
    }


def is_recovered(rows: ArrayRows, anchors: Array) -> np.ndarray:
    """Whether Stage Two ends at an atom. Its steps, 0.9^t, are those of the paper's convergence curves: 0.1 times 0.8^t
    sum up to less than what is left here.
    """
    ends = tangent_descent(rows, anchors, manifold=Sphere(), step_size=1.0, decay=0.9, n_steps=150).components
    return np.asarray(np.linalg.norm(ends - nearest_atoms(ends), axis=1) < RECOVERED)


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    starts, restarts = (records[records.kind == kind] for kind in ("start", "restarts"))
    figure, axes = panels(1, 2, 11, 4.6)
    left, right = axes[0]
    left.errorbar(starts.n_features, 100 * starts.share, 200 * starts.standard_error, **LINES[0], capsize=3)
    left.axhline(50, color=FAINT, linestyle=":")
    left.annotate("the paper: at least 50 %", (2, 51.5), color=FAINT)
    left.set(xscale="log", ylim=(40, 101), xlabel="features $N$", ylabel="starts in a good subset [%]")
    letter(left, r"(a) good subsets, $\zeta_0 = 1/(5 \log N)$")
    complete = restarts[restarts.until_all > 0]
    n = np.array(sorted(restarts.n_features.unique()), float)
    ones, all_found = (frame.groupby("n_features") for frame in (restarts[restarts.until_one > 0], complete))
    right.loglog(n, [coupons(k) for k in n], color=FAINT, linestyle=":", label="$N (1 + 1/2 + ... + 1/N)$")
    right.loglog(all_found.until_all.mean().index, all_found.until_all.mean(), **LINES[1], label="all atoms, mean")
    right.loglog(ones.until_one.max().index, ones.until_one.max(), **LINES[2], label="one atom, at most")
    right.set(xlabel="features $N$", ylabel="random restarts", xticks=n, ylim=(0.8, None))
    right.set_xticks(n, [f"{k:g}" for k in n])
    right.minorticks_off()
    right.legend(frameon=False, fontsize=11)
    letter(right, "(b) restarts until recovered")
    return Findings({"": figure}, verdicts=_verdicts(starts, restarts))


def coupons(n: float) -> float:
    """Mean number of draws until each of n has come up."""
    return float(n * np.sum(1 / np.arange(1, n + 1)))


def _verdicts(starts: pd.DataFrame, restarts: pd.DataFrame) -> list[Verdict]:
    sure = starts.share - 3 * starts.standard_error
    low = starts.loc[starts.share.idxmin()]
    n_incomplete = int((restarts.until_all == 0).sum())
    complete = restarts[restarts.until_all > 0]
    ratios = complete.groupby("n_features").until_all.mean()
    ratios = ratios / [coupons(n) for n in ratios.index]
    per = (restarts.n_samples / restarts.n_features).iloc[0]
    never = int((restarts.until_one == 0).sum())
    within = (restarts.until_one <= np.maximum(1, 3 * np.log(restarts.n_features))).mean()
    return [
        Verdict(
            bool((sure > 0.5).all()),
            f"Random starts: {starts.share.min():.0%} to {starts.share.max():.0%} of them lie in a good subset with "
            f"zeta = 1/(5 log N), N = {starts.n_features.min():g} to {starts.n_features.max():g} (least at N = "
            f"{low.n_features:g}); the paper: at least half.",
        ),
        Verdict(
            bool(never == 0 and within > 0.95),
            f"Theorem 3: one atom is recovered (both stages, error below {RECOVERED:g}) after "
            f"{restarts.until_one.mean():.2f} random starts on average and {restarts.until_one.max():g} at most, N = "
            f"{restarts.n_features.min():g} to {restarts.n_features.max():g}, L = {per:g} N; "
            f"{restarts.recovered.mean():.1%} of all starts recover one. (For N < 10 the theorem's range of theta is "
            f"empty.)",
        ),
        Verdict(
            bool(n_incomplete == 0 and len(ratios) > 0 and ratios.between(0.6, 2.5).all()),
            f"All atoms: the restarts until each has been recovered are {ratios.min():.2f} to {ratios.max():.2f} times "
            f"the coupon collector's N (1 + ... + 1/N), about N log N"
            f"{f'; {n_incomplete} trials gave up' if n_incomplete else ''}.",
        ),
    ]
