"""What the commands that read and write compressed tables share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hrpursuit.cli.tables import DASH, SUFFIXES
from hrpursuit.compression import DamagedFile, Target

HRP = ".hrp"
TABLES = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


class Share(click.ParamType):
    """A share as 5% or 0.05."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            self.fail(f"{text!r} is not a share; write it as 5% or 0.05.", param, ctx)
        is_percent = text.endswith("%")
        share = number / 100 if is_percent else number
        if not is_percent and share >= 1:
            self.fail(
                f"{text} would be {100 * share:g}%; write {text}% or {number / 100:g} for {text} percent.", param, ctx
            )
        if not 0 < share < 1:
            self.fail(f"expected more than 0% and less than 100%; got {text}. No error at all: --lossless.", param, ctx)
        return share


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how a table of readings is to be read."""
    for option in (
        click.option("--no-index", is_flag=True, help="No column is the index: the first holds readings as well."),
        click.option("--index-column", metavar="NAME", help="The column that is the index, if it is not recognised."),
        click.option("--quantity", help="Take the columns whose name ends in this, as pm25 in 171_pm25."),
    ):
        command = option(command)
    return command


def chosen_index(index_column: str | None, no_index: bool) -> str | bool:
    if index_column is not None and no_index:
        raise click.UsageError("give --index-column or --no-index, not both.")
    return not no_index if index_column is None else index_column


@contextmanager
def told_of(compressed: Path) -> Iterator[None]:
    """What is wrong with a file, with its name and in the words of the command line."""
    try:
        yield
    except DamagedFile as error:
        name = "standard input" if str(compressed) == DASH else compressed
        words = str(error).replace("damaged='skip'", "decompress --damaged skip")
        raise DamagedFile(f"{name}: {words}") from error


def in_words(target: Target) -> str:
    """The target of a compressed file."""
    texts = {
        "rmse": "relative RMSE of at most {:.4g}%",
        "max_error": "no error above {:g}",
        "n_nonzero": "{:g} coefficients a row",
        "lossless": "lossless",
    }
    amount = target.amount or 0
    return texts[target.kind].format(100 * amount if target.kind == "rmse" else amount)
