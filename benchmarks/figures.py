"""Write the figures of the benchmarks into the README and the site, from the files in benchmarks/results.

python benchmarks/figures.py             # after a benchmark has run
python benchmarks/figures.py --check     # exits with 1, and names the pages, where a page and its data differ

A page marks where a figure stands, as a table of its own or within a sentence; what is between the marks is replaced:

    No certificate was false in <!-- figure: n_certificates -->1,037<!-- end --> fits.

Each name is a function in this file that makes the text of a `record`, the contents of one of the files.
"""

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PLACE = re.compile(r"(<!-- figure: (\w+) -->)(.*?)(<!-- end -->)", re.DOTALL)

Rows = list[dict[str, Any]]
FIGURES: dict[str, Callable[[], str]] = {}


def figure(make: Callable[[], str]) -> Callable[[], str]:
    """Make it known under its name."""
    FIGURES[make.__name__] = make
    return make


def record(name: str) -> dict[str, Any]:
    """What a benchmark measured last."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; run python benchmarks/{name}.py, which writes it.")
    return json.loads(path.read_text())


def rows(name: str, title: str) -> Rows:
    """The rows of the one table with this title, or whose title begins like it. Of two columns with one heading the
    second is called by it and ' 2'.
    """
    tables = record(name)["figures"]
    found = [tables[title]] if title in tables else [table for key, table in tables.items() if key.startswith(title)]
    if len(found) != 1:
        raise KeyError(f"expected one table of {name} that begins with {title!r}; found {len(found)}.")
    heads = []
    for head in found[0]["header"]:
        heads.append(f"{head} {heads.count(head) + 1}" if head in heads else head)
    return [dict(zip(heads, row, strict=True)) for row in found[0]["rows"]]


def row(name: str, title: str, **cells: object) -> dict[str, Any]:
    """The one row with these cells; `_` in a name is a blank."""
    wanted = {key.replace("_", " "): cell for key, cell in cells.items()}
    found = [row for row in rows(name, title) if all(row[key] == cell for key, cell in wanted.items())]
    if len(found) != 1:
        raise KeyError(f"expected one row of {name} with {wanted}; found {len(found)}.")
    return found[0]


def number(value: float, digits: int = 2) -> str:
    """As a person writes it, with so many significant digits if it is not whole: 1,037, 0.22, 3e-15."""
    if isinstance(value, int) or value == 0:
        return f"{value:,.0f}"
    value = float(f"{value:.{digits - 1}e}")  # 9.96 has the places of 10
    if abs(value) < 1e-3:
        mantissa, exponent = f"{value:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}"


def span(values: Iterable[float], digits: int = 2) -> str:
    """Least and most."""
    values = list(values)
    least, most = number(min(values), digits), number(max(values), digits)
    return least if least == most else f"{least} to {most}"


def table(header: Iterable[str], cells: Iterable[Iterable[str]]) -> str:
    lines = [list(header), *map(list, cells)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# Recovery


@figure
def n_certificates() -> str:
    """Fits in which a false certificate was looked for."""
    tables = (rows("recovery", "scheme='exact'"), rows("recovery", "further fits"))
    return number(sum(row["trials"] for table in tables for row in table))


@figure
def n_false_certificates() -> str:
    tables = (rows("recovery", "scheme='exact'"), rows("recovery", "further fits"))
    return number(sum(row["false"] for table in tables for row in table))


@figure
def exact_recovery() -> str:
    found = rows("recovery", "scheme='exact'")
    return table(
        ["features, samples, share of nonzero codes", "recovered", "largest error", "paper: recovered, median error"],
        (
            [
                row["features, samples, sparsity"],
                f"{row['exact']} of {row['trials']}",
                number(row["largest"], 1),
                f"{row['paper']:.0%}, {number(row['its median'])}",
            ]
            for row in found
        ),
    )


OTHERS = ("FastICA, not whitened", "FastICA", "Picard-O", "Picard", "SPAMS")
KINDS = {
    "5% outliers, 20 x 1000": "outliers, 5% of the samples",
    "half one sample, 20 x 1000": "half of the samples are one and the same",
    "offset, 20 x 1000": "unknown offset, `fit_intercept=True`",
    "energies 1 to 100, 20 x 1000": "atoms with energies from 1 to 100",
    "units 1e±6, complete, 20 x 1000": "complete dictionary, units of 1e±6",
    "10 dB, 20 x 1000": "noise of 10 dB",
    "30 dB, complete, 20 x 1000": "complete dictionary, noise of 30 dB",
    "Laplace, 10 x 100000": "Laplace sources",
    "Laplace + uniform, 10 x 100000": "Laplace and uniform sources",
}


def best_other(row: dict[str, Any]) -> float:
    return min(float(row[name]) for name in OTHERS if row[name] is not None)


@figure
def other_data() -> str:
    found = {
        row["case, features x samples"]: row
        for title in ("sparse codes", "dense sources")
        for row in rows("robustness", title)
    }
    return table(
        ["data", "ours", "best of FastICA, Picard and SPAMS"],
        ([words, number(found[case]["median"]), number(best_other(found[case]))] for case, words in KINDS.items()),
    )


@figure
def speed_of_fits() -> str:
    error = "'s error"
    return table(
        ["features, samples, share of nonzero codes", "ours", "to the paper's scheme", "to FastICA", "to Picard-O"],
        (
            [
                row["features, samples, sparsity"],
                f"{number(row['ours, ms'], 3)} ms",
                number(row["to plain paper"]),
                *(f"{number(row[f'to {name}'])} ({number(row[name + error])})" for name in ("FastICA", "Picard-O")),
            ]
            for row in rows("speed", "time of HRP().fit")
        ),
    )


@figure
def noise_ratios() -> str:
    return span(row["ratio"] for row in rows("noise", "mean error"))


# Sensors


@figure
def gaps_by_codes() -> str:
    """Readings of October with their gaps."""
    orthogonal, free = (rows("gaps", f"readings, 744 x 56, 22.5% missing; errors in %: {kind}") for kind in GAP_TABLES)
    return table(
        ["codes per hour", "orthogonal atoms", "free atoms", "K-SVD on the filled table", "paper"],
        (
            [
                str(one["T0"]),
                *(f"{number(error)}%" for error in (one["error"], two["error"], two["K-SVD"], one["paper"])),
            ]
            for one, two in zip(orthogonal, free, strict=True)
        ),
    )


GAP_TABLES = ("orthogonal, in sample", "free atoms, in sample")


# Images


@figure
def set12() -> str:
    """Means over the twelve images on which the literature reports."""
    return table(
        ["method", *(f"σ = {sigma}" for sigma in SIGMAS), "SSIM", "time, BM3D = 1"],
        (
            [row["method"], *(f"{row[f'PSNR {sigma}']} dB" for sigma in SIGMAS), similarities(row), times(row)]
            for row in rows("denoising_set12", "means")
        ),
    )


SIGMAS = (15, 25, 50)


def similarities(row: dict[str, Any]) -> str:
    return ", ".join(row[f"SSIM {sigma}"] or "" for sigma in SIGMAS).strip(", ")


def times(row: dict[str, Any]) -> str:
    shares = [row[f"time {sigma}"] for sigma in SIGMAS]
    return "" if None in shares else span(shares)


@figure
def time_of_best() -> str:
    return times(row("denoising_set12", "means", method="hrpursuit, best"))


@figure
def time_of_fast() -> str:
    return times(row("denoising_set12", "means", method="hrpursuit, fast"))


LEVELS = (10, 15, 25, 50)  # of the noise on photographs
METHODS = {
    "hrpursuit, best": "`best`",
    "hrpursuit, fast": "`fast`",
    "BM3D": "BM3D",
    "K-SVD, 256 atoms": "K-SVD, 256 atoms",
    "hrpursuit, best, blind": "`best`, σ not told",
    "hrpursuit, fast, blind": "`fast`, σ not told",
}


def photographs(half: str) -> str:
    found = {row["method"]: row for row in rows("denoising", (title(half, "PSNR")))}
    return table(
        ["method", *(f"σ = {sigma}" for sigma in LEVELS), "mean SSIM", "CPU s"],
        (
            [
                words,
                *(f"{found[method][f'σ = {sigma}']} dB" for sigma in LEVELS),
                found[method]["mean SSIM"],
                number(found[method]["CPU s"]),
            ]
            for method, words in METHODS.items()
            if method in found
        ),
    )


def title(half: str, what: str) -> str:
    """The one table of this half of the photographs whose title ends in, or has after a colon, these words."""
    return next(
        key
        for key in record("denoising")["figures"]
        if key.startswith(half) and key.partition(": ")[2].startswith(what)
    )


@figure
def grey_photographs() -> str:
    return photographs("grey")


@figure
def colour_photographs() -> str:
    return photographs("colour")


def scope_of(half: str) -> str:
    n_photographs, n_draws = re.findall(r"\d+", title(half, "PSNR").partition(":")[0])
    return f"{n_photographs} photographs, {n_draws} {'draw' if n_draws == '1' else 'draws'} of the noise"


@figure
def grey_scope() -> str:
    return scope_of("grey")


@figure
def colour_scope() -> str:
    return scope_of("colour")


def comparison(half: str, method: str, other: str, *, with_intervals: bool = False) -> str:
    """How much better at each noise level, and in which share of the time."""
    found = rows("denoising", title(half, f"{method} against {other}"))
    gains = ", ".join(f"{row['dB more']:.2f}" for row in found[:-1]) + f" and {found[-1]['dB more']:.2f} dB"
    if with_intervals:
        widths = ", ".join(f"{row['± (photographs)']:.2f}" for row in found)
        gains += f" (95% intervals over photographs ± {widths})"
    return f"{gains} above {NAMES[other]}, in {span(row['ratio of CPU times'] for row in found)} times its CPU time"


NAMES = {"bm3d": "BM3D", "ksvd": "K-SVD"}


@figure
def best_and_bm3d() -> str:
    return comparison("grey", "best", "bm3d", with_intervals=True)


@figure
def best_and_bm3d_in_colour() -> str:
    return comparison("colour", "best", "bm3d")


@figure
def fast_and_ksvd() -> str:
    return comparison("grey", "fast", "ksvd")


def losses(half: str) -> str:
    """Photographs on which BM3D is better at some noise level."""
    found = rows("denoising", title(half, "best less BM3D"))
    lost = [
        f"`{row['photograph']}` (by {-row[f'σ = {sigma}']:.2f} dB at σ = {sigma})"
        for row in found
        for sigma in LEVELS
        if row[f"σ = {sigma}"] < 0
    ]
    return ", ".join(lost) if lost else "none"


@figure
def grey_losses() -> str:
    return losses("grey")


@figure
def colour_losses() -> str:
    return losses("colour")


@figure
def cost_of_estimates() -> str:
    found = rows("denoising", title("grey", "dB that"))
    parts = [f"{row['best-blind']:.2f} dB at σ = {row['σ']}" for row in found]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


@figure
def twelve_megapixels() -> str:
    found = rows("denoising_memory", "colour photographs")
    bars = {bar["bar"]: bar["measured"] for bar in record("denoising_memory")["bars"]}
    return table(
        ["mode", "peak memory", "CPU time", "time per pixel, ratio of 12 to 3 megapixels"],
        (
            [
                f"`{row['mode']}`",
                f"{row['peak, MB']:.0f} MB",
                f"{row['CPU s']:.0f} s",
                number(bars[f"{row['mode']}: time per pixel, ratio of 12 to 3 megapixels"], 3),
            ]
            for row in found
            if row["megapixels"] == "12"
        ),
    )


@figure
def missing_pixels() -> str:
    return table(
        [
            "missing",
            "inpaint",
            "scikit-image's biharmonic",
            "linear",
            "gain on biharmonic",
            "CPU s (biharmonic, linear)",
        ],
        (
            [
                row["missing"],
                f"{row['inpaint']} dB",
                row["biharmonic"],
                row["linear"],
                row["gain on biharmonic"],
                f"{row['s, inpaint']:.1f} ({row['s, biharmonic']:.1f}, {row['s, linear']:.1f})",
            ]
            for row in rows("inpainting", "PSNR on the missing")
        ),
    )


@figure
def missing_pixels_lost() -> str:
    """Photographs on which biharmonic interpolation is better, and by how much."""
    found = rows("inpainting", "PSNR on the missing")
    parts = []
    for row in found:
        if row["below biharmonic on"] != "none":
            names = re.sub(r"(\w+) (-[\d.]+)", r"`\1` (\2)", row["below biharmonic on"])
            parts.append(f"{row['missing']}: {names}")
    return "; ".join(parts)


@figure
def correlated_noise() -> str:
    mean = row("denoising_noise", "correlated noise", image="mean")
    ours = f"{mean['white']:.1f} dB if taken for white, {mean['estimated']:.1f} with the estimated spectrum"
    with_truth = f"{mean['true spectrum']:.1f} with the true one"
    return f"{ours} and {with_truth}; BM3D with the true spectrum has {mean['BM3D, true spectrum']:.1f}"


@figure
def noise_in_jpeg() -> str:
    found = [row for row in rows("denoising_noise", "noise, then JPEG") if row["σ"] != "all"]
    columns = ("stored", "white", "white, true rms", "correlated")
    return table(
        [
            "σ before",
            "JPEG quality",
            "not denoised",
            "as white noise",
            "the same, true rms told",
            "as correlated",
            "warned",
        ],
        (
            [
                number(row["σ"]),
                str(row["quality"]),
                *(f"{row[column]:.1f} dB" for column in columns),
                f"{row['warned']} of 12",
            ]
            for row in found
        ),
    )


@figure
def counted_noise() -> str:
    mean, worst = (row("denoising_noise", "counted noise", image=name)["more if unknown"] for name in ("mean", "worst"))
    return f"{-mean:.2f} dB on average and {-worst:.2f} dB at worst"


@figure
def planes_together() -> str:
    found = rows("denoising_noise", "planes and frames")
    return table(
        ["data", "mode", "each plane alone", "together", "gain", "ratio of CPU times"],
        (
            [
                row["data"],
                f"`{row['mode']}`",
                f"{row['alone']:.2f} dB",
                f"{row['together']:.2f} dB",
                f"{row['more']:+.2f} dB",
                number(row["time ratio"]),
            ]
            for row in found
        ),
    )


@figure
def lines_kept() -> str:
    found = rows("denoising_lines", "share of the contrast")
    return table(
        ["structure", "`best`", "`fast`", "BM3D"],
        ([row["structure"], *(f"{row[name]:.0%}" for name in ("best", "fast", "BM3D"))] for row in found),
    )


# Compression


@figure
def codec_sizes() -> str:
    """Ours over the best of the others, over all seeds of a table that is made."""
    found: dict[tuple[str, str], Rows] = {}
    for row in rows("compression_sizes", "bytes; every codec"):
        found.setdefault((row["table"].split(", ")[0], row["target"]), []).append(row)
    return table(
        ["table", "target", "our bytes", "best other codec", "its bytes", "ours / best other"],
        (
            [
                f"`{name}`",
                target,
                span(row["ours"] for row in seeds),
                " or ".join(dict.fromkeys(row["name"] for row in seeds)),
                span(row["best other"] for row in seeds),
                span((row["ours/best"] for row in seeds), 3),
            ]
            for (name, target), seeds in found.items()
        ),
    )


@figure
def codec_ratios() -> str:
    """Least and largest over all tables and targets."""
    return span(row["ours/best"] for row in rows("compression_sizes", "bytes; every codec"))


@figure
def month_times() -> str:
    """Processor time to compress a month of 56 sensors with default effort, over all targets."""
    return f"{span(row['compress'] for row in rows('compression_speed', 'a month'))} s"


@figure
def codec_speeds() -> str:
    """MB of doubles per second, both ways, by effort."""
    found: dict[str, dict[str, str]] = {}
    for title in ("MB of doubles per second", "network"):
        for row in rows("compression_speed", title):
            speeds = f"{number(row['compress'])} and {number(row['decompress'])}"
            found.setdefault(row["table"], {})[row["effort"]] = speeds
    efforts = ("fast", "default", "best")
    return table(
        ["table, target", *(f'`effort="{effort}"`' for effort in efforts)],
        ([name, *(speeds[effort] for effort in efforts)] for name, speeds in found.items()),
    )


@figure
def codec_times() -> str:
    """Microseconds per reading with default effort, both ways; a reading is a double of 8 bytes."""
    found = [row for row in rows("compression_speed", "MB of doubles per second") if row["effort"] == "default"]
    ways = {"compress": "to compress", "decompress": "to decompress"}
    return " and ".join(f"{span(8 / row[way] for row in found)} µs {what}" for way, what in ways.items())


@figure
def codec_bases() -> str:
    """Files with a basis or a dictionary of their own over those with the adaptive basis, at the same relative RMSE."""
    titles = {"October 2017": "october", "simulated": "simulated"}
    found = {name: rows("compression_rmse", title) for name, title in titles.items()}
    return table(
        ["relative RMSE", *(row["RMSE"] for row in found["October 2017"])],
        (
            [f"{name}, {what}", *(number(row[head], 3) for row in found[name])]
            for head, what in (("ours, hrp", '`basis="hrp"`'), ("ours, T0", "`n_nonzero_coefs`"))
            for name in titles
        ),
    )


@figure
def codec_parts() -> str:
    """Bytes of each part of files of the simulated month; parts that none has are left out."""
    found = rows("compression_rmse", "bytes of the parts")
    targets = [head for head in found[0] if head != "part"]
    cells = []
    for row in found:
        values = [row[target] for target in targets]
        if row["part"] == "relative RMSE":
            cells.append([row["part"], *(f"{100 * value:.3g}%" for value in values)])
        elif any(values):
            name = "**file**" if row["part"] == "file" else row["part"]
            cells.append([name, *(f"{value:,.0f}" for value in values)])
    return table(["part", *(f"`{target}`" for target in targets)], cells)


@figure
def damaged_files() -> str:
    found = rows("damage", "damaged files")
    return f"{number(sum(row['files'] for row in found))} cut and changed files"


# Live


def _of_months(title: str, cell: Callable[[dict[str, Any]], str], name: str) -> str:
    """A table with a row for each name and a column for each month and kind."""
    found: dict[str, dict[str, str]] = {}
    for row in rows("live", title):
        what = row["kind"] if row["kind"] == "lossless" else f"`{row['kind']}`"
        found.setdefault(row[name].split(",")[0] if row[name].startswith("LiveEncoder") else row[name], {})[
            f"{row['month']}, {what}"
        ] = cell(row)
    heads = list(next(iter(found.values())))
    return table(["", *heads], ([line, *(cells[head] for head in heads)] for line, cells in found.items()))


@figure
def live_bytes() -> str:
    """Bytes of a month, and per slot in brackets."""
    title = "bytes of a month"
    text = _of_months(title, lambda row: f"{number(row['bytes'])} ({number(row['per slot'], 3)})", "codec")
    return text.replace("| file (one compress) |", "| file |").replace("| LiveEncoder |", "| `LiveEncoder` |")


@figure
def live_recorded() -> str:
    found = rows("live", "recorded in a file")
    return table(
        ["", "messages", "file"],
        (
            [
                f"{row['month']}, {row['kind'] if row['kind'] == 'lossless' else '`' + row['kind'] + '`'}",
                number(row["bytes of messages"]),
                number(row["bytes of the file"]),
            ]
            for row in found
        ),
    )


@figure
def live_t0() -> str:
    heads = ["bytes, first turn", "second turn", "per slot there", "relative RMSE there"]
    n_slots = 744
    return table(
        ["", *heads, "second turn, dictionary in each keyframe"],
        (
            [
                f"{row['month']}, {row['T0']}",
                number(row["bytes, first turn"]),
                number(row["second turn"]),
                number(row["second turn"] / n_slots),
                f"{100 * row['relative RMSE there']:.1f}%",
                number(row["second turn if each of them carried the dictionary"]),
            ]
            for row in rows("live", "T0 coding live")
        ),
    )


@figure
def live_refused() -> str:
    found = [row["refused all the same"] for row in rows("live", "damaged messages")]
    return f"{100 * min(found):.0f} to {100 * max(found):.0f}%"


@figure
def live_wrong_slots() -> str:
    found = rows("live", "damaged messages")
    means = [row["slots shown of the others: mean"] for row in found]
    n_messages = number(sum(row["messages"] for row in found))
    return f"{span(means)} slots on average, {max(row['max'] for row in found)} at most, in {n_messages} such messages"


@figure
def live_coding_again() -> str:
    return f"{span((row['ms of one core per slot'] for row in rows('live', 'recorded')), 1)} ms"


@figure
def live_slots() -> str:
    (found,) = [row for row in rows("live", "delay of encoder") if row["sensors"] == 56 and not row["pause, ms"]]
    return f"{number(found['slots/s of a core'])} slots"


@figure
def live_longest() -> str:
    return f"{number(max(row['max'] for row in rows('live', 'delay of encoder')), 3)} ms"


@figure
def live_delays() -> str:
    return table(
        ["sensors", "pause", "CPU time: median", "99%", "elapsed time: median", "99%"],
        (
            [
                number(row["sensors"]),
                f"{row['pause, ms']:g} ms" if row["pause, ms"] else "none",
                *(f"{number(row[head])} ms" for head in ("processor: median", "99% 2", "median", "99%")),
            ]
            for row in rows("live", "delay of encoder")
        ),
    )


# The paper rerun


@figure
def sensor_table() -> str:
    """Errors in percent as in the paper, as published (medians over starts, and their range where they scatter), and as
    it should be (means), from the rows that `hrpursuit reproduce sensor-table` writes.
    """
    from hrpursuit.experiments.catalogue.sensor_table import PAPER  # noqa: PLC0415 - for this table alone
    from hrpursuit.experiments.methods import METHODS  # noqa: PLC0415

    with (RESULTS / "sensor-table.csv").open(newline="") as file:
        found = [row for row in csv.DictReader(file) if row["fill"] == "published" and row["scaling"] == "largest"]

    def cells(method: str, as_published: bool, make: Callable[[list[float]], str]) -> list[str]:
        of = [row for row in found if row["method"] == method and (row["quirks"] != "[]") == as_published]
        counts = sorted({int(row["t0"]) for row in of})
        return [make([float(row["error_percent"]) for row in of if int(row["t0"]) == t0]) for t0 in counts]

    def middle(errors: list[float]) -> str:
        return f"{median(errors):.2f}"

    lines = []
    for method, errors in PAPER.items():
        lines.append(
            [f"{METHODS[method].label.removesuffix(' (paper)')}, in the paper", *(f"{error:.2f}" for error in errors)]
        )
        has_quirks = bool(cells(method, True, middle))
        lines.append(["as published", *cells(method, has_quirks, middle)])
        if method in SCATTERED:
            lines.append(
                ["its least to largest", *cells(method, True, lambda all_: f"{min(all_):.1f} to {max(all_):.1f}")]
            )
        if has_quirks:
            lines.append(["as it should be", *cells(method, False, lambda all_: f"{mean(all_):.2f}")])
    lines.append(["hrpursuit, same fill", *cells("ours", False, lambda all_: f"{mean(all_):.2f}")])
    return table(["", "T0 = 5", "7", "11", "18", "28"], lines)


SCATTERED = ("ksvd", "spams", "translearn")


@cache
def _recovered() -> Any:
    """Of the heat maps as published at the paper's scale: root mean squared error by cell and method, and the fewest
    and most trials of a cell.
    """
    import pandas as pd  # noqa: PLC0415 - for these figures alone
    from paper_scale import kept_rows  # noqa: PLC0415

    from hrpursuit.experiments.catalogue.recovery_heatmaps import columns  # noqa: PLC0415

    published = columns(pd.DataFrame(kept_rows("recovery-heatmaps")))[1]
    published = published[published.method != "ours"]
    cells = (published.loose_error**2).groupby([published.sparsity, published.n_samples, published.method])
    counts = cells.size()
    return (cells.mean() ** 0.5).unstack().dropna(), counts.min(), counts.max()


@figure
def recovery_trials() -> str:
    errors, least, most = _recovered()
    return f"{least} to {most} trials in each of {len(errors)} cells" if least < most else f"{most} trials in each cell"


@figure
def recovery_order() -> str:
    from hrpursuit.experiments.methods import METHODS  # noqa: PLC0415

    means = _recovered()[0].mean().sort_values()
    labels = {name: METHODS[name].label.replace("Proposed (paper)", "proposed") for name in means.index}
    return ", ".join(f"{labels[name]} {value:.2f}" for name, value in means.items())


@figure
def recovery_of_dense_codes() -> str:
    errors = _recovered()[0]
    dense = errors[errors.index.get_level_values("sparsity") > 0.4].mean()
    return f"{dense['proposed']:.2f} against {dense['logcosh-rtr']:.2f}"


# Scale

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def scientific(value: float) -> str:
    """Two digits and a power of ten: 7.9 · 10¹⁰."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa} · 10{str(int(exponent)).translate(_RAISED)}"


