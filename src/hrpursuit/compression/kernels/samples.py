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
_MANY = 4096
_ONE = 1 << 32
_FAR = 1 << 21  # a prediction from the centre
_OWN, _ROW, _NEAR, _WIDTHS, _N_SLOTS = 0, _MANY, _MANY + 2560, _MANY + 2560 + 216, _MANY + 5120 + 216


class Samples(NamedTuple):
    """State of the sample coder of one chunk."""

    predictors: Predictors
    slow: Any  # errors of each sensor's predictions, in 1/64
    fast: Any
    total: Any
    sizes: Any  # magnitudes of the levels of this row, and of the row before
    before: Any
    per_step: Any  # 2^32 over the steps
    per_count: Any  # 2^16 over 0 (which gives 0), 1, 2, ...
    progress: Any  # rows that are coded, the row of the next factorisation, and the mean change of the row before


def new_samples(scale: np.ndarray, steps: np.ndarray) -> Samples:
    """Nothing decoded yet; `scale` is a typical change of each sensor, from 1 to 8192."""
    n = len(scale)
    per_count = np.concatenate([[0], 65536 // np.arange(1, n + 1)])
    slow, fast = integers((n, N_PREDICTIONS)), integers((n, N_PREDICTIONS))
    for k in range(n):
        slow[k] = slow[k] + (int(scale[k]) << 6)
        fast[k] = fast[k] + (int(scale[k]) << 6)
    return Samples(
        new_predictors(scale), slow, fast, integers(n), integers(n), integers(n), as_integers(_ONE // steps),
        as_integers(per_count), as_integers(np.array([0, 2, 0])),
    )  # fmt: skip


def new_difference_model(in_haste: bool) -> Model:
    """Two experts for each prediction, by its slow and its fast error, in a hurry one by their mean; four contexts."""
    n_experts = N_PREDICTIONS if in_haste else 2 * N_PREDICTIONS
    return new_model(_N_SLOTS, [65536 // n_experts] * n_experts + [3277] * 4, n_experts=n_experts, limit=80)


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
def _set_contexts(state, model, k, centre, step, activity):
    """Experts and slots for the difference to `centre`; `activity` is the row's mean so far, in 1/256 of a step."""
    per_step = state.per_step[k]
    for e in range(N_PREDICTIONS):
        away = min(max(state.predictors.predictions[e] - centre, -_FAR), _FAR)
        place = ((away << 8) * per_step) >> 32
        fast = state.fast[k, e] >> 6
        if k > 3:
            fast = (fast + ((activity * step) >> 8)) >> 1
        if len(model.experts) == N_PREDICTIONS:
            model.experts[e, 0] = place
            model.experts[e, 1] = _ONE // max(((((state.slow[k, e] >> 6) + fast) >> 1) * 141 * per_step) >> 32, 10)
            continue
        model.experts[2 * e, 0] = place
        model.experts[2 * e, 1] = _ONE // max((((state.slow[k, e] >> 6) * 141) * per_step) >> 32, 10)
        model.experts[2 * e + 1, 0] = place
        model.experts[2 * e + 1, 1] = _ONE // max((fast * 141 * per_step) >> 32, 10)
    beside = state.sizes[k - 1] if k > 0 else 0
    beside2 = state.sizes[k - 2] if k > 1 else 0
    slow = scale_of(((min(state.slow[k, 0], state.slow[k, 1]) << 2) * per_step) >> 32)
    fast = scale_of(((min(state.fast[k, 0], state.fast[k, 1]) << 2) * per_step) >> 32)
    model.slots[0] = _OWN + min(k, _MANY - 1)
    model.slots[1] = _ROW + scale_of(state.before[k] << 7) * 64 + scale_of(activity)
    model.slots[2] = _NEAR + min(state.before[k], 5) * 36 + min(beside, 5) * 6 + min(beside2, 5)
    model.slots[3] = _WIDTHS + slow * 64 + fast


@compiled
def _update_errors(state, k, value, step, share):
    for e in range(N_PREDICTIONS):
        error = (abs(value - state.predictors.predictions[e]) << 6) + step * 10
        state.slow[k, e] += ((error - state.slow[k, e]) * share) >> 16
        state.fast[k, e] += ((error - state.fast[k, e]) * 38) >> 8


@compiled
def code_samples(
    coder, buffer, decoding, values, seen, out, state, model, steps, price, grain, keep_positive, season
):  # fmt: skip
    """Write the readings `values` (rows x sensors), or read them; `out` is what the decoder gets either way. Sensor k
    has steps of `steps[k]`. Rows that the state has coded already are passed. With a `grain` predictions are rounded to
    its multiples first, so that steps which are odd multiples of it meet whole numbers.
    """
    n_rows, n = out.shape
    predictors, features = state.predictors, state.predictors.features
    next_factor, mean_change = state.progress[1], state.progress[2]
    most_rows = SELDOM if len(model.experts) == N_PREDICTIONS else REFACTOR
    for t in range(state.progress[0], n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        if t >= next_factor:
            factorize(predictors)
            next_factor = t + min(most_rows, max(1, t // 16))
        changes, n_changes, activity, share = 0, 0, 0, 65536 // min(t + 2, 50)
        for k in range(n):
            last = out[t - 1, k] if t > 0 else 0
            features[0] = last - out[t - 2, k] if t > 1 else 0
            features[1] = state.total[k] // t - last if t > 0 else 0
            features[2] = out[t - season, k] - last if t >= season else 0
            features[3] = mean_change
            features[4] = (changes * state.per_count[n_changes]) >> 16
            predict(predictors, k, last)
            centre, step = _centre(state, k), steps[k]
            if grain:
                centre = ((centre + (grain >> 1)) // grain) * grain
            if keep_positive:
                centre = max(centre, 0)
            centre = min(max(centre, -LIMIT), LIMIT)
            value, is_seen = centre, seen[t, k] != 0
            state.sizes[k] = 0
            if is_seen:
                _set_contexts(state, model, k, centre, step, (activity * state.per_count[k]) >> 16)
                level = 0
                if not decoding:
                    level = cheapest_level((values[t, k] - centre) / step, model, price, 2, True)
                level = code_integer(coder, buffer, decoding, level, model, True)
                value = min(max(centre + level * step, -LIMIT), LIMIT)
                if keep_positive:
                    value = max(value, 0)
                state.sizes[k] = abs(level)
            out[t, k] = value
            state.total[k] += value
            observe(predictors, k, value - last, is_seen)
            if is_seen:
                _update_errors(state, k, value, step, share)
                activity += (((abs(value - centre) << 8) * state.per_step[k]) >> 32) + 26
                n_changes += 1
                changes += value - last
        for k in range(n):
            state.before[k] = state.sizes[k]
        mean_change = (changes * state.per_count[n_changes]) >> 16
        end_row(predictors)
    state.progress[0] = n_rows
    state.progress[1] = next_factor
    state.progress[2] = mean_change


@compiled
def code_low_bits(coder, buffer, decoding, low, seen, widths):
    """The lowest bits of each reading as they are: too far below the noise to be predicted."""
    for t in range(low.shape[0]):
        if decoding and has_run_out(coder, buffer):
            return
        for k in range(low.shape[1]):
            if widths[k] > 0 and seen[t, k]:
                low[t, k] = code_plain_bits(coder, buffer, decoding, low[t, k], widths[k])
