"""What gateway and controller share: a link to a broker and a task beside it, until they are told to stop."""

import asyncio
import logging
import time
from collections.abc import Iterable
from contextlib import suppress

from hrpursuit.live.figures import Figures, Happenings
from hrpursuit.live.mqtt import Link
from hrpursuit.live.slots import SECOND, Clock

QUIET = 60.0  # seconds in which nothing comes before that is said
LAST_WORDS = 5.0  # seconds at a stop for what has not been published


class Role:
    """Runs until it is told to stop.

    Parameters
    ----------
    name : str
        Label of its figures, and first word of its log lines.
    clock : Clock or None
        None: the system clock.
    counters : iterable of str
        Counters that it shows from the start.
    """

    _link: Link

    def __init__(self, name: str, clock: Clock | None, counters: Iterable[str]) -> None:
        self.clock = clock or Clock()
        self.figures = Figures(name, counters)
        self.happenings = Happenings(name, lambda: self.clock.now() / SECOND)
        self._heard = time.monotonic()

    @property
    def is_connected(self) -> bool:
        return self._link.is_connected

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set: then what waits is sent and files are closed. Raises what ends the role before that."""
        linked = asyncio.create_task(self._link.run())
        beside = asyncio.create_task(self._beside())
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([linked, beside, stopping], return_when=asyncio.FIRST_COMPLETED)
            beside.cancel()
            for task in (linked, beside):
                if task.done():
                    task.result()  # raises what went wrong
            if self._has_last_words():
                self._link.wake()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._link.emptied(), LAST_WORDS)
                self._say_unsent()
        finally:
            for task in (linked, beside, stopping):
                task.cancel()
            await asyncio.gather(linked, beside, stopping, return_exceptions=True)
            self._close()
        self.happenings.say(f"stopped: {self._account()}")

    async def _beside(self) -> None:
        """What goes on beside the link; it never ends by itself."""
        raise NotImplementedError

    def _has_last_words(self) -> bool:
        """Whether something is left to be sent at a stop."""
        raise NotImplementedError

    def _say_unsent(self) -> None:
        """What could not be sent at a stop."""

    def _close(self) -> None:
        """Close files."""
        raise NotImplementedError

    def _account(self) -> str:
        """What was done, for the last line of the log."""
        raise NotImplementedError

    def _listen_anew(self) -> None:
        self._heard = time.monotonic()

    def _say_if_quiet(self, what: str) -> None:
        """Once a minute, while there is a connection and nothing comes."""
        quiet = time.monotonic() - self._heard
        if quiet > QUIET and self._link.is_connected:
            self.happenings.repeat("quiet", f"no {what} for {quiet:.0f} s", level=logging.WARNING)
