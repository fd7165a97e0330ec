"""A layer over transform coding that brings every reading within the bound: whole steps added to the decoded value."""

from typing import Any, NamedTuple

from hrpursuit.compression.kernels.bits import has_run_out
from hrpursuit.compression.kernels.compiled import compiled, integers
from hrpursuit.compression.kernels.mixing import (
    Model,
    code_integer,
    guess_by_scale,
    guess_by_two_scales,
    new_model,
    scale_of,
)

LIMIT = 1 << 26  # corrected readings stay within
_BY_SCALE, _PAIRS, _NEAR, _SHAPE, _N_SLOTS = 0, 64, 64 + 2560, 64 + 2560 + 81, 64 + 2560 + 81 + 240


class Correction(NamedTuple):
    """Running magnitudes (in 1/65536) and the corrections of this row and of the row before, by sensor."""

    sizes: Any
    overall: Any
    now: Any
    before: Any


def new_correction(n: int) -> Correction:
    return Correction(integers(n, 6000), integers(1, 6000), integers(n), integers(n))


def new_correction_model() -> Model:
    model = new_model(_N_SLOTS, [18000] * 4, n_experts=0, limit=250)
    guess_by_scale(model, _BY_SCALE, 6)
    guess_by_two_scales(model, _PAIRS, 2)
    return model


@compiled
def _bit_length(value, most):
    length = 0
    while value > 0 and length < most:
        value >>= 1
        length += 1
    return length


@compiled
def _set_contexts(state, model, k, value, change):
    before = state.before[k]
    beside = abs(state.now[k - 1]) if k > 0 else 0
    beside2 = abs(state.now[k - 2]) if k > 1 else 0
    around = ((2 * abs(before) + beside + beside2) << 8) // 4
    size, sign = state.sizes[k] >> 8, 1 if before > 0 else (2 if before < 0 else 0)
    model.slots[0] = _BY_SCALE + scale_of((3 * size + around) >> 2)
    model.slots[1] = _PAIRS + scale_of(size) * 64 + scale_of(state.overall[0] >> 8)
    model.slots[2] = _NEAR + (min(abs(before), 2) * 9 + min(beside, 2) * 3 + min(beside2, 2)) * 3 + sign
    model.slots[3] = _SHAPE + (_bit_length(change, 7) * 10 + _bit_length(value, 9)) * 3 + sign


@compiled
def code_correction(coder, buffer, decoding, values, seen, rough, fraction, out, state, model, step):
    """Write what brings `rough` (in 1/2^fraction) within half a step of the whole numbers `values`, or read it; `out`
    gets whole numbers.
    """
    n_rows, n = out.shape
    half = (1 << fraction) >> 1
    for t in range(n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        for k in range(n):
            state.now[k] = 0
            start = (rough[t, k] + half) >> fraction
            out[t, k] = start
            if seen[t, k]:
                change = abs(rough[t, k] - rough[t - 1, k]) >> fraction if t > 0 else 0
                _set_contexts(state, model, k, start, change)
                level = 0
                if not decoding:
                    level = (values[t, k] - start + (step >> 1)) // step
                level = code_integer(coder, buffer, decoding, level, model, True)
                out[t, k] = min(max(start + level * step, -LIMIT), LIMIT)
                state.now[k] = level
                state.sizes[k] += ((abs(level) << 16) - state.sizes[k]) >> 5
                state.overall[0] += ((abs(level) << 16) - state.overall[0]) >> 7
        for k in range(n):
            state.before[k] = state.now[k]
