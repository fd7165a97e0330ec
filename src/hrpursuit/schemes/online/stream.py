"""What the online learner remembers of its stream: arrays and plain numbers, so that a file keeps it as it is."""

import copy
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from hrpursuit.core.atom_order import canonical, ordering_sample
from hrpursuit.core.certificate import Certificate, unchecked
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.protocols import Array
from hrpursuit.rows import ArrayRows
from hrpursuit.rows.survey import LIMITS

Vector = Annotated[NDArray[np.float64], "n_features_in_"]
Square = Annotated[NDArray[np.float64], "n_features_in_", "n_features_in_"]
Block = Annotated[NDArray[np.float64], None, "n_features_in_"]

_STEP_PER_FEATURE, _SHORTEST_STEP = 10, 200  # rows of a step: what a search needs
_LONGEST_WAIT = 128  # steps between two searches
_LEAST_VARIANCE = 1e-12  # of a direction, relative to the mean one; or features that die would take the coder with them
_RIDGE = 1e-6  # relative to the variance of a feature, where features are linearly dependent so far


def check_not_negative(held: Any, *names: str) -> None:
    """Raise ValueError if one of these attributes is: a file may hold anything."""
    for name in names:
        if np.min(getattr(held, name)) < 0:
            raise ValueError(f"{name} must not be negative; got {getattr(held, name)}.")


def check_invertible(coder: Array | None, name: str) -> None:
    if coder is not None and np.linalg.matrix_rank(coder) < len(coder):
        raise ValueError(f"{name} must be invertible.")


@dataclass(frozen=True)
class OnlineSettings:
    """What the learner was asked for.

    Attributes
    ----------
    n_features : int
    complete, offset : bool
        Whether atoms may be other than orthogonal, and whether an offset of the rows is learned.
    n_nonzero : int or None
        Nonzero codes per row to fit the dictionary to.
    forgetting : float
        Factor by which the weight of a row shrinks with each row that follows it.
    window : int
        Recent rows that are kept.
    seed : int
    """

    n_features: int
    complete: bool
    offset: bool
    n_nonzero: int | None
    forgetting: float
    window: int
    seed: int

    def check(self) -> None:
        """Raise ValueError if these are not the settings of a learner: a file may hold anything."""
        if not (1 <= self.n_features <= self.window and self.seed >= 0 and 0 < self.forgetting <= 1):
            raise ValueError("the settings of a learner do not fit together.")
        if self.n_nonzero is not None and not 1 <= self.n_nonzero <= self.n_features:
            raise ValueError(f"n_nonzero must be from 1 to {self.n_features}; got {self.n_nonzero}.")

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


