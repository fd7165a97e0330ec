"""Readings sent live: one message per time slot, coded with a bound on every error, from a gateway to a controller."""

from hrpursuit.live.decoder import LiveDecoder
from hrpursuit.live.encoder import LiveEncoder
from hrpursuit.live.messages import Gap, Slot
from hrpursuit.live.record import Recorder

__all__ = ["Gap", "LiveDecoder", "LiveEncoder", "Recorder", "Slot"]
