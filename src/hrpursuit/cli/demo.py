"""hrpursuit demo: compare the paper's scheme with ours on simulated data, and compress a month of readings."""

import time
import warnings
from pathlib import Path
from typing import Any, Literal

import click
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP
from hrpursuit.cli.demo_readings import compress_a_month, print_results
from hrpursuit.cli.report import check_picture, json_option, print_json, print_table
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.plots import plot_against_truth, save_figure
from hrpursuit.progress import Bars
from hrpursuit.rows.optional import needed

N_ATOMS, N_SAMPLES, SPARSITY, SUCCESS = 50, 500, 0.2, 1e-3
SCHEMES: dict[Literal["paper", "exact"], str] = {"paper": "the paper's scheme", "exact": "hrpursuit, scheme='exact'"}


@click.command()
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("hrpursuit-demo.png"), show_default=True,
              help="Where the picture goes (.png, .svg or .pdf).")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the data and of both fits."
)
@json_option
def demo(out: Path, seed: int, as_json: bool) -> None:
    """Learn 50 atoms from 500 samples with the paper's scheme and with ours, and draw both against the truth; then
    compress a simulated month of a sensor network, and draw that into a second picture (NAME-readings.png).
    """
    picture = out.with_stem(f"{out.stem}-readings")
    for path in (out, picture):
        check_picture(path)
    needed("matplotlib", "pictures", "plots")  # before the work, not after
    X, _, components = make_sparse_coded(N_SAMPLES, N_ATOMS, sparsity=SPARSITY, random_state=seed)
    results: list[dict[str, Any]] = []
    found = {}
    for scheme, title in SCHEMES.items():
        with Bars(not as_json) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the table shows how it ends
            HRP(scheme=scheme, random_state=seed).fit(X)  # so that no time is that of a first call
            start = time.perf_counter()
            model = HRP(scheme=scheme, random_state=seed, callback=progress.callback).fit(X)
            seconds = time.perf_counter() - start
        error = dictionary_error(model.components_, components)
        found[title] = model.components_
        success, certified = error < SUCCESS, bool(model.certificate_)
        results.append(
            {"scheme": scheme, "error": error, "success": success, "certified": certified, "seconds": seconds}
        )
    save_figure(plot_against_truth(found, components), out)
    if not as_json:
        _print(results, out)
    with Bars(not as_json) as progress:
        compressed = compress_a_month(seed, picture, progress)
    if not as_json:
        click.echo(print_results(compressed, picture))
        return
    report = {"n_atoms": N_ATOMS, "n_samples": N_SAMPLES, "sparsity": SPARSITY, "picture": str(out), "results": results}
    print_json(report | {"compression": compressed, "picture_of_readings": str(picture)})


def _print(results: list[dict[str, Any]], out: Path) -> None:
    rows = [
        [SCHEMES[r["scheme"]], f"{r['error']:.1e}", _yes(r["success"]), _yes(r["certified"]), f"{r['seconds']:.3f}"]
        for r in results
    ]
    title = f"{N_ATOMS} atoms from {N_SAMPLES} samples, {SPARSITY:.0%} of the codes not zero"
    print_table(title, ["", "relative error", "recovered", "certified", "seconds"], rows)
    click.echo(f"recovered: relative error below {SUCCESS:g}. Picture: {out}")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