@dataclass(kw_only=True)
class Stream:
    """What all modes share. The codes of rows R are (R - intercept) @ coder.

    Arrays and lists are replaced and never written to, so that a shallow copy can be gone back to.

    Attributes
    ----------
    n_seen, n_steps, n_searches, n_changes, n_learned : int
        Rows seen, steps, searches, times that it started over, searches that gave a dictionary.
    wait, countdown : int
        Steps from one search to the next while they fail, and those that are left.
    drift : float
        Smoothed relative excess of the latest steps over the level of sparsity (see `watch`).
    coder : array
        The inverse of the dictionary: its transpose, or for a complete one scaled to codes of about unit rms.
    intercept : array
        Offset of the rows; zeros unless one is learned.
    certificate : Certificate
    mean, moments, weight : array, array, float
        Running mean of the rows (zeros unless an offset is learned), running sum of R^T R about that mean (for complete
        dictionaries), and the rows that they stand for, older ones counting less.
    pending, window : list of arrays
        Rows that wait for the next step; and recent rows, oldest first, which may begin before the window does.
    n_fresh : int
        Rows put into the window since the last change: those to search.
    """

    settings: OnlineSettings
    n_seen: int = 0
    n_steps: int = 0
    n_searches: int = 0
    n_changes: int = 0
    n_learned: int = 0
    wait: int = 1
    countdown: int = 0
    drift: float = 0.0
    weight: float = 0.0
    certificate: Certificate
    coder: Square
    intercept: Vector
    mean: Vector
    moments: Square
    pending: list[Block] = field(default_factory=list)
    window: list[Block] = field(default_factory=list)
    n_fresh: int = 0

    @property
    def n_pending(self) -> int:
        return sum(map(len, self.pending))

    @property
    def n_held(self) -> int:
        """Rows in the window since the last change."""
        return min(self.n_fresh, self.settings.window)

    def recent(self) -> Array:
        """The rows in the window as they came."""
        return np.concatenate(self.window)[-self.settings.window :] if self.window else self.coder[:0]

    def held(self) -> Array:
        """Those since the last change."""
        R = self.recent()
        return R[len(R) - self.n_held :]

    def centred(self) -> Array:
        """The same less the offset."""
        return self.held() - self.intercept if self.settings.offset else self.held()

    def hold(self, R: Array) -> None:
        """Put rows into the window, and let go of those that leave it."""
        self.window, self.n_fresh = [*self.window, R], self.n_fresh + len(R)
        while sum(map(len, self.window[1:])) >= self.settings.window:
            self.window = self.window[1:]

    def collect(self, R: Array) -> None:
        """Put rows to those that wait, in pieces that grow, so that single rows cost little."""
        self.pending, self.n_seen = [*self.pending, np.array(R, dtype=np.float64, order="C")], self.n_seen + len(R)
        while len(self.pending) > 1 and len(self.pending[-2]) <= len(self.pending[-1]):
            self.pending = [*self.pending[:-2], np.concatenate(self.pending[-2:])]

    def joined(self) -> Self:
        """As a file keeps it, with `pending` and `window` in one piece: how the stream was cut does not show."""
        kept = copy.copy(self)
        kept.pending = [np.concatenate(self.pending)] if self.pending else []
        kept.window = [self.recent()] if self.window else []
        return kept

    def remember(self, R: Array) -> None:
        """Take rows into the running mean and second moment, where these are needed."""
        if not (self.settings.complete or self.settings.offset):
            return
        fade = self.settings.forgetting ** len(R)
        weight = fade * self.weight + len(R)
        if self.settings.offset:
            mean = self.mean if self.weight > 0 else R.mean(axis=0)
            R = R - mean
            shift = np.ones(len(R)) @ R / weight
            self.mean = mean + shift
        if self.settings.complete:
            self.moments = fade * self.moments + R.T @ R
            if self.settings.offset:
                self.moments = self.moments - weight * np.outer(shift, shift)
        self.weight = weight

    def forget_rows(self) -> None:
        """What is known of the rows is not true any more."""
        self.n_fresh, self.weight = 0, 0.0
        self.mean, self.moments = np.zeros_like(self.mean), np.zeros_like(self.moments)

    def second_moment(self) -> Array:
        """Running mean of R^T R about the mean, kept from being singular."""
        C = self.moments / max(self.weight, 1.0)
        return C + _LEAST_VARIANCE * float(np.trace(C)) / len(C) * np.eye(len(C))

    def whitening(self) -> tuple[Array, bool]:
        """P = C^(-1/2) for the second moment C, and whether the features are linearly independent so far.

        Where they are not, a small ridge stands in for what is missing, so that there is a dictionary at all.
        """
        n, C = self.settings.n_features, self.second_moment()
        widths = np.sqrt(np.diag(C))
        if not widths.max() > 0:
            return np.eye(n), False
        values = np.linalg.eigvalsh(self.moments / (np.outer(widths, widths) * max(self.weight, 1.0)))
        has_rank = bool(values[0] > n * np.finfo(float).eps)
        if not has_rank:
            C = C + _RIDGE * np.diag(np.maximum(widths, 1e-3 * widths.max()) ** 2)
        values, V = np.linalg.eigh(C)
        return (V / np.sqrt(values)) @ V.T, has_rank

    @property
    def is_independent(self) -> bool:
        """Whether features are linearly independent so far, where they have to be."""
        return not self.settings.complete or self.whitening()[1]

    def is_search_due(self) -> bool:
        """Count down to the next search; failures make the waits longer, so that searches cost no more than the steps
        between them.
        """
        if self.n_held < self.settings.search_rows:
            return False
        self.countdown -= 1
        if self.countdown >= 0:
            return False
        self.wait = min(2 * self.wait, _LONGEST_WAIT)
        self.countdown = self.wait
        return self.is_independent

    def uncertify(self) -> None:
        self.certificate = unchecked(self.settings.n_features)

    def dictionary(self) -> tuple[Array, Array]:
        """Unit atoms, one per row, and the encoder that belongs to them."""
        return unit_atoms(self.coder, self.settings.complete)

    def replace_dictionary(self, coder: Array) -> None:
        """Take a new dictionary; order and signs of its atoms are those of `canonical` the first time, later those of
        the atoms they replace.

        While a dictionary is followed its atoms stay where they are, so that codes can be compared over time.
        """
        atoms, encoder = unit_atoms(coder, self.settings.complete)
        wanted = self.dictionary()[0]
        if self.n_learned == 0:
            wanted = canonical(ordering_sample(ArrayRows(self.centred())), atoms, encoder)[0]
        cosines = wanted @ atoms.T
        order = linear_sum_assignment(-np.abs(cosines))[1]
        flip = np.where(cosines[np.arange(len(order)), order] < 0, -1.0, 1.0)
        self.coder = coder[:, order] * flip
        self.certificate = self.certificate.reordered(order)

    def check(self) -> None:
        """Raise ValueError if the parts do not fit together: a file may hold anything."""
        counts = ("n_seen", "n_steps", "n_searches", "n_changes", "n_learned", "n_fresh", "wait", "weight")
        check_not_negative(self, *counts)
        check_invertible(self.coder, "coder")
        settings, n_begun = self.settings, self.n_seen - self.n_pending
        if n_begun < 0 or self.n_pending + settings.rows_until_step(self.n_seen) != settings.rows_until_step(n_begun):
            raise ValueError(f"{self.n_pending} rows wait for the next step after {self.n_seen} rows.")
        largest = LIMITS[np.dtype(np.float64)][1]
        if any(np.abs(rows).max(initial=0.0) >= largest for rows in (*self.pending, *self.window)):
            raise ValueError(f"rows must be below {largest:g} in magnitude.")
        if (self.n_steps > 0) != (n_begun > 0) or self.n_held > sum(map(len, self.window)):
            raise ValueError(f"n_steps or n_fresh does not fit {n_begun} rows.")
        if len(self.coder) != settings.n_features or np.any(np.diag(self.moments) < 0):
            raise ValueError(f"arrays must be of {settings.n_features} features, and mean squares not negative.")


def unit_atoms(coder: Array, complete: bool) -> tuple[Array, Array]:
    """Unit atoms, one per row, and the encoder that belongs to them."""
    if not complete:
        return coder.T.copy(), coder.copy()
    atoms = np.linalg.inv(coder)
    norms = np.linalg.norm(atoms, axis=1)
    return atoms / norms[:, None], coder * norms


def start_of(settings: OnlineSettings) -> dict[str, Any]:
    """What a stream begins with, as keywords."""
    n = settings.n_features
    return {
        "settings": settings,
        "certificate": unchecked(n),
        "coder": random_orthogonal(n, np.random.default_rng([settings.seed, 0])),
        "intercept": np.zeros(n),
        "mean": np.zeros(n),
        "moments": np.zeros((n, n)),
    }
