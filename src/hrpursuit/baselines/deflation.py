"""One atom after another: coordinates in what the atoms found so far leave over."""

import numpy as np

from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows import ArrayRows, MappedRows


def complement(Q: Array) -> Array:
    """Orthonormal basis of the vectors orthogonal to all rows of Q, one per column."""
    return np.linalg.qr(Q.T, mode="complete")[0][:, len(Q) :]


def in_coordinates(rows: Rows, V: Array) -> Rows:
    """The rows times V: computed once in memory, else block by block in each pass."""
    if isinstance(rows, ArrayRows):
        return ArrayRows(rows.X @ V.astype(rows.dtype, copy=False), is_checked=True)
    return MappedRows(rows, V)
