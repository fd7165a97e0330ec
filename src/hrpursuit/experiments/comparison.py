"""Every installed method on the user's own data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hrpursuit.baselines.base import in_memory
from hrpursuit.core.protocols import Rows
from hrpursuit.experiments.methods import METHODS, OURS, warm_up
from hrpursuit.experiments.style import FAINT, LINES, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEGLIGIBLE = 1e-6  # codes below this share of the rms of the data do not count


@dataclass(frozen=True)
class Compared:
    """What one method made of the data.

    Attributes
    ----------
    method, label : str
    error : float
        Relative reconstruction error.
    n_nonzero : float
        Mean number of codes of a sample that are not zero.
    seconds : float
        Wall time of the fit.
    failed : str or None
        Why there are no figures.
    """

    method: str
    label: str
    error: float = np.nan
    n_nonzero: float = np.nan
    seconds: float = np.nan
    failed: str | None = None


def compare(rows: Rows, names: Sequence[str], n_nonzero: int | None, seed: int) -> Iterator[Compared]:
    """Fit each method to all rows, in memory, and judge it by what its own codes give back."""
    X = in_memory(rows)
    limit = _NEGLIGIBLE * float(np.sqrt(np.mean(np.square(X, dtype=np.float64))))
    for name in names:
        method = METHODS[name]
        warm_up(name)
        model = method.estimator(n_nonzero, seed, for_readings=True)
        start = time.perf_counter()
        try:
            model.fit(X)
            seconds = time.perf_counter() - start
            codes = model.transform(X)
            error = float(np.linalg.norm(X - model.inverse_transform(codes)) / (np.linalg.norm(X) or 1))
        except (ValueError, ArithmeticError, MemoryError) as reason:
            yield Compared(name, method.label, failed=" ".join(str(reason).split()))
            continue
        used = float(np.count_nonzero(np.abs(codes) > limit, axis=1).mean())
        yield Compared(name, method.label, error, used, seconds)


def draw(found: Sequence[Compared], what: str) -> Figure:
    """Error and time of each method as bars, the smallest error on top."""
    shown = sorted((one for one in found if one.failed is None), key=lambda one: -one.error)
    figure, axes = panels(1, 2, 12, 1.6 + 0.5 * len(shown), sharey=True)
    colours = [LINES[0]["color"] if one.method == OURS else FAINT for one in shown]
    labels = [one.label for one in shown]
    cells = (
        (axes[0, 0], [100 * one.error for one in shown], "reconstruction error (%)", "{:.3g}%"),
        (axes[0, 1], [one.seconds for one in shown], "time of the fit (s)", "{:.3g} s"),
    )
    for axis, values, label, form in cells:
        bars = axis.barh(labels, values, color=colours)
        axis.bar_label(bars, [form.format(value) for value in values], padding=4)
        axis.set_xlabel(label)
        axis.margins(x=0.2)
    axes[0, 1].set_xscale("log")
    figure.suptitle(what, x=0.01, ha="left")
    return figure
