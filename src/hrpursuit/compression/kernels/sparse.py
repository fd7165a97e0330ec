"""Sparse codes in a dictionary that is sent: for each row which atoms it uses, and how much of each."""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.bits import has_run_out
from hrpursuit.compression.kernels.compiled import as_integers, compiled, integers
from hrpursuit.compression.kernels.mixing import (
    Model,
    code_integer,
    code_mixed_bit,
    guess_by_scale,
    new_model,
    scale_of,
)

LIMIT = 1 << 20  # decoded readings stay within
_MANY = 256  # atoms that have slots of their own
_USED_OWN, _USED_RUN, _USED_SIZE, _N_USED = 0, 2 * _MANY, 2 * _MANY + 256, 2 * _MANY + 384
_BY_CHANGE, _BY_SIZE, _OWN, _N_SLOTS = 0, 128, 256, 256 + 2 * _MANY


class Sparse(NamedTuple):
    """The dictionary and, for each atom, what it did in the rows before."""

    atoms: Any  # one a row, in 1/2^precision
    levels: Any  # of this row
    used: Any  # in the row before, 0 or 1
    run: Any  # rows since that changed
    last: Any  # level when it was last used
    change: Any  # running magnitude of changes, in 1/256


def new_sparse(atoms: np.ndarray) -> Sparse:
    n = len(atoms)
    return Sparse(as_integers(atoms), integers(n), integers(n), integers(n), integers(n), integers(n, 1024))


def new_sparse_models() -> tuple[Model, Model]:
    """Of the use of atoms, and of their levels."""
    used = new_model(_N_USED, [24000] * 3, n_experts=0, limit=250, rate=15, n_bins=1)
    levels = new_model(_N_SLOTS, [24000] * 3, n_experts=0, limit=120)
    for first in (_BY_CHANGE, _BY_CHANGE + 64, _BY_SIZE, _BY_SIZE + 64):
        guess_by_scale(levels, first, 4)
    return used, levels


@compiled
def _any_seen(seen, t):
    total = 0
    for i in range(seen.shape[1]):
        total += seen[t, i]
    return total > 0


@compiled
def _set_use_contexts(state, model, k, left):
    used, length, run = state.used[k], 0, state.run[k]
    while run > 0 and length < 7:
        run >>= 1
        length += 1
    model.slots[0] = _USED_OWN + 2 * min(k, _MANY - 1) + used
    model.slots[1] = _USED_RUN + (length * 16 + min(left, 15)) * 2 + used
    model.slots[2] = _USED_SIZE + scale_of(abs(state.last[k]) << 6) * 2 + used


@compiled
def _set_level_contexts(state, model, k):
    used = state.used[k]
    model.slots[0] = _BY_CHANGE + 64 * used + scale_of(state.change[k])
    model.slots[1] = _BY_SIZE + 64 * used + scale_of(abs(state.last[k]) << 6)
    model.slots[2] = _OWN + 2 * min(k, _MANY - 1) + used


@compiled
def _code_row(coder, buffer, decoding, levels, t, state, use_model, level_model, n_nonzero):
    left = n_nonzero
    for k in range(len(state.levels)):
        used, level = 0, 0
        if not decoding and levels[t, k] != 0:
            used = 1
        if left > 0:
            _set_use_contexts(state, use_model, k, left)
            used = code_mixed_bit(coder, buffer, decoding, used, use_model, 0)
        else:
            used = 0
        if used:
            left -= 1
            _set_level_contexts(state, level_model, k)
            if not decoding:
                level = levels[t, k] - state.last[k]
            level = code_integer(coder, buffer, decoding, level, level_model, True)
            state.change[k] += ((abs(level) << 8) - state.change[k]) >> 3
            level = min(max(level + state.last[k], -LIMIT), LIMIT)
            state.last[k] = level
        state.levels[k] = level
        state.run[k] = state.run[k] + 1 if used == state.used[k] else 0
        state.used[k] = used


@compiled
def code_sparse(
    coder, buffer, decoding, levels, seen, out, state, use_model, level_model, step, precision, n_nonzero, keep_positive
):
    """Write the levels of the codes (rows x atoms, at most `n_nonzero` of a row not zero), or read them; `out` is what
    they give, rows x sensors. A row without a reading has no codes.
    """
    n_rows, n = out.shape
    n_atoms = len(state.levels)
    half = (1 << precision) >> 1
    for t in range(n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        if not _any_seen(seen, t):
            continue
        _code_row(coder, buffer, decoding, levels, t, state, use_model, level_model, n_nonzero)
        for i in range(n):
            out[t, i] = half
        for k in range(n_atoms):
            size = state.levels[k] * step
            if size != 0:
                for i in range(n):
                    out[t, i] += size * state.atoms[k, i]
        for i in range(n):
            value = min(max(out[t, i] >> precision, -LIMIT), LIMIT)
            out[t, i] = max(value, 0) if keep_positive else value
