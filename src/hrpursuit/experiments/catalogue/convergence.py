"""Error against iteration: both stages on the orthogonal group and, for one atom, on the sphere."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from hrpursuit.core.gpm import STAGE_ONE, gpm
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.protocols import Array, Iterate
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.core.tangent import STAGE_TWO
from hrpursuit.estimators import HRP, recover_atom
from hrpursuit.experiments.errors import atom_error, recovery_error
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Verdict
from hrpursuit.experiments.published import GROUP, MANIFOLDS, N_ACCEPTED, SPHERE, adaptive_stage_two
from hrpursuit.experiments.quirks import MATCHING, SHRINK
from hrpursuit.experiments.style import FAINT, INK, letter, panels
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.plots import SCHEME_COLOURS
from hrpursuit.rows import ArrayRows

STAGE_ONE_ITERATIONS = 30
DEFAULT = "default"  # what our functions give with their default settings


def plan(settings: Settings) -> list[Config]:
    """On the sphere as published, with the step that always shrinks, and as the group's rule has it."""
    asked = settings.quirks & {MATCHING}
    return [
        {"where": where, "trial": trial, "n_features": 50, "n_samples": 100_000, "theta": 0.1, "seed": settings.seed,
         "quirks": sorted({*asked, *habits})}
        for where, habits in ((GROUP, ()), (SPHERE, (SHRINK,)), (SPHERE, ()))
        for trial in range(3 if settings.is_quick else 10)
    ]  # fmt: skip


