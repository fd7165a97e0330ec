"""Which methods a command compares."""

import click

from hrpursuit.experiments.methods import METHODS, check

methods_option = click.option(
    "--methods", default="all", show_default=True, help=f"With commas: {', '.join(METHODS)}; or all that are installed."
)


def chosen_methods(text: str) -> list[str]:
    """Names in the text; none for all."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if "all" in names:
        return []
    if not names:
        raise ValueError(f"--methods names none; the methods are {', '.join(METHODS)}, or all.")
    check(names)
    return names
