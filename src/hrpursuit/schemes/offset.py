"""The offset of rows."""

import numpy as np

from hrpursuit.core.evaluate import clipped_mean
from hrpursuit.core.likelihood import log_likelihoods
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows import ArrayRows

#: Where a code column ends to count in full: in median magnitudes, and in magnitudes that nine codes of ten are below.
_NEAR, _FAR = 3.0, 10.0
_CLEARLY = 3.0  # log-likelihood of a sample, per feature; by chance the two differ by about one half
_OFTEN = 0.01  # share of the rows that are equal to one row, from which on that one may be the offset itself
_FEWEST_COPIES = 4


def offset_of(rows: Rows, raw: Array, components: Array, encoder: Array) -> Array:
    """Offset of rows that are not exactly sparse: the mean of their codes, or the middle of most of them (Huber's
    M-estimate) where that makes the codes clearly likelier. Codes that are far off count less in both. `raw` is a
    sample of the rows.
    """
    codes = np.asarray(raw, dtype=np.float64) @ encoder
    centre = np.median(codes, axis=0)
    size = np.abs(codes - centre)
    limits = _FAR * np.quantile(size, 0.9, axis=0), _NEAR * np.median(size, axis=0)
    offsets = [clipped_mean(rows, encoder, centre, limit) @ components for limit in limits]
    values = []
    for offset in offsets:
        less = np.asarray(raw - offset, dtype=np.float64)
        values += log_likelihoods(ArrayRows(less), less, [encoder.T])
    is_middle = (values[1] - values[0]) * len(raw) > _CLEARLY * len(centre)
    return np.asarray(offsets[int(is_middle)])


def frequent_row(X: Array) -> Array | None:
    """The row that occurs most often, if it does so often enough: where all codes are zero at times, the offset."""
    found, counts = np.unique(X, axis=0, return_counts=True)
    k = int(np.argmax(counts))
    return found[k] if counts[k] >= max(_FEWEST_COPIES, _OFTEN * len(X)) else None
