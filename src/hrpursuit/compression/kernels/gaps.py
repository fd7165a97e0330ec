"""Which readings are there: for each row whether it is like the one before, else one mixed bit a sensor."""

import numpy as np

from hrpursuit.compression.kernels.bits import code_bit, has_run_out
from hrpursuit.compression.kernels.compiled import compiled, integers
from hrpursuit.compression.kernels.mixing import Model, code_mixed_bit, new_model

_MANY = 2048  # sensors that have a slot of their own
_BY_RUN, _BY_SENSOR, _BY_NEIGHBOUR, _N_SLOTS = 0, 128, 128 + 2 * _MANY, 128 + 2 * _MANY + 16


def new_gap_model() -> tuple[Model, np.ndarray]:
    """The model of one bit, and of rows: the chances that a row is like the one before, after one that was not and
    after one that was; whether the last row was; and how many rows are coded.
    """
    model = new_model(_N_SLOTS, [26000] * 3, n_experts=0, limit=250, rate=15, n_bins=1)
    model.chances[0::2] = 3500 << 8
    model.chances[1::2] = 62000 << 8
    alike = integers(4)
    alike[:2] = alike[:2] + 32768
    return model, alike


@compiled
def code_gaps(coder, buffer, decoding, seen, runs, model, alike):
    """Write `seen` (rows x sensors, 1 where there is a reading), or fill it; `runs` holds a zero for each sensor at
    first. Rows that are coded already are passed.
    """
    n_rows, n_sensors = seen.shape
    was_alike = alike[2]
    for t in range(alike[3], n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        if t > 0:
            same = 1
            if not decoding:
                for i in range(n_sensors):
                    if seen[t, i] != seen[t - 1, i]:
                        same = 0
            same = code_bit(coder, buffer, decoding, alike[was_alike], same)
            moved = alike[was_alike] + (((same << 16) - same - alike[was_alike]) >> 5)
            alike[was_alike] = min(max(moved, 64), 65472)
            was_alike = same
            if same:
                for i in range(n_sensors):
                    seen[t, i] = seen[t - 1, i]
                    runs[i] += 1
                continue
        changes, is_beside_change = 0, 1
        for i in range(n_sensors):
            before = seen[t - 1, i] if t > 0 else 1
            length, run = 0, runs[i]
            while run > 0 and length < 9:
                run >>= 1
                length += 1
            few = min(changes, 3)
            model.slots[0] = _BY_RUN + (few * 16 + length) * 2 + before
            model.slots[1] = _BY_SENSOR + min(i, _MANY - 1) * 2 + before
            model.slots[2] = _BY_NEIGHBOUR + (is_beside_change * 4 + few) * 2 + before
            bit = code_mixed_bit(coder, buffer, decoding, seen[t, i], model, 0)
            seen[t, i] = bit
            if t > 0 and bit != before:
                changes += 1
                runs[i] = 0
                is_beside_change = 1
            else:
                runs[i] += 1
                is_beside_change = 0
    alike[2] = was_alike
    alike[3] = n_rows
