"""hrpursuit compare: fit every installed method to one file."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.choice import chosen_methods, methods_option
from hrpursuit.cli.data import open_samples, reading_options
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import table_options
from hrpursuit.cli.report import EXIT_SOME_FAILED, check_picture, json_option, print_json, print_table
from hrpursuit.estimators.checks import check_n_nonzero
from hrpursuit.experiments.comparison import TOLERATED, Compared, Samples, choose_n_nonzero, draw, prepare
from hrpursuit.experiments.comparison import compare as compare_methods
from hrpursuit.experiments.methods import COMPARED, OURS, installed, missing
from hrpursuit.experiments.style import figure_style
from hrpursuit.plots import save_figure
from hrpursuit.progress import Bars
from hrpursuit.rows.csv import Header
from hrpursuit.rows.optional import needed
from hrpursuit.rows.survey import survey


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@methods_option(COMPARED)
@click.option(
    "--n-nonzero",
    type=click.IntRange(min=1),
    help="Nonzero codes per sample (T0), the same for all methods; by default the fewest with which a dictionary of "
    f"hrpursuit leaves at most {TOLERATED:.0%} of the norm.",
)
@click.option(
    "--columns", default="", help="Names of the columns to use, separated by commas; by default all but the index."
)
@table_options
@reading_options
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of all fits.")
@click.option("-o", "--picture", type=click.Path(path_type=Path), help="Draw error and time (.png, .svg or .pdf).")
@json_option
def compare(
    data: Path,
    methods: str,
    n_nonzero: int | None,
    columns: str,
    reading: dict[str, Any],
    header: Header,
    dataset: str | None,
    seed: int,
    picture: Path | None,
    as_json: bool,
) -> int:
    """Fit every installed method to DATA, one sample per row: error, sparsity and time side by side.

    DATA is .npy, .csv, .h5, .hdf5, .zarr, .parquet or a folder of Parquet files. It has to fit in memory. The index is
    recognised as by `hrpursuit compress`, and is not a feature. Empty cells and NaN are gaps; methods that cannot
    handle gaps get each filled with the mean of its row. Errors are computed over the observed values.

    FastICA, Picard and DictionaryLearning (MiniBatchDictionaryLearning where that would take more than a minute) run
    with their defaults, and store the mean of the samples in addition to the codes. All methods get the data in a unit
    in which its rms is 1/2, since some depend on the unit.

    Exit code 3: a method failed; the results of the others are printed.
    """
    if picture is not None:
        check_picture(picture, data)
        needed("matplotlib", "Pictures", "plots")  # before the work, not after
    names = chosen_methods(methods, COMPARED) or installed(COMPARED)
    rows, index = open_samples(
        data,
        columns=columns,
        reading=reading,
        header=header,
        dataset=dataset,
    )
    survey(rows, str(data), bounded=True, gaps=True)
    check_n_nonzero(n_nonzero, rows.n_features)
    samples = prepare(rows)
    how = "as asked for"
    if n_nonzero is None:
        n_nonzero = choose_n_nonzero(samples, seed)
        how = (
            f"the fewest with which a dictionary of hrpursuit leaves at most {TOLERATED:.0%} of the norm; --n-nonzero "
            "asks for another number"
        )
    what = f"{data.name}: {len(samples.X)} samples of {rows.n_features} features, {n_nonzero} codes per sample"
    found: list[Compared] = []
    try:
        with Bars(not as_json) as bars:
            for name in names:
                stop_if_interrupted()
                fits = (compare_methods(samples, name, n_nonzero, seed) for _ in "1")
                found += bars.count(COMPARED[name].label, fits, 1)
    except KeyboardInterrupt:
        if found and not as_json:
            _print(what, found)
        raise
    has_picture = picture is not None and any(one.failed is None for one in found)
    if picture is not None and has_picture:
        with figure_style():
            save_figure(draw(found, what), picture)
    if as_json:
        report = {
            "data": str(data),
            "n_samples": len(samples.X),
            "n_features": rows.n_features,
            "index_column": index,
            "n_missing": samples.n_gaps,
            "n_nonzero_coefs": n_nonzero,
            "n_nonzero_coefs_is": how,
            "picture": str(picture) if has_picture else None,
        }
        print_json(report | {"results": [dataclasses.asdict(one) for one in found]})
    else:
        _print(what, found)
        click.echo(f"T0 = {n_nonzero} nonzero codes per sample, {how}.")
        if samples.n_gaps:
            click.echo(_on_gaps(samples, found))
        if missing(COMPARED) and not chosen_methods(methods, COMPARED):
            click.echo(missing(COMPARED))
        if has_picture:
            click.echo(f"picture: {picture}")
    return EXIT_SOME_FAILED if any(one.failed for one in found) else 0


def _on_gaps(samples: Samples, found: Sequence[Compared]) -> str:
    filled, others = (", ".join(one.label for one in found if one.is_filled is kind) for kind in (True, False))
    sentences = [f"{samples.n_gaps:,} of {samples.X.size:,} values are missing; errors are over the others."]
    if others:
        sentences.append(f"They stay gaps for {others}.")
    if filled:
        sentences.append(f"Each is filled with the mean of its row for {filled}.")
    return " ".join(sentences)


def _print(what: str, found: Sequence[Compared]) -> None:
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
    print_table(what, ["", "error", "codes per sample", "seconds", "time / ours"], rows)
