"""What a sensor sends: the number in a payload, and the sensor in a topic."""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime

from hrpursuit.live.slots import SECOND

_LONGEST = 65536  # bytes of a payload


class BadReading(ValueError):
    """A payload without a number."""


def read_payload(payload: bytes, field: str | None = None, time_field: str | None = None) -> tuple[float, int | None]:
    """Value and time of a reading; None if it has no time. An empty payload or null is NaN: a gap.

    Parameters
    ----------
    payload : bytes
        A number as text, or JSON.
    field : str or None
        Where the number is in JSON, as `value` or `data.pm25`.
    time_field : str or None
        Where its time is: seconds, milliseconds, microseconds or nanoseconds since 1970, or ISO 8601.
    """
    if len(payload) > _LONGEST:
        raise BadReading(f"a payload of {len(payload)} bytes")
    try:
        text = payload.decode("utf-8").strip()
        if field is None and time_field is None:
            return _number(text if text and text != "null" else None), None
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadReading(f"{payload[:40]!r}") from error
    value = _number(_at(tree, field) if field is not None else tree)
    return value, None if time_field is None else _moment(_at(tree, time_field))


def _at(tree: object, path: str) -> object:
    for name in path.split("."):
        if not isinstance(tree, dict) or name not in tree:
            raise BadReading(f"JSON without the field {path!r}")
        tree = tree[name]
    return tree


def _number(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadReading(f"{str(value)[:40]!r}")
    try:
        number = float(value.replace("_", "x") if isinstance(value, str) else value)  # Python reads 1_000
    except (ValueError, OverflowError) as error:
        raise BadReading(f"{value!r:.42}") from error
    if math.isinf(number):
        raise BadReading(f"{value!r:.42}")
    return number


def _moment(value: object) -> int:
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError) as error:
            raise BadReading(f"the time {value[:40]!r}") from error
        return round(seconds * 1_000_000) * 1000
    number = _number(value)
    if not 0 < number < 2**63:
        raise BadReading(f"the time {number:g}")
    if number < 1e11:  # seconds until the year 5138
        return int(number * SECOND)
    if number < 1e14:
        return int(number * 1_000_000)
    return int(number) * 1000 if number < 1e17 else int(value)  # type: ignore[call-overload]


class SensorNames:
    """Names of sensors from topics: what stands for the wildcards of the filter, if there is just one filter.

    Parameters
    ----------
    filters : sequence of str
        Topic filters. With several of them, or without wildcards, a sensor has its whole topic for a name.
    """

    def __init__(self, filters: Sequence[str]) -> None:
        self._filters = [one.split("/") for one in filters]
        self._wild = len(filters) == 1 and any(level in ("+", "#") for level in self._filters[0])

    def __call__(self, topic: str) -> str | None:
        """The name of the sensor; None if no filter matches."""
        levels = topic.split("/")
        for one in self._filters:
            found = _matched(one, levels)
            if found is not None:
                return "/".join(found) if self._wild and found else topic
        return None


def _matched(pattern: list[str], levels: list[str]) -> list[str] | None:
    found: list[str] = []
    for i, part in enumerate(pattern):
        if part == "#":
            return found + levels[i:]
        if i >= len(levels) or part not in ("+", levels[i]):
            return None
        if part == "+":
            found.append(levels[i])
    return found if len(levels) == len(pattern) else None
