"""Flags whose chances are learned, and numbers that hardly ever come: what live messages have beside their readings."""

from hrpursuit.compression.kernels.bits import code_bit, code_plain_bits
from hrpursuit.compression.kernels.compiled import compiled

_LEAST, _MOST = 32, 65504  # a chance stays within: a flag that is as ever costs 1/1400 of a bit


@compiled
def code_flag(coder, buffer, decoding, chances, place, bit):
    """Write the bit, or read it; `chances[place]` of a one in 1/65536 moves a sixteenth of the way."""
    bit = code_bit(coder, buffer, decoding, chances[place], bit)
    moved = chances[place] + (((bit << 16) - bit - chances[place]) >> 4)
    chances[place] = min(max(moved, _LEAST), _MOST)
    return bit


@compiled
def code_signed(coder, buffer, decoding, value):
    """A whole number within 2^60: six bits say how many follow, then its sign and its magnitude."""
    length = 0
    if not decoding:
        while (abs(value) >> length) > 0:
            length += 1
    length = min(code_plain_bits(coder, buffer, decoding, length, 6), 60)
    sign = code_plain_bits(coder, buffer, decoding, 1 if value < 0 else 0, 1)
    magnitude = code_plain_bits(coder, buffer, decoding, abs(value), length)
    return -magnitude if sign else magnitude