def _power(value: float) -> str:
    return f"10{str(round(math.log10(value))).translate(_RAISED)}"


@figure
def machine_of_passes() -> str:
    return f"{record('cost_model')['machine']['description']}, {record('cost_model')['machine']['cores']} cores"


@figure
def constants_of_passes() -> str:
    return table(
        ["constant", "value"], ([row["constant"], scientific(row["value"])] for row in rows("cost_model", "the const"))
    )


@figure
def model_of_passes() -> str:
    found = rows("cost_model", "passes over")
    places = list(dict.fromkeys(row["where"] for row in found))
    of = {(row["features"], row["where"]): row for row in found}
    return table(
        ["N", "in memory, seconds", *(f"model / measured: {place}" for place in places)],
        (
            [
                str(n),
                number(of[n, "memory"]["seconds"]),
                *(number(of[n, place]["model / measured"]) for place in places),
            ]
            for n in dict.fromkeys(row["features"] for row in found)
        ),
    )


@figure
def passes_on_paper() -> str:
    found = rows("cost_model", "on paper: a pass")
    lines = {
        "cores": lambda row: number(row["cores"]),
        "storage": lambda row: f"{row['TB']:,.0f} TB, ${row['$ a month']:,.0f} a month",
        "chunks": lambda row: f"{row['chunks']:,.0f} of {number(1000 * row['chunk, GB'])} MB",
        "reading everything": lambda row: f"{number(row['read, s'])} s",
        "arithmetic": lambda row: f"{number(row['flops, s'])} s",
        "scheduler": lambda row: f"{number(row['tasks, s'])} s",
        "tree of sums": lambda row: f"{number(row['tree, s'])} s",
        "all sums, share of the data": lambda row: scientific(row["sums / data"]),
    }
    heads = ["a pass over", *(f"{_power(row['readings'])} readings" for row in found)]
    return table(heads, ([name, *map(cell, found)] for name, cell in lines.items()))


