"""hrpursuit encode: codes of a file in a learned dictionary."""

from pathlib import Path

import click
import numpy as np

from hrpursuit import HRP
from hrpursuit.cli.report import json_option, print_json
from hrpursuit.cli.tables import Header, check_suffix, read_table, write_table
from hrpursuit.core.rounding import zero_levels
from hrpursuit.files import check_writable


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "-m", "--model", "model_path", type=click.Path(path_type=Path), required=True, help="From `hrpursuit fit`."
)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Codes: .csv, .npy or .parquet.")
@click.option("--header", type=click.Choice(["auto", "yes", "no"]), default="auto", show_default=True,
              help="Whether the first line of a CSV file is names; auto: unless it is all numbers.")  # fmt: skip
@json_option
def encode(data: Path, model_path: Path, out: Path, header: Header, as_json: bool) -> None:
    """Write the codes of DATA (.csv, .npy or .parquet) in the dictionary of a model."""
    check_suffix(out)
    check_writable(out, data, model_path)
    model = HRP.load(model_path)
    names = getattr(model, "feature_names_in_", None)
    expected = None if names is None else [str(name) for name in names]
    table = read_table(data, expected=expected, header=header)
    codes = model.transform(table.X if names is None else table.named())
    write_table(out, codes, list(model.get_feature_names_out()))
    zeros = float(np.mean(np.abs(codes) < zero_levels(table.X)[0]))
    if as_json:
        print_json({"codes": str(out), "n_samples": len(codes), "n_atoms": codes.shape[1], "share_of_zeros": zeros})
    else:
        click.echo(f"{len(codes)} samples, {zeros:.1%} of the codes are zero to the rounding of the data: {out}")
