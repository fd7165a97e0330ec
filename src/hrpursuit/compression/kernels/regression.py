"""Least squares in integers: how a column changes, from its own past and from columns that are coded before it.

Features and targets are in 1/4096 of the typical change of a column. Two sums of products, which forget 1/256 and
1/2048 per row, each give two sets of weights: one for the features of the column itself, which come first, and one for
all features. Both come from one factorisation, since the former are a leading block.
"""

from typing import Any, NamedTuple

from hrpursuit.compression.kernels.compiled import compiled, inlined, integers

N_SUMS = 2  # that remember 2^8 and 2^11 rows
EVERY = 8  # rows from one time that sums fade to the next
ONE = 4096  # a feature as large as the typical change
FURTHEST = 1 << 23  # a feature stays within
_RIDGE = 1 << 24  # one squared feature
_LARGEST_PIVOT = 1 << 30  # the factorisation is scaled to stay below
_TIE = 1 << 20  # an entry of the factor, in 1/65536
_RIGHT = 1 << 36  # an entry of the right side
_WEIGHT = 1 << 20  # a weight in 1/65536


class Regression(NamedTuple):
    """Sums and weights of all columns."""

    products: Any  # column x memory x feature x feature, lower triangle
    targets: Any  # column x memory x feature
    weights: Any  # column x (memory, then memory with all features) x feature, in 1/65536
    factor: Any  # room for one factorisation: unit lower triangle in 1/65536
    scaled: Any  # its entries times the pivots of their columns
    right: Any  # room for a right side, and for pivots
    pivots: Any


def new_regression(n_columns: int, n_features: int) -> Regression:
    """Nothing observed yet: all weights are zero."""
    return Regression(
        products=integers((n_columns, N_SUMS, n_features, n_features)),
        targets=integers((n_columns, N_SUMS, n_features)),
        weights=integers((n_columns, 2 * N_SUMS, n_features)),
        factor=integers((n_features, n_features)),
        scaled=integers((n_features, n_features)),
        right=integers(n_features),
        pivots=integers(n_features, 1),
    )


@inlined
def observe(regression, k, features, target):
    """Take the features of column k and the change that followed into its sums."""
    n = len(features)
    for m in range(N_SUMS):
        products, targets = regression.products[k, m], regression.targets[k, m]
        for i in range(n):
            feature = features[i]
            for j in range(i + 1):
                products[i, j] += feature * features[j]
            targets[i] += feature * target


@compiled
def forget(regression, k):
    """Let the sums of column k fade by what `EVERY` rows forget: once for all of them, since it takes long."""
    for m in range(N_SUMS):
        memory = 5 + 3 * m
        products, targets = regression.products[k, m], regression.targets[k, m]
        for i in range(len(regression.right)):
            for j in range(i + 1):
                products[i, j] -= products[i, j] >> memory
            targets[i] -= targets[i] >> memory


@compiled
def solve(regression, k, n_own):
    """Weights of column k from its sums: an L D L^T factorisation of the products with a ridge."""
    factor, scaled, right, pivots = regression.factor, regression.scaled, regression.right, regression.pivots
    n = len(right)
    for m in range(N_SUMS):
        products, targets = regression.products[k, m], regression.targets[k, m]
        largest, shift = 1, 0
        for i in range(n):
            largest = max(largest, products[i, i] + _RIDGE)
        while (largest >> shift) >= _LARGEST_PIVOT:
            shift += 1
        for i in range(n):
            for j in range(i):
                total = 0
                for q in range(j):
                    total += factor[i, q] * scaled[j, q]
                entry = (((products[i, j] >> shift) - (total >> 16)) << 16) // pivots[j]
                factor[i, j] = min(max(entry, -_TIE), _TIE)
            total = 0
            for q in range(i):
                scaled[i, q] = (factor[i, q] * pivots[q]) >> 16
                total += factor[i, q] * scaled[i, q]
            pivots[i] = max(((products[i, i] + _RIDGE) >> shift) - (total >> 16), 1)
            total = 0
            for q in range(i):
                total += factor[i, q] * right[q]
            right[i] = min(max((targets[i] >> shift) - (total >> 16), -_RIGHT), _RIGHT)
        for some in range(2):
            n_used = n_own if some == 0 else n
            weights = regression.weights[k, some * N_SUMS + m]
            for i in range(n_used - 1, -1, -1):
                total = 0
                for q in range(i + 1, n_used):
                    total += factor[q, i] * weights[q]
                weight = (right[i] << 16) // pivots[i] - (total >> 16)
                weights[i] = min(max(weight, -_WEIGHT), _WEIGHT)
            if n_own == n:
                break
