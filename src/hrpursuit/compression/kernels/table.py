"""Coder of general tables: column by column in each row, whole numbers by experts, contexts and mixing.

Each column has several predictions of its next value: its last value, that plus a drift, a straight line, and
regressions on its own past and on columns before it. A value is coded as its difference from a centre, as bits: is it
zero, its sign, then one bit for each bucket of magnitudes whether it lies there (two buckets per octave), then its
place in the bucket. Every prediction is an expert for these bits, through a logistic distribution around it; contexts
have counted chances of their own; three mixers, chosen by column and by state, weigh the log odds of all, and a last
one weighs the three (logistic mixing as in PAQ and zpaq).
"""

import numpy as np

from hrpursuit.compression.kernels.bits import code_bit, code_plain_bits, has_run_out
from hrpursuit.compression.kernels.compiled import compiled, inlined
from hrpursuit.compression.kernels.constants import LOGISTIC, RATE, SQUASH, STRETCH
from hrpursuit.compression.kernels.regression import EVERY, N_SUMS, forget, observe, solve
from hrpursuit.compression.kernels.table_features import scaled, set_features
from hrpursuit.compression.kernels.table_state import (
    BUCKET_FIRST,
    BUCKET_SIZE,
    CONSTANT,
    COST,
    DRIFT_MEMORY,
    DRIFTING,
    LAST,
    LIMIT,
    LINE,
    MEAN_MEMORY,
    N_BUCKETS,
    N_CONTEXTS,
    N_SIMPLE,
    OWN_MIXERS,
    SHARE,
    TRUST,
)

_COUNT_LIMIT = 250  # bits that a chance remembers, at most
_FIRST_ROWS = 32  # regressions are solved in each of these rows, and then whenever their sums fade
_SLOW = 50  # rows that the slow error of a prediction remembers
_LARGEST_ERROR = 1 << 42  # in 1/4096
_AWAY = 1 << 27  # a prediction from the last value, in 1/256, for the centre
_REACH = 1 << 33  # from a threshold to an expert's centre, in 1/256
_LEAST_WIDTH = 8  # of an expert's distribution, in 1/256
_STEP_RATE, _FIRST_RATE = 98, 1311  # of mixers in 1/65536: at last, and more of it in the first rows
_WORD = (1 << 31) - 1


@inlined
def _hash(a, b):
    """Of two numbers of any sign, to 31 bits."""
    x = (a & _WORD) * 0x2545F491 + (b & _WORD) * 0x5851F42D
    x = (x ^ (x >> 29)) & _WORD
    x = x * 0x1B873593
    return (x ^ (x >> 31)) & _WORD


@inlined
def _size_class(magnitude):
    """Class of a magnitude in 1/256, two per octave, from 0 to 47; the first two octaves are one."""
    length, rest = 0, magnitude >> 3
    while rest > 0:
        rest >>= 1
        length += 1
    if length < 2:
        return length
    return min(2 * length + ((magnitude >> (length + 1)) & 1) - 2, 47)


@inlined
def _level_class(level):
    """Sign and magnitude of a level in four bits."""
    size = abs(level)
    if size > 4:
        size = 5 if size < 8 else (6 if size < 16 else 7)
    return size if level >= 0 else 8 + size


@inlined
def _below(x, per_width):
    """Share of a logistic distribution around zero below x (in 1/256), in 1/2^24."""
    z = (min(max(x, -_REACH), _REACH) * per_width) >> 24
    return LOGISTIC[min(max(z, -4095), 4095) + 4096]


