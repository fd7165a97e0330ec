"""The signal flow of sparse coding by HRP: the paper's two stages, and the path that is our default."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from hrpursuit.core.search import SEARCH
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import HRP
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings, Verdict
from hrpursuit.experiments.style import FAINT, INK, panels
from hrpursuit.metrics import dictionary_error
from hrpursuit.plots import SCHEME_COLOURS

_WIDTH, _HEIGHT, _GAP = 3.0, 1.9, 1.05  # of boxes and between them, in units of the axis
_PALE = {"paper": "#fbe9d7", "exact": "#dfebf6", "data": "#f1f3f5"}


def plan(settings: Settings) -> list[Config]:
    return [
        {"scheme": scheme, "n_samples": 1000, "n_features": 20, "sparsity": 0.3, "seed": settings.seed}
        for scheme in ("paper", "exact")
    ]


def run(
    scheme: Literal["paper", "exact"], n_samples: int, n_features: int, sparsity: float, seed: int
) -> list[dict[str, Any]]:
    """What each stage of a fit did on a small problem: iterations, and l1 norm of the codes per sample.

    A stage tells the norm for the samples that it works on; at the end it is taken over all of them.
    """
    X, _, truth = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
    model = HRP(scheme=scheme, random_state=seed).fit(X)
    error, at_end = dictionary_error(model.components_, truth), float(np.abs(model.transform(X)).sum() / n_samples)
    return [
        {"stage": stage.name, "iterations": stage.n_iter, "l1_before": stage.objective_before,
         "l1_after": stage.objective_after, "l1_of_all_samples": at_end, "is_certified": bool(model.certificate_),
         "error": error}
        for stage in model.stages_
    ]  # fmt: skip


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    step = _WIDTH + _GAP
    figure, axes = panels(1, 1, 15.5, 6.4)
    axis = axes[0, 0]
    axis.set(xlim=(-0.15, 5 * step - _GAP + 0.15), ylim=(-2.15, 5.85), aspect="equal")
    axis.set_axis_off()
    _paper_row(axis, step)
    axis.plot([0, 5 * step - _GAP], [2.62, 2.62], color=FAINT, linewidth=1, linestyle=(0, (6, 4)))
    _exact_row(axis, step)
    return Findings({"": figure}, verdicts=_verdicts(records))


def _paper_row(axis: Any, step: float) -> None:
    y = 3.2
    axis.text(0, y + _HEIGHT + 0.35, "The paper's scheme", fontsize=18, color=SCHEME_COLOURS["paper"], weight="bold")
    boxes = [
        ("data", "Samples", ["$Y = [y_1, \\ldots, y_L]$", "$y_i = D\\,x_i,\\ \\ x_i$ sparse"]),
        ("paper", "Stage One", ["$\\max_{D \\in O(N)}\\ \\frac{1}{L}\\sum_i \\Vert D^T y_i \\Vert_3^3$",
                                "by $D \\leftarrow \\mathrm{Polar}(\\nabla)$"]),
        ("paper", "Stage Two", ["$\\min_D\\ \\frac{1}{L}\\sum_i \\Vert D^T y_i \\Vert_1$",
                                "$R^T D + D^T R = 2I$"]),
        ("paper", "Projection", ["$\\hat{D} = P_{O(N)}(D)$", "back to the group"]),
        ("data", "Codes", ["$\\hat{x}_i = \\hat{D}{}^T y_i$", "or its $T_0$ largest"]),
    ]  # fmt: skip
    for place, (kind, title, lines) in enumerate(boxes):
        _box(axis, place * step, y, kind, title, lines)
    for place, label in enumerate(("$Y$", "$R$", "$D$", "$\\hat{D}$")):
        _arrow(axis, (place * step + _WIDTH, y + _HEIGHT / 2), ((place + 1) * step, y + _HEIGHT / 2), label)


def _exact_row(axis: Any, step: float) -> None:
    y = 0.0
    axis.text(0, y + _HEIGHT + 0.22, "Our default", fontsize=18, color=SCHEME_COLOURS["exact"], weight="bold")
    boxes = [
        ("data", "Working sample", ["$10\\,N$ samples", "at random"]),
        ("exact", "Search", ["subgradient steps", "on random batches"]),
        ("exact", "Exact polish", ["$\\min_E\\ \\Vert M \\circ (Z - EZ) \\Vert$", "$E$ skew, $M$: small $Z$"]),
        ("exact", "Certificate", ["at least $N$ zeros in", "every code column"]),
        ("data", "Codes", ["$\\hat{x}_i = \\hat{D}{}^T y_i$", "or its $T_0$ largest"]),
    ]
    for place, (kind, title, lines) in enumerate(boxes):
        _box(axis, place * step, y, kind, title, lines)
    for place, label in enumerate(("", "ordered", "$\\hat{D}$", "holds")):
        _arrow(axis, (place * step + _WIDTH, y + _HEIGHT / 2), ((place + 1) * step, y + _HEIGHT / 2), label)
    low, high = -2.1, -0.8
    left, width = 2 * step, step + _WIDTH
    lines = ["noise, dense codes: maximum likelihood", "dependent codes: greedy planes, Stage Two"]
    _box(axis, left, low, "exact", "", lines, width=width, height=high - low)
    _arrow(axis, (3 * step + _WIDTH / 2, y), (3 * step + _WIDTH / 2, high), "fails", is_down=True)
    corner, middle = 4 * step + _WIDTH / 2, (low + high) / 2
    axis.plot([left + width, corner], [middle, middle], color=INK, linewidth=2, solid_capstyle="projecting")
    _arrow(axis, (corner, middle), (corner, y), "")


def _box(
    axis: Any, x: float, y: float, kind: str, title: str, lines: Sequence[str], width: float = _WIDTH,
    height: float = _HEIGHT,
) -> None:  # fmt: skip
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415 - an optional package

    edge = SCHEME_COLOURS.get(kind, FAINT)
    axis.add_patch(FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.12",
                                  facecolor=_PALE[kind], edgecolor=edge, linewidth=1.8))  # fmt: skip
    heights = (0.77, 0.46, 0.18) if title else (0.7, 0.3)
    for text, at in zip([title, *lines] if title else lines, heights, strict=True):
        is_title = text == title
        axis.text(x + width / 2, y + at * height, text, ha="center", va="center", color=INK,
                  fontsize=17 if is_title else 15, weight="bold" if is_title else "normal")  # fmt: skip


def _arrow(
    axis: Any, tail: tuple[float, float], tip: tuple[float, float], label: str, is_down: bool = False
) -> None:  # fmt: skip
    axis.annotate("", tip, tail, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 2, "shrinkA": 0,
                                             "shrinkB": 0, "mutation_scale": 18})  # fmt: skip
    x, y = (tail[0] + tip[0]) / 2, (tail[1] + tip[1]) / 2
    if is_down:
        axis.text(x + 0.15, y, label, ha="left", va="center", color=INK)
    else:
        axis.text(x, y + 0.12, label, ha="center", va="bottom", color=INK, fontsize=13)


def _verdicts(records: pd.DataFrame) -> list[Verdict]:
    verdicts = []
    for scheme, name in (("paper", "The paper's scheme"), ("exact", "Our default")):
        stages = records[records.scheme == scheme]
        steps = ", ".join(
            f"{row.stage} from {row.l1_before:.3f} to {row.l1_after:.3f} in {row.iterations} "
            f"{'steps on its working sample' if row.stage == SEARCH else 'iterations'}"
            for row in stages.itertuples()
        )
        falls = bool((stages.l1_after < stages.l1_before).all())
        certified = ", certified" if stages.is_certified.all() else ""
        verdicts.append(
            Verdict(
                None if scheme == "paper" else falls and stages.error.max() < 0.05,
                f"{name} {'lowers' if falls else 'does not lower'} the l1 norm of the codes per sample: {steps}; over "
                f"all samples it is then "
                f"{stages.l1_of_all_samples.mean():.4f}, and the error {stages.error.max():.0e}{certified}.",
                is_paper=scheme == "paper",
            )
        )
    return verdicts


EXPERIMENT = Experiment(
    "flow", "Signal flow of the paper's scheme and of our default", "Figure: signal processing flow",
    plan, run, conclude,
)  # fmt: skip
