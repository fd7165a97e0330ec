"""What the commands that read a file share."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from hrpursuit import HRP, MiniBatchHRP, baselines
from hrpursuit.core.protocols import Rows
from hrpursuit.estimators.base import DictionaryEstimator
from hrpursuit.rows import ArrayRows
from hrpursuit.rows.optional import needed

_COPIES = 10  # of the table that a fit with gaps holds at the most: filled, codes, residual and what they need
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


def loaded(rows: Rows) -> ArrayRows:
    """Rows of a file in memory, for a fit that keeps something for each of them; refused where they are too many."""
    n_bytes = 8 * (rows.n_samples or 0) * rows.n_features
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not told by this system
        free = None
    if free is not None and _COPIES * n_bytes > free:
        raise MemoryError(
            f"{rows} has gaps, and learning from gaps takes about {_COPIES * n_bytes / 2**30:.1f} GiB of memory for "
            f"it; {free / 2**30:.1f} GiB are free. Fill the gaps, or take fewer rows."
        )
    X = np.concatenate([block.copy() for block in rows.blocks()])
    return ArrayRows(X, feature_names=getattr(rows, "feature_names", None))


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
