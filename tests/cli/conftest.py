"""What tests of the commands share."""

import os
import signal
import sys
import threading

import pytest

from hrpursuit.cli.main import run


@pytest.fixture
def on_terminal(monkeypatch):
    """Run a command with a pseudo-terminal for its stderr: its exit code, and what was shown. Ctrl-C is pressed as soon
    as the text `interrupt_at` is seen.
    """
    pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

    def call(*arguments, interrupt_at=None):
        leader, follower = pty.openpty()
        shown = bytearray()

        def read():
            is_pressed = interrupt_at is None
            while chunk := _read(leader):
                shown.extend(chunk)
                if not is_pressed and interrupt_at.encode() in shown:
                    is_pressed = True
                    os.kill(os.getpid(), signal.SIGINT)

        reader = threading.Thread(target=read)
        reader.start()
        with monkeypatch.context() as patch, os.fdopen(follower, "w") as stream:
            patch.setattr(sys, "stderr", stream)
            code = run([str(argument) for argument in arguments])
        reader.join()
        os.close(leader)
        return code, shown.decode()

    return call


def _read(file):
    try:
        return os.read(file, 4096)
    except OSError:  # on Linux, when nobody writes any more
        return b""
