"""Unit spheres of lp norms in the plane: where the l2 sphere touches them, points are sparse."""

import numpy as np
import pandas as pd

from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Verdict
from hrpursuit.experiments.style import INK, LINES, panels

POWERS = (1, 2, 3, 4)


def plan(settings: Settings) -> list[Config]:
    return [{"p": p, "n_points": 721} for p in POWERS]


def run(p: int, n_points: int) -> list[dict[str, float]]:
    """Points with |x|^p + |y|^p = 1, and the lp norm of the point of the l2 sphere in the same direction."""
    angles = np.linspace(0, 2 * np.pi, n_points)
    x, y = np.cos(angles), np.sin(angles)
    norms = (np.abs(x) ** p + np.abs(y) ** p) ** (1 / p)
    return [
        {"angle": a, "x": u / r, "y": v / r, "norm_on_l2_sphere": r}
        for a, u, v, r in zip(angles, x, y, norms, strict=True)
    ]


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    figure, axes = panels(1, 1, 6.4, 6.6)
    axis = axes[0, 0]
    for p, line in zip(POWERS, LINES, strict=False):
        points = records[records.p == p]
        style = line | {"marker": "", "linewidth": 3 if p == 2 else 2}
        axis.plot(points.x, points.y, label=f"$p$ = {p}", **style)
    axis.plot([1, -1, 0, 0], [0, 0, 1, -1], "o", color=INK, markersize=8, label="sparsest points")
    ticks = (-1, -0.5, 0, 0.5, 1)
    axis.set(xlabel="first coordinate", ylabel="second coordinate", aspect="equal", xticks=ticks, yticks=ticks)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return Findings({"": figure}, verdicts=[_verdict(records)])


def _verdict(records: pd.DataFrame) -> Verdict:
    """Maxima of the lp norm over the l2 sphere, p > 2, are at the four sparse points and nowhere else."""
    agrees = True
    for p in POWERS[2:]:
        points = records[records.p == p]
        top = points[points.norm_on_l2_sphere > 1 - 1e-12]
        agrees &= len(top) > 0 and bool(np.allclose(np.sin(2 * top.angle), 0, atol=1e-9))
    return Verdict(
        agrees,
        f"On the unit l2 sphere the l3 and l4 norms are {'largest' if agrees else 'not largest'} at (±1, 0) and "
        "(0, ±1), the sparsest points, and nowhere else.",
    )


EXPERIMENT = Experiment(
    "lp-balls", "Unit spheres of the lp norms, p = 1 to 4", "Figure: unit spheres of lp in the plane",
    plan, run, conclude,
)  # fmt: skip