@figure
def fits_on_paper() -> str:
    """Of chunks of 1 GB, by the constants and the passes that were measured."""
    import cost_model  # noqa: PLC0415 - for this table alone

    constants = cost_model.Constants(
        *(row["value"] for row in rows("cost_model", "the constants") if "2048" not in row["constant"])
    )
    found = [(case, taken) for case, taken in cost_model.fits_on_paper(constants) if case.chunk == 1e9]

    def cell(case: Any, taken: float) -> str:
        time = f"{number(taken / 3600)} hours" if taken > 3600 else f"{number(taken)} s"
        return f"{time}, ${number(case.dollars(taken))}"

    kinds = ("exactly sparse data, certified", "noisy data", "dense data")
    return table(
        ["a fit of", *(f"{_power(case.readings)} readings" for case, _ in found)],
        [
            ["data stays in memory", *("yes" if case.stays else "no" for case, _ in found)],
            *([kind, *(cell(case, taken[k]) for case, taken in found)] for k, kind in enumerate(kinds)),
        ],
    )


@figure
def passes_of_fits() -> str:
    names = {"posterior": "EM steps", "value and grad": "steps of Stage Two", "l1": "l1 norm"}

    def parts(row: dict[str, Any]) -> str:
        kinds: dict[str, int] = {}
        for part in row["passes over all rows, by kind"].split(", "):
            count, kind = part.split(" ", maxsplit=1)
            kinds[names.get(kind, kind)] = kinds.get(names.get(kind, kind), 0) + int(count)
        n_samples = row["small samples"] + row["large samples"]
        kinds["sample" if n_samples == 1 else "samples"] = n_samples
        if kinds.get("l1 norm", 1) > 1:
            kinds["l1 norms"] = kinds.pop("l1 norm")
        return ", ".join(kind if count == 1 else f"{count} {kind}" for kind, count in kinds.items())

    return table(
        ["data", "passes", "which"],
        ([row["data"], str(row["passes"]), parts(row)] for row in rows("passes", "fits of")),
    )