@inlined
def _set_predictions(state, k, last, before, n_own):
    """Distances of the predictions from the last value, and of their mean, by the inverse fourth power of errors."""
    predictions, features, errors = state.predictions, state.features, state.errors
    predictions[0] = 0
    predictions[1] = state.drifts[k] >> 12
    predictions[2] = (last - before) << 8
    for m in range(len(predictions) - N_SIMPLE):
        weights = state.regression.weights[k, m]
        total = 0
        for j in range(n_own if m < N_SUMS else len(features)):
            total += weights[j] * features[j]
        total = min(max(total >> 16, -(1 << 26)), 1 << 26)
        predictions[N_SIMPLE + m] = (total * state.scales[k]) >> 8
    least = 1 << 60
    for e in range(len(predictions)):
        least = min(least, errors[k, e, 0] * 179 + errors[k, e, 1] * 77)
    least = (least >> 8) + 1
    weight, total = 0, 0
    for e in range(len(predictions)):
        ratio = (least << 8) // (((errors[k, e, 0] * 179 + errors[k, e, 1] * 77) >> 8) + 1)
        ratio *= ratio
        ratio *= ratio
        weight += ratio
        total += ratio * min(max(predictions[e], -_AWAY), _AWAY)
    return total // weight, least


@inlined
def _set_lines(state, t, k, season, n_changed, n_seen, activity, run_class, part, least):
    """Where the contexts of the value at hand keep their chances."""
    n_lines = state.chances.shape[1]
    own, last = k + 1, state.levels[k, 0]
    left = state.here[k - 1] if k > 0 else 0
    left2 = state.here[k - 2] if k > 1 else 0
    phase = t % season if season > 0 else 0
    unchanged = n_seen if n_changed == 0 else 0
    row = activity // max(n_seen, 1)
    lines = state.lines
    levels = _level_class(state.levels[k, 1]) * 16 + _level_class(state.levels[k, 2])
    recent = _hash(state.changes[k, 1], _hash(state.changes[k, 2], run_class))
    lines[0, 0] = _hash(own, 0)
    lines[1, 0] = _hash(9000 + _size_class(row), _size_class(state.sizes[k]))
    lines[2, 0] = _hash(_hash(own, 12000 + _level_class(last)), levels)
    lines[3, 0] = _hash(_hash(own, 4000), state.values[k, 0])
    lines[4, 0] = _hash(_hash(_hash(own, 11000), state.changes[k, 0]), recent)
    if len(lines) == N_CONTEXTS:
        lines[5, 0] = _hash(_hash(own, 7000 + _level_class(left)), _level_class(left2) * 16 + min(abs(last), 3))
        lines[6, 0] = _hash(_hash(own, 8000 + min(n_changed, 3)), unchanged * 4 + min(state.runs[k], 3))
        lines[7, 0] = _hash(_hash(own, 10000 + phase), min(abs(last), 2))
        lines[8, 0] = _hash(_hash(own, 13000 + part), _size_class(least >> 4))
    for c in range(len(lines)):
        lines[c, 1] = lines[c, 0] & (n_lines - 1)


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
    n_widths, n_contexts = state.tails.shape[1], len(state.lines)
    n_asked = len(state.experts)
    n_experts = n_widths * n_asked
    n_inputs = len(state.inputs)
    n_lines = state.chances.shape[1]
    inputs, experts, tails, chances, lines = state.inputs, state.experts, state.tails, state.chances, state.lines
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
            middle, least = _set_predictions(state, k, last, before, n_own)
            if centres[k] == LAST:
                centre = last
            elif centres[k] == CONSTANT:
                centre = constants[k]
            elif centres[k] == DRIFTING:
                centre = last + constants[k]
            else:
                centre = min(max(last + ((middle + 128) >> 8), -LIMIT), LIMIT)
            run, run_class = min(state.runs[k], 255), 0
            while run > 0:
                run_class += 1
                run = (run * 5) >> 3
            part = min(max((((last - centre) << 8) + middle + 16) >> 5, -24), 24)
            _set_lines(state, t, k, season, n_changed, n_seen, activity, run_class, part, least)
            away = (last - centre) << 8
            for e in range(n_asked):
                asked, distance = e, 0
                if n_widths == 2:
                    distance = state.predictions[e]
                elif e == 0:
                    asked, distance = n_predictions, middle
                elif e == 2:
                    asked = n_predictions - 1
                    distance = state.predictions[asked]
                else:
                    asked = 0
                experts[e, 0] = away + distance
                for z in range(n_widths):
                    width = state.errors[k, asked, z]
                    if n_widths == 1:
                        width = (width + state.errors[k, asked, 1]) >> 1
                    experts[e, 1 + z] = (1 << 32) // max((width * 141) >> 12, _LEAST_WIDTH)
            level, sign, bucket, first, size, depth = 0, 0, -2, 0, 0, 0
            if not decoding:
                level = X[t, k] - centre
                sign = 1 if level < 0 else 0
            magnitude = abs(level)
            own, by_state = min(k, OWN_MIXERS - 1), run_class * 4 + min(abs(state.levels[k, 0]), 3)
            while True:
                # the bit that is next, what the experts say of it, and where its chances are
                if bucket == -2:
                    node, refinement, bit = 0, min(run_class, 12), 1 if magnitude == 0 else 0
                    for e in range(n_asked):
                        for z in range(n_widths):
                            iw = experts[e, 1 + z]
                            inside = _below(128 - experts[e, 0], iw) - _below(-128 - experts[e, 0], iw)
                            inputs[n_widths * e + z] = STRETCH[min(max(inside >> 12, 0), 4095)]
                elif bucket == -1:
                    node, refinement, bit = 1, 16 + min(run_class, 12), sign
                    for e in range(n_asked):
                        for z in range(n_widths):
                            iw = experts[e, 1 + z]
                            negative = _below(-128 - experts[e, 0], iw) + 16
                            positive = _below(-128 + experts[e, 0], iw) + 16
                            inputs[n_widths * e + z] = _log_odds(negative, negative + positive)
                elif size == 0:
                    node, refinement = 2 + bucket, 32 + min(bucket, 15)
                    end = BUCKET_FIRST[bucket] + BUCKET_SIZE[bucket]
                    bit = 1 if magnitude < end else 0
                    for e in range(n_asked):
                        c = -experts[e, 0] if sign else experts[e, 0]
                        for z in range(n_widths):
                            beyond = _below(128 - (end << 8) + c, experts[e, 1 + z])
                            inputs[n_widths * e + z] = _log_odds(tails[e, z] - beyond + 4, tails[e, z] + 8)
                            tails[e, z] = beyond
                else:
                    half = size >> 1
                    node = (
                        2 + N_BUCKETS + 3 * bucket + (0 if depth == 0 else (2 if first > BUCKET_FIRST[bucket] else 1))
                    )
                    refinement, bit = 48 + min(bucket, 15), 1 if magnitude >= first + half else 0
                    for e in range(n_asked):
                        c = 128 + (-experts[e, 0] if sign else experts[e, 0])
                        for z in range(n_widths):
                            iw = experts[e, 1 + z]
                            upper, end = _below(c - ((first + half) << 8), iw), _below(c - ((first + size) << 8), iw)
                            inputs[n_widths * e + z] = _log_odds(
                                upper - end + 4, _below(c - (first << 8), iw) - end + 8
                            )
                place = node & (LINE - 1)
                for c in range(n_contexts):
                    if place == 0 and node > 0:
                        lines[c, 1] = (lines[c, 0] + (node >> 4) * 0x9E3779B) & (n_lines - 1)
                    chance = chances[c, lines[c, 1], place]
                    odds = STRETCH[chance >> 12]
                    inputs[n_experts + 2 * c] = odds
                    inputs[n_experts + 2 * c + 1] = (odds * TRUST[chance & 255]) >> 16
                # mix
                mixed_a, mixed_b, mixed_c = 0, 0, 0
                for i in range(n_inputs):
                    mixed_a += inputs[i] * np.int64(state.shared[node, i])
                    mixed_b += inputs[i] * np.int64(state.own[own, node, i])
                    mixed_c += inputs[i] * np.int64(state.by_state[by_state, node, i])
                mixed_a = min(max(mixed_a >> 16, -2047), 2047)
                mixed_b = min(max(mixed_b >> 16, -2047), 2047)
                mixed_c = min(max(mixed_c >> 16, -2047), 2047)
                weights = state.last_mixer[k]
                mixed = (weights[0] * mixed_a + weights[1] * mixed_b + weights[2] * mixed_c) >> 16
                mixed = min(max(mixed, -2047), 2047)
                chance = SQUASH[mixed + 2048]
                bin_, share = (mixed + 2048) >> 7, (mixed + 2048) & 127
                refined = state.refined[own * 64 + refinement]
                by_bin = (refined[bin_] * (128 - share) + refined[bin_ + 1] * share) >> 7
                final = min(max((chance + by_bin) >> 1, 16), 65520)
                if count_from >= 0:
                    if t >= count_from:
                        state.costs[k] += COST[final >> 4] if bit else COST[4095 - (final >> 4)]
                else:
                    bit = code_bit(coder, buffer, decoding, final, bit)
                # learn
                nearest = bin_ if share < 64 else bin_ + 1
                refined[nearest] += (((bit << 16) - bit - refined[nearest]) * 1311) >> 16
                error = ((bit << 16) - chance) * 131
                weights[0] += (error * mixed_a) >> 24
                weights[1] += (error * mixed_b) >> 24
                weights[2] += (error * mixed_c) >> 24
                error_a = ((bit << 16) - SQUASH[mixed_a + 2048]) * rate
                error_b = ((bit << 16) - SQUASH[mixed_b + 2048]) * rate
                error_c = ((bit << 16) - SQUASH[mixed_c + 2048]) * rate
                for i in range(n_inputs):
                    state.shared[node, i] += (inputs[i] * error_a + (1 << 23)) >> 24
                    state.own[own, node, i] += (inputs[i] * error_b + (1 << 23)) >> 24
                    state.by_state[by_state, node, i] += (inputs[i] * error_c + (1 << 23)) >> 24
                for c in range(n_contexts):
                    old = chances[c, lines[c, 1], place]
                    chance, count = old >> 8, old & 255
                    chance += (((bit << 16) - bit - chance) * RATE[count]) >> 16
                    chances[c, lines[c, 1], place] = (chance << 8) + min(count + 1, _COUNT_LIMIT)
                # go on
                if bucket == -2:
                    if bit:
                        magnitude = 0
                        break
                    bucket = -1
                elif bucket == -1:
                    sign, bucket = bit, 0
                    for e in range(n_asked):
                        c = -experts[e, 0] if sign else experts[e, 0]
                        for z in range(n_widths):
                            tails[e, z] = _below(-128 + c, experts[e, 1 + z])
                elif size == 0:
                    if not bit and bucket < N_BUCKETS - 1:
                        bucket += 1
                    else:
                        first, size = BUCKET_FIRST[bucket], BUCKET_SIZE[bucket]
                else:
                    half = size >> 1
                    first += half if bit else 0
                    size = half
                    depth += 1
                if size == 1:
                    magnitude = first
                    break
                if size > 1 and depth == 2:
                    n_bits = 0
                    while (1 << n_bits) < size:
                        n_bits += 1
                    if count_from >= 0:
                        if t >= count_from:
                            state.costs[k] += n_bits << 8
                    else:
                        first += code_plain_bits(coder, buffer, decoding, magnitude - first, n_bits)
                        magnitude = first
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
        observe(state.regression, k, state.features, scaled(state, k, change))
        if t % EVERY == 0:
            forget(state.regression, k)
        if t < _FIRST_ROWS or t % EVERY == 0:
            solve(state.regression, k, n_own)
    count += 1
    state.counts[k] = count
    state.means[k] += (((value << 12) - state.means[k]) * SHARE[min(count, MEAN_MEMORY)]) >> 16
    if count > 1:
        near = min(max(change, -(1 << 26)), 1 << 26)
        state.drifts[k] += (((near << 20) - state.drifts[k]) * SHARE[min(count, DRIFT_MEMORY)]) >> 16
    state.levels[k, 2] = state.levels[k, 1]
    state.levels[k, 1] = state.levels[k, 0]
    state.levels[k, 0] = level
    state.values[k, 0] = value
    state.here[k] = level
    state.sizes[k] = abs((change << 8) - middle)
    if change != 0:
        state.changes[k, 2] = state.changes[k, 1]
        state.changes[k, 1] = state.changes[k, 0]
        state.changes[k, 0] = change
        state.runs[k] = 0
    else:
        state.runs[k] += 1
