"""Coder of general tables: column by column in each row, whole numbers by experts, contexts and mixing.

A number is coded as its difference from a centre, in bits: see 'Mixing coder', docs/format.md. Predictions are experts
for these bits, contexts have counted chances, and mixers weigh their log odds (logistic mixing as in PAQ and zpaq).
"""

import numpy as np

from hrpursuit.compression.kernels.bits import code_bit, code_plain_bits, has_run_out
from hrpursuit.compression.kernels.compiled import at, compiled, inlined, quotient
from hrpursuit.compression.kernels.constants import LOGISTIC, RATE, SQUASH, STRETCH
from hrpursuit.compression.kernels.regression import learn_change
from hrpursuit.compression.kernels.table_context import (
    expected_bucket,
    open_lines,
    set_experts,
    set_lines,
    set_predicted_lines,
    set_predictions,
)
from hrpursuit.compression.kernels.table_features import learn_filter, scaled, set_features
from hrpursuit.compression.kernels.table_learning import learn_errors, learn_value
from hrpursuit.compression.kernels.table_state import (
    AT,
    BEYOND_HIGH,
    BEYOND_LOW,
    BEYOND_SPLIT,
    BITS,
    BUCKET_END,
    CENTRE,
    CENTRE_CONSTANT,
    CONSTANT,
    COST,
    DRIFTING,
    LEAST,
    LEVEL,
    LIMIT,
    LINE,
    MEAN,
    MIXED,
    MIXER,
    MOST,
    N_BUCKETS,
    N_CONTEXTS,
    N_MIXERS,
    N_NEAR,
    N_STEPS,
    OWN_MIXERS,
    PREDICTED,
    RECURS,
    REPEATS,
    RUN,
    SET,
    SHARPNESS,
    SIZE,
    TRUST,
    VISITS,
)
from hrpursuit.compression.kernels.vectors import mixed_sum, move_weights

_COUNT_LIMIT = 250  # bits that a chance remembers, at most
_REACH = 1 << 33  # from a threshold to an expert's centre, in 1/256
_STEP_RATE, _FIRST_RATE = 98, 1311  # of mixers in 1/65536: at last, and more of it for the first bits of a node
_SELDOM = 256  # share of values like the one before, in 1/65536, below which large levels come without asking for it
# What the next bit says, in this order. ZERO: the level is zero, or where levels are large the value is the last one.
# SIGN. NEAR: the magnitude ends in this bucket. FIRST: it ends in the bucket that is expected, or before. UP: it ends
# in this bucket. DOWN: it does not end before it. INSIDE: it lies in the upper half of what is left of its bucket.
_ZERO, _SIGN, _NEAR, _FIRST, _UP, _DOWN, _INSIDE = range(7)


@inlined
def _below(x, sharpness):
    """Share of a logistic distribution around zero below x (in 1/256), in 1/2^24."""
    z = (min(max(x, -_REACH), _REACH) * sharpness) >> 24
    return np.int64(LOGISTIC[at(min(max(z, -4095), 4095) + 4096)])


@inlined
def _log_odds(part, whole):
    """STRETCH of part over whole."""
    return STRETCH[at(min(quotient(part << 12, whole), 4095))]


@inlined
def _ask_for_value(inputs, experts, spot):
    """What experts say of this level."""
    for e in range(experts.shape[1]):
        c, sharpness = (spot << 8) - experts[AT, e], experts[SHARPNESS, e]
        inside = _below(128 + c, sharpness) - _below(-128 + c, sharpness)
        inputs[e] = STRETCH[at(min(inside >> 12, 4095))]


@inlined
def _ask_for_sign(inputs, experts, nought):
    """What experts say of the sign; levels that are not negative begin at `nought`."""
    for e in range(experts.shape[1]):
        c, sharpness = experts[AT, e], experts[SHARPNESS, e]
        negative = _below(-128 - c, sharpness) + 16
        inputs[e] = _log_odds(negative, negative + _below(nought + c, sharpness) + 16)


