"""How well the dictionary still fits: the sparsity of the codes of each step, its drift, and when it means a change.

The sparsity of a row is |s|_1 / (sqrt(n) |s|_2) of its codes s: from 1 / sqrt(n) for a single nonzero code to 1, about
0.8 for Gaussian codes, whatever the scale of the row. A step is judged by the mean over its rows, with codes of the
dictionary as it was before the step, so that none of them has been fitted.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.schemes.online.stream import OnlineSettings, Stream, check_not_negative

SLACK = 0.75  # standard deviations that each step may have before a cumulative sum (CUSUM) grows
SUSPICION = 4.0  # CUSUM above which the level, or the share of zeros, is not learned from
_EVIDENCE = 12.0  # CUSUM above which a change is declared
_DEVIATIONS = 6.0  # of the sparsity of a single step, above which a change is declared
_LEAST_EXCESS = 0.02  # relative, that is worth starting over
_BETTER = 3.0  # standard errors by which another dictionary has to be better
_FITTED_EXCESS = 0.2  # allowed over the sparsity of the rows that the dictionary was fitted to, which is too good
_LEAST_DEVIATION = 0.003  # relative, of the sparsity of a step: less is not worth a search
_SHORTEST_MEMORY = 32  # steps, of the level
_SMALLEST_RMS = 1e-90  # of a step; third powers of less leave the range of double


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
        deviations = self.rows - self.mean
        return float(np.sqrt(deviations @ deviations)) / len(self.rows)

    def is_beaten_by(self, other: "Sparsity") -> bool:
        """Whether other codes of the same rows are sparser, by more than chance explains."""
        gain = Sparsity(self.rows - other.rows)
        return gain.mean > _BETTER * gain.error

    @classmethod
    def of(cls, S: Array) -> "Sparsity":
        """Of rows of codes, zeros left out."""
        norms = row_norms(S)
        return sparsity(np.abs(S)[norms > 0], norms[norms > 0])


def row_norms(S: Array) -> Array:
    """l2 norms of the rows, by a matrix product, which is faster than a sum along short rows."""
    return np.sqrt(np.square(S) @ np.ones(S.shape[1]))


def sparsity(size: Array, norms: Array) -> Sparsity:
    """Of codes with magnitudes `size` and rows of l2 norm `norms`, none of them zero."""
    n = size.shape[1]
    return Sparsity(size @ np.full(n, 1 / np.sqrt(n)) / norms)


class Step:
    """The rows of a step as the dictionary of before sees them.

    Attributes
    ----------
    rows : array
        As they came; without rows of zeros, which say nothing unless they tell the offset.
    X, S, size : array
        Rows less the offset that are not zero, their codes and the magnitudes of these. S may be overwritten.
    sparsity : Sparsity
    """

    def __init__(self, stream: Stream, R: Array) -> None:
        self.rows = R
        self.X = R - stream.intercept if stream.settings.offset else R
        self.S, self.size = self.codes(stream.coder)
        norms = row_norms(self.S)
        if not norms.min() > 0:  # a row of zeros says nothing; nor does one whose squares vanish
            live = norms > 0
            self.X, self.S, self.size, norms = self.X[live], self.S[live], self.size[live], norms[live]
            self.rows = R if stream.settings.offset else self.X
        self.sparsity = sparsity(self.size, norms)

    def codes(self, coder: Array) -> tuple[Array, Array]:
        """Of X, and their magnitudes."""
        S = self.X @ coder
        return S, np.abs(S)

    def is_live(self) -> bool:
        """Whether there is anything to learn from."""
        least = _SMALLEST_RMS**2 * self.X.size
        parts = (self.X[:1], self.X)  # mostly the first row is enough
        return len(self.X) > 0 and any(np.vdot(part, part) >= least for part in parts)


@dataclass(frozen=True)
class Level:
    """Sparsity of recent steps since the dictionary was learned, which the next ones are judged by.

    Attributes
    ----------
    mean, variance : float
        Of the sparsity, from step to step.
    evidence : float
        Standard deviations by which the steps were less sparse than that, summed up (CUSUM).
    n_judged : int
        Steps so far. Before the first, the mean is that of the rows that the dictionary was fitted to.
    """

    mean: float
    variance: float = 0.0
    evidence: float = 0.0
    n_judged: int = 0

    def check(self) -> None:
        check_not_negative(self, "variance", "evidence", "n_judged")
        if not self.mean > 0:
            raise ValueError(f"the mean of a sparsity must be positive; got {self.mean}.")

    def judge(self, now: Sparsity, *, sums: bool) -> tuple["Level", bool]:
        """The level with the evidence of a step, and whether codes are so much less sparse than they were that chance
        does not explain it: of this step by far, or with `sums` of several by a little.
        """
        if self.n_judged == 0:
            return self, now.mean > (1 + _FITTED_EXCESS) * self.mean + _DEVIATIONS * now.error
        deviation = float(np.sqrt(max(now.error**2 * (1 + 1 / self.n_judged), self.variance)))
        excess = now.mean - self.mean
        evidence = max(0.0, self.evidence + excess / max(deviation, _LEAST_DEVIATION * self.mean) - SLACK)
        lost = excess > max(_LEAST_EXCESS * self.mean, _DEVIATIONS * deviation) or (sums and evidence > _EVIDENCE)
        return Level(self.mean, self.variance, evidence, self.n_judged), lost

    def follow(self, now: Sparsity, settings: OnlineSettings, *, sums: bool) -> "Level":
        """The level with a step taken in, unless with `sums` it is under suspicion."""
        n_judged = self.n_judged + 1
        mean, variance = (now.mean, 0.0) if n_judged == 1 else (self.mean, self.variance)
        if not (sums and self.evidence > SUSPICION):
            rows_remembered = 1 / max(1 - settings.forgetting, 1e-12)
            rate = 1 / min(n_judged, max(_SHORTEST_MEMORY, rows_remembered / settings.step_rows))
            excess = now.mean - mean
            mean, variance = mean + rate * excess, variance + rate * (excess * excess - variance)
        return Level(mean, variance, self.evidence, n_judged)


def level_of(stream: Stream) -> Level:
    """The sparsity on the window, until there are rows that the dictionary was not fitted to."""
    return Level(Sparsity.of(stream.centred() @ stream.coder).mean)
