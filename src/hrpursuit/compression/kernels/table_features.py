"""Features of the regressions of the coder of tables, what is known of a value before it is coded; and long filters."""

import numpy as np

from hrpursuit.compression.kernels.compiled import at, compiled, inlined, quotient
from hrpursuit.compression.kernels.regression import FURTHEST, ONE
from hrpursuit.compression.kernels.table_state import (
    COUNT,
    FILTERED,
    MANTISSA,
    MEAN,
    N_SEASONAL,
    PLACE,
    POWER,
    SHIFT,
)

_FURTHEST_FILTERED = 1 << 26
_MOST_GAIN = 1 << 38
_MOST_WEIGHT = 1 << 27  # 8


@inlined
def scaled(column, change):
    """A change as a feature: relative to the typical change of the column."""
    return min(max((change * column[MANTISSA]) >> column[SHIFT], -FURTHEST), FURTHEST)


@compiled
def set_features(features, columns, X, t, k, neighbours, order, season):
    column = columns[at(k)]
    last = X[at(t - 1), at(k)] if t > 0 else 0
    change = last - X[at(t - 2), at(k)] if t > 1 else 0
    mean = column[MEAN] >> 12
    features[0] = ONE
    features[1] = scaled(column, change)
    for j in range(order):
        s = t - 2 - j
        earlier = X[at(s), at(k)] - X[at(s - 1), at(k)] if s > 0 else 0
        features[at(2 + j)] = scaled(column, change - earlier)
        change = earlier
    features[at(2 + order)] = scaled(column, mean - last) >> 2 if column[COUNT] > 0 else 0
    here = features[3 + order :]
    if season > 0:
        for j in range(N_SEASONAL):
            here[j] = 0
        s = t - season
        if s > 0:
            value, earlier = X[at(s), at(k)], X[at(s - 1), at(k)]
            here[0] = scaled(column, value - last)
            here[1] = scaled(column, value - earlier)
            here[2] = scaled(column, X[at(s + 1), at(k)] - value) if season > 1 else 0
        s = t - 7 * season
        if s > 0:
            value = X[at(s), at(k)]
            here[3] = scaled(column, value - last)
            here[4] = scaled(column, value - X[at(s - 1), at(k)])
        s = t - 2 * season
        if s > 0:
            here[5] = scaled(column, X[at(s), at(k)] - X[at(s - 1), at(k)])
        here = here[N_SEASONAL:]
    n = neighbours.shape[1]
    level = scaled(column, last - mean) if n > 0 else 0
    for j in range(n):
        q = neighbours[at(k), j]
        change, far, s = 0, 0, t
        if q >= X.shape[1]:
            lag = quotient(q, X.shape[1])
            q, s = q - lag * X.shape[1], t - lag
        if q >= 0 and s > 0:
            other, value = columns[at(q)], X[at(s), at(q)]
            change = scaled(other, value - X[at(s - 1), at(q)])
            far = (scaled(other, value - (other[MEAN] >> 12)) - level) >> 2
        here[j], here[at(n + j)] = change, far


@compiled
def filtered(column, weights, past):
    """What the long filter of a column says of the next value, from the mean, in 1/4096 of the typical change."""
    total, known = 0, past[column[PLACE] :]
    for j in range(len(weights)):
        total += weights[j] * known[j]
    total = min(max(total >> 24, -_FURTHEST_FILTERED), _FURTHEST_FILTERED)
    column[FILTERED] = total
    return total


@compiled
def learn_filter(column, weights, past, value):
    """Move the weights of the long filter of a column towards this value, and remember it."""
    n, place, power = len(weights), column[PLACE], column[POWER]
    error = min(max(value - column[FILTERED], -FURTHEST), FURTHEST)
    gain = (error << 37) // (power + (n << 20))  # a step of 2^-7, in 2^-20
    gain, known = min(max(gain, -_MOST_GAIN), _MOST_GAIN), past[place:]
    for j in range(n):
        weight = weights[j] + ((gain * known[j]) >> 20)
        weights[j] = min(max(weight, -_MOST_WEIGHT), _MOST_WEIGHT)
    place = place - 1 if place > 0 else n - 1
    oldest = np.int64(past[at(place)])
    column[POWER] = power + value * value - oldest * oldest
    past[at(place)] = value
    past[at(place + n)] = value
    column[PLACE] = place
