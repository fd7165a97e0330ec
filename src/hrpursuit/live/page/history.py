"""What the page shows: the last slots, rebuilt and true, with figures and happenings."""

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hrpursuit.live.figures import Figures, Happening, Happenings
from hrpursuit.live.messages import Slot
from hrpursuit.live.slots import SECOND, Clock, SlotRow

_MOST_SLOTS, _MOST_CELLS = 480, 200_000  # that are shown, whichever is fewer
_MOST_TRUE = 1000  # rows of a gateway that wait for their rebuilt slot
_LAST = 100  # slots over which bytes per slot are averaged
_MOST_HAPPENINGS = 60


@dataclass(frozen=True)
class Shown:
    """One slot of the page."""

    number: int
    time: int
    values: np.ndarray
    true: np.ndarray | None
    n_bytes: float

    def packed(self) -> dict[str, Any]:
        return {
            "t": self.time // 1_000_000,  # milliseconds, as browsers count
            "v": _numbers(self.values),
            "r": None if self.true is None else _numbers(self.true),
            "b": round(self.n_bytes, 2),
        }


class History:
    """Collects what the page shows; bounded, however long it runs.

    Parameters
    ----------
    title : str
        Heading of the page.
    figures : Figures
        Of the controller.
    happenings : sequence of Happenings
        Of all roles in this process.
    clock : Clock
        Of the controller.
    bound : callable
        Gives the bound on the error, one number or one per column; None where there is none.
    components : callable
        Gives the atoms, one per row, or None.
    """

    def __init__(
        self,
        title: str,
        figures: Figures,
        happenings: Sequence[Happenings],
        clock: Clock,
        *,
        bound: Callable[[], Any] = lambda: None,
        components: Callable[[], np.ndarray | None] = lambda: None,
    ) -> None:
        self.title = title
        self.columns: tuple[str, ...] = ()
        self.generation = 0  # rises when all that was sent to a browser must be replaced
        self._figures, self._happenings, self._clock = figures, happenings, clock
        self._bound, self._components = bound, components
        self._atoms: np.ndarray | None = None
        self._slots: deque[Shown] = deque(maxlen=_MOST_SLOTS)
        self._true: dict[int, SlotRow] = {}
        self._number = 0

    def add_true(self, row: SlotRow) -> None:
        """Readings as they came, from a gateway in this process."""
        self._true[row.time] = row
        while len(self._true) > _MOST_TRUE:
            del self._true[next(iter(self._true))]

    def add(self, slot: Slot, n_bytes: float) -> float | None:
        """A rebuilt slot; returns the delay from the last of its readings, in seconds, if that is known."""
        if slot.columns != self.columns:
            self._change_columns(slot.columns)
        if self._components() is not self._atoms:
            self._atoms = self._components()
            self.generation += 1
        row = self._true.pop(slot.time, None)
        true = None if row is None else _aligned(row.values, row.columns, self.columns)
        self._number += 1
        self._slots.append(Shown(self._number, slot.time, slot.values, true, n_bytes))
        if row is None or not row.arrived.any():
            return None
        return (self._clock.now() - int(row.arrived[row.arrived > 0].min())) / SECOND / self._clock.speed

    def _change_columns(self, columns: tuple[str, ...]) -> None:
        most = max(2, min(_MOST_SLOTS, _MOST_CELLS // max(1, len(columns))))
        old = self.columns
        kept = [
            replace(
                one,
                values=_aligned(one.values, old, columns),
                true=None if one.true is None else _aligned(one.true, old, columns),
            )
            for one in self._slots
        ]
        self._slots = deque(kept, maxlen=most)
        self.columns = columns
        self.generation += 1

    def snapshot(self) -> dict[str, Any]:
        """All of it, for a browser that has nothing yet."""
        bound = self._bound()
        atoms = self._components()
        return {
            "generation": self.generation,
            "title": self.title,
            "most": self._slots.maxlen,
            "columns": self.columns,
            "bound": None if bound is None else np.broadcast_to(bound, len(self.columns)).tolist(),
            "atoms": None if atoms is None else [_numbers(atom, 3) for atom in atoms],
            **self.update(0, 0),
        }

    def update(self, number: int, happening: int) -> dict[str, Any]:
        """What is new since these, for a browser that has the rest."""
        slots = reversed(list(self._slots_since(number)))
        events = [one for one in self._last_happenings() if one[0].number > happening]
        return {
            "number": self._number,
            "slots": [one.packed() for one in slots],
            "events": [
                {"t": 1000 * one.time, "role": role, "level": one.level, "text": one.text} for one, role in events
            ],
            "happening": max([happening, *(one.number for one, _ in events)]),
            "figures": self.summary(),
        }

    def has_since(self, number: int) -> bool:
        """Whether all slots after this one are still there."""
        return not self._slots or self._slots[0].number <= number + 1

    def _slots_since(self, number: int) -> Iterable[Shown]:
        for one in reversed(self._slots):
            if one.number <= number:
                return
            yield one

    def _last_happenings(self) -> list[tuple[Happening, str]]:
        every = ((one, source.role) for source in self._happenings for one in source.last)
        return heapq.nlargest(_MOST_HAPPENINGS, every, key=lambda pair: pair[0].number)[::-1]

    def summary(self) -> dict[str, Any]:
        """Figures in one place: for the page, and for a line of text."""
        get = self._figures.get
        last = list(self._slots)[-_LAST:]
        n_slots = get("slots_total")
        return {
            "slots": n_slots,
            "sensors": len(self.columns),
            "bytes": get("bytes_total"),
            "json": get("bytes_as_json_total"),
            "float32": get("bytes_as_float32_total"),
            "bytes_per_slot": sum(one.n_bytes for one in last) / len(last) if last else None,
            "json_per_slot": get("bytes_as_json_total") / n_slots if n_slots else None,
            "float32_per_slot": get("bytes_as_float32_total") / n_slots if n_slots else None,
            "lost": get("messages_lost_total"),
            "keyframes": get("keyframes_total"),
            "connected": get("connected"),
            "delay": _seconds(self._figures.quantile("delay_seconds", 0.5)),
            "delay_99": _seconds(self._figures.quantile("delay_seconds", 0.99)),
            "time": self._slots[-1].time // 1_000_000 if self._slots else None,
        }


def _seconds(delay: float) -> float | None:
    return None if math.isnan(delay) else delay


def _numbers(values: np.ndarray, digits: int = 6) -> list[float | None]:
    """For JSON, which has no infinities; they are null, as gaps are."""
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist()]


def _aligned(values: np.ndarray, old: tuple[str, ...], new: tuple[str, ...]) -> np.ndarray:
    """Values of the columns `old` in the order of `new`; NaN where there are none."""
    if old == new:
        return values
    known = dict(zip(old, values.tolist(), strict=True))
    return np.array([known.get(name, np.nan) for name in new], dtype=np.float64)
