"""hrpursuit compress: write a table of readings to a small file."""

import sys
import time
from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.agreement import Agreement, agreement
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import BOUNDS, HRP, SHARES, Share, jobs_option, table_options, text_option
from hrpursuit.cli.report import json_option, print_json, print_table
from hrpursuit.compression import Decoder, Encoder
from hrpursuit.compression import compress as compress_table
from hrpursuit.progress import Bars
from hrpursuit.tables import as_frame
from hrpursuit.tables.csv_check import TextComparison
from hrpursuit.tables.csv_reader import CSVTable
from hrpursuit.tables.files import DASH, TableFile, check_output, opened, output_file

_PARAMETERS = {"--rmse": "relative_rmse", "--max-error": "max_error", "--relative-error": "relative_error",
               "--n-nonzero": "n_nonzero_coefs", "--lossless": "lossless"}  # fmt: skip
WHOLE_BYTES = 512 << 20  # of memory: larger tables are read and written chunk by chunk


_ROWS_AT_ONCE = 1000  # of a stream, for the bar to move


@click.command()
@click.argument("data", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "--out", type=click.Path(path_type=Path, allow_dash=True), required=True,
              help=f"Where the compressed table goes ({HRP}); - is standard output.")  # fmt: skip
@click.option("--rmse", type=Share(), metavar="SHARE", help="Relative RMSE over all readings, such as 5% or 0.05.")
@click.option("--max-error", type=BOUNDS, metavar="UNIT",
              help="Bound on the error of every reading, in its unit: 0.5, or by column "
                   "'flow=1e-6,temp*=.1,*=1'.")  # fmt: skip
@click.option("--relative-error", type=SHARES, metavar="SHARE",
              help="Bound on the error of every reading, as a share of the range of its column (largest minus smallest "
                   "reading): 1%, or by column 'flow=1%,*=5%'.")  # fmt: skip
@click.option("--n-nonzero", type=click.IntRange(min=1), metavar="T0",
              help="Coefficients per row, in the paper's coding.")  # fmt: skip
@click.option("--lossless", is_flag=True, help="Keep every bit of every reading.")
@click.option("--lossless-column", "lossless_columns", metavar="NAME", multiple=True,
              help="Keep every bit of this column, whatever the target for the others; a pattern such as 'state*' "
                   "names several. May be repeated.")  # fmt: skip
@click.option("--effort", type=click.Choice(["fast", "default", "best"]), default="default",
              show_default=True, help="How many ways to code are tried for the shortest file.")  # fmt: skip
@click.option("--basis", type=click.Choice(["adaptive", "hrp", "pca", "dct"]), default="adaptive", show_default=True,
              help="Basis over the sensors; adaptive takes no bytes, and its files are usually the "
                   "smallest.")  # fmt: skip
@click.option("--chunk-rows", type=click.IntRange(1, 65536),
              help="Rows that are decoded together; by default as many as make a million readings.")  # fmt: skip
