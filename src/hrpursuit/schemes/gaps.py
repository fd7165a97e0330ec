"""The finish for data with gaps and a fixed number of nonzeros per row: codes from the observed entries alone, and the
dictionary on the table that these fill, in turn.
"""

from dataclasses import replace

import numpy as np

from hrpursuit.core.certificate import unchecked
from hrpursuit.core.masked import KICKS, GapTable, orthogonal_steps
from hrpursuit.core.protocols import Array, Iterate
from hrpursuit.schemes.stages import Learned, StageLog, Stopper

T0_GAPS = "T0 gaps"
_DICTIONARY_STEPS = 5  # a round
_LOOK_EVERY = 10  # rounds between two greedy searches, and between two looks at what was gained
_LEAST_GAIN = 1e-3  # in so many rounds, of the error
_EXACT = 1e-12


def alternate_with_gaps(
    X: Array, learned: Learned, n_nonzero: int, max_iter: int, *, stopper: Stopper, log: StageLog
) -> Learned:
    """Go on from an orthogonal dictionary that was learned on the filled table. The error on the observed entries never
    rises.
    """
    unit = float(np.nanmax(np.abs(X), initial=0.0)) or 1.0
    table = GapTable(X / unit)
    if table.norm == 0:
        return replace(learned, error=0.0)
    W = np.asarray(learned.components, dtype=np.float64)
    S = np.zeros((len(X), len(W)))
    table.improve_codes(W, S, n_nonzero, greedy=True, fresh=True, orthogonal=True)
    before = error = last_look = table.error(S, W)
    n_iter = 0
    while n_iter < max_iter and error > _EXACT and not stopper.stopped:
        n_iter += 1
        W_before = W
        W = orthogonal_steps(table, S, W, _DICTIONARY_STEPS)
        table.improve_codes(W, S, n_nonzero, greedy=False, orthogonal=True)
        is_look = n_iter % _LOOK_EVERY == 0
        if is_look:
            table.improve_codes(W, S, n_nonzero, greedy=True, orthogonal=True)
            if table.error(S, W) > (1 - _LEAST_GAIN) * last_look:  # perhaps stuck: look harder before giving up
                table.improve_codes(W, S, n_nonzero, greedy=False, n_kicks=KICKS, orthogonal=True)
        error = table.error(S, W)
        if stopper.callback is not None:
            step = float(np.linalg.norm(W - W_before) / np.sqrt(len(W)))
            stopper.callback(Iterate(T0_GAPS, n_iter, W, error, step, max_iter))
        if is_look:
            if error > (1 - _LEAST_GAIN) * last_look:
                break
            last_look = error
    log.add(T0_GAPS, n_iter, before, error)
    objective = unit * float(np.abs(table.filled(S, W) @ W.T).sum()) / len(X)
    return Learned(W, W.T, unchecked(len(W), "samples with gaps are not checked"), objective, error)
