"""Transform coding: blocks of eight rows, predicted, in a basis over sensors and cosines over time, quantised."""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.basis import refresh_basis
from hrpursuit.compression.kernels.bits import has_run_out
from hrpursuit.compression.kernels.compiled import as_integers, compiled, inlined, integers
from hrpursuit.compression.kernels.constants import BLOCK, COSINES
from hrpursuit.compression.kernels.mixing import (
    Model,
    cheapest_level,
    code_integer,
    guess_by_scale,
    guess_by_two_scales,
    new_model,
    scale_of,
)

DECAY = 52429  # of the last reading towards the mean, an hour, in 1/65536
N_SWEEPS = 1
LIMIT = 1 << 20  # decoded readings stay within
_WAVES = COSINES.astype(np.float64) / 4096  # for the encoder
_N_OWN = 256  # atoms that have slots of their own
_PAIRS, _OWN, _NEAR = 0, 64 * 40, 64 * 40 + BLOCK * _N_OWN
_MIXED, _MARGINS, _MEMORY, _N_SLOTS = _NEAR + 256, _NEAR + 320, _NEAR + 384, _NEAR + 448


class Transform(NamedTuple):
    """State of the transform coder of one chunk."""

    atoms: Any  # one a row, in 1/2^14
    exact: Any  # the same in 1/2^24; empty where the basis is sent and stays
    moments: Any  # of decoded readings
    work: Any
    product: Any
    last: Any  # decoded reading of each sensor, and sums over all of them
    total: Any
    mean: Any
    forecast: Any  # rows of the block x sensors
    levels: Any  # atoms x frequencies
    before: Any  # their magnitudes in the block before
    quick: Any  # running magnitudes in 1/65536
    slow: Any
    by_atom: Any
    by_wave: Any
    overall: Any
    waves: Any  # atoms x rows of the block: levels turned back from cosines
    decoded: Any


def new_transform(atoms: np.ndarray, adaptive: bool) -> Transform:
    """Nothing decoded yet; `atoms` one a row in 1/2^24. An adaptive basis learns while it codes."""
    n = len(atoms)
    square, by_block = (n, n) if adaptive else (0, 0), (n, BLOCK)
    return Transform(
        atoms=as_integers((atoms + 512) >> 10),
        exact=as_integers(atoms) if adaptive else integers((0, 0)),
        moments=integers(square),
        work=integers(square),
        product=integers(square),
        last=integers(n),
        total=integers(n),
        mean=integers(n),
        forecast=integers((BLOCK, n)),
        levels=integers(by_block),
        before=integers(by_block),
        quick=integers(by_block, 32768),
        slow=integers(by_block, 32768),
        by_atom=integers(n, 65536),
        by_wave=integers(BLOCK, 65536),
        overall=integers(1, 65536),
        waves=integers(by_block),
        decoded=integers((BLOCK, n)),
    )


def new_level_model() -> Model:
    """Six contexts, as `_set_slots` makes them."""
    model = new_model(_N_SLOTS, [7208, 7208, 7208, 25231, 18022, 14417], n_experts=0, limit=250)
    guess_by_two_scales(model, _PAIRS, 2)
    for first in (_MIXED, _MARGINS, _MEMORY):
        guess_by_scale(model, first, 6)
    return model


@compiled
def _predict(state):
    """Each sensor's last decoded reading, decayed towards its mean."""
    for i in range(len(state.last)):
        weight, away = 65536, state.last[i] - state.mean[i]
        for t in range(BLOCK):
            weight = (weight * DECAY) >> 16
            state.forecast[t, i] = state.mean[i] + ((away * weight) >> 16)


