"""What a sensor will read next, by integer least squares: on its past, and on the sensors that are coded already."""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.compiled import as_integers, compiled, integers

#: Last change, way to the mean, change since a season ago, mean change of the row before, and of this row so far.
N_FEATURES, N_PAST = 5, 4
#: Predictions: past and innovations of other sensors; past and row; hold plus row; hold.
N_PREDICTIONS = 4
MEMORY = 8  # sums forget 1/2^8 a row
_MOST = 131072  # a weight, in 1/65536
_TIE = 262144  # an entry of the factor, in 1/65536
_FAR = 1 << 20  # a prediction of innovations stays within


class Predictors(NamedTuple):
    """State of all sensors."""

    features: Any
    products: Any  # sensor x feature x feature, decaying sums
    targets: Any  # sensor x feature
    past: Any  # weights in 1/65536 without the row's own mean change
    full: Any  # and with it
    covariance: Any  # of what the past leaves
    factor: Any  # unit lower triangle L of L D L^T, in 1/65536
    scaled: Any
    diagonal: Any
    left: Any  # what the past leaves of this row, and of that what earlier sensors do not tell
    innovation: Any
    expected: Any
    predictions: Any
    scale: Any  # typical change of each sensor


def new_predictors(scale: np.ndarray) -> Predictors:
    n = len(scale)
    return Predictors(
        features=integers(N_FEATURES),
        products=integers((n, N_FEATURES, N_FEATURES)),
        targets=integers((n, N_FEATURES)),
        past=integers((n, N_PAST)),
        full=integers((n, N_FEATURES)),
        covariance=integers((n, n)),
        factor=integers((n, n)),
        scaled=integers((n, n)),
        diagonal=integers(n, 1),
        left=integers(n),
        innovation=integers(n),
        expected=integers(2),
        predictions=integers(N_PREDICTIONS),
        scale=as_integers(scale),
    )


@compiled
def factorize(state):
    """L D L^T of the covariance with a ridge, in integers below 2^30."""
    n, largest, shift = len(state.scale), 1, 0
    for i in range(n):
        largest = max(largest, state.covariance[i, i] + 20 * state.scale[i] * state.scale[i])
    while (largest >> shift) >= (1 << 30):
        shift += 1
    for i in range(n):
        for k in range(i):
            total = 0
            for j in range(k):
                total += state.factor[i, j] * state.scaled[k, j]
            entry = (((state.covariance[i, k] >> shift) - (total >> 16)) << 16) // state.diagonal[k]
            state.factor[i, k] = min(max(entry, -_TIE), _TIE)
        total = 0
        for j in range(i):
            state.scaled[i, j] = (state.factor[i, j] * state.diagonal[j]) >> 16
            total += state.factor[i, j] * state.scaled[i, j]
        pivot = (state.covariance[i, i] + 20 * state.scale[i] * state.scale[i]) >> shift
        state.diagonal[i] = max(pivot - (total >> 16), 1)


@compiled
def predict(state, k, last):
    """Predictions of sensor k whose last reading is `last`, from the features that the caller has set."""
    past, full = 0, 0
    for a in range(N_PAST):
        past += state.past[k, a] * state.features[a]
    for a in range(N_FEATURES):
        full += state.full[k, a] * state.features[a]
    innovation = 0
    for j in range(k):
        innovation += state.factor[k, j] * state.innovation[j]
    past >>= 16
    innovation = min(max(innovation >> 16, -_FAR), _FAR)
    state.expected[0] = past
    state.expected[1] = innovation
    state.predictions[0] = last + past + innovation
    state.predictions[1] = last + (full >> 16)
    state.predictions[2] = last + state.features[N_FEATURES - 1]
    state.predictions[3] = last


@compiled
def _descend(products, targets, weights, ridge):
    """One round of coordinate descent on the normal equations."""
    for a in range(len(weights)):
        rest = targets[a] << 16
        for c in range(len(weights)):
            rest -= products[a, c] * weights[c]
        moved = weights[a] + rest // (products[a, a] + ridge)
        weights[a] = min(max(moved, -_MOST), _MOST)


@compiled
def observe(state, k, change, is_seen):
    """Learn from the change of sensor k in this row; of a gap there is nothing to learn."""
    if not is_seen:
        state.left[k] = state.expected[1]
        state.innovation[k] = 0
        return
    state.left[k] = min(max(change - state.expected[0], -_FAR), _FAR)
    state.innovation[k] = state.left[k] - state.expected[1]
    for a in range(N_FEATURES):
        for c in range(N_FEATURES):
            old = state.products[k, a, c]
            state.products[k, a, c] = old + state.features[a] * state.features[c] - (old >> MEMORY)
        state.targets[k, a] += state.features[a] * change - (state.targets[k, a] >> MEMORY)
    ridge = state.scale[k] * state.scale[k] + ((state.scale[k] * state.scale[k]) >> 1)
    _descend(state.products[k], state.targets[k], state.full[k], ridge)
    _descend(state.products[k], state.targets[k], state.past[k], ridge)


@compiled
def end_row(state):
    """The covariance of what the past has left of this row."""
    for i in range(len(state.left)):
        factor = state.left[i]
        for j in range(i + 1):
            state.covariance[i, j] += factor * state.left[j] - (state.covariance[i, j] >> MEMORY)
