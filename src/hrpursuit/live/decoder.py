"""Messages back to time slots."""

from collections import deque
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.live.keyframe import MOST_SLOTS_PER_MESSAGE, Keyframe
from hrpursuit.live.messages import REASONS, Gap, Reason, Slot
from hrpursuit.live.plan import MOST_READINGS
from hrpursuit.live.slot_coder import Bits, SlotCoder
from hrpursuit.live.t0 import Dictionary, SparsePlan, UnknownDictionary
from hrpursuit.live.wire import (
    N_TAG,
    VERSION,
    KeyframeHead,
    Sealed,
    is_keyframe,
    is_tag,
    open_keyframe,
    version_of,
)

_BACK, _AHEAD = 64, 512  # sequence numbers that the check of a message is compared with, to say what is wrong
#: Messages that came too early by so many are kept: those before them may be on their way. Without a tag each further
#: place is one more at which a damaged message could be taken for a good one, with a chance of 2^-16.
_KEPT, _KEPT_TAGGED = 2, 16
_MOST_STREAMS = 64  # streams that are remembered as over
_MOST_DICTIONARIES = 4


class LiveDecoder:
    """Rebuild time slots from messages.

    A message that is missing, doubled or late leads to a gap, never to wrong values. A damaged message leads to a gap
    too, unless its check is right by chance; `docs/reference/wire.md` says how likely that is. With a key the
    probability is one in 2^64.

    Parameters
    ----------
    key : bytes, default=None
        Refuse messages without a tag made with this key.
    limit : int, default=2**20
        Refuse messages of more than this number of bytes.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns in the last keyframe; empty before the first.
    max_error : array of shape (n_columns,), or None
        Bounds of the columns, 0 where they are lossless; None before the first keyframe and while slots are sparse
        codes, which have no bound.
    stream : int or None
        Identity of the stream that is decoded.
    components : array of shape (n_atoms, n_columns), or None
        Atoms, while slots are sparse codes; otherwise None.
    dictionary_message : bytes or None
        The last keyframe that carried these atoms. Keyframes that only refer to their dictionary can be decoded after
        it.
    counts : dict of str to int
        Numbers of "messages", "keyframes" and "slots" that arrived, of messages that are "lost" (had not arrived when a
        later keyframe was decoded), and of gaps by their reason.
    """

    def __init__(self, *, key: bytes | None = None, limit: int = 1 << 20) -> None:
        if key is not None and (not isinstance(key, bytes) or not key):
            raise ValueError(f"key must be bytes, at least one; got {type(key).__name__}.")
        self._key, self._limit = key, _checked_limit(limit)
        self.columns: tuple[str, ...] = ()
        self.max_error: np.ndarray | None = None
        self.stream: int | None = None
        self.components: np.ndarray | None = None
        self.dictionary_message: bytes | None = None
        self.counts: dict[str, int] = dict.fromkeys(["messages", "keyframes", "slots", "lost", *REASONS], 0)
        self._coder: SlotCoder[Any] | None = None  # None: wait for a keyframe
        self._slots_per_message = 1
        self._over: deque[int] = deque(maxlen=_MOST_STREAMS)
        self._dictionaries: dict[int, Dictionary] = {}
        self._expected = 0  # number of the next message
        self._came: dict[int, bytes] = {}  # later messages that came; what those have that are kept
        self._n_slots = 0  # number of the next slot that was not given yet
        self._slot = 0  # number of the next slot that the coder gives

    def decode(self, message: bytes) -> list[Slot] | Gap:
        """Decode the slots of a message, or return why there are none. No bytes of a message raise an exception.

        Parameters
        ----------
        message : bytes

        Returns
        -------
        slots : list of Slot, or Gap
            There can be several slots if a keyframe has slots that were missed, or if messages arrived in another
            order. Times are those that the encoder was given. The list is empty only for a keyframe whose slots were
            all returned before.
        """
        if not isinstance(message, bytes | bytearray | memoryview):
            raise TypeError(f"message must be bytes; got {type(message).__name__}.")
        found = self._decode(bytes(message[: self._limit + 1]))
        self.counts["messages"] += 1
        if isinstance(found, Gap):
            self.counts[found.reason] += 1
        else:
            self.counts["slots"] += len(found)
        return found

    def _decode(self, message: bytes) -> list[Slot] | Gap:
        if len(message) > self._limit:
            return Gap("damaged", f"the message has more bytes than the limit of {self._limit}.")
        if is_keyframe(message):
            return self._keyframe(message)
        sealed = Sealed.of(message, self._key is not None)
        if sealed is not None and self.stream is not None and sealed.is_at(self.stream, self._expected):
            return self._next(sealed)
        if self.stream is None:
            return Gap("waiting", "no keyframe has come yet.")
        return self._other(sealed, self.stream)

    def _next(self, sealed: Sealed) -> list[Slot] | Gap:
        """The message that is expected, and those after it that came before."""
        assert self.stream is not None
        if not self._is_genuine(sealed, self._expected):
            return Gap("key", "the tag of the message is wrong.")
        slots = self._body(sealed.body)
        if isinstance(slots, Gap):
            return slots
        return slots + self._kept()

    def _kept(self) -> list[Slot]:
        slots: list[Slot] = []
        while self._came.get(self._expected):
            more = self._body(self._came[self._expected])
            if isinstance(more, Gap):
                break
            slots += more
        return slots

    def _body(self, body: bytes) -> list[Slot] | Gap:
        """Decode the body of the expected message."""
        if self._coder is None:
            self._came[self._expected] = b""
            return Gap("waiting", "the state was lost at a damaged message; waiting for a keyframe.")
        coder = self._coder

        def read(bits: Bits) -> list[Slot]:
            count = coder.code_count(bits, 0, self._slots_per_message)
            if not 1 <= count <= MOST_SLOTS_PER_MESSAGE or (coder.n_rows + count) * coder.n > 2 * MOST_READINGS:
                raise DamagedFile("a message has an impossible number of slots")
            return self._read_slots(coder, bits, count)

        try:
            slots = _decoded(body, read)
        except DamagedFile as error:
            self._coder = None  # the kernels have gone on with something else
            return Gap("damaged", f"{error}; waiting for a keyframe.")
        self._came.pop(self._expected, None)
        self._expected += 1
        self._slot += len(slots)
        self._n_slots = self._slot
        return slots

    def _read_slots(self, coder: SlotCoder[Any], bits: Bits, count: int) -> list[Slot]:
        slots = []
        for i in range(count):
            time, values = coder.code(bits, None)
            slots.append(Slot(time, self.columns, values, self._slot + i))
        return slots

    def _other(self, sealed: Sealed | None, stream: int) -> Gap:
        """Say what is wrong with a message that is not the expected one."""
        later = range(self._expected + 1, self._expected + _AHEAD)
        earlier = range(self._expected - 1, max(-1, self._expected - _BACK), -1)
        numbers = [number for part in (later, earlier) for number in part]
        sequence = None if sealed is None else next((n for n in numbers if sealed.is_at(stream, n)), None)
        if sealed is None or sequence is None:
            return Gap("damaged", "the check of the message is wrong: it was changed, or is of another stream.")
        if not self._is_genuine(sealed, sequence):
            return Gap("key", "the tag of the message is wrong.")
        if self._came.get(sequence, sealed.body) != sealed.body:
            self._came[sequence] = b""  # two that say they are this one: neither is decoded
        if sequence < self._expected or sequence in self._came:
            return Gap("duplicate", f"message {sequence} has come before, or too late.")
        n_missed = sequence - self._expected - sum(number < sequence for number in self._came)
        is_kept = sequence - self._expected <= (_KEPT if self._key is None else _KEPT_TAGGED)
        self._came[sequence] = sealed.body if is_kept else b""
        return Gap("missed", f"message {self._expected} has not come; waiting for it or a keyframe.", n_missed)

    def _is_genuine(self, sealed: Sealed, sequence: int) -> bool:
        assert self.stream is not None
        return self._key is None or sealed.has_tag(self.stream, sequence, self._key)

    def _keyframe(self, message: bytes) -> list[Slot] | Gap:
        if version_of(message) != VERSION:
            return Gap("version", f"the message is of version {version_of(message)}; this package reads {VERSION}.")
        try:
            with damage("a keyframe"):
                head = open_keyframe(message)
        except DamagedFile as error:
            return Gap("damaged", f"{error}.")
        gap = self._refusal(message, head)
        if gap is not None:
            return gap
        try:
            with damage("a keyframe"):
                found = Keyframe.from_bytes(head.body, self._dictionaries)
                coder: SlotCoder[Any] = SlotCoder(found.plan, found.time, found.interval)
            slots = _decoded(found.coded, lambda bits: [coder.code(bits, None) for _ in range(found.n_slots)])
        except UnknownDictionary as error:
            return Gap("dictionary", f"{error}; waiting for a keyframe that carries it.")
        except DamagedFile as error:
            return Gap("damaged", f"{error}.")
        if not isinstance(found.plan, SparsePlan):
            self.dictionary_message = None
        elif found.plan.sends_dictionary:
            self.dictionary_message = message
        return self._start(head, found, coder, slots)

    def _start(
        self, head: KeyframeHead, found: Keyframe, coder: SlotCoder[Any], rows: list[tuple[int, np.ndarray]]
    ) -> list[Slot]:
        """Go on from a keyframe."""
        if head.stream == self.stream:
            came = sum(number < head.sequence for number in self._came)
            self.counts["lost"] += head.sequence - self._expected - came
            self._came = {number: body for number, body in self._came.items() if number > head.sequence}
        else:
            if self.stream is not None:
                self._over.append(self.stream)
            self.stream, self._came, self._n_slots = head.stream, {}, 0
        self._coder, self._expected = coder, head.sequence + 1
        self._slots_per_message = found.slots_per_message
        self._take_plan(found)
        self._slot = found.first + found.n_slots
        new = [
            Slot(time, self.columns, values, found.first + i)
            for i, (time, values) in enumerate(rows)
            if found.first + i >= self._n_slots
        ]
        self._n_slots = self._slot
        self.counts["keyframes"] += 1
        return new + self._kept()

    def _take_plan(self, found: Keyframe) -> None:
        self.columns = found.plan.names
        if isinstance(found.plan, SparsePlan):
            dictionary = found.plan.dictionary
            if dictionary.check not in self._dictionaries or self.components is None:
                self.components = dictionary.atoms
            self._dictionaries[dictionary.check] = dictionary
            while len(self._dictionaries) > _MOST_DICTIONARIES:
                del self._dictionaries[next(iter(self._dictionaries))]
            self.max_error = None
        else:
            self.components, self.max_error = None, found.plan["bound"].copy()

    def _refusal(self, message: bytes, head: KeyframeHead) -> Gap | None:
        if head.tagged != (self._key is not None):
            has = "has a tag, and there is no key to check it" if head.tagged else "has no tag, and a key was given"
            return Gap("key", f"the keyframe {has}.")
        if self._key is not None and not is_tag(
            message[-N_TAG:], message[:-N_TAG], head.stream, head.sequence, self._key
        ):
            return Gap("key", "the tag of the keyframe is wrong.")
        is_older = self.stream is not None and head.stream < self.stream and self._key is not None
        if head.stream in self._over or is_older:
            return Gap("old", "the keyframe is of a stream that is over.")
        if head.stream == self.stream and head.sequence < self._expected:
            reason: Reason = "duplicate" if head.sequence == self._expected - 1 else "old"
            return Gap(reason, f"keyframe {head.sequence} has come before, or too late.")
        return None


def _checked_limit(limit: Any) -> int:
    if not isinstance(limit, Integral) or isinstance(limit, bool) or int(limit) < 1:
        raise ValueError(f"limit must be a whole number of bytes, at least 1; got {limit!r}.")
    return int(limit)


def _decoded(data: bytes, read: Callable[[Bits], Any]) -> Any:
    """What `read` makes of coded bytes; raises DamagedFile if an encoder would not have written them for it."""
    with damage("the coded slots"):
        bits = Bits.reading(data)
        found = read(bits)
        bits.check()
        bits.check_end(data)
    return found
