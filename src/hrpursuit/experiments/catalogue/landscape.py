"""Stage One's objective over the sphere in three dimensions, from few and from many samples, with its minima."""

from typing import Any

import numpy as np
import pandas as pd

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import Sphere
from hrpursuit.core.protocols import Array
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Verdict
from hrpursuit.experiments.style import INK, OBJECTIVE_MAP
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.plots import new_figure
from hrpursuit.rows import ArrayRows

SURFACE, MINIMUM = "surface", "minimum"
TARGETS = np.vstack([np.eye(3), -np.eye(3)])
NAMES = ("$e_1$", "$e_2$", "$e_3$", "$-e_1$", "$-e_2$", "$-e_3$")
_SAME = np.cos(np.radians(0.5))  # ends of runs that are nearer than this are one minimum
_CENTRE = 45.0  # longitude in the middle of the maps, so that no target lies on their edge
_VIEW = (28.0, 45.0)  # elevation and azimuth in degrees


def plan(settings: Settings) -> list[Config]:
    return [
        {"n_samples": n, "theta": 0.2, "spacing": 2.0, "n_starts": 200, "seed": settings.seed} for n in (1000, 100_000)
    ]


def run(n_samples: int, theta: float, spacing: float, n_starts: int, seed: int) -> list[dict[str, Any]]:
    """Objective on a grid of so many degrees, and all minima that Stage One finds from starts all over the sphere.

    The dictionary is the identity. A point and its opposite have the same value, so half of the sphere is enough.
    """
    X = bernoulli_gaussian(n_samples, 3, theta, np.random.default_rng([seed, n_samples]))
    X = X[X.any(axis=1)]  # samples that are zero add nothing
    longitude, latitude = (a.ravel() for a in np.meshgrid(np.arange(0, 180 + spacing / 2, spacing),
                                                          np.arange(-90, 90 + spacing / 2, spacing)))  # fmt: skip
    found = [
        {"kind": SURFACE, "longitude": a, "latitude": b, "value": value}
        for a, b, value in zip(
            longitude, latitude, objective(X, on_sphere(longitude, latitude), n_samples), strict=True
        )
    ]
    ends = gpm(ArrayRows(X), spread_points(n_starts), manifold=Sphere(), max_iter=1000, tol=1e-9).components
    minima = distinct(np.vstack([ends, -ends]))
    chords = np.linalg.norm(minima[:, None] - TARGETS, axis=2).min(axis=1)
    angles = np.degrees(2 * np.arcsin(chords / 2))
    for point, value, angle in zip(minima, objective(X, minima, n_samples), angles, strict=True):
        a, b = np.degrees(np.arctan2(point[1], point[0])), np.degrees(np.arcsin(np.clip(point[2], -1, 1)))
        found.append({"kind": MINIMUM, "longitude": a, "latitude": b, "value": value, "degrees_off": angle})
    return found


def objective(X: Array, points: Array, n_samples: int) -> Array:
    """-(1/n) sum |d . y|^3 for each row d of `points`."""
    total = np.zeros(len(points))
    for block in ArrayRows(X, block_size=1024).blocks():
        codes = np.abs(block @ points.T)
        total += np.einsum("ij,ij,ij->j", codes, codes, codes)
    return -total / n_samples


def on_sphere(longitude: Array, latitude: Array) -> Array:
    """Unit vectors, one per row; degrees."""
    a, b = np.radians(longitude), np.radians(latitude)
    return np.column_stack([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)])


def spread_points(n: int) -> Array:
    """Points all over the sphere at nearly equal distances, on a spiral by the golden angle."""
    k = np.arange(n) + 0.5
    return on_sphere(np.degrees(k * np.pi * (3 - np.sqrt(5))), np.degrees(np.arcsin(1 - 2 * k / n)))


def distinct(points: Array) -> Array:
    """One of each group of points that are nearly the same."""
    kept: list[Array] = []
    for point in points:
        if all(point @ other < _SAME for other in kept):
            kept.append(point)
    return np.array(kept)


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    figure = new_figure(12.5, 9.0)
    surface = records[records.kind == SURFACE]
    limits = surface.value.min(), surface.value.max()
    sizes = sorted(records.n_samples.unique())
    grid = figure.add_gridspec(2, len(sizes), height_ratios=(1.5, 1))
    mesh: Any = None
    for column, n_samples in enumerate(sizes):
        found = records[records.n_samples == n_samples]
        ball = figure.add_subplot(grid[0, column], projection="3d")
        ball.set_title(f"({'ab'[column]}) {n_samples:,} samples", color=INK)
        _draw_ball(ball, found, limits)
        mesh = _draw_map(figure.add_subplot(grid[1, column], projection="mollweide"), found, limits)
    figure.colorbar(mesh, ax=figure.axes, label="objective, $-\\frac{1}{n}\\sum_i |d\\cdot y_i|^3$", shrink=0.7)
    handles, labels = figure.axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
    return Findings({"": figure}, verdicts=[_verdict(records)])


