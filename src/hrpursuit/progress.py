"""Progress bars, in a terminal or a notebook: one for each stage of a fit, one for each pass over rows that are not in
memory, and one for the tiles of an image.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from hrpursuit.core.protocols import Callback, Iterate, Rows
from hrpursuit.rows.optional import needed

Item = TypeVar("Item")


class Bars:
    """Context manager. `callback` shows the stages of a fit; as the watcher of rows it shows passes, with rows a second
    and the time left. Nothing is shown where there is no terminal and no notebook.
    """

    def __init__(self, enabled: bool = True, on_advance: Callable[[], None] | None = None) -> None:
        console = needed("rich.console", "Progress bars", "cli").Console(stderr=True)
        self.enabled = enabled and (sys.stderr.isatty() or console.is_jupyter)
        self._progress = _make_progress(console, self.enabled)
        self._tasks: dict[str, Any] = {}
        self._passes: list[Any] = []  # one within another: a survey while codes are streamed
        self._n_passes = 0
        self._on_advance = on_advance  # whoever wants to end a pass raises from here

    @property
    def callback(self) -> Callback | None:
        return self._show if self.enabled else None

    def _show(self, iterate: Iterate) -> None:
        if iterate.stage not in self._tasks:
            for task in self._progress.tasks:  # earlier stages have ended, before their last iteration maybe
                if not task.fields["unit"]:
                    self._progress.update(task.id, total=max(1, task.completed), completed=max(1, task.completed))
            self._tasks[iterate.stage] = self._progress.add_task(iterate.stage, unit="")
        self._progress.update(self._tasks[iterate.stage], completed=iterate.n_iter, total=iterate.max_iter)

    def begin(self, name: str, n_rows: int | None) -> None:
        self._n_passes += 1
        self._passes.append(self._progress.add_task(f"pass {self._n_passes}: {name}", total=n_rows, unit="rows"))

    def advance(self, n_rows: int) -> None:
        if self._on_advance is not None:
            self._on_advance()
        self._progress.advance(self._passes[-1], n_rows)

    def end(self) -> None:
        self._progress.remove_task(self._passes.pop())

    def count(self, name: str, items: Iterable[Item], total: int, n_before: int = 0) -> Iterator[Item]:
        """Hand on the items, with a bar that counts them; `n_before` were there before."""
        task = self._progress.add_task(name, total=total, completed=n_before, unit="", n_before=n_before)
        try:
            for item in items:
                self._progress.advance(task)
                yield item
        finally:
            self._progress.remove_task(task)

    @contextmanager
    def busy(self, name: str) -> Iterator[None]:
        """A bar for work that does not say how far it has come."""
        task = self._progress.add_task(name, total=None, unit="")
        try:
            yield
        finally:
            self._progress.remove_task(task)

    @contextmanager
    def rows(self, name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """A bar for rows that are handled here; hands over what to call with the number that is done."""
        task = self._progress.add_task(name, total=total, unit="rows")

        def show(n_done: int) -> None:
            if self._on_advance is not None:
                self._on_advance()
            self._progress.update(task, completed=n_done)

        try:
            yield show
        finally:
            self._progress.remove_task(task)

    @contextmanager
    def tiles(self, name: str) -> Iterator[Callable[[int, int], None]]:
        """A bar for the tiles of an image, from two on; hands over what to call with how many are done, of how many."""
        task = self._progress.add_task(name, total=None, unit="", n_before=0, visible=False)

        def show(n_done: int, n_tiles: int) -> None:
            if self._on_advance is not None:
                self._on_advance()
            self._progress.update(task, completed=n_done, total=n_tiles, visible=n_tiles > 1, refresh=True)

        try:
            yield show
        finally:
            self._progress.remove_task(task)

    @contextmanager
    def watching(self, rows: Rows) -> Iterator[Self]:
        """Show the passes over these rows; those in memory have none to show."""
        with self:
            if self.enabled or self._on_advance:
                rows.watcher = self
            try:
                yield self
            finally:
                if rows.watcher is self:
                    rows.watcher = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


def _make_progress(console: Any, enabled: bool) -> Any:
    rich = needed("rich.progress", "Progress bars", "cli")

    class Amount(rich.ProgressColumn):  # type: ignore[name-defined,misc]
        """How much is done of how much, and how fast."""

        def render(self, task: Any) -> str:
            total = "?" if task.total is None else in_short(task.total)
            done = f"{in_short(task.completed)}/{total}"
            if not task.fields["unit"]:
                return done
            speed = "" if task.speed is None else f", {in_short(task.speed)} {task.fields['unit']}/s"
            return f"{done} {task.fields['unit']}{speed}"

    class TimeLeft(rich.TimeRemainingColumn):  # type: ignore[name-defined,misc]
        """By the mean of all items so far where they are counted: the last few may have ended at the same moment."""

        def render(self, task: Any) -> Any:
            if "n_before" not in task.fields:
                return super().render(task)
            n_done = task.completed - task.fields["n_before"]
            if not n_done or task.elapsed is None:
                return "-:--:-- left"
            left = task.elapsed / n_done * (task.total - task.completed)
            return f"{timedelta(seconds=round(left))} left"

    columns = (rich.TextColumn("{task.description:<24}"), rich.BarColumn(), Amount(), TimeLeft())
    return rich.Progress(*columns, console=console, transient=True, disable=not enabled)


def in_short(number: float) -> str:
    """1234567 as 1.23M; whole numbers below ten thousand as they are."""
    for size, mark in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1e3 if mark == 'k' else size):.3g}{mark}"
    return f"{number:.0f}"
