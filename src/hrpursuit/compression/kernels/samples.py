"""Sample coding: row by row, sensor by sensor, the difference to a prediction. For no loss and for small errors."""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.bits import code_plain_bits, has_run_out
from hrpursuit.compression.kernels.compiled import as_integers, compiled, integers
from hrpursuit.compression.kernels.mixing import (
    Model,
    cheapest_level,
    code_integer,
    new_model,
    scale_of,
)
from hrpursuit.compression.kernels.predictors import (
    N_PREDICTIONS,
    Predictors,
    end_row,
    factorize,
    new_predictors,
    observe,
    predict,
)

LIMIT = 1 << 16  # readings stay within
REFACTOR, SELDOM = 8, 32  # rows from one factorisation to the next, at most; and in a hurry
_ONE = 1 << 32
_FAR = 1 << 21  # a prediction from the centre
_WIDE = 1 << 20  # an expert
_BY_WIDTH, _NEAR, _N_SLOTS = 0, 2560, 2560 + 216
_USUAL = 256  # the unrest of a row whose errors are as large as ever
_MOST_UNREST = 1 << 12
_PRIOR = 4  # readings that the row before counts as


class Samples(NamedTuple):
    """State of the sample coder of one chunk."""

    predictors: Predictors
    slow: Any  # errors of each sensor's predictions, in 1/64
    fast: Any
    total: Any  # of each sensor since its first reading, and the number of these rows
    count: Any
    to_mean: Any  # from the last value to the mean of the rows before
    sizes: Any  # magnitudes of the levels of this row, and of the row before
    before: Any
    per_step: Any  # 2^32 over the steps
    per_count: Any  # 2^16 over 0 (which gives 0), 1, 2, ...
    progress: Any  # rows that are coded, the row of the next factorisation, mean change and unrest of the row before


