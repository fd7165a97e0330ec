"""Time slots to messages."""

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from hrpursuit.compression.parameters import request_target
from hrpursuit.live.wire import new_stream, seal, seal_keyframe


class LiveEncoder:
    """Code the readings of each time slot as a message of few bytes.

    First layout, without coding: readings are sent as they are.
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        max_error: Any = None,
        lossless: bool = False,
        n_nonzero_coefs: int | None = None,
        keyframe_every: int = 250,
        slots_per_message: int = 1,
        key: bytes | None = None,
        stream: int | None = None,
    ) -> None:
        self._request = request_target(max_error=max_error, lossless=lossless, n_nonzero_coefs=n_nonzero_coefs)
        self._request.check(list(columns))
        self.columns = tuple(columns)
        self.keyframe_every, self.slots_per_message = keyframe_every, slots_per_message
        self._key = key
        self.stream = new_stream() if stream is None else stream
        self.n_messages = self.n_keyframes = self.n_bytes = self.n_slots = 0
        self.components: np.ndarray | None = None
        self.n_changes = 0
        self._since_keyframe: int | None = None
        self._waiting: list[tuple[int, np.ndarray]] = []

    def encode(self, row: Any, time: int) -> bytes | None:
        """The message that the slot completes; None while `slots_per_message` is not reached."""
        values = np.asarray(row, dtype=np.float64)
        if values.shape != (len(self.columns),):
            raise ValueError(f"row must have {len(self.columns)} readings, one per column; got shape {values.shape}.")
        self._waiting.append((int(time), values.copy()))
        return self.flush() if len(self._waiting) >= self.slots_per_message else None

    def flush(self) -> bytes | None:
        """The slots that wait, as a message; None if there are none."""
        if not self._waiting:
            return None
        rows = b"".join(struct.pack("<q", time) + values.tobytes() for time, values in self._waiting)
        if self._since_keyframe is None or self._since_keyframe + len(self._waiting) > self.keyframe_every:
            names = json.dumps(self.columns).encode()
            body = struct.pack("<QI", self.n_slots, len(names)) + names + rows
            message = seal_keyframe(body, self.stream, self.n_messages, self._key)
            self.n_keyframes += 1
            self._since_keyframe = 0
        else:
            message = seal(rows, self.stream, self.n_messages, self._key)
        self._since_keyframe += len(self._waiting)
        self.n_slots += len(self._waiting)
        self._waiting = []
        self.n_messages += 1
        self.n_bytes += len(message)
        return message

    def request_keyframe(self) -> None:
        """Make the next message one that stands alone."""
        self._since_keyframe = None

    def change_columns(self, columns: Sequence[str]) -> None:
        """Go on with other columns; the next message stands alone. Slots that wait must be flushed first."""
        if self._waiting:
            raise ValueError("slots of the old columns wait; send what flush() gives first.")
        self._request.check(list(columns))
        self.columns = tuple(columns)
        self.request_keyframe()
