"""The slots that a role has sent or rebuilt, in a file; written by a thread, so that the role goes on meanwhile."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hrpursuit.files import check_writable
from hrpursuit.live.decoder import LiveDecoder
from hrpursuit.live.figures import Happenings
from hrpursuit.live.messages import Gap, Slot
from hrpursuit.live.record import Recorder


class Archive:
    """Hands slots to a Recorder in the order in which they come.

    Parameters
    ----------
    path : Path
        The `.hrp` file; one that exists is gone on with.
    happenings : Happenings
        Where it is said if something cannot be written.
    key : bytes or None, default=None
        As for LiveDecoder, where messages are given in place of slots.
    """

    def __init__(self, path: Path, happenings: Happenings, key: bytes | None = None) -> None:
        check_writable(path)
        self._path, self._happenings = path, happenings
        self._recorder = Recorder(path)
        self._decoder = LiveDecoder(key=key)
        self._thread = ThreadPoolExecutor(1, "archive")

    def add(self, slots: list[Slot]) -> None:
        self._thread.submit(self._tried, lambda: self._recorder.write(slots))

    def add_message(self, message: bytes) -> None:
        """The slots of a message as receivers see them."""
        self._thread.submit(self._tried, lambda: self._decode(message))

    def close(self) -> None:
        """Write the rest, and the index of the file."""
        self._thread.submit(self._tried, self._recorder.close)
        self._thread.shutdown()

    def _decode(self, message: bytes) -> None:
        found = self._decoder.decode(message)
        if isinstance(found, Gap):
            raise ValueError(f"a message of our own cannot be decoded: {found.detail}")
        self._recorder.write(found)

    def _tried(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # a full disk must not end the role
            kept = f"{self._recorder.n_waiting} slots are kept, {self._recorder.n_dropped} were dropped"
            self._happenings.repeat("archive", f"cannot write to {self._path}: {error}; {kept}", level=logging.ERROR)
