"""Compiled kernels of fitted densities: the score by table look-up, with the histogram of the codes in the same pass.

The bins are those of the float32 format itself: the sign is dropped, and the exponent with the first bits of the
mantissa numbers the bin, eight to an octave. A code is split between the two edges of its bin in proportion to its
distance from them, so that a histogram is a continuous function of the codes.
"""

import numpy as np

from hrpursuit.compiled import kernel

f4 = np.float32
LOWEST_OCTAVE, HIGHEST_OCTAVE = -15, 13  # of the edges, relative to the unit of a column (about its rms)
_MANTISSA_BITS = 3  # of a bin's number: 2^3 = 8 bins per octave
_SHIFT = 23 - _MANTISSA_BITS
_FIRST = (127 + LOWEST_OCTAVE) << _MANTISSA_BITS  # number of the float32 pattern where the bins begin
N_BINS = (HIGHEST_OCTAVE - LOWEST_OCTAVE) << _MANTISSA_BITS
#: Magnitudes, in units of a column, at which the table of the score has its entries; one more than there are bins.
EDGES = np.array([(1 + (i & 7) / 8) * 2.0 ** (LOWEST_OCTAVE + (i >> 3)) for i in range(N_BINS + 1)])
_EDGES = EDGES.astype(np.float32)
_LIMIT = _EDGES[-1]
_PER_WIDTH = (1 / np.diff(EDGES)).astype(np.float32)


@kernel(nogil=True, fastmath=True, error_model="numpy")
def score_and_count(Y, bits, ratios, slopes, scores, counts, derivatives, squares):
    """Replace the codes Y (float32, in units of their columns) by what one Newton step needs.

    `bits` is Y seen as int32. The score of column j is y * r(|y|), where r is `ratios[j, b]` at the lower edge of bin b
    and grows with `slopes[j, b]`. Beyond the last edge the score is zero and Y is clipped, so that the influence of an
    outlier is bounded. Adds to `counts` (columns, edges) the histogram, to `derivatives` the sums of the derivative of
    the score, to `squares` those of y^2; writes the scores.
    """
    n_rows, n_columns = Y.shape
    for i in range(n_rows):
        for j in range(n_columns):
            y = Y[i, j]
            size = abs(y)
            b = ((bits[i, j] & 0x7FFFFFFF) >> _SHIFT) - _FIRST
            if b >= N_BINS:
                Y[i, j] = _LIMIT if bits[i, j] >= 0 else -_LIMIT
                squares[j] += _LIMIT * _LIMIT
                scores[i, j] = f4(0)
                counts[j, N_BINS] += 1
                continue
            squares[j] += y * y
            if b < 0:
                counts[j, 0] += 1
                scores[i, j] = y * ratios[j, 0]
                derivatives[j] += ratios[j, 0]
                continue
            beyond = size - _EDGES[b]
            slope = slopes[j, b]
            ratio = ratios[j, b] + beyond * slope
            share = beyond * _PER_WIDTH[b]
            scores[i, j] = y * ratio
            derivatives[j] += ratio + size * slope
            counts[j, b] += 1 - share
            counts[j, b + 1] += share
