"""Real parts: mosquitto, roles as processes, sensors that publish. All of them end with the test."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
PATIENCE = 30.0  # seconds; what is waited for comes within one or two, on a machine that has time


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_until(condition, what="it", patience=PATIENCE):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {patience:g} s for {what}")


class Mosquitto:
    """A broker on the loopback address, started and killed as often as is asked."""

    def __init__(self, folder, lines=()):
        self.port = free_port()
        self._config = folder / f"mosquitto-{self.port}.conf"
        listener = f"listener {self.port} 127.0.0.1"
        self._config.write_text("\n".join([listener, *(lines or ["allow_anonymous true"]), ""]))
        self._process = None
        self.start()

    @property
    def url(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self):
        self._process = subprocess.Popen([MOSQUITTO, "-c", str(self._config)], stderr=subprocess.DEVNULL)
        wait_until(self._answers, "mosquitto")

    def _answers(self):
        assert self._process.poll() is None, "mosquitto has ended"
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


@pytest.fixture
def mosquitto(tmp_path):
    """Starts brokers: lines of their configuration can be given."""
    if MOSQUITTO is None:
        if os.environ.get("HRPURSUIT_BROWSER") == "required":  # as .ci/run has it
            pytest.fail("needs mosquitto: apt-get install mosquitto")
        pytest.skip("needs mosquitto: apt-get install mosquitto")
    started = []

    def start(*lines):
        started.append(Mosquitto(tmp_path, lines))
        return started[-1]

    yield start
    for one in started:
        one.kill()


class Role:
    """`hrpursuit live ...` as a process; what it says is read from a file."""

    def __init__(self, path, arguments, environment):
        self._path = path
        with path.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from hrpursuit.cli import main; main()", "live", *map(str, arguments)],
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
            )

    @property
    def said(self):
        return self._path.read_text()

    def wait_for(self, words, patience=60.0):
        def has_said():
            assert words in self.said or self.process.poll() is None, f"ended without {words!r}: {self.said}"
            return words in self.said

        wait_until(has_said, words, patience)

    def stop(self, number=signal.SIGTERM):
        """The exit code, and what was said."""
        self.process.send_signal(number)
        return self.end()

    def end(self):
        return self.process.wait(PATIENCE), self.said

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def role(tmp_path):
    started = []

    def start(*arguments, **environment):
        started.append(Role(tmp_path / f"role-{len(started)}.log", arguments, environment))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill()


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def eventually():
    """Waits for a condition, in a test without an event loop."""
    return wait_until


@pytest.fixture
def within():
    """Waits for a condition, in a test with an event loop."""

    async def wait(condition, what="it"):
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert time.monotonic() < end, f"waited {PATIENCE:g} s for {what}"
            await asyncio.sleep(0.01)
        return found

    return wait
