"""What a command prints when it has finished: a table for people, or JSON for machines."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from hrpursuit.files import check_writable

EXIT_SOME_FAILED = 3  # of trials or methods; the others are there
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def check_picture(out: Path, *inputs: Path) -> None:
    """Refuse a picture of an unknown kind, or one that cannot be written: before the work, not after."""
    if out.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise ValueError(f"{out}: expected a name that ends in .png, .svg or .pdf; got {out.suffix or 'none'!r}.")
    check_writable(out, *inputs)


def print_json(report: Mapping[str, Any], *, err: bool = False) -> None:
    click.echo(json.dumps(report), err=err)


def print_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text_columns: Sequence[int] = (0,),
    err: bool = False,
) -> None:
    """Numbers stand to the right of their columns, text to the left."""
    table = Table(title=title, title_justify="left")
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i in text_columns else "right", no_wrap=i == 0)
    for row in rows:
        table.add_row(*row)
    Console(stderr=err).print(table)