@click.option("--stream", is_flag=True, help="Compress chunk by chunk with little memory, whatever the size of DATA.")
@text_option
@jobs_option
@table_options
@json_option
def compress(
    data: Path,
    out: Path,
    rmse: float | None,
    max_error: float | dict[str, Any] | None,
    relative_error: float | dict[str, Any] | None,
    n_nonzero: int | None,
    lossless: bool,
    lossless_columns: tuple[str, ...],
    effort: str,
    basis: str,
    chunk_rows: int | None,
    stream: bool,
    jobs: int,
    texts: tuple[str, ...],
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Compress DATA, a table with one time per row and one sensor per column, to exactly one target.

    DATA is .csv (.csv.gz, .csv.zst), .parquet, .arrow (.feather, .ipc) or .npy; - is standard input (CSV). Empty cells,
    NA and NaN are gaps, and stay gaps. Columns of texts, and of true and false, are lossless. The first column is the
    index if it has ISO 8601 time stamps, or if it has increasing whole numbers and a name like time (hour, date, ...).
    Of a table in the layout of Airly (UTC time, 171_pm25, ...) one quantity is taken.

    Tables that take more than 512 MiB are handled chunk by chunk; --rmse then holds in every chunk, and
    --relative-error refers to the range in the first chunk.
    """
    check_output(out, data, suffixes=(HRP,))
    if str(out) == DASH and sys.stdout.isatty():
        raise click.UsageError("standard output is a terminal; send it to a file or a command, or give -o a name.")
    asked = {"--rmse": rmse, "--max-error": max_error, "--relative-error": relative_error, "--n-nonzero": n_nonzero,
             "--lossless": lossless or None}  # fmt: skip
    target = _target(asked, lossless_columns)
    settings: dict[str, Any] = {**target, "effort": effort, "basis": basis, "chunk_rows": chunk_rows, "n_jobs": jobs}
    start = time.perf_counter()
    with (
        opened(data, **reading, texts=texts, keep_text=lossless) as table,
        output_file(out) as temporary,
        Bars(not as_json, stop_if_interrupted) as bars,
    ):
        if stream or table.memory > WHOLE_BYTES:
            pieces = table.pieces()
            _stream(table, temporary, settings, bars)
        else:
            whole = table.read()
            with bars.rows("compress", len(whole)) as show:
                temporary.write_bytes(compress_table(whole, **settings, progress=lambda n_done, _: show(n_done)))
            pieces = iter([whole])
        seconds = time.perf_counter() - start
        is_all = isinstance(table, CSVTable) and not table.is_part and not reading["comment"]
        path = table.path if lossless and is_all and isinstance(table, CSVTable) else None
        found, difference = _measured(pieces, temporary, table.name, bars, path, jobs)
        n_bytes = {"in": table.n_bytes, "out": temporary.stat().st_size}
    if difference is not None:
        click.echo(f"note: every number is kept, but not the text of {table.name}: {difference}", err=True)
    is_same_text = difference is None if path is not None else None
    _tell(found, n_bytes, seconds, out, target, is_same_text, as_json)


def _target(asked: dict[str, Any], lossless_columns: tuple[str, ...]) -> dict[str, Any]:
    """Parameters of `compress` for the one option that was given."""
    given = [option for option, value in asked.items() if value is not None]
    if len(given) != 1:
        raise click.UsageError(f"give exactly one of {', '.join(asked)}; got {', '.join(given) or 'none'}.")
    if lossless_columns and given == ["--lossless"]:
        raise click.UsageError("--lossless keeps every column; --lossless-column is for those beside another target.")
    target = {_PARAMETERS[given[0]]: asked[given[0]]}
    return target | ({"lossless": list(lossless_columns)} if lossless_columns else {})


def _stream(table: TableFile, temporary: Path, settings: dict[str, Any], bars: Bars) -> None:
    encoder, n_done = Encoder(**settings), 0
    with temporary.open("wb") as file, bars.rows("compress", table.n_rows) as show:
        for piece in table.pieces():
            for first in range(0, len(piece), _ROWS_AT_ONCE):
                rows = piece[first : first + _ROWS_AT_ONCE]
                file.write(encoder.append(rows))
                n_done += len(rows)
                show(n_done)
        file.write(encoder.finish())


def _measured(
    pieces: Any, compressed: Path, name: str, bars: Bars, text: Path | None, jobs: int
) -> tuple[Agreement, str | None]:
    """Decode what was written and compare it: the figures are of the file, not of the intention. With the path of a
    text also whether it would be written again as it was; if not, where.
    """
    with (
        Decoder(compressed, limit=None, n_jobs=jobs) as decoder,
        bars.rows("decode and compare", decoder.n_rows) as show,
    ):
        names = None if decoder.columns is None else [str(column) for column in decoder.columns]
        again = None if text is None else TextComparison(text, names, decoder.attrs, decoder.n_columns)

        def counted() -> Any:
            n_done = 0
            for chunk in map(as_frame, decoder):
                n_done += len(chunk)
                show(n_done)
                if again is not None:
                    again.add(chunk)
                yield chunk

        found = agreement(pieces, counted(), name, decoder.n_columns)
        if again is not None:
            again.finish()
        return found, None if again is None else again.difference


def _tell(
    found: Agreement,
    n_bytes: dict[str, int],
    seconds: float,
    out: Path,
    target: dict[str, Any],
    is_same_text: bool | None,
    as_json: bool,
) -> None:
    to_pipe = str(out) == DASH  # then standard output is the file
    n_cells = max(1, found.n_rows * len(found.names))
    report = {
        "n_rows": found.n_rows,
        "n_columns": len(found.names),
        "n_gaps": found.n_gaps,
        "target": target,
        "bytes_in": n_bytes["in"],
        "bytes_out": n_bytes["out"],
        "ratio": n_bytes["in"] / n_bytes["out"],
        "rmse": found.rmse,
        "max_error": found.largest_error,
        "seconds": seconds,
        "is_same_text": is_same_text,
    }
    if as_json:
        print_json({"compressed": str(out)} | report, err=to_pipe)
        return
    rows = [
        ["rows, columns", f"{found.n_rows:,}, {len(found.names):,}"],
        ["gaps", f"{found.n_gaps:,} ({found.n_gaps / n_cells:.1%})"],
        ["bytes in", f"{n_bytes['in']:,}"],
        ["bytes out", f"{n_bytes['out']:,}"],
        ["ratio", f"{report['ratio']:.3g}"],
        ["relative RMSE", f"{found.rmse:.3%}"],
        ["largest error", f"{found.largest_error:.6g}"],
        ["seconds", f"{seconds:.2f}"],
    ]
    print_table(f"{'standard output' if to_pipe else out}", ["", "measured"], rows, err=to_pipe)
