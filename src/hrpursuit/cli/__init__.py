"""The command line."""

import sys


def main() -> None:
    """Entry point of the `hrpursuit` command."""
    try:
        from hrpursuit.cli.main import run  # noqa: PLC0415 - needs the extra `cli`

        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in {"click", "rich"}:
            raise
        sys.exit(f'hrpursuit: the command line needs {package}: pip install "hrpursuit[cli]"')
