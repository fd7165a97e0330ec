"""The commands together, and what they share: one-line errors and exit codes.

A command is imported when it is run: what it needs takes a second or more to load.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from hrpursuit.cli.interrupt import how_interrupted, ignore_signals, interruptible
from hrpursuit.files import named_if_full, remove_unfinished

EXIT_ERROR = 1
_INTERRUPTED = "interrupted", 130
#: In the order of the help: module, and what the command is for.
COMMANDS = {
    "demo": ("demo", "Learn a dictionary and compress a month of readings, with simulated data."),
    "fit": ("fit", "Learn a dictionary from a table of samples."),
    "encode": ("encode", "Compute the codes of samples with a fitted model."),
    "decode": ("decode", "Compute samples from their codes."),
    "compress": ("compress", "Compress a table of sensor readings, which may have gaps."),
    "decompress": ("decompress", "Write the table in a compressed file as CSV, Parquet, ..."),
    "inspect": ("inspect", "Show what is in a compressed file, and what takes its bytes."),
    "verify": ("verify", "Check every chunk of a compressed file."),
    "report": ("report_page", "Compress readings at several targets, and show the results on a web page."),
    "live": ("live", "Send readings live over MQTT: gateway, controller, demo."),
    "denoise": ("denoise", "Remove noise from images."),
    "compare": ("compare", "Fit every installed method to your data."),
    "airly": ("airly", "Extract the readings of one quantity from a file of the Airly network."),
    "reproduce": ("reproduce", "Compute the figures and tables of the paper."),
}


class _Commands(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return getattr(import_module(f"hrpursuit.cli.{COMMANDS[name][0]}"), name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in COMMANDS.items()])


def _show_version(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        from hrpursuit import __version__  # noqa: PLC0415 - only here

        click.echo(f"hrpursuit, version {__version__}")
        context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def commands() -> None:
    """Sparse coding with orthogonal and complete dictionaries.

    Exit codes: 0 success; 1 the data or a file was not usable (one line says why); 2 wrong usage; 3 some parts failed,
    and the others were written; 130 interrupted; 128 + n stopped by signal n. Output files appear whole or not at all.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _note  # type: ignore[assignment]
        with interruptible():
            try:
                return _run(arguments)
            except KeyboardInterrupt:  # once more, while the first was told of
                return (how_interrupted() or _INTERRUPTED)[1]
            finally:
                ignore_signals()
                remove_unfinished()


def _note(message: Warning | str, *where: Any, **more: Any) -> None:
    click.echo(f"note: {message}", err=True)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        with named_if_full("standard output"):  # files are named where they are written
            code = commands.main(args=None if arguments is None else list(arguments), standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _stopped()
    except Exception as error:
        if how_interrupted():  # some libraries make another error of it
            return _stopped()
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "rich":
            raise  # a command was imported: the command line is not installed as a whole
        if not isinstance(error, ValueError | OSError | ImportError | MemoryError | ArithmeticError):
            raise
        print(f"hrpursuit: error: {' '.join(str(error).split())}", file=sys.stderr)
        _drop_unwritten()
        return EXIT_ERROR
    return code if isinstance(code, int) else 0


def _stopped() -> int:
    word, code = how_interrupted() or _INTERRUPTED
    print(f"hrpursuit: {word}", file=sys.stderr)
    return code


def _drop_unwritten() -> None:
    """What standard output does not take would be an error once more when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
