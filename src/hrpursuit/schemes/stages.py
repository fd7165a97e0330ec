"""The record of a fit: what each stage did, and whether a callback has asked to stop."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from hrpursuit.core.certificate import Certificate
from hrpursuit.core.protocols import Array, Callback, Iterate
from hrpursuit.core.search import Outcome


@dataclass(frozen=True)
class Stage:
    """What a stage of a fit did.

    Attributes
    ----------
    name : str
        Name of the stage.
    n_iter : int
        Number of iterations; of the search, number of steps.
    objective_before, objective_after : float
        Objective per row, on the rows that the stage worked on: the l1 norm of the codes (for the search on the working
        sample, scaled to rows of unit mean square), minus the log-likelihood for maximum likelihood, and for stages
        with a fixed number of codes (T0) the relative reconstruction error of the observed entries.
    seconds : float
        Duration of the stage.
    shortfall : str or None
        What the stage should have reached but did not, with figures.
    """

    name: str
    n_iter: int
    objective_before: float
    objective_after: float
    seconds: float
    shortfall: str | None = None

    def __str__(self) -> str:
        figures = f"{self.objective_before:10.6g} -> {self.objective_after:<10.6g}"
        return f"{self.name:<16} {self.n_iter:5d} iterations  objective {figures}  {self.seconds:8.3f} s"


class StageLog:
    """Collects stages; each lasts from the end of the one before it."""

    def __init__(self, on_stage: Callable[[Stage], None] | None = None) -> None:
        self.stages: list[Stage] = []
        self._on_stage = on_stage
        self._since = time.perf_counter()

    def add(self, name: str, n_iter: int, before: float, after: float, shortfall: str | None = None) -> None:
        now = time.perf_counter()
        self.stages.append(Stage(name, int(n_iter), float(before), float(after), now - self._since, shortfall))
        self._since = now
        if self._on_stage is not None:
            self._on_stage(self.stages[-1])


class Cancelled(Exception):
    """A run was ended whose result is not wanted any more."""


class Stopper:
    """A callback that remembers whether the user's one has asked to stop.

    `is_cancelled` is asked whenever the callback is due; where it says so, the run ends at once by `Cancelled`.
    """

    def __init__(self, callback: Callback | None, is_cancelled: Callable[[], bool] | None = None) -> None:
        self._callback = callback
        self._is_cancelled = is_cancelled
        self.stopped = False

    @property
    def callback(self) -> Callback | None:
        return None if self._callback is None and self._is_cancelled is None else self

    def __call__(self, iterate: Iterate) -> bool:
        if self._is_cancelled is not None and self._is_cancelled():
            raise Cancelled
        if self._callback is not None:
            self.stopped = bool(self._callback(iterate)) or self.stopped
        return self.stopped


@dataclass(frozen=True)
class Learned:
    """What a scheme returns.

    Attributes
    ----------
    components : array of shape (n_features, n_features)
        One atom per row: orthonormal, or of unit norm for a complete dictionary.
    encoder : array of shape (n_features, n_features)
        The codes are (X - intercept) @ encoder before any threshold.
    certificate : Certificate
        On the working sample of an exact fit.
    objective : float
        l1 norm of the codes per row: of the working sample if certified, else of all rows.
    error : float or None
        Relative reconstruction error of the observed entries by codes with the given number of nonzeros (T0); None
        where it was not evaluated.
    intercept : array of shape (n_features,) or None
        Offset of the rows, where one was asked for.
    cost : float or None
        Minus the log-likelihood per row, to compare runs by; None where it was not maximised.
    method : str or None
        How data that is not exactly sparse was finished; None where it was not.
    advice : str or None
        What the fit found out about data that it did not fit, and what to do about it: 'finding: advice'.
    outcome : Outcome or None
        How the search ended, or that the callback ended the fit; None where there was no search.
    has_exact_atom : bool
        Whether the search saw an exact atom.
    """

    components: Array
    encoder: Array
    certificate: Certificate
    objective: float
    error: float | None = None
    intercept: Array | None = None
    cost: float | None = None
    method: str | None = None
    advice: str | None = None
    outcome: Outcome | None = None
    has_exact_atom: bool = False
