"""What the coder of tables asks for each bit of a value: predictions of it, and contexts that it comes in."""

import numpy as np

from hrpursuit.compression.kernels.compiled import at, compiled, inlined, quotient, will_need
from hrpursuit.compression.kernels.regression import WEIGHT_BITS
from hrpursuit.compression.kernels.table_features import filtered
from hrpursuit.compression.kernels.table_state import (
    AT,
    BUCKET_END,
    CENTRE,
    CENTRE_CONSTANT,
    CHANGE,
    CONSTANT,
    DRIFT,
    DRIFTING,
    LEVEL,
    MEAN,
    N_BUCKETS,
    N_CONTEXTS,
    N_SIMPLE,
    PREDICTED,
    RUN,
    SCALE,
    SHARPNESS,
    SIZE,
    SPAN,
    VALUE,
)
from hrpursuit.compression.kernels.vectors import weighted

_AWAY = 1 << 27  # a prediction from the last value, in 1/256, for the centre
_LEAST_WIDTH = 8  # of an expert's distribution, in 1/256
_WORD = (1 << 31) - 1
_N_FAR = 3  # contexts where levels are large, in haste: column, activity, and the place of the prediction
_FAR, _FAR_IN_HASTE = 7, 4  # the first bucket that is asked for where levels are large
_N_NEAR_LINES = 15  # lines of a context that are near each other, less one


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
def _run_class(n_rows, per_octave):
    """Class of a number of rows, two or four per octave."""
    length, rest = 0, n_rows
    while rest > 0:
        rest >>= 1
        length += 1
    n_bits = per_octave >> 1  # below the highest
    if length <= n_bits:
        return n_rows
    return per_octave * (length - n_bits) + ((n_rows >> (length - 1 - n_bits)) & (per_octave - 1))


@inlined
def _level_class(level):
    """Sign and magnitude of a level in four bits."""
    size = abs(level)
    if size > 4:
        size = 5 if size < 8 else (6 if size < 16 else 7)
    return size if level >= 0 else 8 + size


@compiled
def expected_bucket(column, errors, hasty):
    """The bucket of the mean magnitude, of the last one where the centre is a constant; 0 where levels are small."""
    centre, bucket = column[CENTRE], 0
    if centre == CONSTANT:
        mean = abs(column[VALUE] - column[CENTRE_CONSTANT])
    else:
        judged = errors.shape[1] - 1 if centre == PREDICTED else (1 if centre == DRIFTING else 0)
        mean = (errors[0, at(judged)] * 179 + errors[1, at(judged)] * 77) * 3 >> 22
    while bucket < N_BUCKETS - 1 and BUCKET_END[bucket] <= mean:
        bucket += 1
    return bucket if bucket >= (_FAR_IN_HASTE if hasty else _FAR) else 0


@compiled
def set_predictions(predictions, features, weights, column, errors, taps, past, last, change):
    """Distances of the predictions from the last value, and of their mean, by the inverse fourth power of errors;
    returns the least of these errors.
    """
    n, n_taps = len(predictions) - 1, len(taps)
    n_regressions = n - N_SIMPLE - (1 if n_taps else 0)
    predictions[0] = 0
    predictions[1] = column[DRIFT] >> 12
    predictions[2] = change << 8
    for m in range(n_regressions):
        total = min(max(weighted(weights[m], features) >> WEIGHT_BITS, -(1 << 26)), 1 << 26)
        predictions[at(N_SIMPLE + m)] = (total * column[SCALE]) >> 8
    if n_taps:
        away = (column[MEAN] >> 4) - (last << 8)
        predictions[at(n - 1)] = ((filtered(column, taps, past) * column[SCALE]) >> 8) + away
    least = 1 << 60
    for e in range(n):
        least = min(least, errors[0, e] * 179 + errors[1, e] * 77)
    least = (least >> 8) + 1
    weight, total = 0, 0
    for e in range(n):
        ratio = quotient(least << 8, ((errors[0, e] * 179 + errors[1, e] * 77) >> 8) + 1)
        ratio *= ratio
        ratio *= ratio
        weight += ratio
        total += ratio * min(max(predictions[e], -_AWAY), _AWAY)
    predictions[at(n)] = total // weight
    return least