@figure
def errors_by_rows() -> str:
    found = [row for row in rows("cost_model", "fits from a .npy") if "noise" in row["data"]]
    parts = [f"{scientific(row['error'])} for {number(row['rows'])} rows" for row in found]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


@figure
def times_by_place() -> str:
    """Of a noisy fit, relative to that of rows in memory."""
    kinds = {
        ".npy": "reads; a sample is read row by row, without a pass",
        ".h5": "reads whole chunks, some 16 MB at a time: a chunk should be many rows and all columns",
        ".parquet": "decodes the columns that are used, in batches; row groups of up to a million rows suit best",
        ".zarr": "reads and decompresses whole chunks, as HDF5",
        ".csv": "parses text, each time anew, and knows the number of rows only at the end",
    }
    times = {row["where"]: row["time, memory = 1"] for row in rows("places", "noisy, orthogonal")}
    return table(
        ["kind", "time", "what a pass does"],
        ([f"`{kind}`", number(times[kind]), what] for kind, what in kinds.items()),
    )


# The README's ten


def ten() -> list[tuple[str, str, str]]:
    """What, measured, and the benchmark that prints it, with its options."""
    few = row("recovery", "scheme='exact'", **{"features, samples, sparsity": "50, 250, 0.5"})
    fit = row("speed", "time of HRP().fit", **{"features, samples, sparsity": "50, 1000, 0.2"})
    dense = row("robustness", "dense sources", **{"case, features x samples": "Laplace, 10 x 100000"})
    gaps = rows("gaps", "readings, 744 x 56, 22.5% missing; errors in %: free atoms, in sample")
    live = row("live", "bytes of a month", month="October", kind="max_error=1", codec="LiveEncoder, max_error=1")
    n_tables = len({row["table"].split(", ")[0] for row in rows("compression_sizes", "bytes; every codec")})
    denoisers = {row["method"]: row for row in rows("denoising_set12", "means")}
    images = {method: ", ".join(row[f"PSNR {sigma}"] for sigma in SIGMAS) for method, row in denoisers.items()}
    return [
        (
            "50 atoms from 250 samples, half of the codes not zero",
            f"recovered in {few['exact']} of {few['trials']} trials, error at most {number(few['largest'], 1)}; "
            f"by the paper's scheme in {few['paper']:.0%}",
            "recovery",
        ),
        ("certificates that were false", f"{n_false_certificates()} in {n_certificates()} fits", "recovery"),
        (
            "time of a fit, 1000 samples of 50 features",
            f"{number(fit['ours, ms'])} ms: {number(fit['to plain paper'])} times that of the paper's scheme, "
            f"{number(fit['to FastICA'])} times that of FastICA",
            "speed",
        ),
        (
            "dense (Laplace) sources, error",
            f"{number(dense['median'])}; best of FastICA, Picard and SPAMS {number(best_other(dense))}",
            "robustness",
        ),
        ("noise of 10 to 30 dB, error relative to the paper's scheme", noise_ratios(), "noise"),
        (
            f"readings with gaps, {gaps[0]['T0']} to {gaps[-1]['T0']} codes per hour",
            f"error {number(gaps[0]['error'])} to {number(gaps[-1]['error'])}%, "
            f"K-SVD {number(gaps[0]['K-SVD'])} to {number(gaps[-1]['K-SVD'])}%",
            "gaps",
        ),
        (
            f"compressed size of {n_tables} tables of readings",
            f"{codec_ratios()} times that of the best other codec (of JPEG XL, zpaq, pco, SZ3, ...)",
            "compression_sizes",
        ),
        (
            "live readings of 56 sensors, every one within ±1",
            f"{number(live['per slot'], 3)} bytes per time slot",
            "live",
        ),
        (
            f"images of Set12 with σ = {', '.join(map(str, SIGMAS))}, mean PSNR in dB",
            f"{images['hrpursuit, best']} (`fast` {images['hrpursuit, fast']}); BM3D {images['BM3D']}; published: "
            f"WNNM {images['WNNM, published']}, the networks DnCNN {images['DnCNN-S, published']}",
            "denoising --images SET12",
        ),
        (
            "time of `best` and `fast` in units of BM3D's",
            f"{times(denoisers['hrpursuit, best'])} and {times(denoisers['hrpursuit, fast'])}",
            "denoising --images SET12",
        ),
    ]


