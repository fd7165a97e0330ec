"""The order and signs of atoms, by a rule that does not depend on how they were found."""

import numpy as np
from numpy.typing import NDArray

from hrpursuit.core.protocols import Array, Rows

_ROWS_PER_FEATURE, _FEWEST_ROWS = 10, 200  # of the sample that orders them, and begins the search
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
    return rows.sample(max(_ROWS_PER_FEATURE * rows.n_features, _FEWEST_ROWS), seed=0)


def canonical_order(X: Array, components: Array, encoder: Array) -> tuple[NDArray[np.intp], Array]:
    """Order of the atoms by the mean magnitude of their codes on X, largest first, and the signs of `signs`."""
    magnitude = np.abs(X @ encoder).sum(axis=0, dtype=np.float64)
    order = np.argsort(-magnitude, kind="stable")
    return order, signs(components[order])


def canonical(X: Array, components: Array, encoder: Array) -> tuple[Array, Array]:
    """Atoms and encoder in that order, with these signs."""
    order, flip = canonical_order(X, components, encoder)
    return components[order] * flip[:, None], encoder[:, order] * flip
