"""Ctrl-C that is not lost."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = threading.Event()


@contextmanager
def interruptible() -> Iterator[None]:
    """Remember that Ctrl-C was pressed: an exception that happens to be raised inside a callback of some library is
    printed and dropped there, and the work would go on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        _asked.set()
        raise KeyboardInterrupt

    _asked.clear()
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stop_if_interrupted() -> None:
    if _asked.is_set():
        raise KeyboardInterrupt
