"""Pictures of pages that no example draws: of the demo, of a file, and of the results of benchmarks.

They are drawn into docs/pictures/made when the site is built.
"""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sphinx.application import Sphinx

from hrpursuit.cli.demo import demo
from hrpursuit.compression import Decoder, compress
from hrpursuit.datasets import make_sensor_network

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
BLUE, ORANGE, GREEN, PURPLE, GREY = "#2166ac", "#b35806", "#5aae61", "#9970ab", "#bdbdbd"


def rows(name: str, title: str) -> list[dict[str, Any]]:
    """The table of a benchmark whose title begins like this."""
    tables = json.loads((RESULTS / f"{name}.json").read_text())["figures"]
    [found] = [table for key, table in tables.items() if key.startswith(title)]
    return [dict(zip(found["header"], row, strict=True)) for row in found["rows"]]


def draw_demo(path: Path) -> None:
    """What `hrpursuit demo` draws, and beside it its second picture."""
    with contextlib.redirect_stdout(io.StringIO()):
        demo.main(["--out", str(path)], standalone_mode=False)


def draw_file(path: Path) -> None:
    """Blocks of a real file, as long as they are in it, and what they begin with."""
    table = make_sensor_network(as_frame=True, random_state=0)
    found = Decoder(compress(table, max_error=2, chunk_rows=186))
    chunks, header = [chunk.n_bytes for chunk in found.chunks], found.chunks[0].offset
    index = found.n_bytes - header - sum(chunks)
    figure, axis = plt.subplots(figsize=(8, 1.9), layout="constrained")
    blocks = [("header", header, ORANGE), *((f"chunk {i + 1}", size, BLUE) for i, size in enumerate(chunks))]
    start = 0
    for name, size, colour in [*blocks, ("index", index, GREEN)]:
        axis.barh(0, size, left=start, height=0.6, color=colour, edgecolor="white", lw=1.5)
        if name.startswith("chunk"):
            axis.text(start + size / 2, 0, f"{name}\n{size:,} bytes", ha="center", va="center", color="white")
        else:
            axis.annotate(
                f"{name}\n{size:,} bytes",
                (start + size / 2, 0.3),
                xytext=(0, 14),
                textcoords="offset points",
                ha="left" if start == 0 else "right",
                color=colour,
                arrowprops={"arrowstyle": "-", "color": colour},
            )
        start += size
    axis.set(xlabel="byte of the file", ylim=(-0.4, 0.95), yticks=[])
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(path, dpi=160)


def draw_fit_times(path: Path) -> None:
    """Time of a fit relative to those of other methods."""
    found = rows("speed", "time of HRP().fit")
    others = {"to plain paper": ("the paper's scheme", ORANGE), "to FastICA": ("FastICA", GREEN)}
    others["to Picard-O"] = "Picard-O", PURPLE
    figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
    places = np.arange(len(found))
    for k, (key, (label, colour)) in enumerate(others.items()):
        axis.bar(places + 0.25 * (k - 1), [row[key] for row in found], 0.25, color=colour, label=f"that of {label}")
    axis.axhline(1, color="0.3", lw=1)
    heads = [row["features, samples, sparsity"].split(", ") for row in found]
    names = [f"{int(n):,} features\n{int(m):,} samples\n{float(share):.0%} nonzero" for n, m, share in heads]
    axis.set_xticks(places, names)
    axis.set(yscale="log", ylabel="time of HRP().fit, relative to")
    axis.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=160)


def draw_sizes(path: Path) -> None:
    """Size of compressed tables relative to the best other codec."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows("compression_sizes", "bytes; every codec"):
        of = found.setdefault(row["table"].split(", ")[0], {"lossless": [], "with a bound": []})
        of["lossless" if row["target"] == "lossless" else "with a bound"].append(row["ours/best"])
    figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
    for kind, colour, marker in (("lossless", BLUE, "o"), ("with a bound", ORANGE, "^")):
        points = [(ratio, name) for name, of in found.items() for ratio in of[kind]]
        axis.plot(*zip(*points, strict=True), marker, color=colour, label=kind, alpha=0.8)
    axis.axvline(1, color="0.3", lw=1)
    axis.set(xlabel="our bytes / bytes of the best other codec (below 1: smaller)")
    axis.grid(axis="y", alpha=0.25)
    axis.invert_yaxis()
    axis.legend(frameon=False, loc="lower left")
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=160)


def draw_passes(path: Path) -> None:
    """Parts of a pass over large data, as the model of the costs has them."""
    found = [row for row in rows("cost_model", "on paper: a pass") if row["chunk, GB"] == 1]
    parts = {"read, s": ("reading", BLUE), "flops, s": ("arithmetic", GREEN), "tasks, s": ("scheduler", ORANGE)}
    parts["tree, s"] = "tree of sums", GREY
    figure, axis = plt.subplots(figsize=(8, 2.6), layout="constrained")
    places = np.arange(len(found))
    for k, (key, (label, colour)) in enumerate(parts.items()):
        axis.barh(places + 0.2 * (k - 1.5), [row[key] for row in found], 0.2, color=colour, label=label)
    exponents = [round(np.log10(row["readings"])) for row in found]
    names = [f"$10^{{{n}}}$ readings,\n{row['cores']:,} cores" for n, row in zip(exponents, found, strict=True)]
    axis.set_yticks(places, names)
    axis.invert_yaxis()
    axis.set(xscale="log", xlabel="seconds of a pass, chunks of 1 GB")
    axis.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1))
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=160)


PICTURES: dict[str, Callable[[Path], None]] = {
    "demo": draw_demo,
    "file": draw_file,
    "fit_times": draw_fit_times,
    "passes": draw_passes,
    "sizes": draw_sizes,
}


def draw_pictures(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "pictures" / "made"
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        draw(folder / f"{name}.png")
        plt.close("all")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", draw_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
