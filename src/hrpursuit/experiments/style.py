"""How figures look: a colour map for each meaning, text that stays readable at half size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hrpursuit.plots import new_figure
from hrpursuit.rows.optional import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colour maps by meaning; all of them grow lighter in one direction, so that they survive grey and colour blindness.
ERROR_MAP = "viridis"  # dark: small error
OBJECTIVE_MAP = "magma"
READINGS_MAP = "cividis"
GAP_COLOUR = "#d7301f"
INK, FAINT = "#1d2733", "#8a949e"

#: Okabe and Ito's colours and two more, which the colour-blind can tell apart; dashes and markers for print in grey.
LINES: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "marker": "o", "linestyle": "-"},
    {"color": "#d55e00", "marker": "s", "linestyle": "--"},
    {"color": "#009e73", "marker": "^", "linestyle": "-."},
    {"color": "#cc79a7", "marker": "D", "linestyle": ":"},
    {"color": "#e69f00", "marker": "v", "linestyle": (0, (5, 1))},
    {"color": "#56b4e9", "marker": "P", "linestyle": (0, (3, 1, 1, 1))},
    {"color": "#000000", "marker": "X", "linestyle": (0, (1, 1))},
    {"color": "#882255", "marker": "<", "linestyle": (0, (8, 2))},
    {"color": "#7f7f7f", "marker": "p", "linestyle": (0, (4, 2, 1, 2))},
)
_TEXT: Any = {
    "font.size": 14,
    "axes.titlesize": 15,
    "axes.labelsize": 14,
    "legend.fontsize": 13,
    "xtick.labelsize": 13,
    "ytick.labelsize": 13,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "lines.linewidth": 2.0,
    "lines.markersize": 7,
    "svg.hashsalt": "hrpursuit",  # the same picture is the same file
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Sizes and colours of text and lines for all figures that are made inside."""
    needed("matplotlib", "Pictures", "plots")
    from matplotlib import rc_context  # noqa: PLC0415 - an optional package

    with rc_context(_TEXT):
        yield


def panels(n_rows: int, n_columns: int, width: float, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure of this size in inches, and its axes as a matrix; options as of `Figure.subplots`."""
    figure = new_figure(width, height)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def letter(axis: Axes, text: str) -> None:
    """Title of a panel, at its left."""
    axis.set_title(text, loc="left", color=INK)
