"""Real parts: mosquitto, roles as processes, sensors that publish. All of them end with the test."""

import asyncio
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import numpy as np
import pytest

aiomqtt = pytest.importorskip("aiomqtt", reason='needs aiomqtt: pip install ".[live]"')

from hrpursuit.live.controller import Controller, ControllerSettings  # noqa: E402
from hrpursuit.live.gateway import Gateway, GatewaySettings  # noqa: E402
from hrpursuit.live.mqtt import Connection  # noqa: E402
from hrpursuit.live.processes import compile_codec  # noqa: E402
from hrpursuit.live.slots import SECOND  # noqa: E402

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
PATIENCE = 120.0  # seconds; what is waited for comes within one or two, on a machine that has time


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
        listener = f"user {getpass.getuser()}\nlistener {self.port} 127.0.0.1"  # or it gives the rights of root up
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


@pytest.fixture(scope="session")
def compiled():
    """Roles start at once when the kernels they need are compiled and kept."""
    compile_codec(has_archive=True, is_sparse=True)


@pytest.fixture
def role(tmp_path, compiled):
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


class Network:
    """Gateway and controller in this process, sensors that publish, and all that was sent and rebuilt."""

    def __init__(self, connection, gateway, controller):
        self.connection, self.gateway, self.controller = connection, gateway, controller
        self.true, self.slots, self.rebuilt = {}, [], []
        self.sensors = None
        self._stops, self._tasks = [], []

    async def start(self, *roles):
        for one in roles:
            stop = asyncio.Event()
            self._stops.append(stop)
            self._tasks.append(asyncio.create_task(one.run(stop)))

    async def send(self, **values):
        for sensor, value in values.items():
            payload = value if isinstance(value, bytes | str) else repr(float(value))
            await self.sensors.publish(f"plant/{sensor}/pm25", payload, qos=1)

    async def stop(self):
        """Gateway first, so that the controller has its last message."""
        for stop, task in zip(self._stops, self._tasks, strict=True):
            stop.set()
            await asyncio.wait_for(task, PATIENCE)
            end = time.monotonic() + PATIENCE
            while task is self._tasks[0] and self.controller.is_connected and not self._all_came():
                assert time.monotonic() < end, "the last message has not come"
                await asyncio.sleep(0.01)

    def _all_came(self):
        """Unless a broker that was killed has lost some."""
        came, sent = (one.figures.get("messages_total") for one in (self.controller, self.gateway))
        return came >= sent or self.gateway.figures.get("connections_total") > 1

    async def cancel(self):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def values(self, sensor):
        """Rebuilt values of a sensor, gaps left out."""
        found = [slot.values[slot.columns.index(sensor)] for slot in self.slots if sensor in slot.columns]
        return [value for value in found if not np.isnan(value)]

    def check(self, bound):
        """Every value that was ever shown is within its bound, and gaps are where they were."""
        assert self.slots
        for slot in self.slots:
            row = self.true[slot.time]
            known = dict(zip(row.columns, row.values, strict=True))  # a keyframe repeats slots with its own columns
            true = np.array([known.get(sensor, np.nan) for sensor in slot.columns])
            np.testing.assert_array_equal(np.isnan(slot.values), np.isnan(true))
            assert np.nanmax(np.abs(slot.values - true), initial=0) <= bound * (1 + 1e-9)


@pytest.fixture
def network(compiled, within):
    """Starts a gateway and a controller: `async with network(broker, max_error=1) as net`."""

    @asynccontextmanager
    async def start(broker, *, version="3.1.1", clock=None, key=None, source="hrp/plant", controller=None, **more):
        connection = Connection("127.0.0.1", broker.port, version=version, first_wait=0.05, longest_wait=0.2)
        target = {name: more.pop(name) for name in ("max_error", "lossless", "n_nonzero_coefs") if name in more}
        more = {"slot": SECOND // 20, "key": key, **more}
        gateway = Gateway(GatewaySettings(("plant/+/pm25",), "hrp/plant", target, **more), connection, clock=clock)
        settings = {"key": key, "to": "rebuilt/{sensor}", **(controller or {})}
        receiver = Controller(ControllerSettings(source, **settings), connection, clock=clock)
        net = Network(connection, gateway, receiver)
        gateway.shown = lambda row: net.true.__setitem__(row.time, row)
        receiver.shown = lambda slot, n_bytes: net.slots.append(slot)
        await net.start(gateway, receiver)
        try:
            async with aiomqtt.Client("127.0.0.1", broker.port, timeout=PATIENCE) as net.sensors:
                await net.sensors.subscribe("rebuilt/#", qos=1)
                reader = asyncio.create_task(read(net))
                await within(lambda: gateway.is_connected and receiver.is_connected, "both roles")
                yield net
                reader.cancel()
        finally:
            await net.cancel()

    async def read(net):
        async for message in net.sensors.messages:
            net.rebuilt.append((str(message.topic), message.payload))

    return start
