"""The body of a keyframe: what a receiver needs to know of a stream, and its last slots."""

from collections.abc import Mapping
from dataclasses import dataclass

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import Cursor, scaled, varint
from hrpursuit.live.plan import MOST_READINGS, Plan
from hrpursuit.live.slot_coder import MOST_TIME
from hrpursuit.live.t0 import Dictionary, SparsePlan

SAMPLES, SPARSE = range(2)
MOST_SLOTS_PER_MESSAGE = 1024


@dataclass(frozen=True)
class Keyframe:
    """What stands in a keyframe.

    Attributes
    ----------
    plan : Plan or SparsePlan
    slots_per_message : int
        That messages have if they say nothing else.
    first : int
        Number of its first slot in the stream.
    n_slots : int
        How many it has; those before the last ones were sent already.
    time, interval : int
        Of the first slot, and to the next, in nanoseconds.
    coded : bytes
    """

    plan: Plan | SparsePlan
    slots_per_message: int
    first: int
    n_slots: int
    time: int
    interval: int
    coded: bytes

    def to_bytes(self) -> bytes:
        plan = self.plan.to_bytes()
        out = bytes([SAMPLES if isinstance(self.plan, Plan) else SPARSE])
        out += varint(self.slots_per_message) + varint(self.first) + varint(self.n_slots)
        return out + scaled(self.time) + scaled(self.interval) + varint(len(plan)) + plan + self.coded

    @classmethod
    def from_bytes(cls, data: bytes, known: Mapping[int, Dictionary]) -> "Keyframe":
        """Take a body apart; `known` are the dictionaries that the receiver has, by their checks."""
        cursor = Cursor(data)
        mode = cursor.byte()
        slots_per_message, first = cursor.varint(MOST_SLOTS_PER_MESSAGE), cursor.varint(2**62)
        n_slots = cursor.varint(MOST_READINGS)
        time, interval = cursor.scaled(), cursor.scaled()
        if max(abs(time), abs(interval)) >= MOST_TIME or slots_per_message == 0 or mode > SPARSE:
            raise DamagedFile("a keyframe has an impossible time, mode or number of slots")
        section = cursor.take(cursor.varint())
        plan = Plan.from_bytes(section) if mode == SAMPLES else SparsePlan.from_bytes(section, known)
        if n_slots == 0 or n_slots * len(plan.names) > MOST_READINGS:
            raise DamagedFile("a keyframe has no slots, or too many")
        return cls(plan, slots_per_message, first, n_slots, time, interval, cursor.rest())
