"""kill -9 of gateway, controller and broker in the middle; then SIGTERM: roles as processes, over mosquitto."""

import threading

import numpy as np
import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from hrpursuit.compression import decompress


class Sensors:
    """Two sensors with a time of their own in every reading, and all values that were rebuilt.

    Sensor a counts up, one for each reading, and b is ten times that, so that any rebuilt value can be checked.
    """

    def __init__(self, port):
        self.rebuilt = {"a": [], "b": []}
        self.n_sent = 0
        self._stop = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.reconnect_delay_set(0.05, 0.2)
        self._client.on_connect = lambda client, *_: client.subscribe("rebuilt/+", 1)
        self._client.on_message = self._take
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _take(self, client, data, message):
        self.rebuilt[message.topic.removeprefix("rebuilt/")].append(float(message.payload))

    def _run(self):
        while not self._stop.wait(0.02):
            if self._client.is_connected():
                self.n_sent += 1
                for sensor, factor in (("a", 1), ("b", 10)):
                    self._client.publish(f"plant/{sensor}/x", factor * self.n_sent, 1)

    def close(self):
        self._stop.set()
        self._thread.join()
        self._client.disconnect()
        self._client.loop_stop()

    def newest(self):
        return min(max(values, default=0) for values in self.rebuilt.values())

    def check(self):
        """All values are ones that were sent."""
        assert set(self.rebuilt["a"]) <= set(range(1, self.n_sent + 1))
        assert {value / 10 for value in self.rebuilt["b"]} <= set(range(1, self.n_sent + 1))


@pytest.fixture
def plant(mosquitto, role, tmp_path):
    """A broker that keeps messages, a gateway, a controller and sensors."""

    class Plant:
        def __init__(self):
            folder = tmp_path / "kept"
            folder.mkdir()
            self.broker = mosquitto("allow_anonymous true", "persistence true", f"persistence_location {folder}/",
                                    "autosave_interval 1", "autosave_on_changes true")  # fmt: skip
            self.archive = tmp_path / "readings.hrp"
            self.controller, self.gateway = self.start_controller(), self.start_gateway()
            self.sensors = Sensors(self.broker.port)

        def start_gateway(self):
            return role("gateway", "--broker", self.broker.url, "--topics", "plant/+/x", "--slot", "50ms", "--to",
                        "hrp/plant", "--lossless", "--archive", tmp_path / "sent.hrp")  # fmt: skip

        def start_controller(self):
            return role("controller", "--broker", self.broker.url, "--from", "hrp/plant", "--to", "rebuilt/{sensor}",
                        "--archive", self.archive)  # fmt: skip

    plant = Plant()
    yield plant
    plant.sensors.close()


@pytest.mark.long
def test_gateway_controller_and_broker_are_killed_in_turn(plant, eventually, tmp_path):
    sensors = plant.sensors
    eventually(lambda: sensors.newest() > 20, "values", 60)

    plant.gateway.kill()
    n = sensors.n_sent
    plant.gateway = plant.start_gateway()
    eventually(lambda: sensors.newest() > n, "values from the new gateway", 60)

    plant.controller.kill()
    n = sensors.n_sent
    eventually(lambda: sensors.n_sent > n + 40, "messages that the broker keeps")
    before = {name: len(values) for name, values in sensors.rebuilt.items()}
    plant.controller = plant.start_controller()
    plant.controller.wait_for("goes on where it was")
    m = sensors.n_sent
    eventually(lambda: sensors.newest() > m, "values from the new controller", 60)
    kept = [value for value in sensors.rebuilt["a"][before["a"] :] if n < value <= n + 40]
    assert len(kept) >= 10  # a slot of 50 ms has the last of two or three readings
    steps = np.diff([value for value in sensors.rebuilt["a"] if value > n - 20])
    assert steps.max() < 20  # nothing that was sent while it was away is missing

    for values in list(sensors.rebuilt.values()):  # after its kill, clients send again what was not acknowledged
        assert list(values) == sorted(values)
    plant.broker.kill()
    plant.broker.start()
    n = sensors.n_sent
    eventually(lambda: sensors.newest() > n + 10, "values over the new broker", 60)

    for one in (plant.gateway, plant.controller):
        code, said = one.stop()
        assert code == 0, said
        assert "stopped:" in said
        assert "Traceback" not in said
    sensors.check()
    for name in ("readings", "sent"):
        files = sorted(tmp_path.glob(f"{name}*.hrp"))  # another one where a sensor came a slot later than the other
        tables = [decompress(file.read_bytes()) for file in files]
        values = np.concatenate([table["a"] for table in tables if "a" in table])
        values = values[~np.isnan(values)]
        assert len(values) > 20
        assert set(values) <= set(range(1, sensors.n_sent + 1))
