"""hrpursuit fit: learn a dictionary from a file."""

import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP, MisspecifiedWarning
from hrpursuit.cli.data import connected, loaded, loaded_if_small, open_samples, reading_options
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import table_options
from hrpursuit.cli.report import json_option, print_json
from hrpursuit.files import check_writable
from hrpursuit.progress import Bars
from hrpursuit.rows import ArrayRows
from hrpursuit.rows.csv import Header
from hrpursuit.rows.source import GapsError

_NOTED = (ConvergenceWarning, MisspecifiedWarning)  # warnings that are shown with the results


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="Where the model goes (.npz).")
@click.option(
    "--columns", default="", help="Names of the columns to use, separated by commas; by default all but the index."
)
@table_options
@reading_options
@click.option("--scheduler", help="Address of a Dask scheduler, tcp://host:port; its workers read DATA themselves.")
@click.option("--n-nonzero", type=click.IntRange(min=1), help="Nonzero codes per sample (T0).")
@click.option("--scheme", type=click.Choice(["exact", "paper"]), default="exact", show_default=True)
@click.option("--dictionary", type=click.Choice(["orthogonal", "complete"]), default="orthogonal", show_default=True)
@click.option("--fit-intercept", is_flag=True, help="Learn an unknown offset of the samples as well.")
@click.option(
    "--n-init", type=click.IntRange(min=1), default=1, show_default=True, help="Number of runs from different starts."
)
@click.option(
    "--max-iter",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Maximum number of iterations of Stage One (--scheme paper).",
)
@click.option(
    "--tol",
    type=click.FloatRange(min=0),
    default=1e-4,
    show_default=True,
    help="Stage One stops when a step is smaller than this (--scheme paper).",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), help="Seed of the random numbers; without it every run differs."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of threads; the runs of --n-init share them if the data fits in memory.",
)
@json_option
def fit(
    data: Path,
    out: Path,
    columns: str,
    reading: dict[str, Any],
    header: Header,
    dataset: str | None,
    scheduler: str | None,
    n_nonzero: int | None,
    scheme: Literal["exact", "paper"],
    dictionary: Literal["orthogonal", "complete"],
    fit_intercept: bool,
    n_init: int,
    max_iter: int,
    tol: float,
    seed: int | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Learn a dictionary from DATA, one sample per row, and write it as a model.

    DATA is .npy, .csv, .h5, .hdf5, .zarr, .parquet or a folder of Parquet files; it is read in blocks and may be larger
    than memory. Data with gaps (empty cells, NaN) is read into memory. The index (a first column of time stamps, or of
    increasing whole numbers with a name like time) is recognised as by `hrpursuit compress`, and is not a feature.
    """
    if out.suffix.lower() != ".npz":
        raise ValueError(f"{out}: expected a name that ends in .npz; got {out.suffix or 'none'!r}.")
    check_writable(out, data)
    with ExitStack() as stack:
        if scheduler is not None:
            stack.enter_context(connected(scheduler))
        rows, index = open_samples(
            data,
            columns=columns,
            reading=reading,
            header=header,
            dataset=dataset,
            on_cluster=scheduler is not None,
        )
        bars = stack.enter_context(Bars(not as_json, stop_if_interrupted).watching(rows))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        for category in _NOTED:
            warnings.simplefilter("always", category)
        start = time.perf_counter()
        if n_init > 1 and (jobs or 1) > 1 and scheduler is None:
            rows = loaded_if_small(rows)
        together = n_init > 1 and (jobs or 1) > 1 and isinstance(rows, ArrayRows)
        if together:  # a callback is told of one run at a time
            stack.enter_context(bars.busy(f"{n_init} runs, {jobs} threads"))
        model = HRP(
            n_nonzero_coefs=n_nonzero, scheme=scheme, dictionary=dictionary, n_init=n_init, max_iter=max_iter, tol=tol
        )
        model.set_params(fit_intercept=fit_intercept, random_state=seed, n_jobs=jobs)
        model.set_params(callback=None if together else bars.callback)
        try:
            model.fit(rows)
        except GapsError:
            if scheduler is not None:
                raise
            rows = loaded(rows)  # gaps are learned from in memory
            model.fit(rows)
        seconds = time.perf_counter() - start
        model.save(out)
        error = model.reconstruction_error(rows)
    n_gaps = int(np.isnan(rows.X).sum()) if isinstance(rows, ArrayRows) else 0
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, _NOTED)]
    n_samples, n_features = rows.n_samples, rows.n_features
    if n_gaps:
        how = "each is filled with the mean of its row; --n-nonzero would leave them out altogether"
        if n_nonzero is not None and scheme == "exact":
            how = "dictionary and codes are fitted to the others alone"
        notes.insert(0, f"{n_gaps} of {(n_samples or 0) * n_features} values are missing: {how}")
    if as_json:
        stages = [{"name": s.name, "n_iter": s.n_iter, "seconds": s.seconds} for s in model.stages_]
        report: dict[str, object] = {
            "model": str(out),
            "n_samples": n_samples,
            "n_features": n_features,
            "index_column": index,
            "n_missing": n_gaps,
            "certified": bool(model.certificate_),
            "verdict": {"kind": model.verdict_.kind, "snr_db": model.verdict_.snr_db, "text": str(model.verdict_)},
        }
        report |= {"relative_error": error, "objective": model.objective_, "n_iter": model.n_iter_, "seconds": seconds}
        print_json(report | {"stages": stages, "warnings": notes})
        return
    for note in notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{n_samples} samples of {n_features} features")
    click.echo(str(model.verdict_))
    where = "of the working sample" if model.certificate_ else "of all samples"
    click.echo(f"l1 norm of the codes, mean {where}: {model.objective_:.6g}")
    click.echo(f"relative reconstruction error: {error:.3g}; {seconds:.2f} s")
    click.echo(f"model: {out}")
