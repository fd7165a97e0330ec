"""What a role counts and says: counters and delays as Prometheus text, and one log line per happening."""

import itertools
import logging
import math
import re
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

LOG = logging.getLogger("hrpursuit.live")
_KEPT_DELAYS = 1000  # the last ones, of which median and 99% are taken
_KEPT_HAPPENINGS = 200  # for the page
_REPEAT = 60.0  # seconds before a happening of the same kind is logged again
_NUMBERS = itertools.count(1)  # of happenings, of all roles of the process
#: Characters that would make more than one line of a happening; names of sensors may have them.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MOST_NAMED = 4  # sensors in a line
_MOST_KINDS = 1000  # kinds of happenings that are remembered for that

_PREFIX = "hrpursuit_live_"
#: Name without the prefix: type, and what it is.
METRICS = {
    "readings_total": ("counter", "Readings that came in."),
    "readings_late_total": ("counter", "Readings that came after their slot was sent."),
    "readings_bad_total": ("counter", "Payloads that are no number, or have a time far ahead."),
    "readings_refused_total": ("counter", "Readings of sensors beyond the largest number of sensors."),
    "readings_retained_total": ("counter", "Retained readings without a time, which are left out."),
    "slots_total": ("counter", "Time slots, sent by a gateway or rebuilt by a controller."),
    "slots_dropped_total": ("counter", "Oldest slots that were dropped because the broker was away for too long."),
    "messages_total": ("counter", "Messages, sent by a gateway or received by a controller."),
    "bytes_total": ("counter", "Bytes of these messages."),
    "keyframes_total": ("counter", "Messages that stand alone."),
    "messages_lost_total": ("counter", "Messages that never arrived."),
    "messages_refused_total": ("counter", "Messages without slots, by reason."),
    "keyframe_requests_total": ("counter", "Keyframes that were asked for."),
    "values_published_total": ("counter", "Rebuilt values that were published."),
    "values_dropped_total": ("counter", "Oldest rebuilt values that were dropped: the broker was away for too long."),
    "connections_total": ("counter", "Connections to the broker that were made."),
    "clock_jumps_total": ("counter", "Jumps of the system clock."),
    "bytes_as_json_total": ("counter", "Bytes that the same slots would take as JSON."),
    "bytes_as_float32_total": ("counter", "Bytes that the same slots would take as float32."),
    "connected": ("gauge", "1 while there is a connection to the broker."),
    "sensors": ("gauge", "Sensors in a slot."),
    "slots_waiting": ("gauge", "Slots that wait to be sent."),
    "delay_seconds": ("summary", "From the sensor, or from the start of the slot, to the rebuilt value."),
    "codec_seconds": ("summary", "Time to encode or to decode a message."),
}  # fmt: skip


def listed(sensors: Sequence[str]) -> str:
    """Sensors in a line of the log: the first ones, and how many more there are."""
    if len(sensors) == 1:
        return f"sensor {sensors[0]}"
    more = f" and {len(sensors) - _MOST_NAMED} more" if len(sensors) > _MOST_NAMED else ""
    return f"sensors {', '.join(sensors[:_MOST_NAMED])}{more}"


