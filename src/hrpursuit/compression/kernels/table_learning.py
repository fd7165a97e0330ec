"""What the coder of general tables remembers after each value."""

from hrpursuit.compression.kernels.compiled import at, compiled
from hrpursuit.compression.kernels.table_state import (
    CHANGE,
    COUNT,
    DRIFT,
    DRIFT_MEMORY,
    LEVEL,
    MEAN,
    MEAN_MEMORY,
    REPEATS,
    RUN,
    SHARE,
    SIZE,
    SPAN,
    VALUE,
)

_SLOW = 50  # values that the slow error of a prediction remembers
_LARGEST_ERROR = 1 << 42  # in 1/4096


@compiled
def learn_errors(column, errors, predictions, change):
    """How far the predictions, and their mean, were from a value."""
    share = SHARE[at(min(column[COUNT] + 2, _SLOW))]
    slow, fast = errors[0], errors[1]
    for e in range(len(predictions)):
        error = min((abs((change << 8) - predictions[e]) << 4) + 614, _LARGEST_ERROR)
        slow[e] += ((error - slow[e]) * share) >> 16
        fast[e] += ((error - fast[e]) * 38) >> 8


@compiled
def learn_value(column, value, change, level, middle):
    """What is remembered of a column after a value."""
    count = column[COUNT] + 1
    column[COUNT] = count
    column[MEAN] += (((value << 12) - column[MEAN]) * SHARE[at(min(count, MEAN_MEMORY))]) >> 16
    if count > 1:
        near = min(max(change, -(1 << 26)), 1 << 26)
        column[DRIFT] += (((near << 20) - column[DRIFT]) * SHARE[at(min(count, DRIFT_MEMORY))]) >> 16
    column[LEVEL + 2] = column[LEVEL + 1]
    column[LEVEL + 1] = column[LEVEL]
    column[LEVEL] = level
    column[VALUE] = value
    column[SIZE] = abs((change << 8) - middle)
    if change != 0:
        column[CHANGE + 2] = column[CHANGE + 1]
        column[CHANGE + 1] = column[CHANGE]
        column[CHANGE] = change
        column[SPAN] = column[RUN]
        column[RUN] = 0
        column[REPEATS] -= column[REPEATS] >> 6
    else:
        column[RUN] += 1
        column[REPEATS] += (65536 - column[REPEATS]) >> 6
