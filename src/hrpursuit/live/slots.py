"""Readings to time slots: late and missing ones, new and vanished sensors, and a clock that may jump."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

SECOND = 1_000_000_000  # nanoseconds
_MOST_EMPTY = 1000  # slots without a reading that are sent at once; a longer pause is left out
_MOST_NAMES = 100_000  # characters of the names of all sensors; a keyframe has them
_SLEW = 10  # a small difference to the system clock is made up for in this many checks

_NO_READING = (np.nan, 0)

Kept = Literal["kept", "late", "early", "full"]
Change = Literal["new", "silent", "back", "vanished", "returned"]


class Clock:
    """Nanoseconds since 1970 that go on steadily, and follow the system clock when it jumps, so that it is noticed.

    Parameters
    ----------
    speed : float, default=1.0
        Seconds of this clock per second.
    start : int or None, default=None
        Time to start with, which the system clock has nothing to do with; None: the system clock.
    tolerance : int, default=500 ms
        Difference to the system clock that counts as a jump, in nanoseconds.
    system, steady : callable
        The two clocks, in nanoseconds.
    """

    def __init__(
        self,
        *,
        speed: float = 1.0,
        start: int | None = None,
        tolerance: int = SECOND // 2,
        system: Callable[[], int] = time.time_ns,
        steady: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.speed = speed
        self._follows = start is None
        self._tolerance = tolerance
        self._system, self._steady = system, steady
        self._start, self._origin = system() if start is None else start, steady()

    def now(self) -> int:
        return self._start + int((self._steady() - self._origin) * self.speed)

    def seconds_until(self, moment: int) -> float:
        """Seconds that pass until then; negative if it is over."""
        return (moment - self.now()) / SECOND / self.speed

    def jump(self) -> int:
        """By how much the system clock has jumped since the last call, which this clock then does too; mostly 0."""
        if not self._follows:
            return 0
        difference = self._system() - self.now()
        if abs(difference) < self._tolerance:
            self._start += difference // _SLEW if difference > 0 else -(-difference // _SLEW)
            return 0
        self._start += difference
        return difference


@dataclass(frozen=True)
class SlotRow:
    """The readings of one time slot.

    Attributes
    ----------
    time : int
        Start of the slot, nanoseconds since 1970.
    columns : tuple of str
        Names of the sensors.
    values : array of float64
        NaN where a sensor had no reading.
    arrived : array of int64
        When each reading came; 0 where there is none.
    """

    time: int
    columns: tuple[str, ...]
    values: np.ndarray
    arrived: np.ndarray


class SlotAssembler:
    """Collects readings, and gives the rows of slots that are over.

    A slot is the time from a multiple of `slot` to the next, and is labelled with its start. The last reading of a
    sensor in a slot counts. Slots without any reading are given too, as rows of gaps, from the first reading on. Nobody
    is silent in them: it is the network, or the process slept, or the clock jumped.

    Parameters
    ----------
    slot : int
        Length of a slot in nanoseconds.
    wait : int, default=0
        Nanoseconds after its end that a slot still takes readings.
    silent_after : int, default=3
        Slots without a reading after which a sensor is said to be silent; so many times its usual distance from reading
        to reading, if it does not report in every slot.
    forget_after : int, default=600
        Slots without a reading after which a sensor is no column any more.
    most_sensors : int, default=4096
        Readings of further sensors are refused: whoever may publish could fill the memory.

    Attributes
    ----------
    columns : tuple of str
        Sensors, in the order in which they came.
    changes : list of (str, str)
        What happened to which sensor ("new", "silent", "back", "vanished", and "returned" after it had vanished); for
        the caller to take away.
    """

    def __init__(
        self, slot: int, *, wait: int = 0, silent_after: int = 3, forget_after: int = 600, most_sensors: int = 4096
    ) -> None:
        self.slot, self.wait = slot, wait
        self.columns: tuple[str, ...] = ()
        self.changes: list[tuple[Change, str]] = []
        self._silent_after, self._forget_after = silent_after, max(forget_after, silent_after + 1)
        self._most_sensors = most_sensors
        self._next: int | None = None  # number of the slot that is closed next; None before the first reading
        self._open: dict[int, dict[str, tuple[float, int]]] = {}  # by slot and sensor: value, arrival
        self._n_slots = 0  # closed ones that had readings
        self._last: dict[str, int] = {}  # by sensor: what that number was at its last reading
        self._usual: dict[str, float] = {}  # by sensor: slots from one reading to the next, a mean of the last ones
        self._silent: set[str] = set()
        self._vanished: dict[str, None] = {}  # the last ones

    def add(self, sensor: str, value: float, moment: int, now: int) -> Kept:
        """Take a reading of this moment that came now."""
        number = moment // self.slot
        if self._next is None:
            self._next = min(max(number, (now - self.wait) // self.slot), now // self.slot)
        if number < self._next:
            return "late"
        if number > now // self.slot + 1:
            return "early"
        if sensor not in self._last and self._is_full(sensor):
            return "full"
        if sensor not in self._last:
            self.changes.append(("returned" if sensor in self._vanished else "new", sensor))
            self._last[sensor], self._usual[sensor] = self._n_slots, 1.0
        self._open.setdefault(number, {})[sensor] = value, now
        return "kept"

    def _is_full(self, sensor: str) -> bool:
        return len(self._last) >= self._most_sensors or sum(map(len, self._last)) + len(sensor) > _MOST_NAMES

    def due(self) -> int | None:
        """When the next slot can be closed; None before the first reading."""
        return None if self._next is None else (self._next + 1) * self.slot + self.wait

    def close(self, now: int) -> list[SlotRow]:
        """The slots that are over."""
        rows: list[SlotRow] = []
        if self._next is None:
            return rows
        end = (now - self.wait) // self.slot
        if end - self._next > _MOST_EMPTY:  # the process slept: what was collected, then the present
            rows += self._close_open()
            self._next = end
        while self._next < end:
            rows.append(self._row(self._next))
            self._next += 1
        return rows

    def finish(self) -> list[SlotRow]:
        """The slots that have readings, over or not. The next reading starts anew, at whatever time it has."""
        rows = self._close_open()
        self._next = None
        return rows

    def _close_open(self) -> list[SlotRow]:
        return [self._row(number) for number in sorted(self._open)]

    def _row(self, number: int) -> SlotRow:
        readings = self._open.pop(number, {})
        if readings:
            self._n_slots += 1
            for sensor in readings:
                self._usual[sensor] += (self._n_slots - self._last[sensor] - self._usual[sensor]) / 2
                self._last[sensor] = self._n_slots
                if sensor in self._silent:  # not before: slots that are still open before this one may lack it
                    self._silent.discard(sensor)
                    self.changes.append(("back", sensor))
            self._forget()
        known = set(self.columns)
        self.columns += tuple(sensor for sensor in readings if sensor not in known)
        found = [readings.get(sensor, _NO_READING) for sensor in self.columns]
        values = np.array([value for value, _ in found], dtype=np.float64)
        arrived = np.array([moment for _, moment in found], dtype=np.int64)
        return SlotRow(number * self.slot, self.columns, values, arrived)

    def _forget(self) -> None:
        for sensor in self.columns:
            silent_for = self._n_slots - self._last[sensor]
            if silent_for >= self._silent_after * self._usual[sensor] and sensor not in self._silent:
                self._silent.add(sensor)
                self.changes.append(("silent", sensor))
            if silent_for >= self._forget_after and not any(sensor in slot for slot in self._open.values()):
                self._silent.discard(sensor)
                del self._last[sensor], self._usual[sensor]
                self._vanished[sensor] = None
                self.changes.append(("vanished", sensor))
        while len(self._vanished) > self._most_sensors:
            del self._vanished[next(iter(self._vanished))]
        self.columns = tuple(sensor for sensor in self.columns if sensor in self._last)
