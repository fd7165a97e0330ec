"""Watchers, which are told how far a pass over the rows has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hrpursuit.core.protocols import Watcher

Advance = Callable[[int], None]


def pass_name(kernel: Callable[..., Any]) -> str:
    """What a pass is called in a progress bar and on a dashboard: 'value and grad' for value_and_grad_block."""
    return getattr(kernel, "__name__", "pass").strip("_<>").removesuffix("_block").replace("_", " ")


@contextmanager
def watched(watcher: Watcher | None, name: str, n_rows: int | None) -> Iterator[Advance]:
    """Begin and end a pass; gives what is to be called as rows are done."""
    if watcher is None:
        yield lambda n_rows: None
        return
    watcher.begin(name, n_rows)
    try:
        yield watcher.advance
    finally:
        watcher.end()
