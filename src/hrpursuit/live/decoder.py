"""Messages back to time slots."""

import json
import struct

import numpy as np

from hrpursuit.compression.errors import damage
from hrpursuit.live.messages import REASONS, Gap, Reason, Slot
from hrpursuit.live.wire import (
    N_CHECK,
    N_TAG,
    VERSION,
    check,
    is_keyframe,
    is_tag,
    open_keyframe,
    version_of,
)

_BACK, _AHEAD = 64, 512  # sequence numbers that the check of a message is compared with
_MOST_STREAMS = 64  # streams that are remembered as over


class LiveDecoder:
    """Rebuild time slots from messages. What cannot be decoded is a gap, never a wrong value."""

    def __init__(self, *, key: bytes | None = None, limit: int = 1 << 20) -> None:
        self._key, self._limit = key, limit
        self.columns: tuple[str, ...] = ()
        self.stream: int | None = None
        self.components: np.ndarray | None = None
        self.counts: dict[str, int] = dict.fromkeys(["messages", "keyframes", "slots", "lost", *REASONS], 0)
        self._over: list[int] = []
        self._expected = 0
        self._arrived = -1
        self._n_slots = 0

    def decode(self, message: bytes) -> list[Slot] | Gap:
        """The slots of a message, or why there are none; never raises for what is in the bytes."""
        found = self._decode(bytes(message))
        self.counts["messages"] += 1
        if isinstance(found, Gap):
            self.counts[found.reason] += 1
        else:
            self.counts["slots"] += len(found)
        return found

    def _decode(self, message: bytes) -> list[Slot] | Gap:
        if len(message) > self._limit:
            return Gap("damaged", f"the message has {len(message)} bytes, more than the limit of {self._limit}.")
        sequence = self._sequence_of(message)
        if sequence is None and is_keyframe(message):
            return self._keyframe(message)
        if self.stream is None:
            return Gap("waiting", "no keyframe has come yet.")
        if sequence is None:
            return Gap("damaged", "the check of the message is wrong.")
        body = message[N_CHECK:]
        if self._key is not None:
            body, given = body[:-N_TAG], body[-N_TAG:]
            if not is_tag(given, message[:-N_TAG], self.stream, sequence, self._key):
                return Gap("key", "the tag of the message is wrong.")
        if sequence < self._expected:
            return Gap("duplicate", f"message {sequence} has come before, or too late.")
        n_missed = self._note(sequence)
        if sequence > self._expected:
            return Gap("missed", f"message {self._expected} has not come; waiting for a keyframe.", n_missed)
        self._expected += 1
        return self._slots(body)

    def _note(self, sequence: int) -> int:
        n_missed = max(0, sequence - self._arrived - 1)
        self._arrived = max(self._arrived, sequence)
        self.counts["lost"] += n_missed
        return n_missed

    def _sequence_of(self, message: bytes) -> int | None:
        if self.stream is None or len(message) < N_CHECK + (N_TAG if self._key is not None else 0):
            return None
        (given,) = struct.unpack_from("<H", message)
        body = message[N_CHECK : len(message) - (N_TAG if self._key is not None else 0)]
        near = [self._expected, *range(self._expected + 1, self._expected + _AHEAD)]
        near += range(self._expected - 1, max(-1, self._expected - _BACK), -1)
        return next((number for number in near if check(body, self.stream, number) == given), None)

    def _keyframe(self, message: bytes) -> list[Slot] | Gap:
        if version_of(message) != VERSION:
            return Gap("version", f"the message is of version {version_of(message)}; this package reads {VERSION}.")
        try:
            with damage("a keyframe"):
                head = open_keyframe(message)
        except ValueError as error:
            return Gap("damaged", f"{error}.")
        gap = self._refused(message, head.stream, head.sequence, head.tagged)
        if gap is not None:
            return gap
        if head.stream != self.stream:
            if self.stream is not None:
                self._over = [*self._over, self.stream][-_MOST_STREAMS:]
            self.stream, self._arrived, self._n_slots = head.stream, head.sequence - 1, 0
        self._note(head.sequence)
        self._expected = head.sequence + 1
        self.counts["keyframes"] += 1
        first, size = struct.unpack_from("<QI", head.body)
        self.columns = tuple(json.loads(head.body[12 : 12 + size]))
        self._n_slots = first
        return self._slots(head.body[12 + size :])

    def _refused(self, message: bytes, stream: int, sequence: int, tagged: bool) -> Gap | None:
        if tagged != (self._key is not None):
            has = "has a tag, and there is no key to check it with" if tagged else "has no tag, and a key was given"
            return Gap("key", f"the keyframe {has}.")
        if self._key is not None and not is_tag(message[-N_TAG:], message[:-N_TAG], stream, sequence, self._key):
            return Gap("key", "the tag of the keyframe is wrong.")
        if stream in self._over or (self._key is not None and self.stream is not None and stream < self.stream):
            return Gap("old", "the keyframe is of a stream that is over.")
        if stream == self.stream and sequence < self._expected:
            reason: Reason = "duplicate" if sequence == self._expected - 1 else "old"
            return Gap(reason, f"keyframe {sequence} has come before, or too late.")
        return None

    def _slots(self, rows: bytes) -> list[Slot]:
        size = 8 * (len(self.columns) + 1)
        slots = []
        for at in range(0, len(rows), size):
            (time,) = struct.unpack_from("<q", rows, at)
            values = np.frombuffer(rows, np.float64, len(self.columns), at + 8).copy()
            slots.append(Slot(time, self.columns, values, self._n_slots))
            self._n_slots += 1
        return slots