def _grid(found: pd.DataFrame) -> tuple[Array, Array, Array]:
    """Longitudes, latitudes and values of the whole sphere: the second half is the first one upside down."""
    half = found[found.kind == SURFACE].pivot(index="latitude", columns="longitude", values="value")
    values = np.hstack([half.to_numpy()[:, :-1], half.to_numpy()[::-1]])
    longitude = np.concatenate([half.columns[:-1], half.columns + 180])
    return longitude.astype(float), half.index.to_numpy(dtype=float), values


def _draw_ball(axis: Any, found: pd.DataFrame, limits: tuple[float, float]) -> None:
    from matplotlib import colormaps  # noqa: PLC0415 - an optional package
    from matplotlib.colors import Normalize  # noqa: PLC0415

    longitude, latitude, values = _grid(found)
    points = on_sphere(*(a.ravel() for a in np.meshgrid(longitude, latitude))).reshape(*values.shape, 3)
    colours = colormaps[OBJECTIVE_MAP](Normalize(*limits)(values))
    axis.plot_surface(*np.moveaxis(points, 2, 0), facecolors=colours, rstride=1, cstride=1, shade=False,
                      rasterized=True, antialiased=False)  # fmt: skip
    a, b = np.radians(_VIEW[1]), np.radians(_VIEW[0])
    eye = np.array([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)])
    minima = found[found.kind == MINIMUM]
    for marks, style in (
        (TARGETS, {"marker": "*", "s": 330, "color": "#f0e442", "edgecolor": INK}),
        (on_sphere(minima.longitude, minima.latitude), {"marker": "o", "s": 40, "color": "#56b4e9", "edgecolor": INK}),
    ):
        seen = 1.02 * marks[marks @ eye > 0]  # what is behind is on the map
        axis.scatter(*seen.T, depthshade=False, zorder=10, **style)
    for name, place in zip(NAMES, ((1.02, 0.2, -0.2), (0.2, 1.02, -0.2), (0, 0, 0.8)), strict=False):
        axis.text(*place, name, color="white", fontsize=16, ha="center", va="center", zorder=11)
    axis.set(xlim=(-0.75, 0.75), ylim=(-0.75, 0.75), zlim=(-0.75, 0.75))
    axis.set_box_aspect((1, 1, 1), zoom=1.15)
    axis.view_init(*_VIEW)
    axis.computed_zorder = False
    axis.set_axis_off()


def _draw_map(axis: Any, found: pd.DataFrame, limits: tuple[float, float]) -> Any:
    """The whole sphere, areas as they are."""
    longitude, latitude, values = _grid(found)
    east = (longitude - _CENTRE + 180) % 360 - 180
    order = np.argsort(east[:-1])
    mesh = axis.pcolormesh(np.radians(np.append(east[order], 180)), np.radians(latitude),
                           np.column_stack([values[:, :-1][:, order], values[:, order[0]]]), cmap=OBJECTIVE_MAP,
                           vmin=limits[0], vmax=limits[1], shading="gouraud", rasterized=True)  # fmt: skip
    minima = found[found.kind == MINIMUM]
    a, b = np.degrees(np.arctan2(TARGETS[:, 1], TARGETS[:, 0])), np.degrees(np.arcsin(TARGETS[:, 2]))
    x, y = _east(np.where(np.abs(b) == 90, _CENTRE, a)), np.radians(b)
    axis.plot(x, y, "*", color="#f0e442", markeredgecolor=INK, markersize=21, label="true atoms", clip_on=False)
    axis.plot(_east(minima.longitude), np.radians(minima.latitude), "o", color="#56b4e9", markeredgecolor=INK,
              markersize=6, label="minima that Stage One finds", clip_on=False)  # fmt: skip
    for name, at, up in zip(NAMES, x, y, strict=True):
        axis.annotate(name, (at, up), (0, -20 if up > -1 else 20), textcoords="offset points", color="white",
                      ha="center", va="center")  # fmt: skip
    axis.set_xticks(np.radians([-135, -45, 45, 135]), [])
    axis.set_yticks(np.radians([-60, -30, 0, 30, 60]))
    axis.set_xlabel("equal-area map of the whole sphere", labelpad=12)
    axis.set_ylabel("latitude")
    axis.grid(False)
    return mesh


def _east(longitude: Any) -> Array:
    """Radians east of the middle of the map."""
    return np.radians((np.asarray(longitude, dtype=float) - _CENTRE + 180) % 360 - 180)


def _verdict(records: pd.DataFrame) -> Verdict:
    """No spurious minima, and nearer to the truth with more samples."""
    minima = records[records.kind == MINIMUM].groupby("n_samples").degrees_off.agg(["count", "max"])
    few, many = minima.iloc[0], minima.iloc[-1]
    agrees = bool(many["count"] == len(TARGETS) and many["max"] < few["max"] and many["max"] < 5)
    parts = [
        f"{int(row['count'])} minima, the farthest {row['max']:.1f} degrees away from a true atom, with {n:,} samples"
        for n, row in minima.iterrows()
    ]
    return Verdict(
        agrees, f"The objective has {'; '.join(parts)}. There are {len(TARGETS)} true atoms with their signs."
    )


EXPERIMENT = Experiment(
    "landscape", "The objective of Stage One over the sphere", "Figure: high-dimensional geometry of the problem",
    plan, run, conclude,
)  # fmt: skip
