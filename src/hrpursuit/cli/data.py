"""What the commands that read a file share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hrpursuit import HRP, MiniBatchHRP, baselines
from hrpursuit.estimators.base import DictionaryEstimator
from hrpursuit.rows.optional import needed

KINDS = ".npy, .csv, .parquet, .h5, .hdf5 or .zarr"


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how a file is to be read."""
    header = click.option(
        "--header",
        type=click.Choice(["auto", "yes", "no"]),
        default="auto",
        show_default=True,
        help="Whether the first line of a CSV file is names; auto: unless it is all numbers.",
    )
    dataset = click.option("--dataset", help="Which array of an HDF5 file or Zarr group; not needed if it has one.")
    return header(dataset(command))


def load_any(path: Path) -> DictionaryEstimator:
    """A model of any estimator."""
    others = [MiniBatchHRP, *(getattr(baselines, name) for name in baselines.__all__)]
    try:
        return HRP.load(path)
    except ValueError as error:
        kind = next((kind for kind in others if f"holds a {kind.__name__}," in str(error)), None)
        if kind is None:
            raise
    return kind.load(path)


@contextmanager
def connected(scheduler: str) -> Iterator[None]:
    """With a Dask cluster to compute on."""
    distributed = needed("distributed", "Clusters", "dask")
    try:
        client = distributed.Client(scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {scheduler} ({error}); expected an address like tcp://host:8786."
        ) from error
    with client:
        yield
