"""What the coder of general tables knows while it codes: sizes, tables of numbers, and its state."""

from typing import Any, NamedTuple

import numpy as np

from hrpursuit.compression.kernels.bits import EVEN
from hrpursuit.compression.kernels.compiled import as_integers, as_table, integers
from hrpursuit.compression.kernels.constants import SQUASH
from hrpursuit.compression.kernels.regression import N_SUMS, Regression, new_regression

LIMIT = 1 << 34  # values stay within
PREDICTED, LAST, DRIFTING, CONSTANT = range(4)  # what the centre of a column is
N_SIMPLE = 3  # predictions that are no regression
N_CONTEXTS, N_CONTEXTS_IN_HASTE = 9, 6
N_EXPERTS_IN_HASTE = 3  # the mean of the predictions, the last value, and the last regression
N_SEASONAL = 6  # features
N_BUCKETS = 72  # buckets: enough for differences of 2^35
N_NEAR, N_STEPS = 20, 5  # buckets from zero, and steps up or down from the expected one, that have weights of their own
#: Zero, two signs, buckets from zero, the expected one, steps up and down, the first two bits of a place in a bucket.
N_NODES = 4 + N_NEAR + 2 * N_STEPS + 8
OWN_MIXERS = 64  # columns that have weights of their own
_STATES = 96  # runs and last levels, and expected levels, that have weights of their own
LINE = 16  # chances of a context that lie together
_APM_BINS = 33
MEAN_MEMORY, DRIFT_MEMORY = 400, 3000  # rows


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


class Filters(NamedTuple):
    """Long filters (normalised least mean squares) of all columns."""

    weights: Any  # column x tap, in 2^-24
    past: Any  # column x 2 taps: the last values, twice, so that they lie together from any of them on
    places: Any  # of the last one
    power: Any  # sum of their squares
    predictions: Any  # of the next value


class TableState(NamedTuple):
    """What is known of a table while it is coded."""

    regression: Regression
    filters: Filters
    features: Any
    predictions: Any  # of the value at hand, from the last value, in 1/256
    errors: Any  # column x (prediction, then their mean) x (slow, fast), in 1/4096
    experts: Any  # centre from the centre of the value, in 1/256; 2^32 over the slow and the fast width
    tails: Any  # of each expert and width: beyond the least magnitude, the largest, and the one that divides them
    inputs: Any
    chances: Any  # context x line x chance: of a one in 1/65536 times 256, plus the bits seen
    lines: Any  # of each context for the value at hand
    shared: Any  # weights by node and input, in 1/65536
    own: Any  # the same, by column
    by_state: Any  # the same, by run and last level
    last_mixer: Any  # weights of the three, by column
    refined: Any  # chances by column, kind of bit, and mixed log odds (an APM)
    levels: Any  # column x last three levels
    values: Any  # last value that was seen
    changes: Any  # column x last three changes other than zero
    runs: Any  # rows since the last change
    repeats: Any  # share of values like the one before, of late, in 1/65536
    here: Any  # levels in this row, of the columns so far
    sizes: Any  # distance of the last value from its prediction, in 1/256
    means: Any  # in 1/4096
    drifts: Any  # in 2^-20
    counts: Any  # values seen
    costs: Any  # bits of each column, in 1/256, where the encoder asks
    reciprocals: Any  # column x (mantissa, shift): 65536 over the typical change in 1/16
    scales: Any  # typical change in 1/16


def n_features_of(order: int, season: int, n_neighbours: int) -> int:
    return 3 + order + (N_SEASONAL if season else 0) + 2 * n_neighbours


def new_table(
    scales: np.ndarray,
    n_cells: int,
    order: int,
    season: int,
    n_neighbours: int,
    n_taps: int = 0,
    in_haste: bool = False,
) -> TableState:
    """Nothing coded yet; `scales` is the typical change of each column in 1/16, at least 4. In haste
    there are fewer experts and contexts.
    """
    n = len(scales)
    n_features = n_features_of(order, season, n_neighbours)
    n_predictions = N_SIMPLE + N_SUMS * (2 if n_neighbours else 1) + (n_taps > 0)
    n_widths = 1 if in_haste else 2
    n_asked = N_EXPERTS_IN_HASTE if in_haste else n_predictions
    n_contexts = N_CONTEXTS_IN_HASTE if in_haste else N_CONTEXTS
    n_experts = n_widths * n_asked
    n_inputs = n_experts + 2 * n_contexts + 1
    n_lines = 1 << 10
    while n_lines < 1 << 15 and n_lines * 4 < n_cells:
        n_lines *= 2
    first = np.full((N_NODES, n_inputs), 2621)
    first[:, :n_experts] = 65536 // n_experts
    first[:, -1] = 0
    refined = np.array([[SQUASH[min(128 * j, 4095)] for j in range(_APM_BINS)]], dtype=np.int64)
    lengths = np.array([int(scale).bit_length() for scale in scales])
    mantissas = np.array([(1 << (int(e) + 15)) // int(scale) for e, scale in zip(lengths, scales, strict=True)])
    errors = np.repeat(np.asarray(scales, dtype=np.int64) << 8, 2 * (n_predictions + 1)).reshape(
        n, n_predictions + 1, 2
    )
    return TableState(
        regression=new_regression(n, n_features),
        filters=Filters(
            weights=integers((n, n_taps)),
            past=as_table(np.zeros((n, 2 * n_taps), np.int64), "i4"),
            places=integers(n),
            power=integers(n),
            predictions=integers(n),
        ),
        features=as_table(np.zeros(n_features, np.int64), "i4"),
        predictions=integers(n_predictions),
        errors=as_integers(errors),
        experts=integers((n_asked, 3)),
        tails=integers((n_asked, n_widths, 3)),
        inputs=as_table(np.zeros(n_inputs, np.int64), "i4"),
        chances=as_table(np.full((n_contexts, n_lines, LINE), EVEN << 8), "i4"),
        lines=integers((n_contexts, 2)),
        shared=as_table(first, "i4"),
        own=as_table(np.broadcast_to(first, (min(n, OWN_MIXERS), *first.shape)), "i4"),
        by_state=as_table(np.broadcast_to(first, (_STATES, *first.shape)), "i4"),
        last_mixer=integers((n, 3), 21845),
        refined=as_table(np.repeat(refined, 64 * min(n, OWN_MIXERS), axis=0), "i4"),
        levels=integers((n, 3)),
        values=integers(n),
        changes=integers((n, 3)),
        runs=integers(n),
        repeats=integers(n),
        here=integers(n),
        sizes=integers(n),
        means=integers(n),
        drifts=integers(n),
        counts=integers(n),
        costs=integers(n),
        reciprocals=as_integers(np.column_stack([mantissas, lengths - 1])),
        scales=as_integers(scales),
    )
