"""Features of the regressions of the coder of tables: what is known of a value before it is coded."""

from hrpursuit.compression.kernels.compiled import inlined
from hrpursuit.compression.kernels.regression import FURTHEST, ONE
from hrpursuit.compression.kernels.table_state import N_SEASONAL


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