def run(
    where: str, trial: int, n_features: int, n_samples: int, theta: float, seed: int, quirks: Sequence[str]
) -> list[dict[str, Any]]:
    """Errors of all iterates from one start, and of our default on the same samples.

    The dictionary is the Q of a matrix with entries uniform in (0, 1). Points of Stage Two are measured after
    projection.
    """
    rng = np.random.default_rng([seed, trial])
    truth = np.linalg.qr(rng.random((n_features, n_features)))[0].T
    X = bernoulli_gaussian(n_samples, n_features, theta, rng, truth)
    rows = ArrayRows(X)
    make, shrink = MANIFOLDS[where]
    manifold = make()
    start = random_orthogonal(n_features, rng) if where == GROUP else random_on_sphere(1, n_features, rng)

    def error(W: Array) -> float:
        return recovery_error(W, truth, quirks) if where == GROUP else atom_error(W, truth)

    found: list[dict[str, Any]] = []

    def keep(stage: str, W: Array) -> None:
        found.append({"stage": stage, "iteration": len(found), "error": error(W)})

    def see(iterate: Iterate) -> None:
        keep(STAGE_ONE, iterate.components)

    R = gpm(rows, start, manifold=manifold, max_iter=STAGE_ONE_ITERATIONS, tol=0, callback=see).components
    keep(STAGE_ONE, R)
    for W, _ in adaptive_stage_two(rows, R, manifold, shrink, always=SHRINK in quirks):
        keep(STAGE_TWO, manifold.project(W))
    ours = HRP(random_state=seed).fit(X).components_ if where == GROUP else recover_atom(X, random_state=seed).atom
    return [*found, {"stage": DEFAULT, "iteration": None, "error": error(ours)}]


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    shrinks = records.quirks.map(lambda quirks: SHRINK in quirks)
    plainly = records[(records["where"] == SPHERE) & ~shrinks]
    records = records[(records["where"] == GROUP) | shrinks]
    figure, axes = panels(1, 2, 12.5, 5.2, sharey=True)
    for axis, where, title, name in zip(
        axes[0], MANIFOLDS, ("(a) orthogonal group O(N)", "(b) sphere, one atom"), ("HRP", "recover_atom"), strict=True
    ):
        found = records[records["where"] == where]
        for _, curve in found[found.stage != DEFAULT].groupby("trial"):
            axis.semilogy(curve.iteration, curve.error, color=SCHEME_COLOURS["paper"], linewidth=1.6, alpha=0.75)
        ours = found[found.stage == DEFAULT].error.median()
        axis.axhline(ours, color=SCHEME_COLOURS["exact"], linewidth=2.5)
        axis.axvline(STAGE_ONE_ITERATIONS, color=FAINT, linestyle="--", linewidth=1.5)
        axis.text(1, ours * 3, f"our default, {name}, ends at {ours:.0e}", color=SCHEME_COLOURS["exact"],
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip
        for x, text in ((STAGE_ONE_ITERATIONS / 2, STAGE_ONE), (STAGE_ONE_ITERATIONS + 25, STAGE_TWO)):
            axis.text(x, 6, text, ha="center", color=INK)
        axis.set(xlabel="iteration (Stage Two: accepted step)", xlim=(0, STAGE_ONE_ITERATIONS + 51), ylim=(5e-17, 30))
        letter(axis, title)
    axes[0, 0].set_ylabel("relative error")
    figure.supxlabel(
        f"Each curve is one trial of the paper's scheme ({records.trial.nunique()} in each panel).",
        fontsize=12,
        color=INK,
    )
    return Findings({"": figure}, verdicts=[*_verdicts(records), *_beside(records, plainly)])


def settled_after(errors: Sequence[float]) -> int:
    """Iterations until the error stays within a factor 1.5 of its last value."""
    values = np.asarray(errors)
    return int(np.flatnonzero(np.concatenate([[True], values > 1.5 * values[-1]]))[-1])


def _ends(records: pd.DataFrame, where: str) -> dict[str, float]:
    """Medians over the trials."""
    found = records[records["where"] == where]
    one, two = (found[found.stage == stage].groupby("trial").error for stage in (STAGE_ONE, STAGE_TWO))
    return {
        "settled": float(one.apply(settled_after).median()),
        "one": float(one.last().median()),
        "two": float(two.last().median()),
        "default": float(found[found.stage == DEFAULT].error.median()),
    }


def _verdicts(records: pd.DataFrame) -> list[Verdict]:
    ends = {where: _ends(records, where) for where in MANIFOLDS}
    settled = [found["settled"] for found in ends.values()]
    is_alike = max(settled) < min(3 * min(settled), STAGE_ONE_ITERATIONS)
    is_alike &= all(found["two"] < 0.1 * found["one"] for found in ends.values())
    parts = [
        f"on the {where} Stage One settles after {found['settled']:.0f} iterations at an error of {found['one']:.1e} "
        f"and Stage Two ends at {found['two']:.1e}, {(found['two'] / found['one']) ** (1 / N_ACCEPTED):.2f} times for "
        f"each step"
        for where, found in ends.items()
    ]
    alike = f"{'; '.join(parts)} (medians): the two behave {'alike' if is_alike else 'differently'}."
    worst = max(found["default"] for found in ends.values())
    best = min(found["two"] for found in ends.values())
    ours = (
        f"On the same samples our defaults end at {ends[GROUP]['default']:.0e} (HRP) and {ends[SPHERE]['default']:.0e} "
        f"(recover_atom), {'below' if worst < best else 'not below'} the paper's scheme."
    )
    return [Verdict(is_alike, alike[0].upper() + alike[1:]), Verdict(worst < best, ours, is_paper=False)]


def _beside(records: pd.DataFrame, plainly: pd.DataFrame) -> list[Verdict]:
    """The settings of these curves against those of the paper's text, and the sphere without its quirk."""
    text = (
        "Stage Two of these curves is not that of the paper's text, which has 0.1 times 0.8^t in all experiments: as "
        "in the published code its step starts at 1 and shrinks where the objective does not fall"
    )
    if len(plainly):
        published, group_rule = (_ends(found, SPHERE)["two"] for found in (records, plainly))
        text += (
            f". On the sphere the published step shrinks before every step too, and ends at {published:.1e}; without "
            f"that it ends at {group_rule:.1e}"
        )
    return [Verdict(None, text + ".")]


EXPERIMENT = Experiment(
    "convergence", "Convergence on the orthogonal group and on the sphere",
    "Figure: convergence comparison on the orthogonal group and the sphere",
    plan, run, conclude, quirks=(MATCHING,),
)  # fmt: skip
