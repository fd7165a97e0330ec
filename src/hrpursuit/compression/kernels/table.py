"""Coder of general tables: column by column in each row, whole numbers by experts, contexts and mixing.

Each column has several predictions of its next value: its last value, that plus a drift, a straight line, regressions
on its own past and on columns before it, and where it is asked for a long filter (normalised least mean squares). A
value is coded as its difference from a centre, its level, in bits. Where small levels are expected these are: is it
zero, its sign, then one bit for each bucket of magnitudes whether it lies there (two buckets per octave), then its
place in the bucket. Where large levels are expected, the sign comes first, and buckets are asked for from the one that
is expected. Every prediction is an expert for these bits, through a logistic distribution around it; contexts have
counted chances of their own; three mixers, chosen by column and by state, weigh the log odds of all, and a last one
weighs the three (logistic mixing as in PAQ and zpaq).
"""

import numpy as np

from hrpursuit.compression.kernels.bits import code_bit, code_plain_bits, has_run_out
from hrpursuit.compression.kernels.compiled import compiled, inlined
from hrpursuit.compression.kernels.constants import LOGISTIC, RATE, SQUASH, STRETCH
from hrpursuit.compression.kernels.regression import learn_change
from hrpursuit.compression.kernels.table_context import set_experts, set_lines, set_predictions
from hrpursuit.compression.kernels.table_features import learn_filter, scaled, set_features
from hrpursuit.compression.kernels.table_state import (
    BUCKET_END,
    CONSTANT,
    COST,
    DRIFT_MEMORY,
    DRIFTING,
    LIMIT,
    LINE,
    MEAN_MEMORY,
    N_BUCKETS,
    N_NEAR,
    N_STEPS,
    OWN_MIXERS,
    PREDICTED,
    SHARE,
    TRUST,
)

_COUNT_LIMIT = 250  # bits that a chance remembers, at most
_SLOW = 50  # values that the slow error of a prediction remembers
_LARGEST_ERROR = 1 << 42  # in 1/4096
_REACH = 1 << 33  # from a threshold to an expert's centre, in 1/256
_STEP_RATE, _FIRST_RATE = 98, 1311  # of mixers in 1/65536: at last, and more of it in the first rows
_FAR = 7  # the first bucket that is asked for where levels are large
_SELDOM = 256  # share of values like the one before, in 1/65536, below which large levels come without asking for it
# What the next bit says, in this order. ZERO: the level is zero, or where levels are large the value is the last one.
# SIGN. NEAR: the magnitude ends in this bucket. FIRST: it ends in the bucket that is expected, or before. UP: it ends
# in this bucket. DOWN: it does not end before it. INSIDE: it lies in the upper half of what is left of its bucket.
_ZERO, _SIGN, _NEAR, _FIRST, _UP, _DOWN, _INSIDE = range(7)


@inlined
def _below(x, per_width):
    """Share of a logistic distribution around zero below x (in 1/256), in 1/2^24."""
    z = (min(max(x, -_REACH), _REACH) * per_width) >> 24
    return LOGISTIC[min(max(z, -4095), 4095) + 4096]


