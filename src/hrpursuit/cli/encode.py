"""hrpursuit encode: compute the codes of samples in a learned dictionary."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from hrpursuit.cli.data import KINDS, is_plain, load_any, model_option, open_samples, reading_options
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import table_options
from hrpursuit.cli.report import json_option, print_json
from hrpursuit.core.protocols import Array
from hrpursuit.core.rounding import zero_levels
from hrpursuit.estimators.sources import matching_rows
from hrpursuit.files import check_writable
from hrpursuit.progress import Bars
from hrpursuit.rows import write_blocks
from hrpursuit.rows.csv import Header
from hrpursuit.rows.writers import check_suffix

_PROBE_ROWS = 10  # a feature: enough to see how the data is rounded


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@model_option
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help=f"Where the codes go: {KINDS}.")
@table_options
@reading_options
@json_option
def encode(
    data: Path,
    model_path: Path,
    out: Path,
    reading: dict[str, Any],
    header: Header,
    dataset: str | None,
    as_json: bool,
) -> None:
    """Write the codes of DATA in the dictionary of a model, block by block; files may be larger than memory.

    Rows may have gaps (empty cells, NaN) if the model is an HRP.
    """
    check_suffix(out)
    check_writable(out, data, model_path)
    model = load_any(model_path)
    if is_plain(reading):
        rows = matching_rows(model, data, dataset=dataset, header=header)
    else:
        rows = matching_rows(model, open_samples(data, reading=reading, header=header, dataset=dataset)[0])
    probe = rows.sample(_PROBE_ROWS * rows.n_features, seed=0)
    has_gaps = bool(np.isnan(probe).any())
    level = zero_levels(np.where(np.isnan(probe), 0, probe))[0].floor
    n_zeros = 0

    def counted(blocks: Iterator[Array]) -> Iterator[Array]:
        nonlocal n_zeros
        for block in blocks:
            n_zeros += int(np.sum(np.abs(block) < level))
            yield block

    with Bars(not as_json, stop_if_interrupted).watching(rows):
        n_samples = write_blocks(out, counted(model.transform(rows)), list(model.get_feature_names_out()), rows.dtype)
    zeros = n_zeros / max(1, n_samples * rows.n_features)
    if as_json:
        print_json({"codes": str(out), "n_samples": n_samples, "n_atoms": rows.n_features, "share_of_zeros": zeros})
    else:
        if has_gaps:
            how = "coded by their observed values alone" if model.n_nonzero_coefs else "filled with the mean of each"
            click.echo(f"note: rows have gaps: they are {how}", err=True)
        click.echo(f"{n_samples} samples, {zeros:.1%} of the codes are zero to the rounding of the data: {out}")
