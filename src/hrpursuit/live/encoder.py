"""Time slots to messages."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from hrpursuit.compression.parameters import Amounts, request_target
from hrpursuit.live.keyframe import MOST_SLOTS_PER_MESSAGE, Keyframe
from hrpursuit.live.plan import MOST_READINGS, Plan, check_names
from hrpursuit.live.planning import make_plan
from hrpursuit.live.slot_coder import LONGEST, MOST_TIME, Bits, SlotCoder, Wanted
from hrpursuit.live.t0 import Learner, SparsePlan
from hrpursuit.live.wire import is_keyframe, new_stream, seal, seal_keyframe

_HISTORY = 600  # slots by which units and seasons are chosen: two of the longest season
#: Slots before the new ones that a keyframe repeats. They fill short gaps of a receiver; for the predictors one would
#: do: on the October readings at max_error=1, keyframe every 250, it is 10,071 bytes with 0, 10,158 with 4, 10,566
#: with 24 and 12,315 with 96.
_REPEATED = 4
_DICTIONARY_EVERY = 8  # keyframes that carry the dictionary, one in so many; those in between only name it
_BYTES_PER_READING, _MORE_BYTES = 16, 4096  # of the first buffer; a keyframe takes a larger one if need be
_ODD_BYTES = 10  # that a reading costs which is sent as a float


class LiveEncoder:
    """Code the readings of each time slot as a message of a few bytes.

    Give exactly one of `max_error`, `lossless=True` and `n_nonzero_coefs`. Messages depend on those before them, except
    keyframes, which can be decoded alone. Before a message is returned, every slot is compared with what a decoder will
    make of it.

    Parameters
    ----------
    columns : iterable of str
        Names of the sensors, 1 to 4096.
    max_error : float, mapping or array-like of shape (n_columns,), default=None
        Bound on the error of every single reading, in the unit of its column; by column as for `compress`.
    lossless : bool or sequence of str, default=False
        True: keep every bit of every reading. Names of columns: keep every bit of these, whatever `max_error` is.
    n_nonzero_coefs : int, default=None
        T0, the number of codes per slot, in a dictionary that `MiniBatchHRP` learns from the slots sent so far; for up
        to 256 columns. With fewer than T0 columns there are as many codes as columns. Errors then have no bound. Until
        the dictionary is learned, slots are lossless.
    keyframe_every : int, default=250
        Maximum number of slots from one keyframe to the next; fewer if these would have more than 2^22 readings.
    slots_per_message : int, default=1
        Number of slots per message, from 1 to 1024. With many columns choose it so that messages stay below the `limit`
        of the decoder.
    key : bytes, default=None
        With a key, each message carries a tag of 8 bytes, an HMAC-SHA256 made with it.
    stream : int, default=None
        Identity of the stream, from 0 to 2^64 - 1. None: from the clock and random bits, so that it rises each time a
        gateway starts anew.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns at present.
    stream : int
        Identity of the stream.
    n_slots, n_messages, n_keyframes, n_bytes : int
        Numbers of slots, messages, keyframes and bytes sent so far.
    components : array of shape (n_atoms, n_columns), or None
        Atoms in use, if `n_nonzero_coefs` was given and they are learned.
    n_changes : int
        Number of times that the dictionary no longer fitted the readings, so that a new one was learned.

    Examples
    --------
    >>> from hrpursuit.live import LiveDecoder, LiveEncoder
    >>> encoder, decoder = LiveEncoder(["flow", "pressure"], max_error=0.5), LiveDecoder()
    >>> for second in range(3):
    ...     [slot] = decoder.decode(encoder.encode([20.0 + second, 1013.2], second * 10**9))
    >>> slot.columns, bool(abs(slot.values - [22.0, 1013.2]).max() <= 0.5), slot.time
    (('flow', 'pressure'), True, 2000000000)
    """

    def __init__(
        self,
        columns: Iterable[str],
        *,
        max_error: Amounts | None = None,
        lossless: bool | Iterable[str] = False,
        n_nonzero_coefs: int | None = None,
        keyframe_every: int = 250,
        slots_per_message: int = 1,
        key: bytes | None = None,
        stream: int | None = None,
    ) -> None:
        given = {
            "max_error": max_error is not None,
            "n_nonzero_coefs": n_nonzero_coefs is not None,
            "lossless=True": lossless is True,
        }
        if sum(given.values()) != 1:
            came = " and ".join(name for name, is_given in given.items() if is_given) or "none"
            raise ValueError(f"give exactly one of max_error, n_nonzero_coefs and lossless=True; got {came}.")
        exact: Any = tuple(lossless) if isinstance(lossless, Iterator) else lossless
        self._request = request_target(max_error=max_error, lossless=exact, n_nonzero_coefs=n_nonzero_coefs)
        self._n_nonzero = None if n_nonzero_coefs is None else int(n_nonzero_coefs)
        self._every = _whole("keyframe_every", keyframe_every, 1, 1 << 20)
        self._slots_per_message = _whole("slots_per_message", slots_per_message, 1, MOST_SLOTS_PER_MESSAGE)
        if key is not None and (not isinstance(key, bytes) or not key):
            raise ValueError(f"key must be bytes, at least one; got {type(key).__name__}.")
        self._key = key
        self.stream = new_stream() if stream is None else _whole("stream", stream, 0, 2**64 - 1)
        self.n_slots = self.n_messages = self.n_keyframes = self.n_bytes = 0
        self._waiting: list[tuple[int, np.ndarray]] = []
        self._history: deque[tuple[int, np.ndarray]] = deque(maxlen=_HISTORY)
        self._interval = 0
        self._learner: Learner | None = None
        self._set_columns(columns)

    def _set_columns(self, columns: Iterable[str]) -> None:
        names = check_names(columns)
        self._request.check(names)
        learner = None if self._n_nonzero is None else Learner(len(names), self._n_nonzero)
        target = self._request.target(names, [])
        self._bounds = np.zeros(len(names)) if self._n_nonzero else target.bounds(len(names))
        self.columns, self._learner = names, learner
        self._coder: SlotCoder[Plan | SparsePlan] | None = None  # None: the next message is a keyframe
        self._since_keyframe = 0
        self._odd_bytes, self._allowed_odd_bytes = 0, 0
        self._n_since_dictionary = 0  # keyframes; 0: the next one carries it

    @property
    def components(self) -> np.ndarray | None:
        return None if self._learner is None else self._learner.components

    @property
    def n_changes(self) -> int:
        return 0 if self._learner is None else self._learner.n_changes

    def encode(self, row: Any, time: int) -> bytes | None:
        """Code the readings of a slot.

        Parameters
        ----------
        row : array-like of shape (n_columns,)
            Readings, NaN for a sensor without one. A masked reading is a gap, too.
        time : int
            Nanoseconds since 1970 (UTC).

        Returns
        -------
        message : bytes or None
            None until `slots_per_message` slots are waiting.
        """
        values = _readings(row)
        if values.shape != (len(self.columns),):
            raise ValueError(f"row must have {len(self.columns)} readings, one per column; got shape {values.shape}.")
        if not isinstance(time, Integral) or isinstance(time, bool) or abs(int(time)) >= MOST_TIME:
            raise ValueError(f"time must be whole nanoseconds since 1970, within 2^62 of it; got {time!r}.")
        values[np.isnan(values)] = np.nan  # all NaN are gaps
        self._waiting.append((int(time), values))
        return self.flush() if len(self._waiting) >= self._slots_per_message else None

    def flush(self) -> bytes | None:
        """Return the slots that are waiting, in a message that may have fewer than `slots_per_message`.

        Returns
        -------
        message : bytes or None
            None if no slot is waiting.
        """
        if not self._waiting:
            return None
        slots, self._waiting = self._waiting, []
        message = self._dependent(slots) or self._keyframe(slots)
        self._since_keyframe += len(slots)
        self._remember(slots)
        self.n_slots += len(slots)
        self.n_messages += 1
        self.n_bytes += len(message)
        return message

    def request_keyframe(self) -> None:
        """Make the next message a keyframe: after a reconnection, or when a receiver asks for it."""
        self._coder = None
        self._n_since_dictionary = 0

    def change_columns(self, columns: Iterable[str]) -> None:
        """Continue with other columns; the next message is a keyframe.

        Parameters
        ----------
        columns : iterable of str
            Names of the columns. The encoder keeps the readings of those that it had before. A dictionary is learned
            anew.
        """
        if self._waiting:
            raise ValueError("slots of the old columns wait; send what flush() gives before the columns change.")
        before = {name: place for place, name in enumerate(self.columns)}
        self._set_columns(columns)
        places = np.array([before.get(name, -1) for name in self.columns])
        old, self._history = self._history, deque(maxlen=_HISTORY)
        for time, values in old:
            self._history.append((time, np.where(places >= 0, values[places], np.nan)))

    def _dependent(self, slots: list[tuple[int, np.ndarray]]) -> bytes | None:
        """A message that depends on those before; None if it has to be a keyframe."""
        coder, n = self._coder, len(self.columns)
        most = min(self._every, max(MOST_READINGS // n - _REPEATED, 1))
        if coder is None or self._since_keyframe + len(slots) > most:
            return None
        plan = coder.plan
        wanted = [plan.prepare(time, values) for time, values in slots]
        if self._is_too_odd(plan, wanted):
            return None
        bits = Bits.writing(len(slots) * n * _BYTES_PER_READING + _MORE_BYTES)
        coder.code_count(bits, len(slots), self._slots_per_message)
        for slot in wanted:
            if self._fails(plan, slot, coder.code(bits, slot)) is not None:
                return None
        body = bits.written()
        if body is None:
            return None
        message = seal(body, self.stream, self.n_messages, self._key)
        return None if is_keyframe(message) else message  # by chance it looks like one

    def _is_too_odd(self, plan: Plan | SparsePlan, wanted: list[Wanted]) -> bool:
        """Whether readings that do not fit the plan have cost as much as a keyframe with another one."""
        if isinstance(plan, SparsePlan):
            return not all(plan.holds(slot.values) for slot in wanted)
        self._odd_bytes += _ODD_BYTES * sum(len(slot.odd) for slot in wanted)
        return self._odd_bytes > self._allowed_odd_bytes

    def _fails(self, plan: Plan | SparsePlan, wanted: Wanted, got: tuple[int, np.ndarray]) -> np.ndarray | None:
        """Columns whose reading would not come back as asked; None if all do."""
        time, values = got
        given = wanted.values
        with np.errstate(invalid="ignore", over="ignore"):
            same = (values == given) & (np.signbit(values) == np.signbit(given))
            if isinstance(plan, SparsePlan):
                same |= np.isfinite(values)
            else:
                rounding = np.minimum(1e-3 * self._bounds, 4 * np.spacing(np.abs(given)))
                most = self._bounds * (1 + 1e-9) + np.where(np.isfinite(rounding), rounding, 0.0)
                same |= (np.abs(values - given) <= most) & (self._bounds > 0)
        fails = ~(same | (np.isnan(values) & np.isnan(given)))
        if time != wanted.time:
            raise RuntimeError(f"the slot of {wanted.time} would be decoded as that of {time}; please report this.")
        return fails if fails.any() else None

    def _keyframe(self, slots: list[tuple[int, np.ndarray]]) -> bytes:
        n_repeated = min(_REPEATED, len(self._history), MOST_READINGS // len(self.columns) - len(slots))
        repeated = list(self._history)[len(self._history) - n_repeated :]
        rows = [*repeated, *slots]
        times = [time for time, _ in rows]
        if len(times) > 1 and 0 < times[-1] - times[-2] < LONGEST:
            self._interval = times[-1] - times[-2]
        plan = self._plan(slots)
        forced = [np.zeros(len(self.columns), bool) for _ in rows]
        size = len(rows) * len(self.columns) * _BYTES_PER_READING + _MORE_BYTES
        while True:
            coder, bits, is_right = SlotCoder(plan, times[0], self._interval), Bits.writing(size), True
            for (time, values), odd in zip(rows, forced, strict=True):
                wanted = plan.prepare(time, values, odd)
                fails = self._fails(plan, wanted, coder.code(bits, wanted))
                if fails is not None:
                    odd |= fails
                    is_right = False
            coded = bits.written()
            if is_right and coded is not None:
                break
            size *= 2
        first = self.n_slots - (len(rows) - len(slots))
        body = Keyframe(plan, self._slots_per_message, first, len(rows), times[0], self._interval, coded).to_bytes()
        message = seal_keyframe(body, self.stream, self.n_messages, self._key)
        self._coder, self._since_keyframe = coder, 0
        self._odd_bytes, self._allowed_odd_bytes = 0, max(len(message), 2 * self._allowed_odd_bytes * self._was_odd)
        self.n_keyframes += 1
        return message

    @property
    def _was_odd(self) -> bool:
        """Whether the last keyframe came because readings did not fit, so that the next such one should wait longer."""
        return self._odd_bytes > self._allowed_odd_bytes > 0

    def _plan(self, slots: list[tuple[int, np.ndarray]]) -> Plan | SparsePlan:
        if self._learner is not None and self._learner.dictionary is not None:
            sends = self._n_since_dictionary % _DICTIONARY_EVERY == 0
            self._n_since_dictionary += 1
            return self._learner.plan(self.columns, sends)
        history = np.array([values for _, values in self._history] + [values for _, values in slots])
        return make_plan(self.columns, self._bounds, history)

    def _remember(self, slots: list[tuple[int, np.ndarray]]) -> None:
        self._history.extend(slots)
        if self._learner is None:
            return
        has_learned = [self._learner.learn(values) for _, values in slots]
        if any(has_learned):
            self.request_keyframe()


def _readings(row: Any) -> np.ndarray:
    """A copy of a row as floats, with NaN where it is masked."""
    if isinstance(row, Mapping):
        raise ValueError("row must be the readings in the order of the columns; got a mapping.")
    try:
        if isinstance(row, np.ma.MaskedArray):
            return np.where(np.ma.getmaskarray(row), np.nan, np.asarray(row.data, dtype=np.float64))
        return np.array(row, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"row must be numbers that float64 can hold, NaN or None for a gap: {error}.") from error


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}; got {value!r}.")
    return int(value)
