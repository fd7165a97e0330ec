"""Least squares in integers: how a column changes, from its own past and from columns that are coded before it.

Features and targets are in 1/4096 of the typical change of a column. Two sums of products, which forget 1/256 and
1/2048 per value, each give two sets of weights: one for the features of the column itself, which come first, and one
for all features. Both come from one factorisation, since the former are a leading block. Values are taken into the
sums several at a time, when weights are found anew.
"""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.compiled import as_table, at, compiled, integers
from hrpursuit.compression.kernels.vectors import LANES, add_times, fade, set_ties, weighted

N_SUMS = 2  # that remember 2^8 and 2^11 values
EVERY, EVERY_IN_HASTE = 8, 32  # values from one time that weights are found to the next; powers of two
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
    """Sums and weights of all columns. The target of a value stands behind its features, and zeros behind that."""

    recent: Any  # column x value x feature, not in the sums so far
    counts: Any  # column x (values in `recent`, values in all)
    sums: Any  # column x memory x feature x feature, of their products: upper triangle
    weights: Any  # column x (memory, then memory with all features) x feature, in 2^-24
    room: Any  # for one factorisation: ties of the features in 1/65536, sums so far, and the rows that are named below


_SHIFTS, _RIGHTS, _TOLD, _SCALED = range(4)  # rows of `room` behind the two square parts
_N_ROWS = 4


def padded(n_features: int) -> int:
    """Length of rows with so many features and a target."""
    return -(-(n_features + 1) // LANES) * LANES


def new_regression(n_columns: int, n_features: int, every: int = EVERY) -> Regression:
    """Nothing observed yet: all weights are zero."""
    length = padded(n_features)
    return Regression(
        recent=as_table(np.zeros((n_columns, every, length), np.int64), "i4"),
        counts=integers((n_columns, 2)),
        sums=integers((n_columns, N_SUMS, n_features, length)),
        weights=integers((n_columns, 2 * N_SUMS, length)),
        room=integers((2 * n_features + _N_ROWS, length)),
    )


@compiled
def learn_change(regression, k, features, target, n_own):
    """Take the features of column k, as many as `sums` has and then zeros, and the change that followed; find its
    weights anew when `recent` is full.
    """
    counts, recent, sums = regression.counts[at(k)], regression.recent[at(k)], regression.sums[at(k)]
    place, n = counts[0], sums.shape[1]
    now = recent[at(place)]
    for i in range(len(now)):
        now[i] = features[i]
    now[at(n)] = target
    counts[0], counts[1] = place + 1, counts[1] + 1
    every = len(recent)
    if place + 1 < every and counts[1] > FIRST_VALUES:
        return
    counts[0] = 0
    weights, room = regression.weights[at(k)], regression.room
    _add(sums, recent, place + 1, room[0], counts[1] % every == 0)
    for m in range(N_SUMS):
        _solve(sums[m], room, weights[m], weights[N_SUMS + m], n_own)


@compiled
def _add(sums, recent, n_recent, row, forget):
    """Add recent values to the sums of a column, and let them fade by what as many as `recent` holds forget."""
    memory, rest = 8, len(recent)  # the first sum forgets 2^-8 per value
    while rest > 1:
        rest >>= 1
        memory -= 1
    for i in range(sums.shape[1]):
        start = i - i % LANES
        for j in range(start, len(row)):
            row[at(j)] = 0
        for r in range(n_recent):
            add_times(row, recent[r], np.int64(recent[r, i]), start)
        for m in range(N_SUMS):
            add_times(sums[m, i], row, 1, start)
            if forget:
                fade(sums[m, i], memory + 3 * m, start)


@compiled
def _solve(sums, room, own_weights, weights, n_own):
    """Weights of a column from one of its sums: an L D L^T factorisation of the products with a ridge, each feature
    scaled by a power of two so that its squares add up to the same, but for a factor of four. A row of `ties` is a
    column of L.
    """
    n, length = sums.shape
    ties, told, shifts = room[:n], room[n : 2 * n], room[2 * n + _SHIFTS]
    rights, told_right, scaled = room[2 * n + _RIGHTS], room[2 * n + _TOLD], room[2 * n + _SCALED]
    for i in range(n):
        bits, rest = 0, sums[i, i] + _RIDGE
        while rest > 0:
            rest >>= 1
            bits += 1
        shifts[i] = (max(bits - _PIVOT_BITS, 0) + 1) >> 1
        for j in range(length):
            told[i, j] = 0
    for j in range(length):
        told_right[j] = 0
    for i in range(n):
        shift, products, tie = shifts[i], sums[i], ties[i]
        pivot = (products[i] >> (2 * shift)) + max(_RIDGE >> (2 * shift), _LEAST_RIDGE) - (told[i, i] >> 16)
        pivot = max(pivot, 1)
        right = min(max((products[at(n)] >> shift) - (told_right[i] >> 16), -_RIGHT), _RIGHT)
        rights[i] = (right << 16) // pivot
        reach, inverse = pivot << _TIE_BITS, (1 << 46) // pivot
        set_ties(tie, scaled, products, told[i], shifts, shift, reach, inverse, pivot, i - i % LANES)
        for j in range(i + 1):
            tie[j] = 0
        tie[at(n)] = 0
        add_times(told_right, tie, right, i - i % LANES)
        for q in range(i + 1, n):
            add_times(told[at(q)], tie, scaled[at(q)], q - q % LANES)
    for some in range(2):
        n_used, found = (n_own, own_weights) if some == 0 else (n, weights)
        for i in range(n_used):
            found[i] = 0
        for i in range(n_used - 1, -1, -1):
            weight = rights[at(i)] - (weighted(ties[at(i)], found) >> 16)
            found[at(i)] = min(max(weight, -_SCALED_WEIGHT), _SCALED_WEIGHT)
        for i in range(n_used):
            found[i] = min(max((found[i] << (WEIGHT_BITS - 16)) >> shifts[i], -_WEIGHT), _WEIGHT)
        if n_own == n:
            break
