"""Which labels lie between two bounds."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from hrpursuit.compression.tables.labels import LabelKind, Labels
from hrpursuit.rows.optional import needed

_Compare = Callable[[Any, Any], Any]


class Bounds:
    """From `start` to `stop`, both included; None is no bound. Texts for times mean the whole of what they name."""

    def __init__(self, kind: LabelKind, start: Any, stop: Any) -> None:
        self._kind = kind
        self._above: _Compare = operator.ge
        self._below: _Compare = operator.le
        if kind.kind in ("datetime", "timedelta"):
            start, _ = self._time(start)
            stop, whole = self._time(stop)
            if whole is not None:
                stop, self._below = whole, operator.lt
        else:
            for bound in (start, stop):
                self._check(bound)
        self.start, self.stop = start, stop

    def misses(self, first: Any, last: Any) -> bool:
        """Whether no label from first to last is within; for labels in order."""
        below = self.start is not None and not self._above(last, self.start)
        return below or (self.stop is not None and not self._below(first, self.stop))

    def mask(self, labels: Labels) -> np.ndarray:
        """Which of the labels are within."""
        keep = np.ones(len(labels), bool)
        if self.start is None and self.stop is None:
            return keep
        shown = labels if self._kind.kind == "none" else self._kind.values(labels)
        if isinstance(shown, list):
            shown = np.array(shown, object)
        if self.start is not None:
            keep &= np.asarray(self._above(shown, self.start), bool)
        if self.stop is not None:
            keep &= np.asarray(self._below(shown, self.stop), bool)
        return keep

    def _check(self, bound: Any) -> None:
        if bound is None:
            return
        is_text = self._kind.kind == "text"
        if isinstance(bound, str) != is_text or not isinstance(bound, (str, int, float, np.number)):
            wanted = "texts" if is_text else "row numbers" if self._kind.kind in ("none", "range") else "numbers"
            raise ValueError(f"the rows of this file are labelled by {wanted}; got {bound!r}.")

    def _time(self, bound: Any) -> tuple[Any, Any]:
        """The bound as a time; and for a text the first time after all that it names."""
        if bound is None:
            return None, None
        pandas = needed("pandas", "Time stamps", "cli")
        try:
            if self._kind.kind == "timedelta":
                return pandas.Timedelta(bound), None
            if isinstance(bound, (bool, int, float)):
                raise ValueError("a number is no time")
            time = pandas.Timestamp(bound)
            after = (pandas.Period(bound) + 1).start_time if isinstance(bound, str) and time.tz is None else None
        except (ValueError, TypeError) as error:
            what = "time differences" if self._kind.kind == "timedelta" else "time stamps"
            raise ValueError(
                f"the rows of this file are labelled by {what}; cannot understand {bound!r}: {error}"
            ) from error
        if time is pandas.NaT:
            raise ValueError("a bound must be a time; got NaT.")
        return self._zoned(time), None if after is None else self._zoned(after)

    def _zoned(self, time: Any) -> Any:
        if not self._kind.tz and time.tz is not None:
            raise ValueError(f"the time stamps of this file have no time zone, but {time} has one; leave it out.")
        if self._kind.tz and time.tz is None:
            return time.tz_localize(self._kind.tz, ambiguous=True, nonexistent="shift_forward")
        return time
