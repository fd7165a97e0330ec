"""Features of the regressions of the coder of tables, what is known of a value before it is coded; and long filters."""

import numpy as np

from hrpursuit.compression.kernels.compiled import compiled, inlined
from hrpursuit.compression.kernels.regression import FURTHEST, ONE
from hrpursuit.compression.kernels.table_state import N_SEASONAL

_FURTHEST_FILTERED = 1 << 26
_MOST_GAIN = 1 << 38
_MOST_WEIGHT = 1 << 27  # 8


@inlined
def scaled(state, k, change):
    """A change as a feature: relative to the typical change of column k."""
    found = (change * state.reciprocals[k, 0]) >> state.reciprocals[k, 1]
    return min(max(found, -FURTHEST), FURTHEST)


@inlined
def set_features(state, X, t, k, neighbours, order, season):
    last = X[t - 1, k] if t > 0 else 0
    before = X[t - 2, k] if t > 1 else last
    features = state.features
    features[0] = ONE
    features[1] = scaled(state, k, last - before)
    change, s = last - before, t - 2
    for j in range(order):
        earlier = X[s, k] - X[s - 1, k] if s > 0 else 0
        features[2 + j] = scaled(state, k, change - earlier)
        change = earlier
        s -= 1
    features[2 + order] = scaled(state, k, (state.means[k] >> 12) - last) >> 2 if state.counts[k] > 0 else 0
    at = 3 + order
    if season > 0:
        for j in range(N_SEASONAL):
            features[at + j] = 0
        if t > season:
            s = t - season
            features[at] = scaled(state, k, X[s, k] - last)
            features[at + 1] = scaled(state, k, X[s, k] - X[s - 1, k])
            features[at + 2] = scaled(state, k, X[s + 1, k] - X[s, k]) if season > 1 else 0
            s = t - 7 * season
            if s > 0:
                features[at + 3] = scaled(state, k, X[s, k] - last)
                features[at + 4] = scaled(state, k, X[s, k] - X[s - 1, k])
            s = t - 2 * season
            if s > 0:
                features[at + 5] = scaled(state, k, X[s, k] - X[s - 1, k])
        at += N_SEASONAL
    n = neighbours.shape[1]
    level = scaled(state, k, last - (state.means[k] >> 12))
    for j in range(n):
        q = neighbours[k, j]
        if q >= 0 and t > 0:
            features[at + j] = scaled(state, q, X[t, q] - X[t - 1, q])
            features[at + n + j] = (scaled(state, q, X[t, q] - (state.means[q] >> 12)) - level) >> 2
        else:
            features[at + j] = 0
            features[at + n + j] = 0
    return last, before


@compiled
def filtered(filters, k):
    """What the filter of column k says of the next value, from the mean, in 1/4096 of the typical change."""
    n, place, total = filters.weights.shape[1], filters.places[k], 0
    for j in range(n):
        total += filters.weights[k, j] * filters.past[k, place + j]
    total = min(max(total >> 24, -_FURTHEST_FILTERED), _FURTHEST_FILTERED)
    filters.predictions[k] = total
    return total


@compiled
def learn_filter(filters, k, value):
    """Move the weights of column k towards this value, and remember it."""
    n, place, power = filters.weights.shape[1], filters.places[k], filters.power[k]
    error = min(max(value - filters.predictions[k], -FURTHEST), FURTHEST)
    gain = (error << 37) // (power + (n << 20))  # a step of 2^-7, in 2^-20
    gain = min(max(gain, -_MOST_GAIN), _MOST_GAIN)
    for j in range(n):
        weight = filters.weights[k, j] + ((gain * filters.past[k, place + j]) >> 20)
        filters.weights[k, j] = min(max(weight, -_MOST_WEIGHT), _MOST_WEIGHT)
    place = place - 1 if place > 0 else n - 1
    oldest = np.int64(filters.past[k, place])
    filters.power[k] = power + value * value - oldest * oldest
    filters.past[k, place] = value
    filters.past[k, place + n] = value
    filters.places[k] = place
