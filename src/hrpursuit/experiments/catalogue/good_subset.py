"""A good subset of the sphere seen from above, over the expected objective, and its share of the sphere's area."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import in_good_subset, random_on_sphere
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Verdict
from hrpursuit.experiments.population import moment
from hrpursuit.experiments.style import INK, OBJECTIVE_MAP, panels

ZETAS = (0.0, 0.5, 2.0)
THETA = 0.2  # as in the landscape
_DASHES = ("-", "--", ":")


def plan(settings: Settings) -> list[Config]:
    n_points = 1_000_000 if settings.is_quick else 10_000_000
    return [{"zeta": zeta, "n_points": n_points, "seed": settings.seed} for zeta in ZETAS]


def run(zeta: float, n_points: int, seed: int) -> dict[str, float]:
    """Share of the sphere in R^3 that lies in the subset around e_3, by uniform points, and its exact value.

    The subset is the cone over a square, |d_1| and |d_2| at most d_3 / sqrt(1 + zeta); its solid angle is known.
    """
    rng = np.random.default_rng([seed, round(1000 * zeta)])
    n_inside = 0
    for start in range(0, n_points, 100_000):
        points = random_on_sphere(min(100_000, n_points - start), 3, rng)
        is_around = (np.abs(points).argmax(axis=1) == 2) & (points[:, 2] > 0)
        n_inside += int((is_around & in_good_subset(points, zeta)).sum())
    share = n_inside / n_points
    return {
        "share": share,
        "standard_error": float(np.sqrt(share * (1 - share) / n_points)),
        "exact": float(np.arcsin(1 / (2 + zeta)) / np.pi),
    }


def outline(zeta: float, n_points: int = 401) -> Array:
    """Boundary of the subset around e_3 seen from above, as rows (d_1, d_2): where it is a square cone."""
    side = np.linspace(-1, 1, n_points)
    t = 1 / np.sqrt(1 + zeta)
    edge = np.column_stack([np.full(n_points, t), t * side, np.ones(n_points)])
    edge /= np.linalg.norm(edge, axis=1, keepdims=True)
    quarter = np.array([[0, 1], [-1, 0]])
    return np.vstack([edge[:, :2] @ np.linalg.matrix_power(quarter, k) for k in range(4)])


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    figure, axes = panels(1, 1, 8.2, 7.4)
    axis = axes[0, 0]
    grid = np.linspace(-1, 1, 401)
    x, y = np.meshgrid(grid, grid)
    height = 1 - x**2 - y**2
    points = np.column_stack([x.ravel(), y.ravel(), np.sqrt(np.maximum(height, 0)).ravel()])
    values = np.where(height >= 0, -moment(points, THETA, 3).reshape(x.shape), np.nan)
    mesh = axis.pcolormesh(x, y, values, cmap=OBJECTIVE_MAP, shading="gouraud", rasterized=True)
    figure.colorbar(mesh, ax=axis, label="expected objective, $-E\\,|d\\cdot x|^3$", shrink=0.85)
    axis.add_patch(_circle())
    for zeta, dashes in zip(ZETAS, _DASHES, strict=True):
        share = records[records.zeta == zeta].exact.mean()
        axis.plot(*outline(zeta).T, color=INK, linestyle=dashes, linewidth=2.5, path_effects=_halo(),
                  label=f"$\\zeta$ = {zeta:g}: {100 * share:.1f}% of the sphere")  # fmt: skip
    half, third = np.sqrt(1 / 2), np.sqrt(1 / 3)
    others = [(half, 0), (-half, 0), (0, half), (0, -half), *product((third, -third), repeat=2)]
    others += [(s * half, t * half) for s, t in product((1, -1), repeat=2)]
    axis.plot(*np.transpose(others), "X", color="#56b4e9", markeredgecolor=INK, markersize=10,
              label="stationary, no minimum")  # fmt: skip
    axis.plot(*np.transpose([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]), "*", color="white", markeredgecolor=INK,
              markersize=18, label="true atoms", clip_on=False)  # fmt: skip
    axis.annotate("$e_3$", (0.03, 0.04), color="white", fontsize=18)
    ticks = (-1, -0.5, 0, 0.5, 1)
    axis.set(xlabel="$d_1$", ylabel="$d_2$", aspect="equal", xticks=ticks, yticks=ticks,
             xlim=(-1.06, 1.06), ylim=(-1.06, 1.06))  # fmt: skip
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return Findings({"": figure}, verdicts=[_verdict(records)])


def _halo() -> list[Any]:
    """White around a line, so that it shows on dark and on light."""
    from matplotlib.patheffects import withStroke  # noqa: PLC0415 - an optional package

    return [withStroke(linewidth=6, foreground="white")]


def _circle() -> Any:
    from matplotlib.patches import Circle  # noqa: PLC0415 - an optional package

    return Circle((0, 0), 1, fill=False, edgecolor=INK, linewidth=1.2)


def _verdict(records: pd.DataFrame) -> Verdict:
    off = (records.share - records.exact).abs()
    agrees = bool((off <= 4 * records.standard_error).all())
    agrees &= bool(np.isclose(records[records.zeta == 0].exact, 1 / 6).all())
    parts = [f"{row.share:.4f} for zeta = {row.zeta:g} (exactly {row.exact:.4f})" for row in records.itertuples()]
    return Verdict(
        agrees,
        f"Of the sphere's area the subset around e_3 takes {', '.join(parts)}: with zeta = 0 the six subsets "
        f"{'cover' if agrees else 'do not cover'} the sphere.",
    )


EXPERIMENT = Experiment(
    "good-subset", "A good subset of the sphere, from above", "Figure: top view of an example subset",
    plan, run, conclude,
)  # fmt: skip
