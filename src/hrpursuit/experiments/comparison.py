"""Every installed method on the user's own data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from hrpursuit.baselines.base import in_memory
from hrpursuit.core.masked import fill_with_row_means
from hrpursuit.core.protocols import Rows
from hrpursuit.estimators import HRP
from hrpursuit.estimators.checks import MisspecifiedWarning, check_enough_samples, check_observed, check_scale
from hrpursuit.experiments.methods import COMPARED, OURS, warm_up
from hrpursuit.experiments.style import FAINT, LINES, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERATED = 0.1  # share of the norm that the chosen number of codes may leave
_NEGLIGIBLE = 1e-6  # smaller codes do not count
_BY_DEFLATION = ("l1-rgd",)  # its many starts take minutes from 50 features on


@dataclass(frozen=True)
class Compared:
    """What one method made of the data.

    Attributes
    ----------
    method, label : str
    error : float
        Relative reconstruction error on the observed entries.
    n_nonzero : float
        Mean number of codes of a sample that are not zero.
    seconds : float
        Wall time of the fit.
    is_filled : bool
        Whether the method got each gap filled with the mean of its row, since it takes none.
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
    is_filled: bool = False
    failed: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Samples:
    """A user's samples in the unit that the settings of all methods are for.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        NaN where there is a gap.
    filled : array of shape (n_samples, n_features)
        Each gap the mean of the observed entries of its row, for methods that take none; X itself where there are none.
    n_gaps : int
    """

    X: np.ndarray
    filled: np.ndarray
    n_gaps: int

    def error(self, found: np.ndarray) -> float:
        """Relative error on the observed entries."""
        observed = ~np.isnan(self.X)
        return float(np.linalg.norm((self.X - found)[observed]) / np.linalg.norm(self.X[observed]))


def prepare(rows: Rows) -> Samples:
    """The rows in memory, with an rms of 1/2 as the paper's synthetic data, for which the settings are: the steps and
    weights of some methods are absolute. Errors are relative, so the unit does not show in them.
    """
    check_enough_samples(rows.n_samples or 0, rows.n_features, "a comparison")
    X = in_memory(rows)
    n_gaps = int(np.isnan(X).sum())
    if n_gaps:
        check_observed(X, "orthogonal", getattr(rows, "feature_names", None))
    filled = fill_with_row_means(X) if n_gaps else X
    check_scale(filled)
    largest = float(np.abs(filled).max())
    if largest == 0:
        raise ValueError("the data has no entry other than zero; there is nothing to compare.")
    unit = 2 * float(np.sqrt(np.nanmean(np.square(X / largest, dtype=np.float64)))) * largest
    return Samples(X / unit, filled / unit, n_gaps)


def choose_n_nonzero(samples: Samples, seed: int) -> int:
    """The fewest codes per sample that leave at most `TOLERATED` of the norm, in a dictionary that is fitted to no
    number of codes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MisspecifiedWarning)  # it is to be orthogonal here
        codes = HRP(random_state=seed).fit_transform(samples.filled)
    energies = np.sort(np.square(codes, dtype=np.float64), axis=1).sum(axis=0)  # smallest codes first
    left = np.sqrt(np.cumsum(energies) / energies.sum())
    return max(1, len(left) - int(np.searchsorted(left, TOLERATED, side="right")))


def compare(samples: Samples, name: str, n_nonzero: int, seed: int) -> Compared:
    """Fit one method and judge it by what its own codes give back."""
    method = COMPARED[name]
    warm_up(name)
    model = method.estimator(n_nonzero, seed, for_readings=name in _BY_DEFLATION)
    is_filled = samples.n_gaps > 0 and not get_tags(model).input_tags.allow_nan
    X = samples.filled if is_filled else samples.X
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        start = time.perf_counter()
        try:
            model.fit(X)
            seconds = time.perf_counter() - start
            codes = model.transform(X)
            error = samples.error(model.inverse_transform(codes))
        except (ValueError, ArithmeticError, MemoryError) as reason:
            return Compared(name, method.label, is_filled=is_filled, failed=" ".join(str(reason).split()))
    used = float(np.count_nonzero(np.abs(codes) > _NEGLIGIBLE, axis=1).mean())
    texts = (
        str(warning.message).split(";")[0]
        for warning in caught
        if "converge" in str(warning.message) or issubclass(warning.category, ConvergenceWarning)
    )
    notes = tuple(dict.fromkeys(texts))
    label = getattr(model, "label", method.label)
    return Compared(name, label, error, used, seconds, is_filled, notes=notes)


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
