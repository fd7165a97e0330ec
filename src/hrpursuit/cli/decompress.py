"""hrpursuit decompress: write the table in a compressed file."""

from collections.abc import Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import TABLES, jobs_option, limit_option, told_of
from hrpursuit.cli.report import json_option, print_json
from hrpursuit.compression import Decoder
from hrpursuit.progress import Bars
from hrpursuit.tables import as_frame
from hrpursuit.tables.csv_style import style_of_part
from hrpursuit.tables.files import DASH, as_file, check_output, write_table


@click.command()
@click.argument("compressed", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "--out", type=click.Path(path_type=Path, allow_dash=True), required=True,
              help=f"Where the table goes ({TABLES}); - is standard output, as CSV.")  # fmt: skip
@click.option("--from", "start", metavar="LABEL", help="First row: a time stamp, or a number if the index has numbers.")
@click.option("--to", "stop", metavar="LABEL", help="Last row, included; a day without a time means all of that day.")
@click.option("--columns", "names", metavar="NAMES", multiple=True,
              help="Write only these columns, in this order: names separated by commas, or numbers from 0 if the "
                   "columns have no names. May be repeated.")  # fmt: skip
@click.option("--damaged", type=click.Choice(["raise", "skip"]), default="raise", show_default=True,
              help="What to do with a damaged file: raise an error, or write its whole chunks (skip).")  # fmt: skip
@limit_option
@jobs_option
@json_option
def decompress(
    compressed: Path,
    out: Path,
    start: str | None,
    stop: str | None,
    names: tuple[str, ...],
    damaged: Any,
    limit: int | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Write the table that COMPRESSED holds; - is standard input.

    With --from and --to only the chunks that hold these rows are decoded. To a .npy file the readings are written
    without names and index; they must be numbers of one type.
    """
    check_output(out, compressed)
    with (
        as_file(compressed) as file,
        told_of(compressed),
        Decoder(file, damaged=damaged, limit=limit, n_jobs=jobs) as decoder,
        Bars(not as_json, stop_if_interrupted) as bars,
    ):
        columns = _columns(names, decoder) if names else None
        places = range(decoder.n_columns) if columns is None else decoder.places_of(columns)
        if start is None and stop is None:
            tables: Any = _counted(decoder, columns, bars)
        else:
            tables = decoder.read(_label(start, decoder), _label(stop, decoder), columns=columns)
        all_rows = start is None and stop is None and not decoder.damage
        n_rows = write_table(out, tables, attrs=style_of_part(decoder.attrs, places, all_rows))
        report: dict[str, Any] = {
            "table": str(out),
            "n_rows": n_rows,
            "n_columns": len(places),
            "damage": list(decoder.damage),
        }
    for what in report["damage"]:
        click.echo(f"note: {what}", err=True)
    to_pipe = str(out) == DASH
    if as_json:
        print_json(report, err=to_pipe)
    else:
        where = "standard output" if to_pipe else out
        click.echo(f"{n_rows:,} rows of {report['n_columns']:,} columns: {where}", err=to_pipe)


def _counted(decoder: Decoder, columns: list[str | int] | None, bars: Bars) -> Iterator[Any]:
    n_done = 0
    places = None if columns is None else decoder.places_of(columns)
    with bars.rows("decompress", decoder.n_rows) as show:
        for chunk in map(as_frame, decoder):
            n_done += len(chunk)
            show(n_done)
            yield chunk if places is None else chunk.iloc[:, places] if hasattr(chunk, "iloc") else chunk[:, places]
    if n_done == 0 and decoder.damage:
        raise ValueError(f"no whole chunk is left: {'; '.join(decoder.damage)}.")
    if n_done == 0:
        yield decoder.read(columns=columns)  # names without rows


def _columns(texts: tuple[str, ...], decoder: Decoder) -> list[str | int]:
    """The columns of these texts: a name each, or names with commas between them."""
    known = {str(name): name for name in (range(decoder.n_columns) if decoder.columns is None else decoder.columns)}
    names = [name for text in texts for name in ([text] if text in known else text.split(","))]
    return [known.get(name, known.get(name.strip(), name)) for name in names]


def _label(text: str | None, decoder: Decoder) -> Any:
    """A label as the index has them; time stamps and texts stay as they are."""
    first = next((chunk.first for chunk in decoder.chunks), None)
    if text is None or not isinstance(first, Real):
        return text
    try:
        return int(text) if isinstance(first, Integral) else float(text)
    except ValueError as error:
        raise ValueError(f"the index holds numbers, from {first} on; got {text!r} for --from or --to.") from error
