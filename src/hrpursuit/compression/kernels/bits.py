"""Binary arithmetic coder: an interval of 32 bits, chances of 16."""

import numpy as np

from hrpursuit.compression.kernels.compiled import compiled, inlined, integers

LOW, HIGH, POSITION, CODE = range(4)
EVEN = 32768  # a chance of one half
N_BEYOND = 4  # bytes behind the last, all zero, that a decoder may read
N_ESCAPE_BITS = 24  # most bits of a number that `code_number` takes


def new_coder() -> np.ndarray:
    """State of an encoder that has written nothing; `start_decoding` makes a decoder of it."""
    coder = integers(4)
    coder[HIGH] = coder[HIGH] + 0xFFFFFFFF
    return coder


@inlined
def _read_byte(coder, buffer):
    """The next byte; zeros follow the last."""
    position = coder[POSITION]
    coder[POSITION] = position + 1
    if position < len(buffer):
        return int(buffer[position])
    return 0


@inlined
def _write_byte(coder, buffer, byte):
    """Where the buffer is full only the position goes on, so that the caller sees how much room it takes."""
    position = coder[POSITION]
    if position < len(buffer):
        buffer[position] = byte
    coder[POSITION] = position + 1


@compiled
def start_decoding(coder, buffer):
    for _ in range(4):
        coder[CODE] = (coder[CODE] << 8) | _read_byte(coder, buffer)


@inlined
def has_run_out(coder, buffer):
    """Whether more was read than anybody has written."""
    return coder[POSITION] > len(buffer) + N_BEYOND


@inlined
def code_bit(coder, buffer, decoding, chance, bit):
    """Write the bit, or read one; `chance` of a one in 1/65536, between 1 and 65535."""
    low, high = coder[LOW], coder[HIGH]
    span = high - low
    middle = low + (span >> 16) * chance + (((span & 0xFFFF) * chance) >> 16)
    if decoding:
        bit = 1 if coder[CODE] <= middle else 0
    if bit:
        high = middle
    else:
        low = middle + 1
    while ((low ^ high) & 0xFF000000) == 0:
        if decoding:
            coder[CODE] = ((coder[CODE] << 8) & 0xFFFFFFFF) | _read_byte(coder, buffer)
        else:
            _write_byte(coder, buffer, high >> 24)
        low = (low << 8) & 0xFFFFFFFF
        high = ((high << 8) & 0xFFFFFFFF) | 0xFF
    coder[LOW] = low
    coder[HIGH] = high
    return bit


@compiled
def finish_encoding(coder, buffer):
    """As few bytes as lead into the interval when zeros follow."""
    for n_bytes in range(1, 5):
        shift = 8 * (4 - n_bytes)
        tail = ((coder[LOW] + (1 << shift) - 1) >> shift) << shift
        if tail <= coder[HIGH]:
            for i in range(n_bytes):
                _write_byte(coder, buffer, (tail >> (24 - 8 * i)) & 0xFF)
            return


@compiled
def code_plain_bits(coder, buffer, decoding, value, n_bits):
    """A number of so many bits, each as likely zero as one, highest first."""
    result = 0
    for i in range(n_bits - 1, -1, -1):
        result = 2 * result + code_bit(coder, buffer, decoding, EVEN, (value >> i) & 1)
    return result


@compiled
def code_number(coder, buffer, decoding, value):
    """A number from 1 to 2^25 - 1 (Elias gamma): its length in zeros, then its bits."""
    length = 0
    if decoding:
        while length < N_ESCAPE_BITS and code_bit(coder, buffer, decoding, EVEN, 0) == 0:
            length += 1
    else:
        while (value >> (length + 1)) > 0:
            length += 1
        for _ in range(length):
            code_bit(coder, buffer, decoding, EVEN, 0)
        if length < N_ESCAPE_BITS:
            code_bit(coder, buffer, decoding, EVEN, 1)
    return (1 << length) + code_plain_bits(coder, buffer, decoding, value & ((1 << length) - 1), length)
