"""The order and signs of atoms, by a rule that does not depend on how they were found."""

import numpy as np

from hrpursuit.core.protocols import Array, Rows

_ORDERING_ROWS = 10  # a feature
_TIE = 1e-6


def signs(components: Array) -> Array:
    """1 or -1 for each atom so that its largest entry becomes positive; of entries that are equal to `_TIE` the first
    counts.
    """
    size = np.abs(components)
    first = np.argmax(size >= (1 - _TIE) * size.max(axis=1, keepdims=True), axis=1)
    return np.where(components[np.arange(len(components)), first] < 0, -1.0, 1.0)


def ordering_sample(rows: Rows) -> Array:
    """Rows by which atoms are ordered: they depend on the number of rows alone, so that no pass over all rows is needed
    and two fits with different seeds agree.
    """
    return rows.sample(_ORDERING_ROWS * rows.n_features, seed=0)


def canonical(X: Array, components: Array, encoder: Array) -> tuple[Array, Array]:
    """Atoms by the mean magnitude of their codes on X, largest first, with the signs of `signs`."""
    magnitude = np.abs(X @ encoder).sum(axis=0, dtype=np.float64)
    order = np.argsort(-magnitude, kind="stable")
    flip = signs(components[order])
    return components[order] * flip[:, None], encoder[:, order] * flip
