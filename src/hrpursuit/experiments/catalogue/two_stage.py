"""The two stages in the plane, with real iterates: along the circle, along the tangent, then back to the circle."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from hrpursuit.core.gpm import STAGE_ONE, gpm
from hrpursuit.core.manifolds import OrthogonalGroup, random_orthogonal
from hrpursuit.core.protocols import Array, Iterate
from hrpursuit.core.tangent import STAGE_TWO
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Verdict
from hrpursuit.experiments.published import GROUP, MANIFOLDS, adaptive_stage_two
from hrpursuit.experiments.style import FAINT, INK, LINES, letter, panels
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.metrics import match_atoms
from hrpursuit.rows import ArrayRows

PROJECTION = "projection"
_ONE, _TWO, _END = LINES[0]["color"], LINES[1]["color"], LINES[2]["color"]
_OFF = (4.0, 10.0)  # degrees between the end of Stage One and the truth
_START = 25.0  # at least so many degrees between start and truth


def plan(settings: Settings) -> list[Config]:
    return [{"n_samples": 60, "theta": 0.3, "seed": settings.seed}]


def run(n_samples: int, theta: float, seed: int) -> list[dict[str, Any]]:
    """Iterates of both atoms; the true dictionary is the identity.

    Of the data sets and starts number 0, 1, 2, ... of this seed, the first is taken for which the start is at least 25
    degrees away from the truth and Stage One ends 4 to 10 degrees away from it: with a typical one nothing could be
    seen. Atoms are put in the order, and given the signs, of the true ones that they end at.
    """
    for number in range(10_000):
        rng = np.random.default_rng([seed, number])
        rows = ArrayRows(bernoulli_gaussian(n_samples, 2, theta, rng))
        path: list[Array] = []

        def see(iterate: Iterate, path: list[Array] = path) -> None:
            path.append(iterate.components)

        R = gpm(rows, random_orthogonal(2, rng), callback=see).components
        order, signs = match_atoms(R, np.eye(2))
        path = [(W[order] * signs[:, None]) for W in [*path, R]]
        if _OFF[0] <= _degrees(path[-1]) <= _OFF[1] and _degrees(path[0]) >= _START:
            break
    else:
        raise RuntimeError(f"no data set of seed {seed} shows the two stages.")
    _, shrink = MANIFOLDS[GROUP]
    along = [W for W, _ in adaptive_stage_two(rows, path[-1], OrthogonalGroup(), shrink)]
    return [
        *_rows(STAGE_ONE, path, number),
        *_rows(STAGE_TWO, along, number),
        *_rows(PROJECTION, [OrthogonalGroup().project(along[-1])], number),
    ]


def _degrees(W: Array) -> float:
    """Between the first atom and (1, 0)."""
    return float(abs(np.degrees(np.arctan2(W[0, 1], W[0, 0]))))


def _rows(stage: str, points: Sequence[Array], number: int) -> list[dict[str, Any]]:
    return [
        {"data_set": number, "stage": stage, "iteration": i, "atom": atom + 1, "x": W[atom, 0], "y": W[atom, 1]}
        for i, W in enumerate(points)
        for atom in range(2)
    ]


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    figure, axes = panels(1, 2, 13, 6.9)
    for atom, axis in enumerate(axes[0], 1):
        found = records[records.atom == atom]
        target = np.eye(2)[atom - 1]
        _draw(axis, found, target, is_whole=True)
        axis.set(aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), xticks=(-1, 0, 1), yticks=(-1, 0, 1),
                 xlabel="first coordinate", ylabel="second coordinate")  # fmt: skip
        letter(axis, f"({'ab'[atom - 1]}) {'first' if atom == 1 else 'second'} atom")
        _inset(axis, found, target)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    return Findings({"": figure}, verdicts=[_verdict(records)])


def _draw(axis: Any, found: pd.DataFrame, target: Array, is_whole: bool) -> None:
    one, two, end = (found[found.stage == stage] for stage in (STAGE_ONE, STAGE_TWO, PROJECTION))
    anchor, last, final = (part[["x", "y"]].to_numpy()[-1] for part in (one, two, end))
    turn = np.linspace(0, 2 * np.pi, 2001)
    axis.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1.2)
    ends = anchor + np.outer([-2, 2], [-anchor[1], anchor[0]])
    axis.plot(*ends.T, color=_TWO, linewidth=1.5, linestyle=":", label="tangent at $R$")
    size = 1.0 if is_whole else 1.5
    axis.plot(*target, "*", color="#f0e442", markeredgecolor=INK, markersize=17 * size, label="true atom")
    axis.plot(one.x, one.y, "o", color=_ONE, markersize=6 * size, label="Stage One, on the circle")
    axis.plot(two.x, two.y, "s", color=_TWO, markersize=4.5 * size, label="Stage Two, on the tangent")
    axis.plot(*final, "^", color=_END, markersize=6 * size, label="projection")
    if not is_whole:
        axis.annotate("", final, last, arrowprops={"arrowstyle": "->", "color": _END, "linewidth": 2})
        slope = -np.sign(anchor[0] * anchor[1])  # of the tangent; labels go outside of the circle
        offset = (18, -18 * slope) if target[0] else (-18 * slope, 18)
        for point, text in ((anchor, "$R$"), (last, "$D$")):
            axis.annotate(text, point, offset, textcoords="offset points", ha="center", va="center", fontsize=16)


def _inset(axis: Any, found: pd.DataFrame, target: Array) -> None:
    """What happens near the target, in the middle of the circle; enlarged more across the circle than along it."""
    one, two = (found[found.stage == stage][["x", "y"]].to_numpy() for stage in (STAGE_ONE, STAGE_TWO))
    shown = np.vstack([one[-4:], two, target])
    low, high = shown.min(axis=0), shown.max(axis=0)
    margin = 0.22 * (high - low)
    inset = axis.inset_axes((0.27, 0.26, 0.5, 0.5))
    _draw(inset, found, target, is_whole=False)
    (left, bottom), (right, top) = low - margin, high + margin
    inset.set(xlim=(left, right), ylim=(bottom, top))
    inset.locator_params(nbins=3)
    inset.tick_params(labelsize=13, direction="in")
    for spine in inset.spines.values():
        spine.set(visible=True, edgecolor=FAINT)
    axis.indicate_inset_zoom(inset, edgecolor=INK, alpha=0.6)


def _verdict(records: pd.DataFrame) -> Verdict:
    off = {}
    for stage, found in records.groupby("stage"):
        last = found[found.iteration == found.iteration.max()]
        target = np.eye(2)[last.atom - 1]
        points = last[["x", "y"]].to_numpy()
        cosines = np.sum(points * target, axis=1) / np.linalg.norm(points, axis=1)
        sines = np.abs(points[:, 0] * target[:, 1] - points[:, 1] * target[:, 0])
        off[stage] = float(np.degrees(np.arctan2(sines, cosines)).max())
    n_one, n_two = ((records.stage == stage).sum() // 2 for stage in (STAGE_ONE, STAGE_TWO))
    return Verdict(
        off[PROJECTION] < 0.01 * off[STAGE_ONE],
        f"Stage One ends {off[STAGE_ONE]:.1f} degrees away from the truth after {n_one - 1} iterations; after {n_two} "
        f"steps along the tangent and the projection {off[PROJECTION]:.0e} degrees are left.",
    )


EXPERIMENT = Experiment(
    "two-stage", "The two stages in the plane", "Figure: example of the two-stage scheme in the plane",
    plan, run, conclude,
)  # fmt: skip
