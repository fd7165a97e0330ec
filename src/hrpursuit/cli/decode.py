"""hrpursuit decode: compute samples from their codes."""

from pathlib import Path

import click

from hrpursuit.cli.data import KINDS, load_any, model_option, reading_options
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.report import json_option, print_json
from hrpursuit.estimators.sources import open_by_name
from hrpursuit.files import check_writable
from hrpursuit.progress import Bars
from hrpursuit.rows.csv import Header
from hrpursuit.rows.writers import check_suffix


@click.command()
@click.argument("codes", type=click.Path(path_type=Path))
@model_option
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help=f"Samples: {KINDS}.")
@reading_options
@json_option
def decode(codes: Path, model_path: Path, out: Path, header: Header, dataset: str | None, as_json: bool) -> None:
    """Write the samples that CODES stand for in the dictionary of a model, block by block."""
    check_suffix(out)
    check_writable(out, codes, model_path)
    model = load_any(model_path)
    rows = open_by_name(codes, model.get_feature_names_out(), dataset=dataset, header=header)
    with Bars(not as_json, stop_if_interrupted).watching(rows):
        model.inverse_transform(rows, out=out)
    if as_json:
        print_json({"samples": str(out), "n_samples": rows.n_samples, "n_features": rows.n_features})
    else:
        click.echo(f"{rows.n_samples} samples: {out}")
