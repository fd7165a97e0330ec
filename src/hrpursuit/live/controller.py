"""The remote side: rebuilds the time slots, publishes each sensor's value, keeps an archive and feeds the page."""

import asyncio
import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hrpursuit.live.archive import Archive
from hrpursuit.live.decoder import LiveDecoder
from hrpursuit.live.figures import listed
from hrpursuit.live.gateway import REQUEST
from hrpursuit.live.journal import Journal
from hrpursuit.live.messages import REASONS, Gap, Slot
from hrpursuit.live.mqtt import Connection, Link, Outgoing, check_topic, default_name
from hrpursuit.live.role import Role
from hrpursuit.live.slots import SECOND, Clock

_FIRST_WAIT, _LONGEST_WAIT = 5.0, 60.0  # seconds between requests for a keyframe; doubled until one has come
_COUNTERS = (
    "messages_total", "bytes_total", "keyframes_total", "slots_total", "messages_lost_total", "keyframe_requests_total",
    "values_published_total", "values_dropped_total", "connections_total", "bytes_as_json_total",
    "bytes_as_float32_total",
)  # fmt: skip
_EARLY = 2  # messages that came too early before a keyframe is asked for: the one before them may be on its way


@dataclass(frozen=True)
class ControllerSettings:
    """What a controller does.

    Attributes
    ----------
    source : str
        Topic of the messages.
    to : str or None
        Topic of rebuilt values, with {sensor} in it; None: they are not published.
    as_json : bool
        Publish {"value": …, "time": …}, not the number alone.
    qos : int
        Of the subscription and of what is published.
    key : bytes or None
        As for LiveDecoder.
    archive : Path or None
        File for the rebuilt slots.
    journal : Path or None
        File for the messages since the last keyframe, from which a controller that was killed goes on.
    most_waiting : int
        Values that are kept while the broker is away.
    name : str
        Identity at the broker, which keeps messages for it while it is away; if empty, one that is made from `source`.
    """

    source: str
    to: str | None = None
    as_json: bool = False
    qos: int = 1
    key: bytes | None = None
    archive: Path | None = None
    journal: Path | None = None
    most_waiting: int = 100_000
    name: str = ""

    def __post_init__(self) -> None:
        check_topic(self.source, wildcards=False)
        if self.archive is not None and self.archive == self.journal:
            raise ValueError(f"--archive and --journal must be two files; got {self.archive} for both.")
        if self.to is not None:
            if "{sensor}" not in self.to:
                raise ValueError(f"the topic of rebuilt values must contain {{sensor}}; got {self.to!r}.")
            check_topic(self.to.replace("{sensor}", "s"), wildcards=False)


