"""What the online learner remembers: arrays and plain numbers only, so that it can be written to a file as it is."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from hrpursuit.core.certificate import Certificate, unchecked
from hrpursuit.core.protocols import Array

#: starting: Stage One, no search has ended yet. searching: the old dictionary does not fit any more. exact: the codes
#: have exact zeros. noisy: sparse plus noise. dense: not exactly sparse. fixed: so many nonzeros a row were asked for.
Mode = Literal["starting", "searching", "exact", "noisy", "dense", "fixed"]

_STEP_PER_FEATURE, _SHORTEST_STEP = 10, 200  # rows of a step: what a search needs


@dataclass(frozen=True)
class OnlineSettings:
    """What the learner was asked for.

    Attributes
    ----------
    n_features : int
    complete : bool
        Whether atoms may be other than orthogonal.
    n_nonzero : int or None
        Nonzero codes a row to fit the dictionary to.
    forgetting : float
        Factor by which the weight of a row shrinks with each row that follows it.
    window : int
        Recent rows that are kept.
    seed : int
    """

    n_features: int
    complete: bool
    n_nonzero: int | None
    forgetting: float
    window: int
    seed: int

    def check(self) -> None:
        """Raise ValueError if these are not the settings of a learner: a file may hold anything."""
        whole = [self.n_features, self.window, self.seed, *([] if self.n_nonzero is None else [self.n_nonzero])]
        if not all(type(number) is int and number >= 0 for number in whole) or type(self.complete) is not bool:
            raise ValueError("the settings of a learner must be whole numbers.")
        if not 1 <= self.n_features <= self.window or not 1 <= (self.n_nonzero or 1) <= self.n_features:
            raise ValueError("the settings of a learner do not fit together.")
        if not isinstance(self.forgetting, float) or not 0 < self.forgetting <= 1:
            raise ValueError(f"forgetting must be above 0 and at most 1; got {self.forgetting!r}.")

    @property
    def step_rows(self) -> int:
        """Rows between two steps, once so many have come."""
        return max(_STEP_PER_FEATURE * self.n_features, _SHORTEST_STEP)

    @property
    def search_rows(self) -> int:
        """Rows of the window from which on a search is worth its full patience."""
        return min(self.step_rows, self.window)

    def rows_until_step(self, n_seen: int) -> int:
        """Rows from the n_seen-th to the next step: after n_features rows, then twice as many each time, then every
        `step_rows`. So nothing depends on how the stream is cut into batches.
        """
        if n_seen >= self.step_rows:
            return self.step_rows - n_seen % self.step_rows
        boundary = self.n_features
        while boundary <= n_seen:
            boundary *= 2
        return min(boundary, self.step_rows) - n_seen


@dataclass
class OnlineState:
    """State of the online learner. The codes of rows R are R @ coder.

    Attributes
    ----------
    n_seen, n_pending, n_steps, n_searches, n_changes, n_learned : int
        Rows seen, rows that wait for the next step, steps, searches, times that it started over, searches that
        gave a dictionary.
    n_window : int
        Rows put into the window since it was last empty.
    n_judged : int
        Steps since the dictionary was last learned.
    wait, countdown : int
        Steps from one search to the next while they fail, and those that are left.
    weight, moments_weight : float
        Rows that `gradient` and `moments` stand for, older ones counting less.
    noise : float
        Standard deviation of the noise in the codes.
    zero_level : float
        Size of a zero in the codes of a unit atom.
    level, variance : float
        Of the sparsity of recent steps (see `watch`) since the dictionary was learned: mean, and variance from
        step to step.
    evidence : float
        Standard deviations by which the steps were less sparse than that, summed up.
    drift : float
        Smoothed relative excess of the latest steps over that level.
    has_trial : bool
        Whether `trial` holds a dictionary that has to prove itself on the next rows.
    in_doubt : bool
        Whether an exact dictionary should be looked at again when more rows have come.
    coder, trial : array
        The inverse of the dictionary: its transpose, or for a complete one scaled to codes of about unit rms. The
        present one, and one that has to prove itself.
    gradient, code_gram : array
        Running sums of score(S)^T R and, for a fixed number of nonzeros of a complete dictionary, of S^T S.
    last_turn : array
        The way that the last step turned a noisy dictionary.
    moments : array
        Running sum of R^T R, for complete dictionaries.
    zero_share, zero_evidence : array
        Share of zeros in each code column while they are exact, and standard deviations by which they were fewer than
        that, summed up.
    """

    settings: OnlineSettings
    mode: Mode = "starting"
    n_seen: int = 0
    n_pending: int = 0
    n_steps: int = 0
    n_searches: int = 0
    n_changes: int = 0
    n_learned: int = 0
    n_window: int = 0
    n_judged: int = 0
    wait: int = 1
    countdown: int = 0
    weight: float = 0.0
    moments_weight: float = 0.0
    noise: float = 0.0
    zero_level: float = 0.0
    level: float = 0.0
    variance: float = 0.0
    evidence: float = 0.0
    drift: float = 0.0
    has_trial: bool = False
    in_doubt: bool = False
    certificate: Certificate = field(default_factory=lambda: unchecked(0))
    coder: Array = field(default_factory=lambda: np.empty((0, 0)))
    trial: Array = field(default_factory=lambda: np.empty((0, 0)))
    gradient: Array = field(default_factory=lambda: np.empty((0, 0)))
    code_gram: Array = field(default_factory=lambda: np.empty((0, 0)))
    last_turn: Array = field(default_factory=lambda: np.empty((0, 0)))
    moments: Array = field(default_factory=lambda: np.empty((0, 0)))
    zero_share: Array = field(default_factory=lambda: np.empty(0))
    zero_evidence: Array = field(default_factory=lambda: np.empty(0))
    pending: Array = field(default_factory=lambda: np.empty((0, 0)))
    window: Array = field(default_factory=lambda: np.empty((0, 0)))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays and their shapes."""
        n = self.settings.n_features
        square = ("coder", "trial", "gradient", "code_gram", "last_turn", "moments")
        return dict.fromkeys(square, (n, n)) | {
            "zero_share": (n,),
            "zero_evidence": (n,),
            "pending": (self.settings.step_rows, n),
            "window": (self.settings.window, n),
        }

    def numbers(self) -> dict[str, Any]:
        """The plain numbers, and the name of the mode."""
        arrays = self.shapes()
        return {
            name: value
            for name, value in vars(self).items()
            if name not in arrays and name not in ("settings", "certificate")
        }

    @property
    def n_held(self) -> int:
        """Rows in the window."""
        return min(self.n_window, self.settings.window)

    @property
    def held(self) -> Array:
        """The rows in the window; which is the oldest does not matter."""
        return self.window[: self.n_held]

    def hold(self, R: Array) -> None:
        """Put rows into the window, in place of the oldest."""
        size = self.settings.window
        skipped = max(0, len(R) - size)
        R = R[skipped:]
        start = (self.n_window + skipped) % size
        first = min(len(R), size - start)
        self.window[start : start + first] = R[:first]
        self.window[: len(R) - first] = R[first:]
        self.n_window += skipped + len(R)

    def forget_rows(self) -> None:
        """Empty the window, and the second moment with it."""
        self.n_window, self.moments_weight = 0, 0.0
        self.moments[:] = 0.0

    def check(self) -> None:
        """Raise ValueError if the parts do not fit together: a file may hold anything."""
        settings = self.settings
        settings.check()
        for name, shape in self.shapes().items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite numbers in double precision, of shape {shape}.")
        for name, value in self.numbers().items():
            kind = type(getattr(OnlineState, name))  # that of the default
            if type(value) is not kind and not (kind is float and isinstance(value, float)):
                raise ValueError(f"{name} must be a {kind.__name__}; got {value!r}.")
            if isinstance(value, float) and not np.isfinite(value):
                raise ValueError(f"{name} must be finite; got {value}.")
            if isinstance(value, int | float) and value < 0 and name not in ("drift", "countdown"):
                raise ValueError(f"{name} must not be negative; got {value}.")
        if self.mode not in get_args(Mode):
            raise ValueError(f"mode must be one of {get_args(Mode)}; got {self.mode!r}.")
        if self.n_pending > self.n_seen or self.n_pending + settings.rows_until_step(self.n_seen) > settings.step_rows:
            raise ValueError("more rows wait for the next step than a step takes.")
        if not (self.zero_share.min() >= 0 and self.zero_share.max() <= 1):
            raise ValueError("zero_share must be shares, from 0 to 1.")
        if self.n_steps > 0 and np.linalg.matrix_rank(self.coder) < settings.n_features:
            raise ValueError("coder must be invertible.")
        if self.has_trial and np.linalg.matrix_rank(self.trial) < settings.n_features:
            raise ValueError("trial must be invertible.")


def new_state(settings: OnlineSettings) -> OnlineState:
    """A learner that has seen nothing."""
    state = OnlineState(settings, certificate=unchecked(settings.n_features))
    for name, shape in state.shapes().items():
        setattr(state, name, np.zeros(shape))
    return state
