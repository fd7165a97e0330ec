"""A fast coder of whole numbers: the difference to the last value or to a line through the last two, by bits whose
chances are counted by the size of recent differences. A tenth of the time of the coder of tables.
"""

import numpy as np

from hrpursuit.compression.kernels.bits import code_bit, code_plain_bits, has_run_out
from hrpursuit.compression.kernels.compiled import as_table, compiled, integers
from hrpursuit.compression.kernels.table_state import BUCKET_FIRST, BUCKET_SIZE, CONSTANT, DRIFTING, LIMIT

_MANY = 64  # columns that have chances of their own
_CLASSES = 24  # of the size of recent differences
_BINS = 96  # zero (after a zero, and after another), sign, buckets
_UNARY = len(BUCKET_FIRST)
_EVEN = 32768


def new_quick(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Chances by column, class and bin in 1/65536; and mean differences in 1/16, with whether the last one was zero."""
    chances = as_table(np.full((min(n_columns, _MANY), _CLASSES, _BINS), _EVEN), "i4")
    return chances, integers((n_columns, 2), 64)


@compiled
def code_quick(coder, buffer, decoding, X, seen, chances, means, centres, constants):
    """Write the whole numbers X where they are seen, or read them; below a gap the last value stands."""
    n_rows, n = X.shape
    for t in range(n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        for k in range(n):
            last = X[t - 1, k] if t > 0 else 0
            if not seen[t, k]:
                X[t, k] = last
                continue
            centre = last
            if centres[k] == CONSTANT:
                centre = constants[k]
            elif centres[k] == DRIFTING and t > 1:
                centre = min(max(2 * last - X[t - 2, k], -LIMIT), LIMIT)
            size, rest = 0, means[k, 0]
            while rest > 0 and size < _CLASSES - 1:
                rest >>= 1
                size += 1
            own = chances[min(k, _MANY - 1), size]
            level, sign, magnitude, bin_ = 0, 0, 0, 1 if means[k, 1] == 0 else 0
            if not decoding:
                level = X[t, k] - centre
                sign, magnitude = 1 if level < 0 else 0, abs(level)
            chance = own[bin_]
            bit = code_bit(coder, buffer, decoding, min(max(chance, 64), 65472), 1 if magnitude == 0 else 0)
            own[bin_] = chance + (((bit << 16) - chance) >> 5)
            if bit:
                magnitude = 0
            else:
                sign = code_bit(coder, buffer, decoding, _EVEN, sign)
                bucket = 0
                while True:
                    end = BUCKET_FIRST[bucket] + BUCKET_SIZE[bucket]
                    chance = own[3 + bucket]
                    bit = code_bit(coder, buffer, decoding, min(max(chance, 64), 65472), 1 if magnitude < end else 0)
                    own[3 + bucket] = chance + (((bit << 16) - chance) >> 5)
                    if bit or bucket == _UNARY - 1:
                        break
                    bucket += 1
                n_bits, first = 0, BUCKET_FIRST[bucket]
                while (1 << n_bits) < BUCKET_SIZE[bucket]:
                    n_bits += 1
                magnitude = first + code_plain_bits(coder, buffer, decoding, magnitude - first, n_bits)
            means[k, 0] += ((min(magnitude, 1 << 30) << 4) - means[k, 0]) >> 3
            means[k, 1] = magnitude
            X[t, k] = min(max(centre - magnitude if sign else centre + magnitude, -LIMIT), LIMIT)
