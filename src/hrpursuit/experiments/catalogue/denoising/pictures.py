"""The pictures of the denoising experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from hrpursuit.experiments.catalogue.denoising.differences import differences, sigmas_of
from hrpursuit.experiments.catalogue.denoising.tables import methods_in
from hrpursuit.experiments.denoisers import BEST, BM3D, DENOISERS, SHOWN, psnr
from hrpursuit.experiments.photographs import noisy_photograph, photograph
from hrpursuit.experiments.style import FAINT, LINES, letter, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Twelve methods: nine styles, and three more in the same order of markers.
_STYLES = [{"color": line["color"], "marker": line["marker"]} for line in LINES]
_STYLES += [
    {"color": colour, "marker": marker} for colour, marker in (("#44aa99", "h"), ("#aa4499", ">"), ("#999933", "*"))
]
_SHOWN = ("best", "fast", "paper", "bm3d", "ksvd", "nlm", "tv", "wavelet")


def against_time(records: pd.DataFrame) -> Figure:
    """PSNR minus that of BM3D (of `best` where it is not there) against CPU time, a panel a sigma."""
    names, sigmas = methods_in(records), sigmas_of(records)
    reference = BM3D if BM3D in names else BEST
    figure, axes = panels(1, len(sigmas), 3.2 + 3.4 * len(sigmas), 5.2, sharey=True, sharex=True)
    for i, name in enumerate(DENOISERS):
        if name not in names:
            continue
        own = records[records.method == name]
        gain, seconds = differences(records, name, reference).mean(), own.groupby("sigma").seconds.mean()
        for axis, sigma in zip(axes[0], sigmas, strict=True):
            label = DENOISERS[name].label if sigma == sigmas[0] else None
            axis.plot(seconds[sigma], gain[sigma], linestyle="", markersize=10, label=label, zorder=3, **_STYLES[i])
    for axis, sigma in zip(axes[0], sigmas, strict=True):
        axis.axhline(0, color=FAINT, linewidth=1)
        axis.set_xscale("log")
        axis.grid(alpha=0.25)
        letter(axis, f"σ = {sigma:g}")
    axes[0, 0].set_ylabel(f"PSNR minus that of {DENOISERS[reference].label} (dB)")
    figure.supxlabel("CPU time per image (s)", fontsize=14)
    figure.legend(loc="outside right center", frameon=False)
    return figure


def squares(records: pd.DataFrame) -> Figure:
    """A square of one photograph: clean, noisy, and what the methods make of it."""
    clean = photograph(SHOWN.image)
    noisy = noisy_photograph(SHOWN.image, SHOWN.sigma, SHOWN.draw, seed=int(records.seed.iloc[0]))
    cells = [
        ("clean", SHOWN.cut(clean)),
        (f"noisy, σ = {SHOWN.sigma:g}\n{psnr(noisy, clean):.2f} dB", SHOWN.cut(noisy)),
    ]
    found = records.set_index("method")
    for name in _SHOWN:
        if name in found.index:
            row = found.loc[name]
            cells.append((f"{DENOISERS[name].label}\n{row.psnr:.2f} dB", SHOWN.unpacked(row.square)))
    n_columns = 5
    n_rows = -(-len(cells) // n_columns)
    figure, axes = panels(n_rows, n_columns, 15, 3.6 * n_rows)
    for axis in axes.flat:
        axis.axis("off")
    for axis, (title, pixels) in zip(axes.flat, cells, strict=False):
        axis.imshow(pixels, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axis.set_title(title, fontsize=14)
    return figure
