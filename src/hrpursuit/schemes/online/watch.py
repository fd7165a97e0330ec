"""How well the dictionary still fits: the sparsity of the codes of each step, its drift, and when it means a change.

The sparsity of a row is |s|_1 / (sqrt(n) |s|_2) of its codes s: from 1 / sqrt(n) for a single nonzero code to 1, about
0.8 for Gaussian codes, whatever the scale of the row. A step is judged by the mean over its rows, with codes of the
dictionary as it was before the step, so that none of them has been fitted.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.schemes.online.state import OnlineState

_DEVIATIONS = 6.0  # of a step's sparsity, that are no accident
_LEAST_EXCESS = 0.02  # relative, that is worth starting over
_BETTER = 3.0  # standard errors by which another dictionary has to be better
_FITTED_EXCESS = 0.2  # allowed over the sparsity of the rows that the dictionary was fitted to, which is too good
_LEAST_DEVIATION = 0.003  # relative, of the sparsity of a step: less is not worth a search
_SLACK = 0.75  # standard deviations that each step may have
_EVIDENCE, _SUSPICION = 12.0, 4.0  # those beyond, summed up: a change; and not to be learned from
_DOUBT = 8.0  # those by which the zeros of a column are fewer, summed up: look again, which costs little
_KEPT_ZEROS = 0.1  # of the zeros of a column: with fewer it is not exact any more
_ENOUGH_ZEROS = 15.0  # expected in a column, to miss them
_ZEROS_REMEMBERED = 10.0  # steps
_SHORTEST_MEMORY = 32  # steps, of the level


@dataclass(frozen=True)
class Sparsity:
    """Sparsity of the rows of a step."""

    rows: Array

    @cached_property
    def mean(self) -> float:
        return float(self.rows.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(np.linalg.norm(self.rows - self.mean)) / len(self.rows)

    def is_beaten_by(self, other: "Sparsity") -> bool:
        """Whether other codes of the same rows are sparser, by more than chance explains."""
        gain = Sparsity(self.rows - other.rows)
        return gain.mean > _BETTER * gain.error


def row_norms(S: Array) -> Array:
    """l2 norms of the rows, by a matrix product, which is faster than a sum along short rows."""
    return np.sqrt(np.square(S) @ np.ones(S.shape[1]))


def sparsity(size: Array, norms: Array) -> Sparsity:
    """Of codes with magnitudes `size` and rows of l2 norm `norms`, none of them zero."""
    n = size.shape[1]
    return Sparsity(size @ np.full(n, 1 / np.sqrt(n)) / norms)


def zero_sizes(state: OnlineState) -> Array:
    """Magnitude below which a code of each column is a zero."""
    return state.zero_level * np.linalg.norm(state.coder, axis=0)


def has_lost_zeros(state: OnlineState, size: Array) -> bool:
    """Whether the exact zeros of a column, or of all together, are gone; a wrong atom has hardly any.

    Where they merely are fewer, atoms may have been mixed with each other, which keep their common zeros, or are used
    more often, which is no change of the dictionary. Then it is in doubt, and to be looked at on rows from now on.
    """
    n_rows = len(size)
    zeros = np.ones(n_rows) @ (size < zero_sizes(state)).astype(np.float64)  # far faster than a sum of booleans
    p = state.zero_share
    expected = n_rows * p
    lost = (zeros < _KEPT_ZEROS * expected) & (expected >= _ENOUGH_ZEROS)
    if lost.any() or zeros.sum() < _KEPT_ZEROS * expected.sum():
        return True
    n_known = max(state.weight, 1.0)
    p_guarded = (n_known * p + 1) / (n_known + 2)  # of a column that had nothing but zeros, too
    deviation = np.sqrt(n_rows * p_guarded * (1 - p_guarded) * (1 + n_rows / n_known))
    fewer = (expected - zeros) / np.maximum(deviation, 1.0)
    state.zero_evidence = np.maximum(0.0, state.zero_evidence + fewer - _SLACK)
    if state.zero_evidence.max() > _DOUBT:
        state.in_doubt, state.countdown = True, 0
        state.forget_rows()
        state.zero_evidence[:], state.weight = 0.0, 0.0  # what zeros there are is measured anew
    rate = n_rows / (n_rows + state.weight)
    state.weight = min(state.weight + n_rows, _ZEROS_REMEMBERED * state.settings.step_rows)
    state.zero_share = np.where(state.zero_evidence > _SUSPICION, p, p + rate * (zeros / n_rows - p))
    return False


def is_less_sparse(state: OnlineState, now: Sparsity) -> bool:
    """Whether the codes are so much less sparse than they were that chance does not explain it: of one step by far, or
    of several by a little (a cumulative sum).
    """
    if state.level == 0:
        return False
    if state.n_judged == 0:
        return now.mean > (1 + _FITTED_EXCESS) * state.level + _DEVIATIONS * now.error
    deviation = np.sqrt(max(now.error**2 * (1 + 1 / state.n_judged), state.variance))
    excess = now.mean - state.level
    state.evidence = max(0.0, state.evidence + excess / max(deviation, _LEAST_DEVIATION * state.level) - _SLACK)
    if excess > max(_LEAST_EXCESS * state.level, _DEVIATIONS * deviation):
        return True
    return state.evidence > _EVIDENCE and state.mode != "fixed"  # a fit to few codes may cost the others' sparsity


def follow_level(state: OnlineState, now: Sparsity) -> None:
    """Take a step into the level, unless it is under suspicion."""
    if state.n_judged == 0:
        state.level, state.variance = now.mean, 0.0
    state.n_judged += 1
    if state.evidence > _SUSPICION and state.mode != "fixed":
        return
    rows_remembered = 1 / max(1 - state.settings.forgetting, 1e-12)
    rate = 1 / min(state.n_judged, max(_SHORTEST_MEMORY, rows_remembered / state.settings.step_rows))
    excess = now.mean - state.level
    state.level += rate * excess
    state.variance += rate * (excess * excess - state.variance)


def follow_drift(state: OnlineState, now: Sparsity, n_rows: int) -> None:
    """Smooth the relative excess over the level; a full step counts for a half."""
    if state.level > 0:
        rate = 1 - 0.5 ** (n_rows / state.settings.step_rows)
        state.drift += rate * (now.mean / state.level - 1 - state.drift)