class Figures:
    """Counters, gauges and delays of one role.

    Parameters
    ----------
    role : str
        Label of all of them, as "gateway".
    counters : iterable of str
        Counters that are there from the start, as 0: alarms on a counter need its value before it rises.
    """

    def __init__(self, role: str, counters: Iterable[str] = ()) -> None:
        self.role = role
        self._values: dict[tuple[str, str], float] = defaultdict(float)  # by name and reason
        for name in counters:
            self.count(name, 0)
        self._delays: dict[str, deque[float]] = {}
        self._sums: dict[str, float] = defaultdict(float)

    def count(self, name: str, n: float = 1, *, reason: str = "") -> None:
        """Add to a counter; one with reasons has a value for each of them."""
        self._values[self._known(name, "counter"), reason] += n

    def set(self, name: str, value: float) -> None:
        self._values[self._known(name, "gauge"), ""] = value

    def observe(self, name: str, seconds: float) -> None:
        """Add a delay to a summary."""
        self._delays.setdefault(self._known(name, "summary"), deque(maxlen=_KEPT_DELAYS)).append(seconds)
        self._sums[f"{name}_sum"] += seconds
        self._sums[f"{name}_count"] += 1

    def get(self, name: str) -> float:
        """The value of a counter, over all reasons, or of a gauge."""
        return sum(value for (known, _), value in self._values.items() if known == name)

    def quantile(self, name: str, share: float) -> float:
        """Of the last delays; NaN if there are none."""
        delays = sorted(self._delays.get(name, ()))
        return delays[min(len(delays) - 1, math.ceil(share * len(delays)) - 1)] if delays else math.nan

    def rows(self, name: str) -> list[str]:
        """Its lines in the text format of Prometheus; none if nothing was counted."""
        full = f"{_PREFIX}{name}"
        if name in self._delays:
            shares = [(f"{share:g}", self.quantile(name, share)) for share in (0.5, 0.99)]
            rows = [f"{full}{self._labels(quantile=share)} {value:.6g}" for share, value in shares]
            return rows + [
                f"{full}_{end}{self._labels()} {self._sums[f'{name}_{end}']:.15g}" for end in ("sum", "count")
            ]
        found = [(reason, value) for (known, reason), value in self._values.items() if known == name]
        return [f"{full}{self._labels(reason=reason)} {value:.15g}" for reason, value in found]

    def _labels(self, **labels: str) -> str:
        pairs = [f'{name}="{value}"' for name, value in {"role": self.role, **labels}.items() if value]
        return f"{{{','.join(pairs)}}}"

    @staticmethod
    def _known(name: str, kind: str) -> str:
        if METRICS[name][0] != kind:
            raise ValueError(f"{name} is a {METRICS[name][0]}, not a {kind}.")
        return name


def prometheus(figures: Sequence[Figures]) -> str:
    """The figures of all roles of a process in the text format of Prometheus."""
    lines = []
    for name, (kind, purpose) in METRICS.items():
        rows = [row for one in figures for row in one.rows(name)]
        if rows:
            lines += [f"# HELP {_PREFIX}{name} {purpose}", f"# TYPE {_PREFIX}{name} {kind}", *rows]
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Happening:
    """One line of the log, and of the list on the page."""

    number: int
    time: float  # seconds since 1970
    level: int
    text: str


@dataclass
class _Said:
    """What was logged of a kind of happening in the minute that began then."""

    since: float
    n_lines: int = 0
    n_kept_back: int = 0


class Happenings:
    """Says what happens, one log line each, and keeps the last ones for the page.

    Parameters
    ----------
    role : str
        First word of each line, as "gateway".
    now : callable
        Gives the time of a happening, in seconds since 1970.
    """

    def __init__(self, role: str, now: Callable[[], float] = time.time) -> None:
        self.role = role
        self.last: deque[Happening] = deque(maxlen=_KEPT_HAPPENINGS)
        self._now = now
        self._said: dict[str, _Said] = {}  # by kind

    def say(self, text: str, *, level: int = logging.INFO) -> None:
        text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
        self.last.append(Happening(next(_NUMBERS), self._now(), level, text))
        LOG.log(level, "%s: %s", self.role, text)

    def repeat(self, kind: str, text: str, *, most: int = 1, level: int = logging.WARNING) -> None:
        """What may happen again and again: at most so many lines per minute for each kind, the next one with how often
        it has happened since.
        """
        now = time.monotonic()
        said = self._said.get(kind)
        if said is None or now - said.since >= _REPEAT:
            if len(self._said) >= _MOST_KINDS:
                self._said.clear()
            kept_back = 0 if said is None else said.n_kept_back
            said = self._said[kind] = _Said(now)
            text += f" ({kept_back} more since the last line)" if kept_back else ""
        if said.n_lines == most:
            said.n_kept_back += 1
            return
        said.n_lines += 1
        self.say(text, level=level)
