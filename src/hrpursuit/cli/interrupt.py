"""Signals that ask a command to stop: Ctrl-C, `kill`, a terminal that is closed."""

import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

#: What is said of a command that a signal has stopped; its exit code is 128 plus the number.
_WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "its terminal was closed"}
_SIGNALS = {getattr(signal, name): word for name, word in _WORDS.items() if hasattr(signal, name)}
_asked: list[int] = []  # signals that came, in their order


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on such a signal, so that unfinished files are removed, and remember that it came: an
    exception that happens to be raised inside a callback of some library is printed and dropped there, and the work
    would go on.
    """
    _asked.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN or number == signal.SIGINT:  # `nohup` ignores the closing of the terminal
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _asked.append(number)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # some streams are no files
            file = stream.fileno()
            if stat.S_ISCHR(os.fstat(file).st_mode) and not os.isatty(file):  # a closed terminal: to write is an error
                os.dup2(os.open(os.devnull, os.O_WRONLY), file)
    raise KeyboardInterrupt


def ignore_signals() -> None:
    """For the rest of `interruptible`: what is left to do is quick, and must be done."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_IGN)


def stop_if_interrupted() -> None:
    if _asked:
        raise KeyboardInterrupt


def how_interrupted() -> tuple[str, int] | None:
    """In a word, and as an exit code; None if no signal has come."""
    return (_SIGNALS[_asked[0]], 128 + _asked[0]) if _asked else None
