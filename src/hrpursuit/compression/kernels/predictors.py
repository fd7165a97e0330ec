"""What a sensor will read next, by integer least squares: on its past, and on the sensors that are coded already."""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.compiled import as_integers, compiled, integers

#: Last change, way to the mean, mean change of this row so far, change since a season ago, mean way of all sensors to
#: their means, mean change of the row before, and what the other sensors tell: by their levels, by their changes.
N_FEATURES = 8
TO_MEAN, ROW, BY_LEVELS, BY_CHANGES = 1, 2, 6, 7
#: Predictions: regression of this sensor; of all sensors; by levels; by changes; hold plus row.
N_PREDICTIONS = 5
MEMORY = 8  # sums of a sensor forget 1/2^8 per reading
MEMORY_OF_ALL = 9  # those of all sensors together 1/2^9, so that they follow the last rows
MEMORY_OF_TIES = 11  # covariances 1/2^11 per row
RIDGE = 8  # on the diagonal of a covariance, in squares of the scale
_MOST = 131072  # a weight, in 1/65536
_TIE = 262144  # an entry of a factor, in 1/65536
_FAR = 1 << 17  # what other sensors tell stays within
_SCALED = 1 << 16  # features in 1/1024 of the scale stay within
_RIDGE_OF_ALL = 3 << 19  # 1.5 squares of the scale in this unit


class Predictors(NamedTuple):
    """State of all sensors. There are two ties between them: 0 by levels (differences from the mean), 1 by changes."""

    features: Any
    scaled: Any  # features in 1/1024 of the scale, for the regression of all sensors
    products: Any  # sensor x feature x feature, decaying sums; those of all sensors are the last
    targets: Any  # sensor x feature
    weights: Any  # in 1/65536
    covariance: Any  # tie x sensor x sensor
    factor: Any  # unit lower triangles L of L D L^T, in 1/65536
    products_of_factor: Any  # room for L D
    diagonal: Any  # room for D
    left: Any  # tie x sensor: levels or changes of this row; in gaps what is expected
    innovation: Any  # and what earlier sensors did not tell of them
    told: Any
    predictions: Any
    scale: Any  # typical change of each sensor
    per_scale: Any  # 2^26 over it
    ridge: Any  # of the regression of each sensor, 1.5 squares of the scale, and of that of all sensors


def new_predictors(scale: np.ndarray) -> Predictors:
    n = len(scale)
    squares = np.asarray(scale, dtype=np.int64) ** 2
    return Predictors(
        features=integers(N_FEATURES),
        scaled=integers(N_FEATURES),
        products=integers((n + 1, N_FEATURES, N_FEATURES)),
        targets=integers((n + 1, N_FEATURES)),
        weights=integers((n + 1, N_FEATURES)),
        covariance=integers((2, n, n)),
        factor=integers((2, n, n)),
        products_of_factor=integers((n, n)),
        diagonal=integers(n, 1),
        left=integers((2, n)),
        innovation=integers((2, n)),
        told=integers(2),
        predictions=integers(N_PREDICTIONS),
        scale=as_integers(scale),
        per_scale=as_integers((1 << 26) // np.asarray(scale, dtype=np.int64)),
        ridge=as_integers(np.append(squares + (squares >> 1), _RIDGE_OF_ALL)),
    )


@compiled
def factorize(state, tie):
    """L D L^T of a covariance with a ridge, in integers below 2^30."""
    n, largest, shift = len(state.scale), 1, 0
    below = state.products_of_factor
    for i in range(n):
        largest = max(largest, state.covariance[tie, i, i] + RIDGE * state.scale[i] * state.scale[i])
    while (largest >> shift) >= (1 << 30):
        shift += 1
    for i in range(n):
        for k in range(i):
            total = 0
            for j in range(k):
                total += state.factor[tie, i, j] * below[k, j]
            entry = (((state.covariance[tie, i, k] >> shift) - (total >> 16)) << 16) // state.diagonal[k]
            state.factor[tie, i, k] = min(max(entry, -_TIE), _TIE)
        total = 0
        for j in range(i):
            below[i, j] = (state.factor[tie, i, j] * state.diagonal[j]) >> 16
            total += state.factor[tie, i, j] * below[i, j]
        pivot = (state.covariance[tie, i, i] + RIDGE * state.scale[i] * state.scale[i]) >> shift
        state.diagonal[i] = max(pivot - (total >> 16), 1)


@compiled
def predict(state, k, last):
    """Predictions of sensor k whose last reading is `last`, from the first features, which the caller has set."""
    n, features = len(state.scale), state.features
    for tie in range(2):
        told = 0
        for j in range(k):
            told += state.factor[tie, k, j] * state.innovation[tie, j]
        state.told[tie] = min(max(told >> 16, -_FAR), _FAR)
    features[BY_LEVELS] = min(max(features[TO_MEAN] + state.told[0], -_FAR), _FAR)
    features[BY_CHANGES] = state.told[1]
    own, by_all = 0, 0
    for a in range(N_FEATURES):
        own += state.weights[k, a] * features[a]
        by_all += state.weights[n, a] * features[a]
    state.predictions[0] = last + (own >> 16)
    state.predictions[1] = last + (by_all >> 16)
    state.predictions[2] = last + features[BY_LEVELS]
    state.predictions[3] = last + features[BY_CHANGES]
    state.predictions[4] = last + features[ROW]


@compiled
def _regress(state, place, features, change):
    """Learn from a change: one round of coordinate descent on the normal equations."""
    products, targets, weights = state.products, state.targets, state.weights
    memory = MEMORY if place < len(state.scale) else MEMORY_OF_ALL
    for a in range(N_FEATURES):
        for c in range(N_FEATURES):
            old = products[place, a, c]
            products[place, a, c] = old + features[a] * features[c] - (old >> memory)
        targets[place, a] += features[a] * change - (targets[place, a] >> memory)
    for a in range(N_FEATURES):
        rest = targets[place, a] << 16
        for c in range(N_FEATURES):
            rest -= products[place, a, c] * weights[place, c]
        moved = weights[place, a] + rest // (products[place, a, a] + state.ridge[place])
        weights[place, a] = min(max(moved, -_MOST), _MOST)


@compiled
def observe(state, k, change, is_learned):
    """Learn from the change of sensor k in this row; of a gap there is nothing to learn."""
    if not is_learned:
        for tie in range(2):
            state.left[tie, k] = state.told[tie]
            state.innovation[tie, k] = 0
        return
    state.left[0, k] = change - state.features[TO_MEAN]
    state.left[1, k] = change
    for tie in range(2):
        state.innovation[tie, k] = state.left[tie, k] - state.told[tie]
    _regress(state, k, state.features, change)
    per_scale = state.per_scale[k]
    for a in range(N_FEATURES):
        state.scaled[a] = min(max((state.features[a] * per_scale) >> 16, -_SCALED), _SCALED)
    change = min(max((change * per_scale) >> 16, -_SCALED), _SCALED)
    _regress(state, len(state.scale), state.scaled, change)


@compiled
def end_row(state, weight):
    """The covariances of this row, with a weight in 1/256."""
    for tie in range(2):
        for i in range(len(state.scale)):
            factor = state.left[tie, i] * weight
            for j in range(i + 1):
                old = state.covariance[tie, i, j]
                state.covariance[tie, i, j] = old + ((factor * state.left[tie, j]) >> 8) - (old >> MEMORY_OF_TIES)