@inlined
def _log_odds(part, whole):
    """STRETCH of part over whole."""
    return STRETCH[min(max((part << 12) // whole, 0), 4095)]


@compiled
def code_table(coder, buffer, decoding, X, seen, state, centres, constants, neighbours, order, season, count_from):
    """Write the whole numbers X (rows x columns) where they are seen, or read them; below a gap the last value stands.

    `centres` says what the centre of each column is, `constants` the drift or the constant; `neighbours` are columns
    with a smaller number, -1 where there are fewer. Where `count_from` is not negative nothing is written, and
    `state.costs` has the bits from this row on.
    """
    n_rows, n = X.shape
    n_own = len(state.features) - 2 * neighbours.shape[1]
    n_predictions = len(state.predictions)
    n_widths, n_experts, n_all_contexts = state.tails.shape[1], len(state.experts), len(state.lines)
    n_mixed = n_widths * n_experts
    n_inputs, n_lines = len(state.inputs), state.chances.shape[1]
    inputs, experts, tails, chances, lines = state.inputs, state.experts, state.tails, state.chances, state.lines
    shared, own_weights, by_state_weights = state.shared, state.own, state.by_state
    last_mixer, refined = state.last_mixer, state.refined
    inputs[n_inputs - 1] = 77
    for t in range(n_rows):
        if decoding and has_run_out(coder, buffer):
            return
        n_changed, n_seen, activity = 0, 0, 0
        rate = _STEP_RATE + _FIRST_RATE * 32 // (32 + t)
        for k in range(n):
            if not seen[t, k]:
                X[t, k] = X[t - 1, k] if t > 0 else 0
                continue
            last, before = set_features(state, X, t, k, neighbours, order, season)
            simple = (state.drifts[k] >> 12, last - before, (state.means[k] >> 4) - (last << 8), state.scales[k])
            middle, least = set_predictions(
                state.predictions, state.features, state.regression.weights, state.filters, state.errors, k, simple,
                n_own,
            )  # fmt: skip
            centre, judged = last, 0
            if centres[k] == PREDICTED:
                centre, judged = min(max(last + ((middle + 128) >> 8), -LIMIT), LIMIT), n_predictions
            elif centres[k] == DRIFTING:
                centre, judged = last + constants[k], 1
            elif centres[k] == CONSTANT:
                centre, judged = constants[k], -1
            # the bucket that is expected to end at the mean magnitude; 0 where levels are small
            expected = 0
            if judged >= 0:
                mean = (state.errors[k, judged, 0] * 179 + state.errors[k, judged, 1] * 77) * 3 >> 22
                while expected < N_BUCKETS - 1 and BUCKET_END[expected] <= mean:
                    expected += 1
                if expected < _FAR:
                    expected = 0
            run, run_class = min(state.runs[k], 255), 0
            while run > 0:
                run_class += 1
                run = (run * 5) >> 3
            away = (last - centre) << 8
            part = min(max((away + middle + 16) >> 5, -24), 24)
            n_contexts = set_lines(state, t, k, season, n_changed, n_seen, activity, run_class, part, least, expected)
            for i in range(n_mixed + 2 * n_contexts, n_mixed + 2 * n_all_contexts):
                inputs[i] = 0
            set_experts(state, k, away, middle)
            level, sign = 0, 0
            if not decoding:
                level = X[t, k] - centre
                sign = 1 if level < 0 else 0
            magnitude = abs(level)
            own = min(k, OWN_MIXERS - 1)
            by_state = run_class * 4 + min(abs(state.levels[k, 0]), 3)
            # the magnitude is at least `low`, and below `high` where that is known; `bucket` is asked for
            kind, bucket, low, split, high, depth = _ZERO, 0, 1, 1, 0, 0
            spot = 0  # the level that is asked for first
            if expected > 0:
                kind, low, by_state = _SIGN, 0, 64 + min(expected, 31)
                if state.repeats[k] >= _SELDOM:
                    kind, spot = _ZERO, last - centre
            while True:
                # the bit that is next, what the experts say of it, and where its chances are
                if kind == _ZERO:
                    node, place, refinement, bit = 0, 0, min(run_class, 12), 1 if level == spot else 0
                    if expected > 0:
                        place, refinement = 14, 31
                    for e in range(n_experts):
                        c = (spot << 8) - experts[e, 0]
                        for z in range(n_widths):
                            iw = experts[e, 1 + z]
                            inside = _below(128 + c, iw) - _below(-128 + c, iw)
                            inputs[n_widths * e + z] = STRETCH[min(max(inside >> 12, 0), 4095)]
                elif kind == _SIGN:
                    bit = sign
                    node, place, refinement = 1, 1, 16 + min(run_class, 12)
                    if expected > 0:
                        node, place, refinement = 2, 0, 29
                    nought = 128 if expected > 0 else -128  # where levels that are not negative begin
                    for e in range(n_experts):
                        for z in range(n_widths):
                            iw = experts[e, 1 + z]
                            negative = _below(-128 - experts[e, 0], iw) + 16
                            positive = _below(nought + experts[e, 0], iw) + 16
                            inputs[n_widths * e + z] = _log_odds(negative, negative + positive)
                else:
                    if kind == _INSIDE:
                        split = low + ((high - low) >> 1)
                        node = 4 + N_NEAR + 2 * N_STEPS + 4 * depth + min(bucket >> 2, 3)
                        refinement = 48 + min(bucket, 15)
                        place = depth
                        if depth == 1 and low > BUCKET_END[bucket - 1]:
                            place = 2
                        bit = 1 if magnitude >= split else 0
                    else:
                        split = BUCKET_END[bucket]
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
                    for e in range(n_experts):
                        c = 128 + (-experts[e, 0] if sign else experts[e, 0])
                        for z in range(n_widths):
                            iw = experts[e, 1 + z]
                            upper = _below(c - (split << 8), iw)
                            end = tails[e, z, 1]
                            if kind >= _DOWN:
                                inputs[n_widths * e + z] = _log_odds(upper - end + 4, tails[e, z, 0] - end + 8)
                            else:
                                inputs[n_widths * e + z] = _log_odds(
                                    tails[e, z, 0] - upper + 4, tails[e, z, 0] - end + 8
                                )
                            tails[e, z, 2] = upper
                if place & (LINE - 1) == 0 and place > 0:
                    for c in range(n_contexts):
                        lines[c, 1] = (lines[c, 0] + (place >> 4) * 0x9E3779B) & (n_lines - 1)
                place &= LINE - 1
                for c in range(n_contexts):
                    chance = chances[c, lines[c, 1], place]
                    odds = STRETCH[chance >> 12]
                    inputs[n_mixed + 2 * c] = odds
                    inputs[n_mixed + 2 * c + 1] = (odds * TRUST[chance & 255]) >> 16
                # mix
                mixed_a, mixed_b, mixed_c = 0, 0, 0
                for i in range(n_inputs):
                    mixed_a += inputs[i] * np.int64(shared[node, i])
                    mixed_b += inputs[i] * np.int64(own_weights[own, node, i])
                    mixed_c += inputs[i] * np.int64(by_state_weights[by_state, node, i])
                mixed_a = min(max(mixed_a >> 16, -2047), 2047)
                mixed_b = min(max(mixed_b >> 16, -2047), 2047)
                mixed_c = min(max(mixed_c >> 16, -2047), 2047)
                mixed = (last_mixer[k, 0] * mixed_a + last_mixer[k, 1] * mixed_b + last_mixer[k, 2] * mixed_c) >> 16
                mixed = min(max(mixed, -2047), 2047)
                chance = SQUASH[mixed + 2048]
                bin_, share = (mixed + 2048) >> 7, (mixed + 2048) & 127
                refinement += own * 64
                by_bin = (refined[refinement, bin_] * (128 - share) + refined[refinement, bin_ + 1] * share) >> 7
                final = min(max((chance + by_bin) >> 1, 16), 65520)
                if count_from >= 0:
                    if t >= count_from:
                        state.costs[k] += COST[final >> 4] if bit else COST[4095 - (final >> 4)]
                else:
                    bit = code_bit(coder, buffer, decoding, final, bit)
                # learn
                nearest = bin_ if share < 64 else bin_ + 1
                refined[refinement, nearest] += (((bit << 16) - bit - refined[refinement, nearest]) * 1311) >> 16
                error = ((bit << 16) - chance) * 131
                last_mixer[k, 0] += (error * mixed_a) >> 24
                last_mixer[k, 1] += (error * mixed_b) >> 24
                last_mixer[k, 2] += (error * mixed_c) >> 24
                error_a = ((bit << 16) - SQUASH[mixed_a + 2048]) * rate
                error_b = ((bit << 16) - SQUASH[mixed_b + 2048]) * rate
                error_c = ((bit << 16) - SQUASH[mixed_c + 2048]) * rate
                for i in range(n_inputs):
                    shared[node, i] += (inputs[i] * error_a + (1 << 23)) >> 24
                    own_weights[own, node, i] += (inputs[i] * error_b + (1 << 23)) >> 24
                    by_state_weights[by_state, node, i] += (inputs[i] * error_c + (1 << 23)) >> 24
                for c in range(n_contexts):
                    old = chances[c, lines[c, 1], place]
                    chance, count = old >> 8, old & 255
                    chance += (((bit << 16) - bit - chance) * RATE[count]) >> 16
                    chances[c, lines[c, 1], place] = (chance << 8) + min(count + 1, _COUNT_LIMIT)
                # go on
                if kind == _ZERO:
                    if bit:
                        magnitude, sign = abs(spot), 1 if spot < 0 else 0
                        break
                    kind = _SIGN
                elif kind == _SIGN:
                    sign = bit
                    kind = _NEAR
                    if expected > 0:
                        kind, bucket = _FIRST, expected
                        low = sign
                    for e in range(n_experts):
                        c = -experts[e, 0] if sign else experts[e, 0]
                        for z in range(n_widths):
                            tails[e, z, 0] = _below(c + 128 - (low << 8), experts[e, 1 + z])
                            tails[e, z, 1] = 0
                else:
                    is_upper = bit if kind >= _DOWN else 1 - bit
                    if is_upper:
                        low = split
                    else:
                        high = split
                    for e in range(n_experts):
                        for z in range(n_widths):
                            tails[e, z, 1 - is_upper] = tails[e, z, 2]
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
                    if kind in (_NEAR, _UP) and bucket == N_BUCKETS - 1:
                        high, kind = BUCKET_END[bucket], _INSIDE
                    if kind == _DOWN and bucket < 0:
                        kind, bucket = _INSIDE, 0
                    if kind == _INSIDE:
                        if high - low == 1:
                            magnitude = low
                            break
                        if depth == 0:
                            for c in range(n_contexts):
                                lines[c, 1] = (lines[c, 0] + (bucket + 1) * 0x9E3779B) & (n_lines - 1)
                        if depth == 2:
                            n_bits = 0
                            while (1 << n_bits) < high - low:
                                n_bits += 1
                            if count_from >= 0:
                                if t >= count_from:
                                    state.costs[k] += n_bits << 8
                            else:
                                magnitude = low + code_plain_bits(coder, buffer, decoding, magnitude - low, n_bits)
                            break
            level = -magnitude if sign else magnitude
            value = min(max(centre + level, -LIMIT), LIMIT)
            X[t, k] = value
            _learn_value(state, k, value, last, level, middle, t, n_own)
            activity += state.sizes[k] + 26
            n_seen += 1
            n_changed += 1 if value != last else 0


@inlined
def _learn_value(state, k, value, last, level, middle, t, n_own):
    """Errors, sums and contexts after a value."""
    change = value - last
    count = state.counts[k]
    share = SHARE[min(count + 2, _SLOW)]
    n = len(state.predictions)
    for e in range(n + 1):
        prediction = state.predictions[e] if e < n else middle
        error = min((abs((change << 8) - prediction) << 4) + 614, _LARGEST_ERROR)
        state.errors[k, e, 0] += ((error - state.errors[k, e, 0]) * share) >> 16
        state.errors[k, e, 1] += ((error - state.errors[k, e, 1]) * 38) >> 8
    if t > 0:
        learn_change(state.regression, k, state.features, scaled(state, k, change), n_own)
    if state.filters.weights.shape[1]:
        learn_filter(state.filters, k, scaled(state, k, value - (state.means[k] >> 12)))
    count += 1
    state.counts[k] = count
    state.means[k] += (((value << 12) - state.means[k]) * SHARE[min(count, MEAN_MEMORY)]) >> 16
    if count > 1:
        near = min(max(change, -(1 << 26)), 1 << 26)
        state.drifts[k] += (((near << 20) - state.drifts[k]) * SHARE[min(count, DRIFT_MEMORY)]) >> 16
    state.levels[k, 2] = state.levels[k, 1]
    state.levels[k, 1] = state.levels[k, 0]
    state.levels[k, 0] = level
    state.values[k] = value
    state.here[k] = level
    state.sizes[k] = abs((change << 8) - middle)
    if change != 0:
        state.changes[k, 2] = state.changes[k, 1]
        state.changes[k, 1] = state.changes[k, 0]
        state.changes[k, 0] = change
        state.runs[k] = 0
        state.repeats[k] -= state.repeats[k] >> 6
    else:
        state.runs[k] += 1
        state.repeats[k] += (65536 - state.repeats[k]) >> 6
