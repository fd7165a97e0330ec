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
        One value per sensor, NaN if it had no reading.
    sequence : int
        Number of the slot in its stream, from 0.
    """

    time: int
    columns: tuple[str, ...]
    values: np.ndarray
    sequence: int


@dataclass(frozen=True)
class Gap:
    """Why there are no slots for a message.

    Attributes
    ----------
    reason : str
        "missed": an earlier message has not arrived, and this one cannot be decoded before it or the next keyframe has;
        "waiting": no keyframe has arrived yet, or none since a damaged message; "dictionary": the keyframe refers to a
        dictionary that has not arrived; "duplicate": it arrived before; "old": it is older than the last keyframe that
        was decoded, or of an older stream; "damaged": its check is wrong, or its slots do not end as they must;
        "version": another format; "key": its tag is wrong or missing, or there is no key to check it with.
    detail : str
        A sentence for a log line.
    n_missed : int
        Number of messages that are known to be missing since the last one that arrived.
    """

    reason: Reason
    detail: str
    n_missed: int = 0
