"""Flags whose chances are learned: what live messages have beside their readings."""

from hrpursuit.compression.kernels.bits import code_bit
from hrpursuit.compression.kernels.compiled import compiled

_LEAST, _MOST = 32, 65504  # a chance stays within: a flag that is as ever costs 1/1400 of a bit


@compiled
def code_flag(coder, buffer, decoding, chances, place, bit):
    """Write the bit, or read it; `chances[place]` of a one in 1/65536 moves a sixteenth of the way."""
    bit = code_bit(coder, buffer, decoding, chances[place], bit)
    moved = chances[place] + (((bit << 16) - bit - chances[place]) >> 4)
    chances[place] = min(max(moved, _LEAST), _MOST)
    return bit