@inlined
def _set_slots(state, model, k, f, per_overall):
    """Contexts of the level of atom k at frequency f: the levels around it and those of earlier blocks."""
    levels, earlier = state.levels, state.before[k, f]
    left = abs(levels[k, f - 1]) if f > 0 else earlier
    left2 = abs(levels[k, f - 2]) if f > 1 else left
    up = abs(levels[k - 1, f]) if k > 0 else earlier
    up_right = abs(levels[k - 1, f + 1]) if k > 0 and f + 1 < BLOCK else up
    up2 = abs(levels[k - 2, f]) if k > 1 else up
    around = ((2 * left + left2 + 2 * up + up_right + up2 + 2 * earlier) * 7282) >> 8  # 256 / 9
    quick, slow = state.quick[k, f] >> 8, state.slow[k, f] >> 8
    margins = ((((state.by_atom[k] + 1280) * (state.by_wave[f] + 1280)) >> 16) * per_overall) >> 16
    model.slots[0] = _PAIRS + scale_of(slow) * 64 + scale_of(around)
    model.slots[1] = _OWN + f * _N_OWN + min(k, _N_OWN - 1)
    model.slots[2] = _NEAR + min(left, 3) * 64 + min(up, 3) * 16 + min(earlier, 3) * 4 + min(left2 + up2, 3)
    model.slots[3] = _MIXED + scale_of((around * 154 + slow * 102) >> 8)
    model.slots[4] = _MARGINS + scale_of(margins >> 8)
    model.slots[5] = _MEMORY + scale_of((quick + slow) >> 1)


@inlined
def _take_guess(model):
    """A slot of one atom that was never used starts as the slot of the margins stands."""
    own, margins = model.slots[1], model.slots[4]
    if model.chances[own, 0] & 255 == 0:
        for position in range(model.chances.shape[1]):
            model.chances[own, position] = (model.chances[margins, position] >> 8 << 8) + 2


@compiled
def _remember(state, k):
    """Running magnitudes follow the levels of atom k."""
    total = 0
    for f in range(BLOCK):
        size = abs(state.levels[k, f]) << 16
        left = abs(state.levels[k, f - 1]) << 16 if f > 0 else size
        right = abs(state.levels[k, f + 1]) << 16 if f + 1 < BLOCK else size
        slow = state.slow[k, f]
        state.quick[k, f] += (size - state.quick[k, f] + 2) >> 2
        state.slow[k, f] = slow + ((26 * size + 10 * (left + right) - 46 * slow + 128) >> 8)
        state.by_wave[f] += ((size - state.by_wave[f]) * 6 + 128) >> 8
        state.before[k, f] = size >> 16
        total += size
    state.by_atom[k] += ((total - BLOCK * state.by_atom[k]) * 6 + 128) >> 8
    state.overall[0] += ((total - BLOCK * state.overall[0]) * 3 + 128) >> 8


@compiled
def _code_levels(coder, buffer, decoding, state, model, exact, price, is_last_pass):
    """Levels of all atoms and frequencies; `exact` holds what the encoder would like them to be, in steps."""
    for k in range(len(state.levels)):
        per_overall = (1 << 32) // (state.overall[0] + 1280)
        for f in range(BLOCK):
            level = 0
            wanted = 0.0
            if not decoding:
                wanted = exact[k, f]
            if is_last_pass or wanted >= 0.5 or wanted < -0.5:
                _set_slots(state, model, k, f, per_overall)
                if is_last_pass:
                    _take_guess(model)
                if not decoding:
                    level = cheapest_level(wanted, model, price, 3, False)
            if is_last_pass:
                level = code_integer(coder, buffer, decoding, level, model, False)
            state.levels[k, f] = level
        if is_last_pass:
            _remember(state, k)


@compiled
def _undo_cosines(state, step):
    for k in range(len(state.levels)):
        for t in range(BLOCK):
            total = 0
            for f in range(BLOCK):
                total += state.levels[k, f] * COSINES[f, t]
            state.waves[k, t] = (total * step + 2048) >> 12


@compiled
def _is_silent(levels, k):
    total = 0
    for f in range(BLOCK):
        total += abs(levels[k, f])
    return total == 0


@compiled
def _reconstruct(state, step):
    """`decoded`: what the levels give, without the forecast."""
    _undo_cosines(state, step)
    n = len(state.last)
    for t in range(BLOCK):
        for i in range(n):
            state.decoded[t, i] = 8192
    for k in range(n):
        if not _is_silent(state.levels, k):
            for t in range(BLOCK):
                size = state.waves[k, t]
                for i in range(n):
                    state.decoded[t, i] += state.atoms[k, i] * size
    for t in range(BLOCK):
        for i in range(n):
            state.decoded[t, i] >>= 14


