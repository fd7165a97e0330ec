"""A progress bar fed by the callback of a fit, on a terminal only."""

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from hrpursuit.core.protocols import Callback, Iterate


class FitProgress:
    """Context manager; its `callback` shows a bar for each stage, with the time that it may still take."""

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled and sys.stderr.isatty()
        columns = (TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True, disable=not self._enabled)
        self._tasks: dict[str, TaskID] = {}

    @property
    def callback(self) -> Callback | None:
        return self._show if self._enabled else None

    def _show(self, iterate: Iterate) -> None:
        if iterate.stage not in self._tasks:
            self._tasks[iterate.stage] = self._progress.add_task(iterate.stage)
        self._progress.update(self._tasks[iterate.stage], completed=iterate.n_iter, total=iterate.max_iter)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