class Controller(Role):
    """Runs until it is told to stop: then the archive is closed.

    Parameters
    ----------
    settings : ControllerSettings
    connection : Connection
    clock : Clock, default=None
        For delays; None: the system clock.

    Attributes
    ----------
    shown : callable or None
        Called with each Slot and its bytes, as by a page; gives the delay from its sensors in seconds, or None where
        that is not known: then delays count from the start of the slot.
    """

    def __init__(self, settings: ControllerSettings, connection: Connection, *, clock: Clock | None = None) -> None:
        super().__init__("controller", clock, _COUNTERS)
        for reason in REASONS:
            self.figures.count("messages_refused_total", 0, reason=reason)
        self.settings = settings
        self.decoder = LiveDecoder(key=settings.key)
        self.shown: Callable[[Slot, float], float | None] | None = None
        self._waiting: deque[Outgoing] = deque()
        self._archive = Archive(settings.archive, self.happenings) if settings.archive else None
        self._journal = Journal(settings.journal) if settings.journal else None
        self._restore()
        self._next_request, self._wait = -math.inf, _FIRST_WAIT
        self._n_early = 0
        self._components: np.ndarray | None = None
        self._told: tuple[int | None, tuple[str, ...]] = None, ()
        self._link = Link(
            connection,
            subscriptions={settings.source: settings.qos},
            handle=self._handle,
            next_message=lambda: self._waiting.popleft() if self._waiting else None,
            name=settings.name or default_name("controller", settings.source),
            keep_session=settings.qos > 0,
            figures=self.figures,
            happenings=self.happenings,
            connected=self._connected,
        )

    def _has_last_words(self) -> bool:
        return bool(self._waiting) and self._link.is_connected

    def _close(self) -> None:
        for one in (self._archive, self._journal):
            if one is not None:
                one.close()

    def _account(self) -> str:
        return f"{self.figures.get('slots_total'):.0f} slots rebuilt"

    def _restore(self) -> None:
        """Go on where a controller that was stopped or killed was: the messages in between may still come."""
        if self._journal is None:
            return
        n_slots = sum(
            len(found) for message in self._journal.read() if isinstance(found := self.decoder.decode(message), list)
        )
        self.decoder.counts.update(dict.fromkeys(self.decoder.counts, 0))
        if n_slots:
            self.happenings.say(f"goes on where it was, after {n_slots} slots of the journal")

    async def _beside(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.clock.jump()
            self._say_if_quiet(f"message on {self.settings.source}")

    def _connected(self) -> None:
        self._listen_anew()
        if self.decoder.stream is None:
            self._ask("a keyframe to start with")

    def _ask(self, why: str) -> None:
        now = time.monotonic()
        if now < self._next_request:
            return
        self._next_request = now + self._wait
        self._wait = min(2 * self._wait, _LONGEST_WAIT)
        self.figures.count("keyframe_requests_total")
        self.happenings.say(f"asks for {why}")
        self._waiting.append(Outgoing(f"{self.settings.source}/{REQUEST}", b"", 0))
        self._link.wake()

    def _handle(self, topic: str, payload: bytes, is_retained: bool) -> None:
        self._listen_anew()
        start = time.perf_counter()
        keyframes = self.decoder.counts["keyframes"]
        lost = self.decoder.counts["lost"]
        found = self.decoder.decode(payload)
        self.figures.observe("codec_seconds", time.perf_counter() - start)
        is_keyframe = self.decoder.counts["keyframes"] > keyframes
        self.figures.count("messages_total")
        self.figures.count("bytes_total", len(payload))
        self.figures.count("keyframes_total", is_keyframe)
        self._say_lost(self.decoder.counts["lost"] - lost)
        if isinstance(found, list) or found.reason == "missed":  # one that is too early may be decoded later
            self._write_journal(payload, is_keyframe)
        if isinstance(found, Gap):
            self._gap(found)
            return
        if self._archive is not None:
            self._archive.add(found)
        self._next_request, self._wait, self._n_early = -math.inf, _FIRST_WAIT, 0
        self._say_what_comes()
        self._see_atoms()
        for slot in found:
            self._slot(slot, len(payload) / len(found))
        self._link.wake()

    def _write_journal(self, message: bytes, is_keyframe: bool) -> None:
        if self._journal is None:
            return
        try:
            if not is_keyframe:
                self._journal.append(message)
            elif self.decoder.dictionary_message in (None, message):
                self._journal.start(message)
            else:
                self._journal.start(self.decoder.dictionary_message, message)
        except OSError as error:  # a full disk must not keep values back
            text = f"cannot write the journal: {error}; after a kill, this controller would wait for a keyframe"
            self.happenings.repeat("journal", text, level=logging.ERROR)

    def _say_what_comes(self) -> None:
        """Once for each stream, and when its sensors change."""
        now = self.decoder.stream, self.decoder.columns
        if now != self._told:
            self._told = now
            self.happenings.say(f"rebuilds the readings of {listed(self.decoder.columns)}")

    def _see_atoms(self) -> None:
        if self.decoder.components is not self._components:
            if self._components is not None:
                self.happenings.say("the dictionary has changed")
            self._components = self.decoder.components

    def _gap(self, gap: Gap) -> None:
        self.figures.count("messages_refused_total", reason=gap.reason)
        if gap.reason == "missed":
            self._n_early += 1
            if self._n_early >= _EARLY:
                self._ask(f"a keyframe: {gap.detail.split(';')[0]}")
        elif gap.reason == "waiting":
            self._ask("a keyframe")
        elif gap.reason == "dictionary":
            self._ask(f"a keyframe with the dictionary: {gap.detail.split(';')[0]}")
        elif gap.reason != "duplicate":
            hint = " Gateway and controller need the same --key-file." if gap.reason == "key" else ""
            self.happenings.repeat(gap.reason, f"a message is refused ({gap.reason}): {gap.detail}{hint}")

    def _say_lost(self, n: int) -> None:
        if n:
            self.figures.count("messages_lost_total", n)
            lost = f"{n} messages are lost" if n > 1 else "a message is lost"
            self.happenings.say(f"{lost}; right again from this keyframe on", level=logging.WARNING)

    def _slot(self, slot: Slot, n_bytes: float) -> None:
        present = slot.values[np.isfinite(slot.values)]
        self.figures.count("slots_total")
        self.figures.set("sensors", len(slot.columns))
        self.figures.count("bytes_as_json_total", len(_as_json(slot)))
        self.figures.count("bytes_as_float32_total", 4 * len(slot.columns))
        delay = None if self.shown is None else self.shown(slot, n_bytes)
        if delay is None:
            delay = (self.clock.now() - slot.time) / SECOND / self.clock.speed
        self.figures.observe("delay_seconds", delay)
        if self.settings.to is not None and len(present):
            self._publish(slot)

    def _publish(self, slot: Slot) -> None:
        assert self.settings.to is not None
        for sensor, value in zip(slot.columns, slot.values.tolist(), strict=True):
            if not math.isfinite(value):
                continue
            try:
                topic = check_topic(self.settings.to.replace("{sensor}", sensor), wildcards=False)
                if topic in (self.settings.source, f"{self.settings.source}/{REQUEST}"):
                    raise ValueError("values among the messages would be read as such")
            except ValueError:
                self.happenings.repeat("name", f"sensor {sensor!r} cannot be part of a topic; it is not published")
                continue
            text = json.dumps({"value": value, "time": slot.time}) if self.settings.as_json else repr(value)
            if len(self._waiting) >= self.settings.most_waiting:
                self._waiting.popleft()
                self.figures.count("values_dropped_total")
                self.happenings.repeat("full", f"{self.settings.most_waiting} values wait: the oldest are dropped")
            self._waiting.append(Outgoing(topic, text.removesuffix(".0").encode(), self.settings.qos))
            self.figures.count("values_published_total")


def _as_json(slot: Slot) -> str:
    """What a slot would be as JSON: its time in seconds, and the readings in the order of the sensors."""
    values = [round(value, 6) if math.isfinite(value) else None for value in slot.values.tolist()]
    whole = [int(value) if value is not None and value == int(value) else value for value in values]
    return json.dumps({"time": slot.time // SECOND, "values": whole}, separators=(",", ":"))
