"""Every installed method on the user's own data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hrpursuit.baselines.base import in_memory
from hrpursuit.core.protocols import Rows
from hrpursuit.estimators.checks import check_enough_samples, check_n_nonzero, check_scale
from hrpursuit.experiments.methods import METHODS, OURS, warm_up
from hrpursuit.experiments.style import FAINT, LINES, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEGLIGIBLE = 1e-6  # smaller codes do not count
_BY_DEFLATION = ("l1-rgd",)  # its many starts take minutes from 50 features on


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
    notes : tuple of str
        What the fit warned of.
    """

    method: str
    label: str
    error: float = np.nan
    n_nonzero: float = np.nan
    seconds: float = np.nan
    failed: str | None = None
    notes: tuple[str, ...] = ()


def default_n_nonzero(n_features: int) -> int:
    return max(1, n_features // 10)


def prepare(rows: Rows, n_nonzero: int) -> np.ndarray:
    """The rows in memory, with an rms of 1/2 as the paper's synthetic data, for which the settings are: the steps and
    weights of some methods are absolute. Errors are relative, so the unit does not show in them.
    """
    check_enough_samples(rows.n_samples or 0, rows.n_features, "a comparison")
    check_n_nonzero(n_nonzero, rows.n_features)
    X = in_memory(rows)
    check_scale(X)
    rms = float(np.sqrt(np.mean(np.square(X / (np.abs(X).max() or 1), dtype=np.float64)))) * float(np.abs(X).max())
    if rms == 0:
        raise ValueError("the data has no entry other than zero; there is nothing to compare.")
    return X / (2 * rms)


def compare(X: np.ndarray, name: str, n_nonzero: int, seed: int) -> Compared:
    """Fit one method and judge it by what its own codes give back."""
    method = METHODS[name]
    warm_up(name)
    model = method.estimator(n_nonzero, seed, for_readings=name in _BY_DEFLATION)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        start = time.perf_counter()
        try:
            model.fit(X)
            seconds = time.perf_counter() - start
            codes = model.transform(X)
            error = float(np.linalg.norm(X - model.inverse_transform(codes)) / np.linalg.norm(X))
        except (ValueError, ArithmeticError, MemoryError) as reason:
            return Compared(name, method.label, failed=" ".join(str(reason).split()))
    used = float(np.count_nonzero(np.abs(codes) > _NEGLIGIBLE, axis=1).mean())
    notes = tuple(str(warning.message).split(";")[0] for warning in caught if warning.category is ConvergenceWarning)
    return Compared(name, method.label, error, used, seconds, notes=notes)


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
