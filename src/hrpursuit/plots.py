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
_BETWEEN_ATOMS = (0.62, 0.75, 0.9)  # a colour that atoms in grey do not have, so that black and white ones show
_GAP_COLOUR = "#b8b8b8"
_MOST_RESIDUALS = 99.5  # percent that the colours of a residual tell apart
_PANEL = 4.6  # inches
_DETAIL = 160, 320  # pixels a side; a tenth of the image between these
_MOST_SHOWN = 1400  # pixels a side; a panel has fewer


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
    if atoms.ndim not in (3, 4) or (atoms.ndim == 4 and atoms.shape[3] != 3) or atoms.size == 0:
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


def plot_denoised(noisy: np.ndarray, denoised: np.ndarray, title: str = "") -> "Figure":
    """An image before and after denoising, and what was taken away; of larger images a detail below, pixel by pixel.

    Parameters
    ----------
    noisy, denoised : array of shape (height, width) or (height, width, n_channels)
        Three channels are shown as RGB, of any other number the mean.
    title : str, default=""

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    if noisy.shape != denoised.shape or noisy.ndim not in (2, 3):
        raise ValueError(
            "noisy and denoised must be images of one shape, (height, width) or (height, width, n_channels); "
            f"got {noisy.shape} and {denoised.shape}."
        )
    low, high = _shades(denoised)
    detail = _busiest_window(denoised)
    whole = (slice(None), slice(None))
    rows = [whole] if detail is None else [whole, detail]
    removed = _brightness(noisy) - _brightness(denoised)
    bound = float(np.percentile(np.abs(removed), _MOST_RESIDUALS)) or 1.0
    shape = np.clip(noisy.shape[0] / noisy.shape[1], 0.12, 1.6)  # of very long images the panels are not
    height = _PANEL * (shape if detail is None else shape + 1) + 0.45 + (0.4 if title else 0)
    figure = new_figure(3 * _PANEL + 1.35, height)
    axes = figure.subplots(len(rows), 3, squeeze=False, height_ratios=[shape, 1][: len(rows)])
    for row, window in zip(axes, rows, strict=True):
        for axis, image in zip(row, (noisy, denoised), strict=False):
            shown = _shrunk(image[window])
            shown = shown if shown.ndim == 2 or shown.shape[2] == 3 else _brightness(shown)
            shown = np.clip((shown - low) / (high - low), 0, 1)
            axis.imshow(shown, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        shown = _shrunk(removed[window])
        colours = row[2].imshow(shown, cmap="RdBu_r", vmin=-bound, vmax=bound, interpolation="nearest")
    names = ("before", "after", "removed" if noisy.ndim == 2 else "removed, mean of the channels")
    for axis, name in zip(axes[0], names, strict=True):
        axis.set_title(name, fontsize=13)
    bar = figure.colorbar(colours, ax=list(axes[:, 2]), extend="both", pad=0.03, aspect=20 * len(rows))
    bar.set_label("before - after, levels", fontsize=12)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[], anchor="C")
    if detail is not None:
        _mark_detail(axes, detail, _side_of_squares(noisy))
    figure.suptitle(title, fontsize=14)
    return figure


def _brightness(image: np.ndarray) -> np.ndarray:
    """Mean of the channels, in a float type that tells the levels apart."""
    dtype = np.result_type(image.dtype, np.float32)
    return image.astype(dtype) if image.ndim == 2 else image.mean(axis=2, dtype=dtype)


def _shades(image: np.ndarray) -> tuple[float, float]:
    """What is shown black and white: the range of 8-bit images; of others, nearly all that occurs."""
    if image.dtype == np.uint8:
        return 0.0, 255.0
    low, high = (float(one) for one in np.percentile(image, [0.1, 99.9]))
    return low, high if high > low else low + 1.0


def _busiest_window(image: np.ndarray) -> tuple[slice, slice] | None:
    """The detail with the steepest edges, where a denoiser can lose most; None where the whole is hardly larger."""
    if max(image.shape[:2]) < 1.5 * _DETAIL[0]:
        return None
    side = int(np.clip(max(image.shape[:2]) // 10, *_DETAIL))
    plane = _brightness(image)
    steep = np.zeros_like(plane)
    steep[:-1] += np.abs(np.diff(plane, axis=0))
    steep[:, :-1] += np.abs(np.diff(plane, axis=1))
    height, width = (min(side, n) for n in plane.shape)
    total = np.pad(steep.cumsum(axis=0, dtype=np.float64).cumsum(axis=1), ((1, 0), (1, 0)))
    sums = total[height:, width:] - total[:-height, width:] - total[height:, :-width] + total[:-height, :-width]
    y, x = np.unravel_index(np.argmax(sums), sums.shape)
    return slice(int(y), int(y) + height), slice(int(x), int(x) + width)


def _side_of_squares(image: np.ndarray) -> int:
    """Of pixels that are shown as one."""
    return -(-max(image.shape[:2]) // _MOST_SHOWN)


def _shrunk(image: np.ndarray) -> np.ndarray:
    """Means over squares of pixels, where there are more than a picture can show."""
    n = _side_of_squares(image)
    if n == 1:
        return image
    height, width = (max(1, side // n) for side in image.shape[:2])
    tall, wide = min(n, image.shape[0]), min(n, image.shape[1])
    squares = image[: height * tall, : width * wide].reshape(height, tall, width, wide, *image.shape[2:])
    return squares.mean(axis=(1, 3), dtype=np.result_type(image.dtype, np.float32))


def _mark_detail(axes: np.ndarray, detail: tuple[slice, slice], n: int) -> None:
    """Frame it in the whole images, which show means of `n` x `n` pixels."""
    (top, bottom), (left, right) = ((one.start / n - 0.5, one.stop / n - 0.5) for one in detail)
    for axis in axes[0]:
        axis.plot([left, right, right, left, left], [top, top, bottom, bottom, top], color="#ffd60a", linewidth=1.6)
    for axis in axes[1]:
        axis.spines[:].set(color="#ffd60a", linewidth=2.5)
    height, width = (one.stop - one.start for one in detail)
    axes[1, 0].set_ylabel(f"detail, {width} x {height} pixels", fontsize=12)
