"""hrpursuit verify: check that a compressed file is intact and keeps its target."""

from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.agreement import Agreement, agreement
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import limit_option, table_options, text_option, told_of
from hrpursuit.cli.report import json_option, print_json, print_table
from hrpursuit.compression import Decoder
from hrpursuit.progress import Bars
from hrpursuit.tables.files import as_file, opened


@click.command()
@click.argument("compressed", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--against", type=click.Path(path_type=Path), help="File of the original readings: check that the target is kept."
)
@text_option
@table_options
@limit_option
@json_option
def verify(
    compressed: Path,
    against: Path | None,
    texts: tuple[str, ...],
    reading: dict[str, Any],
    limit: int | None,
    as_json: bool,
) -> int:
    """Check all checksums of COMPRESSED and decode every chunk; with --against also compare with the readings.

    Exit code 0: no fault was found; 1: the file is damaged, or its target is not kept.
    """
    n_rows, found = 0, None
    with (
        as_file(compressed) as file,
        told_of(compressed),
        Bars(not as_json, stop_if_interrupted) as bars,
        Decoder(file, damaged="skip", limit=limit) as decoder,
    ):
        with bars.rows("decode", decoder.n_rows) as show:
            for chunk in decoder:
                n_rows += len(chunk)
                show(n_rows)
        faults = list(decoder.damage)
        target = decoder.target
        if against is not None and not faults:
            with opened(against, **reading, texts=texts) as table, Decoder(file, limit=limit) as again:
                found = agreement(table.pieces(), iter(again), table.name, again.n_columns)
            faults += found.faults(target)
        _tell(compressed, decoder, n_rows, faults, found, against, as_json)
    return 1 if faults else 0


def _tell(
    compressed: Path,
    decoder: Decoder,
    n_rows: int,
    faults: list[str],
    found: Agreement | None,
    against: Path | None,
    as_json: bool,
) -> None:
    n_chunks = len(decoder.chunks)
    word = "chunk" if n_chunks == 1 else "chunks"
    if as_json:
        report: dict[str, Any] = {"compressed": str(compressed), "is_whole": not decoder.damage, "is_kept": None}
        if found is not None:
            report |= {"is_kept": not faults, "rmse": found.rmse, "max_error": found.largest_error}
            report["columns"] = [
                {"name": name, "target": str(decoder.target.of_column(j)), "max_error": float(found.largest_errors[j])}
                for j, name in enumerate(found.names)
            ]
        print_json(report | {"faults": faults, "n_rows": n_rows, "n_chunks": n_chunks})
        return
    if decoder.damage:
        click.echo(f"{compressed} is damaged; {n_rows:,} rows can be read (decompress --damaged skip):")
    elif faults:
        click.echo(f"{compressed} is whole, but does not agree with {against}:")
    else:
        click.echo(f"{compressed} is whole: {n_rows:,} rows in {n_chunks:,} {word}, all checksums right.")
    for fault in faults:
        click.echo(f"  {fault}")
    if found is not None and not faults:
        click.echo(
            f"It keeps its target ({decoder.target}) on {against}: relative RMSE {found.rmse:.3%}, largest "
            f"error {found.largest_error:.6g}, every gap where it was."
        )
    if found is not None and decoder.target.by_column is not None:
        rows = [
            [name, str(decoder.target.of_column(j)), f"{error:.6g}"]
            for j, (name, error) in enumerate(zip(found.names, found.largest_errors.tolist(), strict=True))
        ]
        print_table("target by column", ["column", "target", "largest error"], rows, text_columns=(0, 1))