def command(name: str) -> str:
    program, *options = name.split()
    return " ".join([f"{program}.py", *options])


@figure
def readme() -> str:
    return table(
        ["what", "measured", "printed by"],
        ([what, measured, f"`python benchmarks/{command(name)}`"] for what, measured, name in ten()),
    )


@figure
def fewer_samples() -> str:
    """Fewest samples from which each scheme recovers 50 atoms, a fifth of the codes nonzero, to an error of 1e-3."""
    found = [row for row in rows("samples_needed", "median relative error") if row["sparsity"] == 0.2]
    ours, papers = (min(row["samples"] for row in found if row[scheme] < 1e-3) for scheme in ("exact", "paper"))
    return f"from {number(ours)} samples, where the scheme of the paper needs {number(papers)}"


# Pages


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """A page with its figures as the data has them."""

    def replace(place: re.Match[str]) -> str:
        begin, name, _, end = place.groups()
        if name not in FIGURES:
            raise KeyError(f"there is no figure {name!r}; benchmarks/figures.py has {', '.join(sorted(FIGURES))}.")
        new = FIGURES[name]()
        return f"{begin}\n\n{new}\n\n{end}" if "\n" in new else f"{begin}{new}{end}"

    return PLACE.sub(replace, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 where a page is not as the data"
    )
    check = parser.parse_args().check
    changed = []
    for path in pages():
        text = path.read_text()
        if (new := filled(text)) != text:
            changed.append(path)
            if not check:
                path.write_text(new)
    for path in changed:
        print(f"{path.relative_to(ROOT)}: {'differs from benchmarks/results' if check else 'written'}")
    if check and changed:
        sys.exit(1)


if __name__ == "__main__":
    main()
