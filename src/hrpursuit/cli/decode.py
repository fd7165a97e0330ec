"""hrpursuit decode: samples from codes."""

from pathlib import Path

import click

from hrpursuit import HRP
from hrpursuit.cli.report import json_option, print_json
from hrpursuit.cli.tables import check_suffix, read_table, write_table
from hrpursuit.files import check_writable


@click.command()
@click.argument("codes", type=click.Path(path_type=Path))
@click.option(
    "-m", "--model", "model_path", type=click.Path(path_type=Path), required=True, help="From `hrpursuit fit`."
)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Samples: .csv, .npy or .parquet.")
@json_option
def decode(codes: Path, model_path: Path, out: Path, as_json: bool) -> None:
    """Write the samples that CODES (.csv, .npy or .parquet) stand for in the dictionary of a model."""
    check_suffix(out)
    check_writable(out, codes, model_path)
    model = HRP.load(model_path)
    X = model.inverse_transform(read_table(codes).X)
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])
    write_table(out, X, [str(name) for name in names])
    if as_json:
        print_json({"samples": str(out), "n_samples": len(X), "n_features": X.shape[1]})
    else:
        click.echo(f"{len(X)} samples: {out}")
