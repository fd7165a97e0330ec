"""The commands together, and what they share: one-line errors and exit codes."""

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

import hrpursuit
from hrpursuit.cli.compare import compare
from hrpursuit.cli.compress import compress
from hrpursuit.cli.decode import decode
from hrpursuit.cli.decompress import decompress
from hrpursuit.cli.demo import demo
from hrpursuit.cli.denoise import denoise
from hrpursuit.cli.encode import encode
from hrpursuit.cli.fit import fit
from hrpursuit.cli.inspect import inspect
from hrpursuit.cli.interrupt import interruptible
from hrpursuit.cli.report_page import report
from hrpursuit.cli.reproduce import reproduce
from hrpursuit.cli.verify import verify

EXIT_ERROR, EXIT_INTERRUPTED = 1, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(hrpursuit.__version__, prog_name="hrpursuit")
def commands() -> None:
    """Sparse coding with orthogonal and complete dictionaries.

    Exit codes: 0 done, 1 the data or a file was not usable (one line says why), 2 wrong usage, 3 a part failed and the
    rest is there, 130 interrupted.
    """


for command in (
    demo,
    fit,
    encode,
    decode,
    compress,
    decompress,
    inspect,
    verify,
    report,
    denoise,
    compare,
    reproduce,
):
    commands.add_command(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _note  # type: ignore[assignment]
        with interruptible():
            return _run(arguments)


def _note(message: Warning | str, *where: Any, **more: Any) -> None:
    click.echo(f"note: {message}", err=True)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = commands.main(args=None if arguments is None else list(arguments), standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("hrpursuit: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except (ValueError, OSError, ImportError, MemoryError, ArithmeticError) as error:
        print(f"hrpursuit: error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_ERROR
    return code if isinstance(code, int) else 0
