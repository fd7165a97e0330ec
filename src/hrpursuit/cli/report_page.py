"""hrpursuit report: write a web page that shows how well a table compresses."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.options import table_options
from hrpursuit.progress import Bars
from hrpursuit.reports import methods, read_targets, study_table, write_page
from hrpursuit.rows.optional import needed
from hrpursuit.tables.files import check_output, read_table


@click.command()
@click.argument("data", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True,
              help="Where the page goes (.html).")  # fmt: skip
@click.option("--targets", default="",
              help="Targets of the slider, separated by commas: 5% is a relative RMSE, 2 a bound on every error in the "
                   "unit of the readings; or lossless. Default: lossless, three bounds, and 2 to 10%. Separate by "
                   "semicolons if a target has bounds by column: 'flow=1e-6,*=1; 5%'.")  # fmt: skip
@table_options
@click.option("--title", help="Heading of the page; the name of the file by default.")
@click.option("--methods", "names", default="all", show_default=True,
              help=f"Methods to compare with, separated by commas: {', '.join(methods.known())}; or all that are "
                   "installed, or none.")  # fmt: skip
@click.option("--no-rivals", is_flag=True, help="Compare with the other codings of hrpursuit only, which is quicker.")
def report(
    data: Path, out: Path, targets: str, reading: dict[str, Any], title: str | None, names: str, no_rivals: bool
) -> None:
    """Compress the readings in DATA to several targets, and write a page that compares them.

    DATA has one time per row and one sensor per column, in a file as for `hrpursuit compress`; - is standard input, as
    CSV.

    The page is one file that needs no network. It has heat maps of the readings, the decoded readings and their errors,
    error against bytes for every method, the errors of the sensors, the atoms, and the times with the largest errors; a
    slider selects the target for all of these. A month of hourly readings of 56 sensors makes about 0.5 MB; large
    tables are thinned for the pictures, so that no page is larger than about 8 MB.
    """
    check_output(out, data, suffixes=(".html", ".htm"))
    for package in ("jinja2", "pandas"):
        needed(package, "Reports", "report")  # before the work, not after
    asked = read_targets(targets) if targets else None
    chosen = methods.choose(names, rivals=not no_rivals)
    table = read_table(data, **reading)
    with Bars() as bars:

        def watch(steps: Iterable[Any], total: int) -> Iterator[Any]:
            for step in bars.count("files made", steps, total):
                stop_if_interrupted()
                yield step

        found = study_table(table, asked, chosen, watch)
    write_page(found, out, title or ("Readings" if str(data) == "-" else data.name))
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    for one in found.settings:
        error = f"RMSE {100 * one.rmse:.3g}%, largest error {one.max_error:.4g}"
        click.echo(f"{one.target}: {one.n_bytes} bytes, {error}")
    click.echo(f"page: {out} ({out.stat().st_size / 1e6:.1f} MB)")
