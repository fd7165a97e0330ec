"""What the coder of general tables knows while it codes: sizes, tables of numbers, and its state."""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.bits import EVEN
from hrpursuit.compression.kernels.compiled import as_integers, as_table, integers
from hrpursuit.compression.kernels.constants import SQUASH
from hrpursuit.compression.kernels.regression import (
    EVERY,
    EVERY_IN_HASTE,
    N_SUMS,
    Regression,
    new_regression,
    padded,
)
from hrpursuit.compression.kernels.vectors import BLOCK

LIMIT = 1 << 34  # values stay within
PREDICTED, LAST, DRIFTING, CONSTANT = range(4)  # what the centre of a column is
N_SIMPLE = 3  # predictions that are no regression
N_CONTEXTS, N_CONTEXTS_IN_HASTE = 9, 6
N_EXPERTS_IN_HASTE = 3  # the mean of the predictions, the last value, and the last regression
N_MIXERS = 3
N_SEASONAL = 6  # features
N_BUCKETS = 72  # buckets: enough for differences of 2^35
N_NEAR, N_STEPS = 20, 5  # buckets from zero, and steps up or down from the expected one, that have weights of their own
#: Zero, two signs, buckets from zero, the expected one, steps up and down, the first two bits of a place in a bucket.
N_NODES = 4 + N_NEAR + 2 * N_STEPS + 8
OWN_MIXERS = 64  # columns that have weights of their own
_STATES = 96  # runs and last levels, and expected levels, that have weights of their own
LINE = 16  # chances of a context that lie together: one line of a cache
BIAS = 77  # the last input of a mixer, in 1/256
_APM_BINS = 33
MEAN_MEMORY, DRIFT_MEMORY = 400, 3000  # rows

# What is remembered of a column, in its row of `TableState.columns`.
VALUE = 0  # last value that was seen
COUNT = 1  # values seen
MEAN = 2  # in 1/4096
DRIFT = 3  # in 2^-20
RUN = 4  # rows since the last change
REPEATS = 5  # share of values like the one before, of late, in 1/65536
SIZE = 6  # distance of the last value from its prediction, in 1/256
LEVEL = 7  # last three levels
CHANGE = 10  # last three changes other than zero
MIXER = 13  # weights of the three mixers
CENTRE, CENTRE_CONSTANT = 16, 17  # what the centre is; its drift, or the constant
SCALE = 18  # typical change in 1/16
MANTISSA, SHIFT = 19, 20  # 65536 over the typical change in 1/16
PLACE = 21  # in the past of the long filter, of the last value
POWER = 22  # sum of the squares of this past
FILTERED = 23  # prediction of the long filter
BITS = 24  # that the column takes, in 1/256, where the encoder asks
SPAN = 25  # rows without a change before the last change
LEAST, MOST = 26, 27  # values that the column may have
RECURS = 28  # 1 where all bits of a level are learned, since levels come again
VISITS = 29  # bits of each node, so far
_N_FIELDS = VISITS + N_NODES

# Rows of `TableState.experts`: where the distribution of each expert lies from the centre of the value, in 1/256, and
# 2^32 over its width; then its share beyond the least magnitude, beyond the largest, and beyond the one between them.
# The last two rows are of the mixers: the set of weights of each, and the log odds that it has found.
AT, SHARPNESS, BEYOND_LOW, BEYOND_HIGH, BEYOND_SPLIT, SET, MIXED = range(7)


def _buckets() -> tuple[np.ndarray, np.ndarray]:
    """First magnitude and number of magnitudes of each bucket."""
    first, size = [1, 2, 3, 4, 5, 7], [1, 1, 1, 1, 2, 2]
    start, width = 9, 4
    while len(first) < N_BUCKETS:
        first += [start, start + width]
        size += [width, width]
        start, width = start + 2 * width, 2 * width
    return np.array(first[:N_BUCKETS]), np.array(size[:N_BUCKETS])


