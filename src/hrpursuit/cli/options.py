"""What the commands that read and write compressed tables share."""

import csv
import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hrpursuit.compression import DamagedFile, LimitExceeded, UnsupportedVersion
from hrpursuit.compression.parameters import read_bounds
from hrpursuit.tables.files import DASH, SUFFIXES

HRP = ".hrp"
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}  # powers of two
TABLES = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


class Share(click.ParamType):
    """A share as 5% or 0.05."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return _share(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class ByColumn(click.ParamType):
    """A number, or numbers by column: flow=1e-6,pressure=.1,*=1."""

    name = "by column"

    def __init__(self, read_number: Callable[[str], float]) -> None:
        self._read_number = read_number

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            amounts = read_bounds(str(value), self._read_number)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if amounts == 0:
            self.fail("0 is no error at all; give --lossless.", param, ctx)
        return amounts


def _share(text: str) -> float:
    text = text.strip()
    is_percent = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        raise ValueError(f"{text!r} is not a share; write it as 5% or 0.05.") from None
    share = number / 100 if is_percent else number
    if not is_percent and share >= 1:
        raise ValueError(f"{text} would be {100 * share:g}%; write {text}% or {number / 100:g} for {text} percent.")
    if not 0 < share < 1:
        raise ValueError(f"expected more than 0% and less than 100%; got {text}. No error at all: --lossless.")
    return share


def _bound(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number; give one, or one by column as flow=1e-6,*=1.") from None
    if not 0 <= number < math.inf:
        raise ValueError(f"expected a finite number above 0; got {text}.")
    return number


SHARES, BOUNDS = ByColumn(_share), ByColumn(_bound)


class Size(click.ParamType):
    """A number of bytes as 500M or 8G; none for no limit."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        text = str(value).strip().upper()
        number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "")
        if text == "NONE":
            return None
        if not number.isdecimal() or int(number) < 1:
            self.fail(f"{value!r} is not a size; write it as 500M or 20G, or none for no limit.", param, ctx)
        return int(number) << _UNITS[unit]


def limit_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """How large a table may become, for commands that decode one."""
    return click.option("--limit", type=Size(), default="8G", show_default=True, metavar="SIZE",
                        help="Largest size of the readings in memory, in bytes; none: no limit.")(command)  # fmt: skip


def jobs_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """How many chunks are worked on at the same time."""
    return click.option("--jobs", type=int, default=1, show_default=True, callback=_check_jobs,
                        help="Number of threads, each of which works on a chunk; -1: one per core. The result does not "
                             "depend on it.")(command)  # fmt: skip


def _check_jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 threads do nothing; give 1, or -1 for one per core.", ctx, param)
    return value


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how a table of readings is to be read."""
    for option in (
        click.option("--no-index", is_flag=True, help="No column is the index: the first one has readings too."),
        click.option("--index-column", metavar="NAME", help="Name of the index column, if it is not recognised."),
        click.option("--quantity", help="Take only the columns whose name ends in this, such as pm25 in 171_pm25."),
        click.option("--drop-column", "drop", metavar="NAME", multiple=True,
                     help="Leave out this column, or with a pattern such as 'note*' several. May be repeated."),
        click.option("--comment", metavar="MARK", default="",
                     help="Leave out lines of a CSV file that begin with this."),
        click.option("--thousands", metavar="MARK", default="",
                     help="Mark between thousands in a CSV file, comma or point; the other is the decimal mark."),
        click.option("--long", metavar="TIME,SENSOR,VALUE",
                     help="The table has one reading per row, in these three columns; it becomes one with one row per "
                          "time and one column per sensor."),
    ):  # fmt: skip
        command = option(command)

    @functools.wraps(command)
    def with_reading(*args: Any, index_column: str | None, no_index: bool, long: str | None, **options: Any) -> Any:
        reading = {name: options.pop(name) for name in ("quantity", "drop", "comment", "thousands")}
        reading |= {"index": chosen_index(index_column, no_index), "long": long_columns(long)}
        return command(*args, reading=reading, **options)

    return with_reading


def text_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """For commands that keep texts."""
    return click.option("--text-column", "texts", metavar="NAME", multiple=True,
                        help="Keep the cells of this column of a CSV file as texts, even if they are numbers. May be "
                             "repeated.")(command)  # fmt: skip


def long_columns(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    columns = tuple(name.strip() for name in next(csv.reader([text])))
    if len(columns) != 3 or len(set(columns)) != 3 or not all(columns):
        raise click.UsageError(f"--long takes the names of three columns, time,sensor,value; got {text!r}.")
    return columns


def chosen_index(index_column: str | None, no_index: bool) -> str | bool:
    if index_column is not None and no_index:
        raise click.UsageError("give --index-column or --no-index, not both.")
    return not no_index if index_column is None else index_column


@contextmanager
def told_of(compressed: Path) -> Iterator[None]:
    """What is wrong with a file, with its name and in the words of the command line."""
    name = "standard input" if str(compressed) == DASH else compressed
    try:
        yield
    except DamagedFile as error:
        words = str(error).replace("damaged='skip'", "decompress --damaged skip")
        raise DamagedFile(f"{name}: {words}") from error
    except UnsupportedVersion as error:
        raise UnsupportedVersion(f"{name}: {error}", error.found, error.known) from error
    except LimitExceeded as error:
        words = str(error).replace("limit=None", "--limit none").replace("limit=", "--limit ")
        raise LimitExceeded(f"{name}: {words.replace('greater limit', 'greater --limit')}") from error
