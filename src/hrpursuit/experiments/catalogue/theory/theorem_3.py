"""Theorem 3: how many random starts it takes to recover one atom, and how many to find them all."""

import numpy as np
import pandas as pd

from hrpursuit.core.sphere import in_good_subset, random_on_sphere, two_stages_on_sphere
from hrpursuit.experiments.catalogue.theory.points import THETA, bernoulli_gaussian, nearest_atoms, usual_zeta
from hrpursuit.experiments.experiment import Config, Findings, Settings, Verdict
from hrpursuit.experiments.style import FAINT, LINES, letter, panels
from hrpursuit.rows.array import ArrayRows

RECOVERED = 1e-3
LARGEST = 40  # restarts per feature, after which a trial gives up


def plan(settings: Settings) -> list[Config]:
    sizes = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if settings.is_quick else (
        2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100, 140, 200, 300, 500, 700, 1000)  # fmt: skip
    n_points = 4000 if settings.is_quick else 40_000
    starts: list[Config] = [{"kind": "start", "n_features": n, "n_points": n_points} for n in sizes]
    restarts: list[Config] = [
        {"kind": "restarts", "n_features": n, "n_samples": 250 * n, "trial": trial}
        for n in ((5, 10, 20, 30) if settings.is_quick else (5, 7, 10, 14, 20, 28, 40))
        for trial in range(6 if settings.is_quick else 20)
    ]
    return [config | {"seed": settings.seed} for config in starts + restarts]


def run(kind: str, **config: int) -> dict[str, float]:
    return (_run_start if kind == "start" else _run_restarts)(**config)


def _run_start(n_features: int, n_points: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, n_features])
    is_good = in_good_subset(random_on_sphere(n_points, n_features, rng), usual_zeta(n_features))
    share = float(is_good.mean())
    return {"share": share, "standard_error": float(np.sqrt(share * (1 - share) / n_points))}


def _run_restarts(n_features: int, n_samples: int, trial: int, seed: int) -> dict[str, float]:
    """Restarts until one atom is recovered, and until all have been; 0 where that did not happen."""
    rng = np.random.default_rng([seed, n_features, trial])
    rows = ArrayRows(bernoulli_gaussian(n_samples, n_features, THETA, rng))
    atoms = np.empty(0, dtype=int)
    is_recovered = np.empty(0, dtype=bool)
    while len(set(atoms[is_recovered])) < n_features and len(atoms) < LARGEST * n_features:
        reached = two_stages_on_sphere(rows, random_on_sphere(2 * n_features, n_features, rng))
        errors = np.linalg.norm(reached - nearest_atoms(reached), axis=1)
        atoms = np.append(atoms, np.abs(reached).argmax(axis=1))
        is_recovered = np.append(is_recovered, errors < RECOVERED)
    first = np.flatnonzero(is_recovered)
    firsts = [int(first[atoms[first] == i][0]) + 1 for i in set(atoms[first])]
    return {
        "until_one": int(first[0]) + 1 if len(first) else 0,
        "until_all": max(firsts) if len(firsts) == n_features else 0,
        "recovered": float(is_recovered.mean()),
    }


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    starts, restarts = (records[records.kind == kind] for kind in ("start", "restarts"))
    figure, axes = panels(1, 2, 11, 4.6)
    left, right = axes[0]
    left.errorbar(starts.n_features, 100 * starts.share, 200 * starts.standard_error, **LINES[0], capsize=3)
    left.axhline(50, color=FAINT, linestyle=":")
    left.annotate("the paper: at least", (2, 51), color=FAINT)
    left.set(xscale="log", ylim=(40, 101), xlabel="features $N$", ylabel="starts in a good subset [%]")
    letter(left, r"(a) good subsets, $\zeta_0 = 1/(5 \log N)$")
    complete = restarts[restarts.until_all > 0]
    n = np.array(sorted(restarts.n_features.unique()), float)
    ones, alls = (frame.groupby("n_features") for frame in (restarts[restarts.until_one > 0], complete))
    right.loglog(n, [coupons(k) for k in n], color=FAINT, linestyle=":", label="$N (1 + 1/2 + ... + 1/N)$")
    right.loglog(alls.until_all.mean().index, alls.until_all.mean(), **LINES[1], label="all atoms, mean")
    right.loglog(ones.until_one.max().index, ones.until_one.max(), **LINES[3], label="one atom, most")
    right.loglog(ones.until_one.mean().index, ones.until_one.mean(), **LINES[2], label="one atom, mean")
    right.set(xlabel="features $N$", ylabel="random restarts needed", xticks=n, ylim=(0.8, None))
    right.set_xticks(n, [f"{k:g}" for k in n])
    right.minorticks_off()
    right.legend(frameon=False, fontsize=11)
    letter(right, f"(b) until recovered to {RECOVERED:g}")
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
    never = int((restarts.until_one == 0).sum())
    within = (restarts.until_one <= np.maximum(1, 3 * np.log(restarts.n_features))).mean()
    return [
        Verdict(
            bool((sure > 0.5).all()),
            f"Random starts: {starts.share.min():.0%} to {starts.share.max():.0%} of them lie in a good subset with zeta = "
            f"1/(5 log N), N = {starts.n_features.min():g} to {starts.n_features.max():g} (least at N = "
            f"{low.n_features:g}); the paper: at least half.",
        ),
        Verdict(
            bool(never == 0 and within > 0.95),
            f"Theorem 3: one atom is recovered (error below {RECOVERED:g}, two stages) after {restarts.until_one.mean():.2f} "
            f"random starts on average and {restarts.until_one.max():g} at most, N = {restarts.n_features.min():g} to "
            f"{restarts.n_features.max():g}; {restarts.recovered.mean():.0%} of all starts recover one.",
        ),
        Verdict(
            bool(n_incomplete == 0 and ratios.between(0.6, 1.6).all()),
            f"All atoms: the restarts until each has been recovered are {ratios.min():.2f} to {ratios.max():.2f} times the "
            f"coupon collector's N (1 + ... + 1/N), so about N log N where one atom takes O(log N)"
            f"{f'; {n_incomplete} trials gave up' if n_incomplete else ''}.",
        ),
    ]
