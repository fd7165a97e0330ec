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
from hrpursuit.cli.tables import Header, read_table
from hrpursuit.files import check_writable


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Where the model goes (.npz).")
@click.option("--columns", default="", help="Names of the columns to use, with commas; all by default.")
@click.option("--header", type=click.Choice(["auto", "yes", "no"]), default="auto", show_default=True,
              help="Whether the first line of a CSV file is names; auto: unless it is all numbers.")  # fmt: skip
@click.option("--n-nonzero", type=click.IntRange(min=1), help="Nonzero codes a sample (T0).")
@click.option("--scheme", type=click.Choice(["exact", "paper"]), default="exact", show_default=True)
@click.option("--dictionary", type=click.Choice(["orthogonal", "complete"]), default="orthogonal", show_default=True)
@click.option("--n-init", type=click.IntRange(min=1), default=1, show_default=True, help="Runs from different starts.")
@click.option(
    "--max-iter", type=click.IntRange(min=1), default=50, show_default=True, help="Most iterations of Stage One."
)
@click.option("--tol", type=click.FloatRange(min=0), default=1e-4, show_default=True, help="Where Stage One stops.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), help="Seed of the random numbers; without one each run differs."
)
@click.option("--jobs", type=click.IntRange(min=1), help="Threads of the plane search, from 150 features on.")
@json_option
def fit(
    data: Path,
    out: Path,
    columns: str,
    header: Header,
    n_nonzero: int | None,
    scheme: Literal["exact", "paper"],
    dictionary: Literal["orthogonal", "complete"],
    n_init: int,
    max_iter: int,
    tol: float,
    seed: int | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Learn a dictionary from DATA (.csv, .npy or .parquet; one sample a row) and write it as a model."""
    if out.suffix.lower() != ".npz":
        raise ValueError(f"{out}: expected a name that ends in .npz; got {out.suffix or 'none'!r}.")
    check_writable(out, data)
    table = read_table(data, [name.strip() for name in columns.split(",") if name.strip()], header=header)
    X = table.named()
    with FitProgress(not as_json) as progress, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        start = time.perf_counter()
        model = HRP(n_nonzero, scheme=scheme, dictionary=dictionary, n_init=n_init, max_iter=max_iter, tol=tol)
        model.set_params(random_state=seed, n_jobs=jobs, callback=progress.callback).fit(X)
        seconds = time.perf_counter() - start
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, ConvergenceWarning)]
    model.save(out)
    n_samples, n_features = table.X.shape
    error = abs(model.score(X))
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
    if n_nonzero is not None and not model.certified_:
        click.echo(f"(fitted to {n_nonzero} codes a sample, not to exact zeros: a certificate is not to be expected)")
    where = "of the working sample" if model.certified_ else "of all samples"
    click.echo(f"l1 norm of the codes, mean {where}: {model.objective_:.6g}")
    click.echo(f"relative reconstruction error: {error:.3g}; {seconds:.2f} s")
    click.echo(f"model: {out}")