BUCKET_FIRST, BUCKET_SIZE = (as_integers(part) for part in _buckets())
BUCKET_END = as_integers(BUCKET_FIRST + BUCKET_SIZE)
#: How far a chance that has seen n bits is trusted, in 1/65536: n / (n + 8).
TRUST = as_integers(np.array([(n << 16) // (n + 8) for n in range(256)]))
#: 65536 over 1, 2, 3, ...; the first is not used.
SHARE = as_integers(np.array([65536, *(65536 // n for n in range(1, DRIFT_MEMORY + 1))]))
#: Bits that a chance in 1/4096 costs, in 1/256; for the encoder alone.
COST = as_integers(np.rint(-256 * np.log2((np.arange(4096) + 0.5) / 4096)).astype(np.int64))


class TableState(NamedTuple):
    """What is known of a table while it is coded. Few arrays, since the compiler takes its time for each of them."""

    columns: Any  # column x what is remembered of it, as named above
    errors: Any  # column x (slow, fast) x (prediction, then their mean), in 1/4096
    regression: Regression
    taps: Any  # column x weight of the long filter, in 2^-24
    past: Any  # column x 2 taps: the last values, twice, so that they lie together from any of them on
    features: Any  # of the value at hand, and zeros up to the length of a row of the regression
    predictions: Any  # of it, from the last value, in 1/256; then their mean
    experts: Any  # seven rows, as named above
    lines: Any  # of each context: the first for the value at hand, and the one that is open
    chances: Any  # context x line x chance: of a one in 1/65536 times 256, plus the bits seen
    inputs: Any  # of the mixers in 1/256: experts, contexts, bias, zeros up to a whole block
    weights: Any  # of the mixers in 1/65536, by set (shared, columns, runs and levels), node and input
    refined: Any  # chances by column, kind of bit, and mixed log odds (an APM)


def n_features_of(order: int, season: int, n_neighbours: int) -> int:
    return 3 + order + (N_SEASONAL if season else 0) + 2 * n_neighbours


def new_table(
    scales: np.ndarray,
    centres: np.ndarray,
    constants: np.ndarray,
    ends: np.ndarray,
    recurs: np.ndarray,
    n_cells: int,
    order: int,
    season: int,
    n_neighbours: int,
    n_taps: int = 0,
    in_haste: bool = False,
) -> TableState:
    """Nothing coded yet; `scales` is the typical change of each column in 1/16, at least 4, `centres` what its centre
    is, `constants` the drift or the constant, and `ends` (columns x 2) the least and the largest number, LIMIT where
    it is not known, `recurs` whether levels come again. In haste there are fewer experts and contexts.
    """
    n = len(scales)
    n_features = n_features_of(order, season, n_neighbours)
    n_predictions = N_SIMPLE + N_SUMS * (2 if n_neighbours else 1) + (n_taps > 0)
    n_contexts = N_CONTEXTS_IN_HASTE if in_haste else N_CONTEXTS
    n_experts = N_EXPERTS_IN_HASTE if in_haste else 2 * n_predictions
    n_inputs = n_experts + 2 * n_contexts + 1
    inputs = np.zeros(-(-n_inputs // BLOCK) * BLOCK, np.int64)
    inputs[n_inputs - 1] = BIAS
    n_lines = 1 << 10
    while n_lines < 1 << 15 and n_lines * 4 < n_cells:
        n_lines *= 2
    weights = np.zeros(len(inputs), np.int32)  # as small as in the table: filling it takes a tenth of the time
    weights[:n_experts] = 65536 // n_experts
    weights[n_experts : n_inputs - 1] = 2621
    refined = np.array([[SQUASH[min(128 * j, 4095)] for j in range(_APM_BINS)]], dtype=np.int32)
    n_own = min(n, OWN_MIXERS)
    return TableState(
        columns=as_integers(_columns(scales, centres, constants, ends, recurs)),
        errors=as_integers(np.broadcast_to(np.reshape(scales, (n, 1, 1)) << 8, (n, 2, n_predictions + 1))),
        regression=new_regression(n, n_features, EVERY_IN_HASTE if in_haste else EVERY),
        taps=integers((n, n_taps)),
        past=as_table(np.zeros((n, 2 * n_taps), np.int64), "i4"),
        features=as_table(np.zeros(padded(n_features), np.int64), "i4"),
        predictions=integers(n_predictions + 1),
        experts=integers((7, n_experts)),
        lines=integers((n_contexts, 2)),
        chances=as_table(np.broadcast_to(np.int32(EVEN << 8), (n_contexts, n_lines, LINE)), "i4"),
        inputs=as_table(inputs, "i4"),
        weights=as_table(np.broadcast_to(weights, (1 + n_own + _STATES, N_NODES, len(weights))), "i4"),
        refined=as_table(np.repeat(refined, 64 * n_own, axis=0), "i4"),
    )


def _columns(
    scales: np.ndarray, centres: np.ndarray, constants: np.ndarray, ends: np.ndarray, recurs: np.ndarray
) -> np.ndarray:
    columns = np.zeros((len(scales), _N_FIELDS), np.int64)
    lengths = np.array([int(scale).bit_length() for scale in scales], dtype=np.int64)
    columns[:, MIXER : MIXER + N_MIXERS] = 65536 // N_MIXERS
    columns[:, CENTRE], columns[:, CENTRE_CONSTANT], columns[:, SCALE] = centres, constants, scales
    columns[:, MANTISSA] = [(1 << (int(e) + 15)) // int(scale) for e, scale in zip(lengths, scales, strict=True)]
    columns[:, SHIFT] = lengths - 1
    columns[:, LEAST : MOST + 1] = ends
    columns[:, RECURS] = recurs
    return columns
