"""A simulated plant for the demonstration: sensors that publish their readings, and fail now and then."""

import asyncio
import json
from collections import deque

import numpy as np

from hrpursuit.datasets import make_sensor_network
from hrpursuit.live.figures import Figures, Happenings
from hrpursuit.live.mqtt import Connection, Link, Outgoing
from hrpursuit.live.slots import SECOND, Clock

HOUR = 3600 * SECOND
START = np.datetime64("2024-10-01", "ns").astype(np.int64).item()
_N_HOURS = 24 * 7 * 26  # then another half year, with another seed


class Plant:
    """Publishes the readings of `make_sensor_network` by the hour of a clock, on `plant/NAME/pm25`,
    as {"value": 12, "time": nanoseconds since 1970}.

    Parameters
    ----------
    connection : Connection
    clock : Clock
        Readings of an hour are published when it starts.
    n_sensors : int, default=56
    seed : int, default=0
    """

    def __init__(self, connection: Connection, clock: Clock, *, n_sensors: int = 56, seed: int = 0) -> None:
        self._clock, self._n_sensors, self._seed = clock, n_sensors, seed
        digits = max(2, len(str(n_sensors)))
        self.sensors = [f"s{number:0{digits}d}" for number in range(1, n_sensors + 1)]
        self._table = np.empty((0, n_sensors))
        self._first = 0
        self._waiting: deque[Outgoing] = deque(maxlen=100 * n_sensors)
        self._link = Link(
            connection,
            subscriptions={},
            handle=lambda topic, payload, is_retained: None,
            next_message=lambda: self._waiting.popleft() if self._waiting else None,
            name="hrpursuit-plant",
            keep_session=False,
            figures=Figures("plant"),
            happenings=Happenings("plant"),
        )

    async def run(self) -> None:
        """Until it is cancelled."""
        connected = asyncio.create_task(self._link.run())
        try:
            hour = self._clock.now() // HOUR + 1
            while not connected.done():
                await asyncio.sleep(max(0.0, self._clock.seconds_until(hour * HOUR)))
                if self._clock.now() >= hour * HOUR:
                    self._publish(hour)
                    hour += 1
            connected.result()
        finally:
            connected.cancel()
            await asyncio.gather(connected, return_exceptions=True)

    def _publish(self, hour: int) -> None:
        for sensor, value in zip(self.sensors, self._readings(hour), strict=True):
            if not np.isnan(value):
                reading = {"value": int(value), "time": hour * HOUR}
                self._waiting.append(Outgoing(f"plant/{sensor}/pm25", json.dumps(reading).encode(), 0))
        self._link.wake()

    def _readings(self, hour: int) -> np.ndarray:
        if not self._first <= hour < self._first + len(self._table):
            self._first = hour
            start = np.datetime64(hour * HOUR, "ns")
            self._table = make_sensor_network(
                _N_HOURS, self._n_sensors, silent=0.0, outages=6.0, start=start, random_state=self._seed
            )
            self._seed += 1
        return self._table[hour - self._first]
