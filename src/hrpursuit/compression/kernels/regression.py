"""Least squares in integers: how a column changes, from its own past and from columns that are coded before it.

Features and targets are in 1/4096 of the typical change of a column. Two sums of products, which forget 1/256 and
1/2048 per value, each give two sets of weights: one for the features of the column itself, which come first, and one
for all features. Both come from one factorisation, since the former are a leading block. Values are taken into the
sums eight at a time, when weights are found anew.
"""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.compiled import as_table, compiled, integers

N_SUMS = 2  # that remember 2^8 and 2^11 values
EVERY = 8  # values from one time that weights are found to the next
FIRST_VALUES = 32  # after each of which they are
ONE = 4096  # a feature as large as the typical change
FURTHEST = 1 << 23  # a feature stays within
_RIDGE = 1 << 24  # one squared feature
_PIVOT_BITS = 29  # of a sum of squares, after it is scaled
_LEAST_RIDGE = 1 << 8  # after scaling
_TIE_BITS = 5  # an entry of the factor is below 2^5
_RIGHT = 1 << 35  # an entry of the right side
_SCALED_WEIGHT = 1 << 26  # a weight of a scaled feature in 1/65536
WEIGHT_BITS = 24  # below the point of a weight
_WEIGHT = 1 << 28  # a weight


class Regression(NamedTuple):
    """Sums and weights of all columns."""

    recent: Any  # column x value x feature, not in the sums so far
    recent_targets: Any  # column x value
    counts: Any  # column x (values in `recent`, values in all)
    products: Any  # column x memory x feature x feature, lower triangle
    targets: Any  # column x memory x feature
    weights: Any  # column x (memory, then memory with all features) x feature, in 2^-24
    factor: Any  # room for one factorisation: unit lower triangle in 1/65536
    scaled: Any  # its entries times the pivots of their columns
    shifts: Any  # of the features, to scale them
    right: Any  # room for a right side, pivots, and their reciprocals
    pivots: Any
    inverses: Any


def new_regression(n_columns: int, n_features: int) -> Regression:
    """Nothing observed yet: all weights are zero."""
    return Regression(
        recent=as_table(np.zeros((n_columns, EVERY, n_features), np.int64), "i4"),
        recent_targets=integers((n_columns, EVERY)),
        counts=integers((n_columns, 2)),
        products=integers((n_columns, N_SUMS, n_features, n_features)),
        targets=integers((n_columns, N_SUMS, n_features)),
        weights=integers((n_columns, 2 * N_SUMS, n_features)),
        factor=integers((n_features, n_features)),
        scaled=integers((n_features, n_features)),
        shifts=integers(n_features),
        right=integers(n_features),
        pivots=integers(n_features, 1),
        inverses=integers(n_features, 1),
    )


@compiled
def learn_change(regression, k, features, target, n_own):
    """Take the features of column k and the change that followed; every eighth time find its weights anew."""
    place, n = regression.counts[k, 0], len(features)
    for i in range(n):
        regression.recent[k, place, i] = features[i]
    regression.recent_targets[k, place] = target
    place += 1
    regression.counts[k, 1] += 1
    count = regression.counts[k, 1]
    if place == EVERY or count <= FIRST_VALUES:
        _add(regression, k, place)
        place = 0
        if count % EVERY == 0:
            _forget(regression, k)
        for m in range(N_SUMS):
            _solve(regression, k, m, n_own)
    regression.counts[k, 0] = place


@compiled
def _add(regression, k, n_recent):
    """Add recent values to the sums of column k."""
    n = len(regression.right)
    recent, row = regression.recent[k], regression.right
    for i in range(n):
        for j in range(i + 1):
            row[j] = 0
        target = 0
        for r in range(n_recent):
            feature = np.int64(recent[r, i])
            for j in range(i + 1):
                row[j] += feature * recent[r, j]
            target += feature * regression.recent_targets[k, r]
        for m in range(N_SUMS):
            for j in range(i + 1):
                regression.products[k, m, i, j] += row[j]
            regression.targets[k, m, i] += target


@compiled
def _forget(regression, k):
    """Let the sums of column k fade by what `EVERY` values forget."""
    for m in range(N_SUMS):
        memory = 5 + 3 * m
        for i in range(len(regression.right)):
            for j in range(i + 1):
                regression.products[k, m, i, j] -= regression.products[k, m, i, j] >> memory
            regression.targets[k, m, i] -= regression.targets[k, m, i] >> memory


@compiled
def _solve(regression, k, m, n_own):
    """Weights of column k from one of its sums: an L D L^T factorisation of the products with a ridge, each feature
    scaled by a power of two so that its squares add up to the same, but for a factor of four.
    """
    factor, scaled, right, pivots = regression.factor, regression.scaled, regression.right, regression.pivots
    products, targets, shifts = regression.products[k, m], regression.targets[k, m], regression.shifts
    inverses = regression.inverses
    n = len(right)
    for i in range(n):
        length, rest = 0, products[i, i] + _RIDGE
        while rest > 0:
            rest >>= 1
            length += 1
        shifts[i] = (max(length - _PIVOT_BITS, 0) + 1) >> 1
    for i in range(n):
        for j in range(i):
            total = 0
            for q in range(j):
                total += factor[i, q] * scaled[j, q]
            entry = (products[i, j] >> (shifts[i] + shifts[j])) - (total >> 16)
            reach = pivots[j] << _TIE_BITS
            factor[i, j] = (min(max(entry, -reach), reach) * inverses[j]) >> 30
        total = 0
        for q in range(i):
            scaled[i, q] = (factor[i, q] * pivots[q]) >> 16
            total += factor[i, q] * scaled[i, q]
        ridge = max(_RIDGE >> (2 * shifts[i]), _LEAST_RIDGE)
        pivots[i] = max((products[i, i] >> (2 * shifts[i])) + ridge - (total >> 16), 1)
        inverses[i] = (1 << 46) // pivots[i]
        total = 0
        for q in range(i):
            total += factor[i, q] * right[q]
        right[i] = min(max((targets[i] >> shifts[i]) - (total >> 16), -_RIGHT), _RIGHT)
    for some in range(2):
        n_used = n_own if some == 0 else n
        weights = regression.weights[k, some * N_SUMS + m]
        for i in range(n_used - 1, -1, -1):
            total = 0
            for q in range(i + 1, n_used):
                total += factor[q, i] * weights[q]
            weight = (right[i] << 16) // pivots[i] - (total >> 16)
            weights[i] = min(max(weight, -_SCALED_WEIGHT), _SCALED_WEIGHT)
        for i in range(n_used):
            weights[i] = min(max((weights[i] << (WEIGHT_BITS - 16)) >> shifts[i], -_WEIGHT), _WEIGHT)
        if n_own == n:
            break
