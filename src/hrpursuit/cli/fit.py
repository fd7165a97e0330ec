"""hrpursuit fit: learn a dictionary from a file."""

import time
import warnings
from pathlib import Path
from typing import Literal

import click
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP
from hrpursuit.cli.progress import FitProgress
from hrpursuit.cli.report import json_option, print_json
from hrpursuit.cli.tables import read_table
from hrpursuit.files import check_writable


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Where the model goes (.npz).")
@click.option("--columns", default="", help="Names of the columns to use, with commas; all by default.")
@click.option("--n-nonzero", type=int, help="Nonzero codes a sample (T0).")
@click.option("--scheme", type=click.Choice(["exact", "paper"]), default="exact", show_default=True)
@click.option("--dictionary", type=click.Choice(["orthogonal", "complete"]), default="orthogonal", show_default=True)
@click.option("--n-init", type=int, default=1, show_default=True, help="Runs from different starts.")
@click.option("--seed", type=int, help="Seed of the random numbers; without one each run differs.")
@click.option("--jobs", type=int, help="Threads of the plane search, from 150 features on.")
@json_option
def fit(
    data: Path,
    out: Path,
    columns: str,
    n_nonzero: int | None,
    scheme: Literal["exact", "paper"],
    dictionary: Literal["orthogonal", "complete"],
    n_init: int,
    seed: int | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Learn a dictionary from DATA (.csv, .npy or .parquet; one sample a row) and write it as a model."""
    check_writable(out)
    table = read_table(data, [name.strip() for name in columns.split(",") if name.strip()])
    X = table.named()
    with FitProgress(not as_json) as progress, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        start = time.perf_counter()
        model = HRP(n_nonzero, scheme=scheme, dictionary=dictionary, n_init=n_init, random_state=seed, n_jobs=jobs)
        model.set_params(callback=progress.callback).fit(X)
        seconds = time.perf_counter() - start
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, ConvergenceWarning)]
    model.save(out)
    n_samples, n_features = table.X.shape
    error = -model.score(X)
    if as_json:
        stages = [{"name": s.name, "n_iter": s.n_iter, "seconds": s.seconds} for s in model.stages_]
        report = {
            "model": str(out),
            "n_samples": n_samples,
            "n_features": n_features,
            "certified": bool(model.certified_),
        }
        report |= {"relative_error": error, "objective": model.objective_, "n_iter": model.n_iter_, "seconds": seconds}
        print_json(report | {"stages": stages, "warnings": notes})
        return
    for note in notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{n_samples} samples of {n_features} features: {model.certified_}")
    click.echo(f"l1 norm a sample {model.objective_:.6g}, relative reconstruction error {error:.3g}, {seconds:.2f} s")
    click.echo(f"model: {out}")
