"""hrpursuit compare: every installed method on one file."""

import dataclasses
from pathlib import Path

import click

from hrpursuit.cli.choice import chosen_methods, methods_option
from hrpursuit.cli.data import reading_options
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.report import EXIT_SOME_FAILED, check_picture, json_option, print_json, print_table
from hrpursuit.experiments.comparison import Compared, default_n_nonzero, draw, prepare
from hrpursuit.experiments.comparison import compare as compare_methods
from hrpursuit.experiments.methods import METHODS, OURS, installed, missing
from hrpursuit.experiments.style import figure_style
from hrpursuit.plots import save_figure
from hrpursuit.progress import Bars
from hrpursuit.rows import open_rows
from hrpursuit.rows.csv import Header
from hrpursuit.rows.optional import needed
from hrpursuit.rows.survey import survey


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@methods_option
@click.option(
    "--n-nonzero",
    type=click.IntRange(min=1),
    help="Nonzero codes a sample (T0), the same for all methods; a tenth of the features by default.",
)
@click.option("--columns", default="", help="Names of the columns to use, with commas; all by default.")
@reading_options
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of all fits.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("hrpursuit-compare.png"), show_default=True,
              help="Where the picture goes (.png, .svg or .pdf).")  # fmt: skip
@json_option
def compare(
    data: Path,
    methods: str,
    n_nonzero: int | None,
    columns: str,
    header: Header,
    dataset: str | None,
    seed: int,
    out: Path,
    as_json: bool,
) -> int:
    """Fit every installed method to DATA, one sample a row: error, sparsity and time side by side, with a picture.

    DATA is .npy, .csv, .h5, .hdf5, .zarr, .parquet or a folder of Parquet files. It has to fit in memory. All methods
    get it in a unit in which its rms is 1/2, since some depend on the unit.

    Exit code 3: a method failed; the others are there.
    """
    check_picture(out, data)
    needed("matplotlib", "Pictures", "plots")  # before the work, not after
    names = chosen_methods(methods) or installed()
    chosen = [name.strip() for name in columns.split(",") if name.strip()]
    rows = open_rows(data, columns=chosen, dataset=dataset, header=header)
    survey(rows, str(data), bounded=True)
    n_nonzero = n_nonzero or default_n_nonzero(rows.n_features)
    X = prepare(rows, n_nonzero)
    what = f"{data.name}: {len(X)} samples of {rows.n_features} features, {n_nonzero} nonzero codes a sample"
    found: list[Compared] = []
    try:
        with Bars(not as_json) as bars:
            for name in names:
                stop_if_interrupted()
                found += bars.count(METHODS[name].label, (compare_methods(X, name, n_nonzero, seed) for _ in "1"), 1)
    except KeyboardInterrupt:
        if found and not as_json:
            _print(what, found)
        raise
    if any(one.failed is None for one in found):
        with figure_style():
            save_figure(draw(found, what), out)
    if as_json:
        report = {"data": str(data), "n_samples": len(X), "n_features": rows.n_features, "n_nonzero_coefs": n_nonzero}
        print_json(report | {"picture": str(out), "results": [dataclasses.asdict(one) for one in found]})
    else:
        _print(what, found)
        if missing() and not chosen_methods(methods):
            click.echo(missing())
        click.echo(f"picture: {out}")
    return EXIT_SOME_FAILED if any(one.failed for one in found) else 0


def _print(what: str, found: list[Compared]) -> None:
    ours = next((one.seconds for one in found if one.method == OURS), None)
    rows = []
    for one in found:
        for note in one.notes:
            click.echo(f"note: {one.label}: {note}", err=True)
    for one in sorted(found, key=lambda one: (one.failed is not None, one.error)):
        if one.failed is not None:
            rows.append([one.label, "failed", "", "", ""])
            click.echo(f"note: {one.label} failed: {one.failed}", err=True)
            continue
        ratio = "" if ours is None else f"{one.seconds / ours:.3g}"
        rows.append([one.label, f"{100 * one.error:.3g}%", f"{one.n_nonzero:.3g}", f"{one.seconds:.3g}", ratio])
    print_table(what, ["", "error", "nonzero codes a sample", "seconds", "time / ours"], rows)
