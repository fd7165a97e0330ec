"""Pictures of results. Needs matplotlib, which the extra `plots` installs; figures are made without a display."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hrpursuit.files import replaced_when_done
from hrpursuit.metrics import dictionary_error, match_atoms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: One colour for each scheme wherever they stand side by side; they differ in lightness too.
SCHEME_COLOURS = {"paper": "#b35806", "exact": "#2166ac"}
_SMALLEST_COSINE = 1e-4
_GAP_COLOUR = "#b8b8b8"
_BETWEEN_ATOMS = (0.62, 0.75, 0.9)  # a colour that atoms in grey do not have, so that black and white ones show
_MOST_RESIDUALS = 99.5  # percent that the colours of a residual tell apart


def new_figure(width: float, height: float) -> "Figure":
    """A figure that belongs to no window; inches."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "hrpursuit[plots]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: "Figure", path: str | PathLike[str]) -> None:
    """Write a figure in the format of its suffix; the file appears whole or not at all."""
    with replaced_when_done(path) as temporary:
        figure.savefig(temporary, dpi=150, format=Path(path).suffix.lstrip(".") or "png")


def plot_against_truth(estimates: Mapping[str, np.ndarray], truth: np.ndarray) -> "Figure":
    """Cosines between learned and true atoms, matched one to one, a panel for each estimate.

    A recovered dictionary shows as a clean diagonal; cosines of 1e-4 and less are black.

    Parameters
    ----------
    estimates : mapping of str to array of shape (n_atoms, n_features)
        Title of a panel and the dictionary that it shows.
    truth : array of shape (n_atoms, n_features)

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    figure = new_figure(5.0 * len(estimates), 5.2)
    axes: Sequence = figure.subplots(1, len(estimates), squeeze=False)[0]
    unit = truth / np.linalg.norm(truth, axis=1, keepdims=True)
    for axis, (title, components) in zip(axes, estimates.items(), strict=True):
        order, _ = match_atoms(components, truth)
        matched = components[order] / np.linalg.norm(components[order], axis=1, keepdims=True)
        cosines = np.maximum(np.abs(matched @ unit.T), _SMALLEST_COSINE)
        image = axis.imshow(cosines, cmap="magma", norm="log", vmin=_SMALLEST_COSINE, vmax=1, interpolation="nearest")
        axis.set_title(f"{title}\nrelative error {dictionary_error(components, truth):.1e}", fontsize=13)
        axis.set_xlabel("true atom", fontsize=12)
        axis.set_ylabel("learned atom, matched one to one", fontsize=12)
    bar = figure.colorbar(image, ax=list(axes), shrink=0.75)
    bar.set_label("|cosine| between atoms (logarithmic)", fontsize=12)
    return figure


def plot_readings(readings: np.ndarray, decoded: np.ndarray, title: str = "") -> "Figure":
    """Readings, what a compressed file gives back, and the difference, as heat maps over time and sensors.

    Parameters
    ----------
    readings, decoded : array of shape (n_rows, n_sensors)
        NaN is a gap, and grey.
    title : str, default=""

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    figure = new_figure(11.0, 8.6)
    axes: Sequence = figure.subplots(3, 1, sharex=True)
    residual = readings - decoded
    high = float(np.nanpercentile(readings, _MOST_RESIDUALS)) if np.isfinite(readings).any() else 1.0
    low = min(0.0, float(np.nanmin(readings))) if np.isfinite(readings).any() else 0.0
    bound = float(np.nanpercentile(np.abs(residual), _MOST_RESIDUALS)) if np.isfinite(residual).any() else 0.0
    bound = bound or 1.0
    panels = [("readings", readings, "viridis", low, high), ("decoded", decoded, "viridis", low, high)]
    panels.append(("readings - decoded", residual, "RdBu_r", -bound, bound))
    for axis, (name, values, colours, least, most) in zip(axes, panels, strict=True):
        axis.set_facecolor(_GAP_COLOUR)  # a gap is not drawn
        image = axis.imshow(
            values.T, aspect="auto", cmap=colours, vmin=least, vmax=most, interpolation="nearest", origin="lower"
        )
        axis.set_title(name, fontsize=13, loc="left")
        axis.set_ylabel("sensor", fontsize=12)
        figure.colorbar(image, ax=axis, pad=0.01, extend="both" if least < 0 else "max")
    axes[-1].set_xlabel("row (grey: gap)", fontsize=12)
    figure.suptitle(title, fontsize=14)
    return figure


def plot_atoms(atoms: np.ndarray, usage: np.ndarray | None = None, title: str = "") -> "Figure":
    """Atoms of an image as tiles, row by row.

    Grey is zero; each atom is scaled by its own largest entry.

    Parameters
    ----------
    atoms : array of shape (n_atoms, height, width) or (n_atoms, height, width, 3)
        As `PatchHRP.atoms_`.
    usage : array of shape (n_atoms,) or None, default=None
        How much each atom is used, as `PatchHRP.usage_`: the tiles are sorted by it, most used first. None keeps the
        order.
    title : str, default=""

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    atoms = np.asarray(atoms, dtype=np.float64)
    if atoms.ndim not in (3, 4) or (atoms.ndim == 4 and atoms.shape[3] != 3):
        raise ValueError(
            "atoms must have shape (n_atoms, height, width), or with three channels last; got "
            f"{atoms.shape}. PatchHRP.atoms_ has such atoms."
        )
    if usage is not None:
        if np.shape(usage) != (len(atoms),):
            raise ValueError(f"usage must have one number for each of {len(atoms)} atoms; got shape {np.shape(usage)}.")
        atoms = atoms[np.argsort(-np.asarray(usage), kind="stable")]
    largest = np.abs(atoms).max(axis=tuple(range(1, atoms.ndim)), keepdims=True)
    tiles = 0.5 + 0.5 * atoms / np.where(largest > 0, largest, 1)
    height, width = atoms.shape[1:3]
    n_across = int(np.ceil(np.sqrt(len(atoms))))
    n_down = -(-len(atoms) // n_across)
    picture = np.tile(_BETWEEN_ATOMS, (n_down * (height + 1) + 1, n_across * (width + 1) + 1, 1))
    for i, tile in enumerate(tiles):
        y, x = 1 + i // n_across * (height + 1), 1 + i % n_across * (width + 1)
        picture[y : y + height, x : x + width] = tile if tile.ndim == 3 else tile[..., None]
    figure = new_figure(6.0, 6.0 * picture.shape[0] / picture.shape[1] + 0.5)
    axis = figure.subplots()
    axis.imshow(picture, interpolation="nearest")
    order = "" if usage is None else ", most used first"
    axis.set_title(title or f"{len(atoms)} atoms{order}", fontsize=13)
    axis.set_axis_off()
    return figure
