"""What a decoder gives back for a message: slots, or a gap that says why there are none."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Reason = Literal["missed", "duplicate", "old", "damaged", "version", "key", "waiting", "dictionary"]
REASONS: tuple[Reason, ...] = get_args(Reason)


@dataclass(frozen=True)
class Slot:
    """One rebuilt time slot.

    Attributes
    ----------
    time : int
        Nanoseconds since 1970 (UTC).
    columns : tuple of str
        Names of the sensors.
    values : array of float64
        One per sensor, NaN where it had no reading.
    sequence : int
        Number of the slot in its stream, from 0.
    """

    time: int
    columns: tuple[str, ...]
    values: np.ndarray
    sequence: int


@dataclass(frozen=True)
class Gap:
    """Nothing can be shown for a message.

    Attributes
    ----------
    reason : str
        "missed": an earlier message has not come, so that this one cannot be decoded before the next keyframe;
        "waiting": no keyframe has come yet; "dictionary": the keyframe names a dictionary that has not come;
        "duplicate": it came before; "old": it is older than the keyframe that was decoded last, or of an older stream;
        "damaged": its check is wrong; "version": another format; "key": its tag is wrong or missing, or there is no key
        to check it with.
    detail : str
        A sentence for a log line.
    n_missed : int
        Messages that are known to be lost since the last one that came.
    """

    reason: Reason
    detail: str
    n_missed: int = 0