@compiled
def set_lines(lines, chances, column, k, left, left2, phase, n_changed, n_seen, run_class, expected):
    """Where contexts keep their chances for the value at hand, of those that do not ask for predictions; these have
    their place between the first and the others. In haste there are fewer, and only the first few where levels are
    large. Returns how many there are.
    """
    own, last = k + 1, column[LEVEL]
    lines[0, 0] = _hash(own, expected)
    n_asked = len(lines)
    if expected > 0 and n_asked < N_CONTEXTS:
        n_asked = _N_FAR
    else:
        levels = _level_class(column[LEVEL + 1]) * 16 + _level_class(column[LEVEL + 2])
        recent = _hash(column[CHANGE + 1], _hash(column[CHANGE + 2], run_class))
        own += expected << 20
        lines[3, 0] = _hash(_hash(own, 12000 + _level_class(last)), levels)
        lines[4, 0] = _hash(_hash(own, 4000), column[VALUE])
        lines[5, 0] = _hash(_hash(_hash(own, 11000), column[CHANGE]), recent)
        if n_asked == N_CONTEXTS:
            unchanged = n_seen if n_changed == 0 else 0
            lines[6, 0] = _hash(_hash(own, 7000 + _level_class(left)), _level_class(left2) * 16 + min(abs(last), 3))
            lines[7, 0] = _hash(_hash(own, 8000 + min(n_changed, 3)), unchanged * 4 + min(column[RUN], 3))
            if phase >= 0:
                lines[8, 0] = _hash(_hash(own, 10000 + phase), min(abs(last), 2))
            else:  # slow columns change after intervals that are alike, as in other columns
                lines[8, 0] = _hash(15000 + _run_class(column[RUN], 4), _run_class(column[SPAN], 2))
    open_lines(lines, chances, np.int64(_N_FAR), n_asked, np.int64(0))
    return n_asked


@compiled
def set_predicted_lines(lines, chances, column, k, part, least, activity, expected):
    """The same for the contexts that ask for predictions, and for how much the row has changed so far."""
    lines[1, 0] = _hash(9000 + _size_class(activity), _size_class(column[SIZE]) + 64 * expected)
    lines[2, 0] = _hash(_hash(k + 1, 13000 + part), _size_class(least >> 4) + 64 * expected)
    open_lines(lines, chances, np.int64(0), np.int64(_N_FAR), np.int64(0))


@inlined
def open_lines(lines, chances, first, end, which):
    """Open a line of these contexts, the first one or another; they are near each other in memory."""
    for c in range(first, end):
        lines[c, 1] = (lines[c, 0] & (chances.shape[1] - 1)) ^ (which & _N_NEAR_LINES)
        will_need(chances, c, lines[c, 1])


@compiled
def set_experts(experts, predictions, errors, away, hasty):
    """Centres of the experts from the centre of the value, and 2^32 over their widths."""
    n = len(predictions) - 1
    if hasty:
        for e in range(3):
            asked = n if e == 0 else (0 if e == 1 else n - 1)
            experts[AT, e] = away + predictions[at(asked)]
            width = (errors[0, at(asked)] + errors[1, at(asked)]) >> 1
            experts[SHARPNESS, e] = quotient(1 << 32, max((width * 141) >> 12, _LEAST_WIDTH))
        return
    for e in range(n):
        for z in range(2):
            experts[AT, at(2 * e + z)] = away + predictions[e]
            width = max((errors[z, e] * 141) >> 12, _LEAST_WIDTH)
            experts[SHARPNESS, at(2 * e + z)] = quotient(1 << 32, width)