@compiled
def _accept(state, out, start, n_rows, keep_positive):
    """Readings of the block into `out`; sensors' last values, means and moments follow them."""
    n = len(state.last)
    for t in range(n_rows):
        for i in range(n):
            value = min(max(state.forecast[t, i] + state.decoded[t, i], -LIMIT), LIMIT)
            if keep_positive and value < 0:
                value = 0
            out[start + t, i] = value
            state.total[i] += value
            state.last[i] = value
    for i in range(n):
        state.mean[i] = state.total[i] // (start + n_rows)
    for i in range(len(state.moments)):
        for t in range(n_rows):
            factor = out[start + t, i] >> 4
            for j in range(i + 1):
                state.moments[i, j] += factor * (out[start + t, j] >> 4)


@compiled
def _analyse(state, residual, exact, step):
    """Levels that the encoder would like: atoms x frequencies of the residual, in steps."""
    n = len(state.last)
    for k in range(n):
        for f in range(BLOCK):
            exact[k, f] = 0.0
    for t in range(BLOCK):
        for k in range(n):
            total = 0.0
            for i in range(n):
                total += state.atoms[k, i] * residual[t, i]
            total /= 16384.0 * step
            for f in range(BLOCK):
                exact[k, f] += total * _WAVES[f, t]


@compiled
def _residual(state, values, seen, start, n_rows, residual):
    """What the forecast leaves of the block; a gap takes the mean of its row, a missing row the one before."""
    n, has_gaps = len(state.last), n_rows < BLOCK
    for t in range(BLOCK):
        mean, count = 0.0, 0
        if t < n_rows:
            for i in range(n):
                if seen[start + t, i]:
                    mean += values[start + t, i] - state.forecast[t, i]
                    count += 1
            if count:
                mean /= count
        for i in range(n):
            if t >= n_rows:
                residual[t, i] = residual[t - 1, i]
            elif seen[start + t, i]:
                residual[t, i] = values[start + t, i] - state.forecast[t, i]
            else:
                residual[t, i] = mean
        has_gaps = has_gaps or count < n
    return has_gaps


@compiled
def _refill(state, seen, start, n_rows, residual):
    for t in range(BLOCK):
        for i in range(len(state.last)):
            if t >= n_rows or not seen[start + t, i]:
                residual[t, i] = state.decoded[t, i]


@compiled
def code_transform(
    coder, buffer, decoding, values, seen, out, state, model, step, price, n_fills, keep_positive, residual, exact
):
    """Write the readings `values` (rows x sensors; what is under a gap does not matter), or read them; `out` is what
    the decoder gets either way. `residual` and `exact` are room for the encoder.
    """
    n_rows, n = out.shape
    next_refresh = 1
    for start in range(0, n_rows, BLOCK):
        if decoding and has_run_out(coder, buffer):
            return
        n_blocks = start // BLOCK
        height = min(BLOCK, n_rows - start)
        if len(state.exact) and n_blocks >= next_refresh:
            refresh_basis(state.moments, state.exact, state.work, state.product, N_SWEEPS)
            next_refresh = n_blocks + 1 + ((n_blocks * n) >> 9)
            for k in range(n):
                for i in range(n):
                    state.atoms[k, i] = (state.exact[k, i] + 512) >> 10
        _predict(state)
        if not decoding:
            has_gaps = _residual(state, values, seen, start, height, residual)
            n_more = n_fills - 1 if has_gaps else 0
            for _ in range(n_more):
                _analyse(state, residual, exact, step)
                _code_levels(coder, buffer, decoding, state, model, exact, price, False)
                _reconstruct(state, step)
                _refill(state, seen, start, height, residual)
            _analyse(state, residual, exact, step)
        _code_levels(coder, buffer, decoding, state, model, exact, price, True)
        _reconstruct(state, step)
        _accept(state, out, start, height, keep_positive)


def encoder_room(n: int, decoding: bool) -> tuple[np.ndarray, np.ndarray]:
    """Room for `residual` and `exact`; a decoder needs none."""
    rows = 0 if decoding else n
    return np.zeros((BLOCK, rows)), np.zeros((rows, BLOCK))