@inlined
def _narrow_down(experts, sign, low, high):
    """The magnitude is known to be at least `low`, and below `high` where that is not 0."""
    for e in range(experts.shape[1]):
        c = -experts[AT, e] if sign else experts[AT, e]
        experts[BEYOND_LOW, e] = _below(c + 128 - (low << 8), experts[SHARPNESS, e])
        experts[BEYOND_HIGH, e] = _below(c + 128 - (high << 8), experts[SHARPNESS, e]) if high > 0 else 0


@inlined
def _ask_for_part(inputs, experts, sign, split, for_upper):
    """What experts say of magnitudes from `split` on, or of those below it."""
    for e in range(experts.shape[1]):
        c = 128 + (-experts[AT, e] if sign else experts[AT, e])
        low, high = experts[BEYOND_LOW, e], experts[BEYOND_HIGH, e]
        upper = _below(c - (split << 8), experts[SHARPNESS, e])
        experts[BEYOND_SPLIT, e] = upper
        inputs[e] = _log_odds((upper - high if for_upper else low - upper) + 4, low - high + 8)


@compiled
def code_table(coder, buffer, decoding, X, seen, state, neighbours, order, season, count_from):
    """Write the whole numbers X (rows x columns) where they are seen, or read them; below a gap the last value stands.

    `neighbours` are columns with a smaller number, or plus n times a lag any column so many rows before, -1 for none.
    Where `count_from` is not negative nothing is written, and the columns of the state have the bits from this row on.
    """
    n_rows, n = X.shape
    features, inputs, experts, chances, lines = state.features, state.inputs, state.experts, state.chances, state.lines
    predictions, weights, refined = state.predictions, state.weights, state.refined
    n_own = state.regression.sums.shape[2] - 2 * neighbours.shape[1]
    n_all_contexts = len(lines)
    n_experts, n_columns = experts.shape[1], min(n, OWN_MIXERS)
    for t in range(n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        n_changed, n_seen, activity = np.int64(0), np.int64(0), np.int64(0)
        phase = t % season if season > 0 else -1
        for k in range(n):
            last = X[at(t - 1), k] if t > 0 else 0
            if not seen[t, k]:
                X[t, k] = last
                continue
            change = last - X[at(t - 2), k] if t > 1 else 0
            column, errors = state.columns[k], state.errors[k]
            expected = expected_bucket(column, errors, n_all_contexts < N_CONTEXTS)
            run, run_class = min(column[RUN], 255), 0
            while run > 0:
                run_class += 1
                run = (run * 5) >> 3
            left = state.columns[at(k - 1), LEVEL] if k > 0 else 0
            left2 = state.columns[at(k - 2), LEVEL] if k > 1 else 0
            n_contexts = set_lines(
                lines, chances, column, k, left, left2, phase, n_changed, n_seen, run_class, expected
            )  # fmt: skip
            set_features(features, state.columns, X, t, k, neighbours, order, season)
            least = set_predictions(
                predictions, features, state.regression.weights[k], column, errors, state.taps[k], state.past[k], last,
                change,
            )  # fmt: skip
            middle = predictions[len(predictions) - 1]
            centre = last
            if column[CENTRE] == PREDICTED:
                centre = last + ((middle + 128) >> 8)
            elif column[CENTRE] == DRIFTING:
                centre = last + column[CENTRE_CONSTANT]
            elif column[CENTRE] == CONSTANT:
                centre = column[CENTRE_CONSTANT]
            centre = min(max(centre, column[LEAST]), column[MOST])
            away = (last - centre) << 8
            part = min(max((away + middle + 16) >> 5, -24), 24)
            row = quotient(activity, max(n_seen, 1))
            set_predicted_lines(lines, chances, column, k, part, least, row, expected)
            for i in range(n_experts + 2 * n_contexts, n_experts + 2 * n_all_contexts):
                inputs[at(i)] = 0
            set_experts(experts, predictions, errors, away, n_all_contexts < N_CONTEXTS)
            level, sign = 0, 0
            if not decoding:
                level = X[t, k] - centre
                sign = 1 if level < 0 else 0
            magnitude = abs(level)
            own = min(k, OWN_MIXERS - 1)
            by_state = run_class * 4 + min(abs(column[LEVEL]), 3)
            # the magnitude is at least `low`, and below `high` where that is known; `bucket` is asked for
            kind, bucket, low, split, high, depth = _ZERO, 0, 1, 1, 0, 0
            spot = 0  # the level that is asked for first
            if expected > 0:
                kind, low, by_state = _SIGN, 0, 64 + min(expected, 31)
                if column[REPEATS] >= _SELDOM:
                    kind, spot = _ZERO, last - centre
            experts[SET, 0], experts[SET, 1], experts[SET, 2] = 1 + n_columns + by_state, 1 + own, 0
            while True:
                # the bit that is next, what the experts say of it, and where its chances are
                if kind == _ZERO:
                    node, place, refinement, bit = 0, 0, min(run_class, 12), 1 if level == spot else 0
                    if expected > 0:
                        place, refinement = 14, 31
                    _ask_for_value(inputs, experts, spot)
                elif kind == _SIGN:
                    node, place, refinement, bit = 1, 1, 16 + min(run_class, 12), sign
                    if expected > 0:
                        node, place, refinement = 2, 0, 29
                    _ask_for_sign(inputs, experts, 128 if expected > 0 else -128)
                else:
                    if kind == _INSIDE:
                        split = low + ((high - low) >> 1)
                        node = 4 + N_NEAR + 2 * N_STEPS + 4 * min(depth, 1) + min(bucket >> 2, 3)
                        refinement = 48 + min(bucket, 15)
                        place = depth
                        if depth == 1 and low > BUCKET_END[at(bucket - 1)]:
                            place = 2
                        elif depth > 1:
                            place = min(depth + 1, LINE - 1)
                        bit = 1 if magnitude >= split else 0
                    else:
                        split = BUCKET_END[at(bucket)]
                        bit = 1 if magnitude < split else 0
                        refinement = 32 + min(bucket, 15)
                        if kind == _NEAR:
                            node, place = 3 + min(bucket, N_NEAR - 1), 2 + bucket
                        elif kind == _FIRST:
                            node, place, refinement = 3 + N_NEAR, 1, 30
                        elif kind == _UP:
                            steps = min(bucket - expected, N_STEPS) - 1
                            node, place = 4 + N_NEAR + steps, 2 + steps
                        else:
                            steps = min(expected - bucket, N_STEPS) - 1
                            node, place, bit = 4 + N_NEAR + N_STEPS + steps, 7 + steps, 1 - bit
                    _ask_for_part(inputs, experts, sign, split, kind >= _DOWN)
                if place & (LINE - 1) == 0 and place > 0:
                    open_lines(lines, chances, np.int64(0), n_contexts, place >> 4)
                place &= LINE - 1
                for c in range(n_contexts):
                    chance = np.int64(chances[c, at(lines[c, 1]), at(place)])
                    odds = np.int64(STRETCH[at(chance >> 12)])
                    inputs[at(n_experts + 2 * c)] = odds
                    inputs[at(n_experts + 2 * c + 1)] = (odds * TRUST[at(chance & 255)]) >> 16
                # mix
                mixed = 0
                for m in range(N_MIXERS):
                    total = mixed_sum(inputs, weights[at(experts[SET, m]), at(node)]) >> 10
                    total = min(max(total, -2047), 2047)
                    experts[MIXED, m] = total
                    mixed += column[at(MIXER + m)] * total
                mixed >>= 16
                mixed = min(max(mixed, -2047), 2047) + 2048
                chance = np.int64(SQUASH[at(mixed)])
                bin_, share = mixed >> 7, mixed & 127
                found = refined[at(refinement + own * 64)]
                by_bin = (found[at(bin_)] * (128 - share) + found[at(bin_ + 1)] * share) >> 7
                final = min(max((chance + by_bin) >> 1, 16), 65520)
                if count_from >= 0:
                    if t >= count_from:
                        column[BITS] += COST[at(final >> 4)] if bit else COST[at(4095 - (final >> 4))]
                else:
                    bit = code_bit(coder, buffer, decoding, final, bit)
                # learn
                nearest = bin_ if share < 64 else bin_ + 1
                found[at(nearest)] += (((bit << 16) - bit - found[at(nearest)]) * 1311) >> 16
                error = ((bit << 16) - chance) * 131
                visits = column[at(VISITS + node)]
                column[at(VISITS + node)] = visits + 1
                rate = _STEP_RATE + quotient(_FIRST_RATE * 32, 32 + visits)
                for m in range(N_MIXERS):
                    total = experts[MIXED, m]
                    column[at(MIXER + m)] += (error * total) >> 24
                    miss = (bit << 16) - SQUASH[at(total + 2048)]
                    move_weights(weights[at(experts[SET, m]), at(node)], inputs, (miss * rate) >> 8)
                for c in range(n_contexts):
                    old = np.int64(chances[c, at(lines[c, 1]), at(place)])
                    chance, count = old >> 8, old & 255
                    chance += (((bit << 16) - bit - chance) * RATE[at(count)]) >> 16
                    chances[c, at(lines[c, 1]), at(place)] = (chance << 8) + min(count + 1, _COUNT_LIMIT)
                # go on
                has_sign = kind == _SIGN
                if has_sign:
                    sign = bit
                elif kind == _ZERO:
                    if bit:
                        magnitude, sign = abs(spot), 1 if spot < 0 else 0
                        break
                    kind = _SIGN
                    if expected == 0:  # at its ends a column can only go back
                        has_sign = centre <= column[LEAST] or centre >= column[MOST]
                        if has_sign:
                            sign = 0 if centre <= column[LEAST] else 1
                else:
                    is_upper = bit if kind >= _DOWN else 1 - bit
                    if is_upper:
                        low = split
                    else:
                        high = split
                    known = BEYOND_LOW if is_upper else BEYOND_HIGH
                    for e in range(n_experts):
                        experts[at(known), e] = experts[BEYOND_SPLIT, e]
                    if kind == _INSIDE:
                        depth += 1
                    elif kind == _FIRST:
                        kind = _UP if is_upper else _DOWN
                        bucket += 1 if is_upper else -1
                    elif kind == _DOWN:
                        if is_upper:
                            kind = _INSIDE
                            bucket += 1
                        else:
                            bucket -= 1
                    elif is_upper:
                        bucket += 1
                    else:
                        kind = _INSIDE
                if has_sign:
                    kind = _NEAR
                    if expected > 0:
                        kind, bucket = _FIRST, expected
                        low = sign
                    elif column[MOST] < LIMIT:
                        high = max(centre - column[LEAST] if sign else column[MOST] - centre, 1) + 1
                    _narrow_down(experts, sign, low, high)
                if kind == _NEAR and 0 < high <= BUCKET_END[at(bucket)]:
                    kind = _INSIDE
                if kind in (_NEAR, _UP) and bucket == N_BUCKETS - 1:
                    high, kind = BUCKET_END[at(bucket)], _INSIDE
                if kind == _DOWN and bucket < 0:
                    kind, bucket = _INSIDE, 0
                if kind == _INSIDE:
                    if high - low == 1:
                        magnitude = low
                        break
                    if depth == 0:
                        open_lines(lines, chances, np.int64(0), n_contexts, bucket + 1)
                    if depth > 1 and column[RECURS]:
                        open_lines(lines, chances, np.int64(0), n_contexts, (low * 0x9E3779B1) >> 16)
                    elif depth == 2:
                        n_bits = 0
                        while (1 << n_bits) < high - low:
                            n_bits += 1
                        if count_from >= 0:
                            if t >= count_from:
                                column[BITS] += n_bits << 8
                        else:
                            magnitude = low + code_plain_bits(coder, buffer, decoding, magnitude - low, n_bits)
                        break
            level = -magnitude if sign else magnitude
            value = min(max(centre + level, column[LEAST]), column[MOST])
            X[t, k] = value
            change = value - last
            learn_errors(column, errors, predictions, change)
            if t > 0:
                learn_change(state.regression, k, features, scaled(column, change), n_own)
            if state.taps.shape[1]:
                learn_filter(column, state.taps[k], state.past[k], scaled(column, value - (column[MEAN] >> 12)))
            learn_value(column, value, change, level, middle)
            activity += column[SIZE] + 26
            n_seen += 1
            n_changed += 1 if change != 0 else 0
