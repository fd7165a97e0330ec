"""The offset of rows."""

import numpy as np

from hrpursuit.core.densities import has_heavy_tails
from hrpursuit.core.evaluate import clipped_mean, mean
from hrpursuit.core.protocols import Array, Rows

_LIMIT = 3.0  # median magnitudes of a code column, beyond which a code counts no more
_OFTEN = 0.01  # share of the rows that are equal to one row, from which on that one may be the offset itself
_FEWEST_COPIES = 4


def offset_of(rows: Rows, raw: Array, components: Array, encoder: Array) -> Array:
    """Offset of rows that are not exactly sparse: their mean, or where codes have heavy tails, so that the mean is far
    off, what Huber's M-estimate gives for each code. `raw` is a sample of the rows.
    """
    codes = np.asarray(raw, dtype=np.float64) @ encoder
    centre = np.median(codes, axis=0)
    if not has_heavy_tails(codes - centre):
        return mean(rows)
    limits = _LIMIT * np.median(np.abs(codes - centre), axis=0)
    return np.asarray(clipped_mean(rows, encoder, centre, limits) @ components)


def frequent_row(X: Array) -> Array | None:
    """The row that occurs most often, if it does so often enough: where all codes are zero at times, the offset."""
    found, counts = np.unique(X, axis=0, return_counts=True)
    k = int(np.argmax(counts))
    return found[k] if counts[k] >= max(_FEWEST_COPIES, _OFTEN * len(X)) else None
