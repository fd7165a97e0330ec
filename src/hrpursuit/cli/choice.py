"""Which methods a command compares."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from hrpursuit.experiments.methods import Method, check


def methods_option(methods: Mapping[str, Method]) -> Callable[[Any], Any]:
    return click.option(
        "--methods",
        default="all",
        show_default=True,
        help=f"Separated by commas: {', '.join(methods)}; or all that are installed.",
    )


def chosen_methods(text: str, methods: Mapping[str, Method]) -> list[str]:
    """Names in the text; none for all."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if "all" in names:
        return []
    if not names:
        raise ValueError(f"--methods names none; the methods are {', '.join(methods)}, or all.")
    check(names, methods)
    return names