def new_samples(scale: np.ndarray, steps: np.ndarray) -> Samples:
    """Nothing decoded yet; `scale` is a typical change of each sensor, from 1 to 8192."""
    n = len(scale)
    per_count = np.concatenate([[0], 65536 // np.arange(1, n + _PRIOR + 1)])
    slow, fast = integers((n, N_PREDICTIONS)), integers((n, N_PREDICTIONS))
    for k in range(n):
        slow[k] = slow[k] + (int(scale[k]) << 6)
        fast[k] = fast[k] + (int(scale[k]) << 6)
    return Samples(
        new_predictors(scale), slow, fast, integers(n), integers(n), integers(n), integers(n), integers(n),
        as_integers(_ONE // steps), as_integers(per_count), as_integers(np.array([0, 2, 0, _USUAL])),
    )  # fmt: skip


def new_difference_model(n_sensors: int) -> Model:
    """An expert for each prediction and two contexts; each sensor has weights of its own beside those of all."""
    weights = [65536 // N_PREDICTIONS] * N_PREDICTIONS + [3277] * 2
    return new_model(_N_SLOTS, weights, n_experts=N_PREDICTIONS, limit=80, rate=20, n_places=n_sensors)


@compiled
def _centre(state, k):
    """Mean of the predictions, by the fourth power of the inverse of their errors."""
    predictions = state.predictors.predictions
    least = 1 << 40
    for e in range(N_PREDICTIONS):
        least = min(least, ((state.slow[k, e] * 179 + state.fast[k, e] * 77) >> 14) + 1)
    weights, total = 0, 0
    for e in range(N_PREDICTIONS):
        ratio = (least << 8) // (((state.slow[k, e] * 179 + state.fast[k, e] * 77) >> 14) + 1)
        ratio *= ratio
        ratio *= ratio
        weights += ratio
        total += ratio * predictions[e]
    return total // weights


@compiled
def _set_contexts(state, model, k, centre, unrest):
    """Experts and slots for the difference to `centre`; their widths go with the unrest of the row, in 1/256."""
    per_step, narrowest = state.per_step[k], _ONE
    for e in range(N_PREDICTIONS):
        away = min(max(state.predictors.predictions[e] - centre, -_FAR), _FAR)
        width = min((((state.slow[k, e] + state.fast[k, e]) >> 7) * unrest) >> 8, _WIDE)
        width = max((width * 141 * per_step) >> 32, 10)
        narrowest = min(narrowest, width)
        model.experts[e, 0] = ((away << 8) * per_step) >> 32
        model.experts[e, 1] = _ONE // width
    beside = state.sizes[k - 1] if k > 0 else 0
    beside2 = state.sizes[k - 2] if k > 1 else 0
    model.slots[0] = _BY_WIDTH + scale_of(2 * narrowest) * 64 + scale_of(state.before[k] << 7)
    model.slots[1] = _NEAR + min(state.before[k], 5) * 36 + min(beside, 5) * 6 + min(beside2, 5)
    model.place[0] = k


@compiled
def _update_errors(state, k, value, step, share):
    for e in range(N_PREDICTIONS):
        error = (abs(value - state.predictors.predictions[e]) << 6) + step * 10
        state.slow[k, e] += ((error - state.slow[k, e]) * share) >> 16
        state.fast[k, e] += ((error - state.fast[k, e]) * 38) >> 8


@compiled
def _unrest_of(state, k, error):
    """An error in 1/64, as a share of the usual error of the sensor's best prediction, in 1/256."""
    usual = _ONE
    for e in range(N_PREDICTIONS):
        usual = min(usual, state.slow[k, e])
    return min((error << 8) // (usual + 1), _MOST_UNREST)


@compiled
def code_samples(
    coder, buffer, decoding, values, seen, out, state, model, steps, price, grain, keep_positive, season, most_rows
):  # fmt: skip
    """Write the readings `values` (rows x sensors), or read them; `out` is what the decoder gets either way. Sensor k
    has steps of `steps[k]`. Rows that the state has coded already are passed. With a `grain` predictions are rounded to
    its multiples first, so that steps which are odd multiples of it meet whole numbers. Ties between the sensors are
    computed anew after `most_rows` rows, and oftener at first.
    """
    n_rows, n = out.shape
    predictors, features = state.predictors, state.predictors.features
    next_factor, mean_change, unrest_before = state.progress[1], state.progress[2], state.progress[3]
    for t in range(state.progress[0], n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        if t >= next_factor:
            for tie in range(2):
                factorize(predictors, tie)
            next_factor = t + min(most_rows, max(1, t // 16))
        changes, n_changes, share, mean_way = 0, 0, 65536 // min(t + 2, 50), 0
        unrest, n_learned = _PRIOR * unrest_before, _PRIOR
        for k in range(n):
            state.to_mean[k] = state.total[k] // state.count[k] - out[t - 1, k] if state.count[k] > 0 else 0
            mean_way += state.to_mean[k]
        mean_way = mean_way // n
        for k in range(n):
            last = out[t - 1, k] if t > 0 else 0
            features[0] = last - out[t - 2, k] if t > 1 else 0
            features[1] = state.to_mean[k]
            features[2] = (changes * state.per_count[n_changes]) >> 16
            features[3] = out[t - season, k] - last if t >= season else 0
            features[4] = mean_way
            features[5] = mean_change
            predict(predictors, k, last)
            centre, step = _centre(state, k), steps[k]
            if grain:
                centre = ((centre + (grain >> 1)) // grain) * grain
            if keep_positive:
                centre = max(centre, 0)
            centre = min(max(centre, -LIMIT), LIMIT)
            value, is_seen, is_known = centre, seen[t, k] != 0, state.count[k] > 0
            state.sizes[k] = 0
            if is_seen:
                _set_contexts(state, model, k, centre, (unrest * state.per_count[n_learned]) >> 16)
                level = 0
                if not decoding:
                    level = cheapest_level((values[t, k] - centre) / step, model, price, 2, True)
                level = code_integer(coder, buffer, decoding, level, model, True)
                value = min(max(centre + level * step, -LIMIT), LIMIT)
                if keep_positive:
                    value = max(value, 0)
                state.sizes[k] = abs(level)
                n_changes += 1
                changes += value - last
            out[t, k] = value
            if is_seen or is_known:
                state.total[k] += value
                state.count[k] += 1
            is_learned = is_seen and is_known  # a first reading says nothing of changes
            observe(predictors, k, value - last, is_learned)
            if is_learned:
                unrest += _unrest_of(state, k, (abs(value - centre) << 6) + step * 10)
                n_learned += 1
                _update_errors(state, k, value, step, share)
        for k in range(n):
            state.before[k] = state.sizes[k]
        mean_change = (changes * state.per_count[n_changes]) >> 16
        unrest_before = (unrest * state.per_count[n_learned]) >> 16
        end_row(predictors, 65536 // max(unrest_before, 64))
    state.progress[0] = n_rows
    state.progress[1] = next_factor
    state.progress[2] = mean_change
    state.progress[3] = unrest_before


@compiled
def code_low_bits(coder, buffer, decoding, low, seen, widths):
    """The lowest bits of each reading as they are: too far below the noise to be predicted."""
    for t in range(low.shape[0]):
        if decoding and has_run_out(coder, buffer):
            return
        for k in range(low.shape[1]):
            if widths[k] > 0 and seen[t, k]:
                low[t, k] = code_plain_bits(coder, buffer, decoding, low[t, k], widths[k])
