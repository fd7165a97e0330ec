"""hrpursuit decompress: the table back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import TABLES
from hrpursuit.cli.report import json_option, print_json
from hrpursuit.cli.tables import DASH, as_file, check_output, write_table
from hrpursuit.compression import Decoder
from hrpursuit.progress import Bars
from hrpursuit.rows.optional import needed


@click.command()
@click.argument("compressed", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "--out", type=click.Path(path_type=Path, allow_dash=True), required=True,
              help=f"Where the table goes ({TABLES}); - is standard output, as CSV.")  # fmt: skip
@click.option("--from", "start", metavar="LABEL", help="First row: a time stamp, or a number if the index is numbers.")
@click.option("--to", "stop", metavar="LABEL", help="Last row; a day without a time means all of that day.")
@click.option("--damaged", type=click.Choice(["raise", "skip"]), default="raise", show_default=True,
              help="skip: write what is whole of a damaged file.")  # fmt: skip
@json_option
def decompress(compressed: Path, out: Path, start: str | None, stop: str | None, damaged: Any, as_json: bool) -> None:
    """Write the table that COMPRESSED holds; - is standard input.

    With --from and --to only the chunks that hold these rows are decoded. A .npy file gets the readings without names
    and index.
    """
    check_output(out, compressed)
    with (
        as_file(compressed) as file,
        Decoder(file, damaged=damaged) as decoder,
        Bars(not as_json, stop_if_interrupted) as bars,
    ):
        if start is None and stop is None:
            tables: Any = _counted(decoder, bars)
        else:
            tables = decoder.read(*(_label(text, decoder, is_end) for text, is_end in ((start, False), (stop, True))))
        n_rows = write_table(out, tables, names=decoder.columns, attrs=decoder.attrs)
        report = {"table": str(out), "n_rows": n_rows, "n_columns": decoder.n_columns, "damage": list(decoder.damage)}
    to_pipe = str(out) == DASH
    if as_json:
        print_json(report, err=to_pipe)
    else:
        where = "standard output" if to_pipe else out
        click.echo(f"{n_rows:,} rows of {report['n_columns']:,} columns: {where}", err=to_pipe)


def _counted(decoder: Decoder, bars: Bars) -> Iterator[Any]:
    n_done = 0
    with bars.rows("decompress", decoder.n_rows) as show:
        for chunk in decoder:
            n_done += len(chunk)
            show(n_done)
            yield chunk


def _label(text: str | None, decoder: Decoder, is_end: bool) -> Any:
    """A label of the index as its own kind."""
    if text is None:
        return None
    first: Any = next((chunk.first for chunk in decoder.chunks), None)
    if not hasattr(first, "tzinfo"):
        try:
            return int(text)
        except ValueError as error:
            raise ValueError(f"the index holds numbers, as {first}; got {text!r} for --from or --to.") from error
    pandas = needed("pandas", "Tables with names", "cli")
    try:
        label = pandas.Timestamp(text)
    except ValueError as error:
        raise ValueError(f"expected a time stamp as {first} for --from and --to; got {text!r}.") from error
    if is_end and len(text) == len("2017-10-01"):
        label += pandas.Timedelta(days=1) - pandas.Timedelta(1, "ns")
    if first.tzinfo is not None and label.tzinfo is None:
        label = label.tz_localize(first.tzinfo)
    return label
