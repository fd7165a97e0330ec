"""The data centre: collects readings from topics, assembles time slots, and publishes one message for each."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hrpursuit.compression.tables.lookup import Lookup
from hrpursuit.live.archive import Archive
from hrpursuit.live.encoder import LiveEncoder
from hrpursuit.live.figures import listed
from hrpursuit.live.mqtt import Connection, Link, Outgoing, check_topic, default_name
from hrpursuit.live.readings import BadReading, SensorNames, read_payload
from hrpursuit.live.role import LAST_WORDS, Role
from hrpursuit.live.slots import SECOND, Clock, SlotAssembler, SlotRow

_BEHIND = 5  # slots that the gateway may be late before it says so
_BETWEEN_REQUESTS = 1.0  # seconds between keyframes that are sent on request
_MOST_SENSORS, _MOST_SPARSE = 4096, 256  # that a LiveEncoder takes, without and with n_nonzero_coefs
REQUEST = "keyframe"  # last level of the topic on which a controller asks for one
_WORDS = {
    "new": "new: a keyframe follows",
    "silent": "silent",
    "back": "back",
    "vanished": "left out after --forget-after slots of silence: a keyframe follows",
    "returned": "back after being left out: a keyframe follows. If sensors report seldom, give a longer --slot or "
    "--forget-after",
}
_MOST_LINES = 20  # per minute of each kind, of what sensors and controllers can make happen
_COUNTERS = (
    "readings_total", "readings_late_total", "readings_bad_total", "readings_refused_total", "readings_retained_total",
    "slots_total", "slots_dropped_total", "messages_total", "bytes_total", "keyframes_total",
    "keyframe_requests_total", "connections_total", "clock_jumps_total",
)  # fmt: skip
_SHORTEST = SECOND // 1000  # nanoseconds of a slot


@dataclass(frozen=True)
class GatewaySettings:
    """What a gateway does.

    Attributes
    ----------
    topics : tuple of str
        Filters of the topics with readings.
    to : str
        Topic of the messages.
    target : dict
        One of `max_error`, `lossless` and `n_nonzero_coefs`, as for LiveEncoder.
    slot, wait : int
        Length of a time slot, and how long after its end readings are waited for, in nanoseconds.
    field, time_field : str or None
        Where value and time are, if readings are JSON.
    qos : int
        Of subscriptions and messages.
    keyframe_every, slots_per_message, key
        As for LiveEncoder.
    archive : Path or None
        File for what was sent.
    most_waiting : int
        Slots that are kept while the broker is away.
    forget_after : int
        Slots without a reading after which a sensor is left out.
    name : str
        Identity at the broker; if empty, one that is made from `to`.
    """

    topics: tuple[str, ...]
    to: str
    target: dict[str, Any]
    slot: int = SECOND
    wait: int = 0
    field: str | None = None
    time_field: str | None = None
    qos: int = 1
    keyframe_every: int = 250
    slots_per_message: int = 1
    key: bytes | None = None
    archive: Path | None = None
    most_waiting: int = 3600
    forget_after: int = 600
    name: str = ""

    def __post_init__(self) -> None:
        for topic in self.topics:
            check_topic(topic, wildcards=True)
            if topic.startswith("$share/"):
                raise ValueError(f"{topic!r} gives each subscriber a part of the readings; leave $share/NAME/ out.")
        check_topic(self.to, wildcards=False)
        if SensorNames(self.topics)(self.to) is not None:
            raise ValueError(f"the topics of readings include {self.to!r}: the gateway would read its own messages.")
        if self.slot < _SHORTEST:
            raise ValueError(f"a slot must last 1ms or longer; got {self.slot} ns.")
        self.encoder(("any",))

    @property
    def is_by_sensor(self) -> bool:
        return isinstance(self.target.get("max_error"), dict)

    def encoder(self, columns: tuple[str, ...], stream: int | None = None) -> LiveEncoder:
        """For these columns; bounds of sensors that are not among them are left out."""
        target = self.target
        if self.is_by_sensor:
            lookup, bounds = Lookup(columns), target["max_error"]
            if not {"*", None} & set(bounds):
                raise ValueError("bounds by sensor need one for all others, whose names are not known yet: *=1.")
            target = {
                "max_error": {name: bound for name, bound in bounds.items() if name is None or lookup.fitting(name)}
            }
        return LiveEncoder(
            columns,
            **target,
            keyframe_every=self.keyframe_every,
            slots_per_message=self.slots_per_message,
            key=self.key,
            stream=stream,
        )


class Gateway(Role):
    """Runs until it is told to stop: then the last slot is sent and the archive closed.

    Parameters
    ----------
    settings : GatewaySettings
    connection : Connection
    clock : Clock, default=None
        None: the system clock.

    Attributes
    ----------
    shown : callable or None
        Called with each SlotRow before it is sent, as by a page on the same machine, which shows the true readings.
    """

    def __init__(self, settings: GatewaySettings, connection: Connection, *, clock: Clock | None = None) -> None:
        super().__init__("gateway", clock, _COUNTERS)
        self.settings = settings
        self.encoder: LiveEncoder | None = None
        self.shown: Callable[[SlotRow], None] | None = None
        self._names = SensorNames(settings.topics)
        self._slots = SlotAssembler(
            settings.slot,
            wait=settings.wait,
            forget_after=settings.forget_after,
            most_sensors=_MOST_SPARSE if "n_nonzero_coefs" in settings.target else _MOST_SENSORS,
        )
        self._waiting: deque[SlotRow] = deque()
        self._archive = Archive(settings.archive, self.happenings, settings.key) if settings.archive else None
        self._asked, self._is_asked = -_BETWEEN_REQUESTS, False  # when a keyframe was sent on request; one is due
        self._stopping = False  # slots that wait for a fuller message are sent then
        self._last_time = -(2**63)
        self._link = Link(
            connection,
            subscriptions=dict.fromkeys(settings.topics, settings.qos) | {f"{settings.to}/{REQUEST}": 0},
            handle=self._handle,
            next_message=self._next_message,
            name=settings.name or default_name("gateway", settings.to),
            # readings that were kept would come in a burst: without a time of their own they were of the wrong slot
            keep_session=settings.qos > 0 and settings.time_field is not None,
            figures=self.figures,
            happenings=self.happenings,
            connected=self._connected,
        )

    def _has_last_words(self) -> bool:
        self._stopping = True
        self._take(self._slots.finish())
        return self.encoder is not None or bool(self._waiting)

    def _say_unsent(self) -> None:
        if self._waiting:
            why = f"{LAST_WORDS:g} s were too short" if self.is_connected else "the broker was away"
            text = f"{len(self._waiting)} slots could not be sent before the stop: {why}"
            self.happenings.say(text, level=logging.WARNING)

    def _close(self) -> None:
        if self._archive is not None:
            self._archive.close()

    def _account(self) -> str:
        return f"{self.figures.get('slots_total'):.0f} slots in {self.figures.get('bytes_total'):.0f} bytes sent"

    async def _beside(self) -> None:
        while True:
            due = self._slots.due()
            seconds = 1.0 if due is None else self.clock.seconds_until(due)
            await asyncio.sleep(min(max(seconds, 0.001), 1.0))
            self._follow_clock()
            self._take(self._slots.close(self.clock.now()))
            self._say_what_is_wrong()

    def _follow_clock(self) -> None:
        jump = self.clock.jump()
        if not jump:
            return
        self.figures.count("clock_jumps_total")
        text = f"the system clock has jumped by {jump / SECOND:+.1f} s: the open slot is sent, slots go on from there"
        self.happenings.say(text, level=logging.WARNING)
        self._take(self._slots.finish())

    def _say_what_is_wrong(self) -> None:
        self._say_if_quiet(f"reading on {', '.join(self.settings.topics)}")
        n_waiting = len(self._waiting)
        if self._link.is_connected and n_waiting > _BEHIND and self.figures.get("messages_total"):
            median = self.figures.quantile("codec_seconds", 0.5)
            slot = self.settings.slot / SECOND / self.clock.speed
            self.happenings.repeat(
                "behind",
                f"the slot rate cannot be kept: {n_waiting} slots of {slot:g} s wait. It takes {1000 * median:.1f} ms "
                "to encode a message, and the broker has to acknowledge each one; give a longer --slot, or several "
                "--slots-per-message",
            )
        self.figures.set("slots_waiting", n_waiting)

    def _connected(self) -> None:
        self._listen_anew()
        if self.encoder is not None:
            self.encoder.request_keyframe()

    def _handle(self, topic: str, payload: bytes, is_retained: bool) -> None:
        if topic == f"{self.settings.to}/{REQUEST}":
            self._requested()
            return
        sensor = self._names(topic)
        if sensor is None:
            return
        if is_retained and self.settings.time_field is None:
            self.figures.count("readings_retained_total")
            text = f"a reading that the broker has retained on {topic} is left out: it may be of any time"
            self.happenings.repeat("retained", f"{text}; give --time-field if readings have one")
            return
        self._listen_anew()
        self.figures.count("readings_total")
        now = self.clock.now()
        try:
            value, moment = read_payload(payload, self.settings.field, self.settings.time_field)
        except BadReading as error:
            self.figures.count("readings_bad_total")
            hint = "; for JSON, give --field" if self.settings.field is None and payload.lstrip()[:1] == b"{" else ""
            self.happenings.repeat("bad", f"a payload on {topic} is no number, and counts as a gap: {error}{hint}")
            return
        kept = self._slots.add(sensor, value, now if moment is None else moment, now)
        if kept == "late":
            self.figures.count("readings_late_total")
            self._say_late(topic, now if moment is None else moment, now)
        elif kept == "early":
            self.figures.count("readings_bad_total")
            self.happenings.repeat("early", f"a reading on {topic} has a time more than a slot ahead; it is left out")
        elif kept == "full":
            self.figures.count("readings_refused_total")
            self.happenings.repeat("full", f"sensor {sensor} is refused: there are too many sensors")

    def _say_late(self, topic: str, moment: int, now: int) -> None:
        slot = self.settings.slot
        late = now - (moment // slot + 1) * slot - self.settings.wait
        text = f"a reading on {topic} came {late / SECOND:.2f} s after its slot was sent, and is left out"
        hint = "" if self.settings.time_field is None else ", or check the clock of the sensor"
        self.happenings.repeat("late", f"{text}; give a longer --wait{hint}")

    def _requested(self) -> None:
        if self.encoder is not None:
            self._is_asked = True
            self.figures.count("keyframe_requests_total")
            self.happenings.repeat("asked", "a keyframe was asked for", most=_MOST_LINES, level=logging.INFO)
            self._answer()

    def _answer(self) -> None:
        """Make the next message a keyframe if one was asked for, and the last such one was a while ago."""
        now = time.monotonic()
        if self._is_asked and self.encoder is not None and now - self._asked >= _BETWEEN_REQUESTS:
            self._asked, self._is_asked = now, False
            self.encoder.request_keyframe()

    def _take(self, rows: list[SlotRow]) -> None:
        for kind, words in _WORDS.items():
            sensors = [sensor for change, sensor in self._slots.changes if change == kind]
            if sensors:
                level = logging.INFO if kind in ("new", "back") else logging.WARNING
                self.happenings.repeat(kind, f"{_named(sensors)} {words}", most=_MOST_LINES, level=level)
        self._slots.changes.clear()
        for row in rows:
            if not row.columns:
                continue
            if self.shown is not None:
                self.shown(row)
            if len(self._waiting) >= self.settings.most_waiting:
                self._waiting.popleft()
                self.figures.count("slots_dropped_total")
                self.happenings.repeat("full", f"{self.settings.most_waiting} slots wait: the oldest are dropped")
            self._waiting.append(row)
        if rows:
            self.figures.set("sensors", len(self._slots.columns))
            self._link.wake()

    def _next_message(self) -> Outgoing | None:
        self._answer()
        start = time.perf_counter()
        message = self._encoded()
        if message is None:
            return None
        self.figures.observe("codec_seconds", time.perf_counter() - start)
        self.figures.count("messages_total")
        self.figures.count("bytes_total", len(message))
        if self._archive is not None:
            self._archive.add_message(message)
        return Outgoing(self.settings.to, message, self.settings.qos)

    def _encoded(self) -> bytes | None:
        """The next message of the slots that wait."""
        while self._waiting:
            row = self._waiting[0]
            if self.encoder is None:
                self.encoder = self.settings.encoder(row.columns)
            elif row.time <= self._last_time or row.columns != self.encoder.columns:
                message = self.encoder.flush()
                if message is not None:
                    return message
                if row.time <= self._last_time or self.settings.is_by_sensor:  # times of a stream only rise
                    self.encoder = self.settings.encoder(row.columns, self.encoder.stream + 1)
                else:
                    self.encoder.change_columns(row.columns)
            keyframes = self.encoder.n_keyframes
            self._waiting.popleft()
            self._last_time = row.time
            message = self.encoder.encode(row.values, row.time)
            self.figures.count("slots_total")
            self.figures.count("keyframes_total", self.encoder.n_keyframes - keyframes)
            if message is not None:
                return message
        return self.encoder.flush() if self._stopping and self.encoder is not None else None


def _named(sensors: list[str]) -> str:
    return f"{listed(sensors)} {'is' if len(sensors) == 1 else 'are'}"
