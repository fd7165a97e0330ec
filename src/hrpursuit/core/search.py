"""The search for a dictionary: stochastic subgradient descent of the l1 norm over the orthogonal group, on a working
sample.

The noise of the batches is the temperature: at the right length of step a few atoms lock on and the rest follow, as in
a crystal. From time to time the search looks whether the codes are ordered; if so the dictionary is quenched by a few
steps without noise, then polished and checked.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from hrpursuit.core.certificate import Certificate, most_small, same_atoms
from hrpursuit.core.descent_kernels import descend
from hrpursuit.core.heat_bath import HeatBath
from hrpursuit.core.manifolds import polar, polar_near
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.protocols import Array, Callback, Iterate
from hrpursuit.core.settle import unmix_small

SEARCH = "search"

#: Root mean square angle by which the gradient of a step turns an atom, and the share of the last step that goes on.
#: With the size of a batch they set the temperature; chosen together by the success and time of the recovery benchmark.
_TURN, _MOMENTUM = 0.3, 0.65
_HEAT = 0.054  # a batch has m / (1 + _HEAT m / n_features) of the m rows: the fewer, the hotter
_SIGN, _SOFTENING = -1.0, 0.1  # the two scores of `descend`: of the l1 norm, and of sqrt|s|, which prefers fewer codes
_PHASE = 500  # steps with one score before the other takes its turn; the l1 norm is first
_FEW_FEATURES = 32  # up to here a quench is cheaper than a wrong decision, so quench at every look
_TINY = 8  # up to here codes of rows of unit norm are flat even when they are right: settle after every quench
_FEW_ROWS = 8  # rows per feature below which, for few features, the heat bath finds what descent does not
_BATH_SWEEPS = 1000  # of the heat bath, within which it finds an exact atom in 19 of 20 cases with 60% of nonzeros
_QUENCH_TURNS = 0.2 * 0.7 ** np.arange(8)  # angles of the steps of a quench
#: Of `anneal`: steps, the first turn, and the softening in units of the rms. Chosen on sparse codes at 0 dB, where
#: more steps bring nothing and a softening of .5 is 5% worse.
_ANNEALING, _ANNEALING_TURN, _SOFT = 300, 0.2, 2.0
_GAUSSIAN_SHARE = 0.236  # of codes below .3 rms, where they are Gaussian
_ROWS_TO_UNMIX = 5, 600  # rows per feature, and at least, that unmixing looks at from 64 features on
_CANDIDATES = 4  # atoms with the most small codes that are tried for being exact
#: Answers with zeros in every column that fail the certificate, of which the sparsest is kept: stationary ones, and
#: others, which may have atoms that are always used together.
_MOST_SETTLED, _MOST_UNSETTLED = 3, 12


class Outcome(Enum):
    """How a search ended."""

    CERTIFIED = "certified"
    SETTLED = "settled"  # exact zeros in every column, but atoms whose zeros go together
    NOISY = "noisy"  # ordered, with no exact atom
    LOST = "lost"  # never ordered: not sparse, or not enough rows
    STOPPED = "stopped"  # by the callback


class Problem(Protocol):
    """What is searched: a working sample, and how a dictionary that is nearly right is settled on it."""

    complete: bool  # whether settled components need not be orthogonal

    @property
    def X(self) -> Array:
        """Rows of the working sample, in random order, of unit mean square."""
        ...

    def draw(self, rows_per_feature: int) -> bool:
        """Make the working sample this large, if there are so many rows; whether it has grown."""
        ...

    def settle(self, W: Array) -> tuple[Array, Certificate]:
        """Polished components and what the certificate says of them."""
        ...

    def adopt(self, components: Array) -> bool:
        """Go over to coordinates in which settled components, some of them exact, are the identity; whether that is
        possible. `X` changes with them.
        """
        ...

    def has_exact_atom(self, w: Array) -> bool:
        """Whether a unit vector lies in the basin of an exact atom."""
        ...

    def l1(self, components: Array) -> float:
        """l1 norm of the codes of settled components per row of the working sample, to compare such components."""
        ...


@dataclass(frozen=True)
class SearchResult:
    """Where a search ended.

    Attributes
    ----------
    outcome : Outcome
    components : array
        Settled components if certified or settled; else the quenched dictionary, orthogonal.
    n_steps : int
    certificate : Certificate or None
        Of `components`; None unless they are settled.
    has_exact_atom : bool
        Whether an exact atom was seen, so that more steps or samples might have led to the end.
    """

    outcome: Outcome
    components: Array
    n_steps: int
    certificate: Certificate | None
    has_exact_atom: bool


@dataclass(frozen=True)
class Order:
    """How ordered codes are.

    Attributes
    ----------
    fewest, most : float
        Smallest and largest share of small codes (below .3 rms) of an atom.
    flatness : float
        Mean over the atoms of l1 norm over rms: .8 for Gaussian codes.
    n_rows : int
        Rows that these were counted in.
    """

    fewest: float
    most: float
    flatness: float
    n_rows: int

    def is_even(self, share: float) -> bool:
        """Whether the atom with the fewest small codes has that share of the excess of the one with the most."""
        least = _GAUSSIAN_SHARE + share * (self.most - _GAUSSIAN_SHARE)
        return self.fewest > least - 1 / np.sqrt(self.n_rows)

    def is_worth_a_quench(self) -> bool:
        """Of a batch while the search is hot."""
        return self.flatness < 0.72 and self.most > 0.36 and self.is_even(0.3)

    def is_ordered(self, n_features: int) -> bool:
        """Of all rows after a quench; with few features the shares scatter, and settling costs little."""
        if n_features <= _TINY:
            return True
        if n_features <= _FEW_FEATURES:
            return self.fewest > 0.28 and self.flatness < 0.7
        return self.fewest > 0.3 and self.flatness < 0.7 and self.is_even(0.35)


class Schedule:
    """When the search looks, and which score it descends by.

    Parameters
    ----------
    n_features : int
    look_every : int or None
        Steps between two looks at the start; None means 16 up to 32 features, else 8.
    """

    def __init__(self, n_features: int, look_every: int | None = None) -> None:
        self._few = n_features <= _FEW_FEATURES
        self.n_steps = look_every or (16 if self._few else 8)  # until the next look

    def softening(self, step: int) -> float:
        return _SOFTENING if (step // _PHASE) % 2 else _SIGN

    def slow_down(self, step: int) -> None:
        """After a quench that led nowhere."""
        if step >= 48:
            self.n_steps = min(64 if self._few else 48, self.n_steps + 8)


class Descent:
    """The dictionary on its way, in float32."""

    def __init__(self, X: Array, W: Array, rng: np.random.Generator) -> None:
        self._rng = rng
        self.W = W.astype(np.float32)
        self._momentum = np.zeros_like(self.W)
        self.set_rows(X)

    def set_rows(self, X: Array) -> None:
        m, n = X.shape
        self._twice = np.empty((2 * m, n), np.float32)
        self._twice[:m] = X
        self._twice[m:] = X
        self._m, self._n_batch = m, max(1, int(m / (1 + _HEAT * m / n)))

    def go(self, n_steps: int, softening: float, turns: Array | None = None) -> Order:
        """Steps on random batches; the order of the last one."""
        offsets = self._rng.integers(self._m, size=n_steps)
        turns = np.full(n_steps, _TURN) if turns is None else turns
        found = descend(self._twice, self.W, self._momentum, offsets, self._n_batch, turns, _MOMENTUM, softening)
        return Order(*found, self._n_batch)

    def quench(self) -> tuple[Array, Order]:
        """Dictionary after steps of falling size on all rows, orthogonal to single precision; the state itself stays as
        hot as it is.

        With many features they end half way where the atoms are not evenly ordered.
        """
        W, still = self.W.copy(), np.zeros_like(self.W)
        parts = (_QUENCH_TURNS,) if len(W) <= _FEW_FEATURES else (_QUENCH_TURNS[:4], _QUENCH_TURNS[4:])
        for turns in parts:
            offsets = np.zeros(len(turns), np.int64)
            order = Order(*descend(self._twice, W, still, offsets, self._m, turns, 0.0, _SOFTENING), self._m)
            if not order.is_even(0.35):
                break
        return W.astype(np.float64), order


def anneal(X: Array, W: Array, seed: int) -> Array:
    """Orthogonal dictionary after stochastic steps that shrink to nothing, by a soft score: near the minimum of a
    smooth energy of the rows X, of any scale, which plain descent from one start does not find.
    """
    rng = np.random.default_rng([seed, 4])
    rms = float(np.sqrt(np.mean(np.square(X, dtype=np.float64)))) or 1.0
    descent = Descent(X[rng.permutation(len(X))] / rms, W, rng)
    descent.go(_ANNEALING, _SOFT, _ANNEALING_TURN * np.linspace(1, 0, _ANNEALING, endpoint=False))
    return polar(descent.W.astype(np.float64))


def _l1(X: Array, W: Array) -> float:
    return float(np.abs(X @ W.T).sum()) / max(1, len(X))


class _Answers:
    """What the looks of a search have found."""

    def __init__(self, problem: Problem, exact_atom: bool) -> None:
        self._problem = problem
        self._settled: list[tuple[bool, float, int, Array, Certificate]] = []
        self.exact_atom = exact_atom
        self.quenched: Array | None = None

    def settle(self, W: Array) -> tuple[Array, Certificate]:
        """Settle W, and remember the answer where it is not certified but has zeros everywhere."""
        components, certificate = self._problem.settle(W)
        if certificate.has_zeros and not certificate:
            moves = len(certificate.unstationary) > 0
            entry = (moves, self._problem.l1(components), len(self._settled), components, certificate)
            self._settled.append(entry)
        return components, certificate

    def is_noisy(self, W: Array) -> bool:
        """Whether W, ordered but without zeros, is what was found before, and has no exact atom."""
        previous, self.quenched = self.quenched, W
        if previous is None or self._settled or not same_atoms(W, previous):
            return False
        return not self.look_for_exact_atom(W)

    def look_for_exact_atom(self, W: Array) -> bool:
        if not self.exact_atom:
            candidates = W[most_small(self._problem.X @ W.T, _CANDIDATES)]
            self.exact_atom = any(self._problem.has_exact_atom(w) for w in candidates)
        return self.exact_atom

    @property
    def is_enough(self) -> bool:
        n_stationary = sum(not moves for moves, *_ in self._settled)
        return n_stationary >= _MOST_SETTLED or len(self._settled) >= _MOST_UNSETTLED

    def best(self) -> tuple[Array, Certificate] | None:
        """The sparsest of the settled answers, stationary ones first; none where all are only on their way."""
        if not self._settled or (min(self._settled)[0] and not self.is_enough):
            return None
        return min(self._settled)[3:]


def search(
    problem: Problem,
    W: Array,
    options: HRPOptions,
    seed: int,
    *,
    warm: bool = False,
    has_exact_atom: bool = False,
    callback: Callback | None = None,
) -> SearchResult:
    """Descend from W on a working sample until a settled dictionary is certified, or it is clear that none will be.

    With `warm` the start itself is looked at first. `has_exact_atom` says that one was seen before, so that the data is
    known to be exactly sparse.
    """
    n = len(W)
    few_features = n <= _FEW_FEATURES
    problem.draw(options.rows_per_feature[0])
    first_rows, without_atom, with_atom = options.limits(n, len(problem.X))
    descent = Descent(problem.X, W, np.random.default_rng([seed, 1]))
    schedule, answers = Schedule(n, options.look_every), _Answers(problem, has_exact_atom)
    bath: HeatBath | None = None
    step, limit, has_grown = 0, max(first_rows, without_atom), False
    has_few_rows = few_features and len(problem.X) < _FEW_ROWS * n

    def end(outcome: Outcome, components: Array, certificate: Certificate | None = None) -> SearchResult:
        return SearchResult(outcome, components, step, certificate, answers.exact_atom)

    while step < limit:
        softening = schedule.softening(step)
        if bath is not None:
            step += bath.n_sweeps
            W_cold, is_ordered = bath.go()
        elif warm:
            W_cold, is_ordered, warm = polar_near(descent.W), True, False
        else:
            n_steps = min(schedule.n_steps, limit - step)
            order = descent.go(n_steps, softening)
            step += n_steps
            is_ordered = few_features or order.is_worth_a_quench()
            if is_ordered:
                W_cold, order = descent.quench()
                is_ordered = order.is_ordered(n)
                schedule.slow_down(step)
        if callback is not None:
            W_now = polar_near(descent.W if bath is None else W_cold)
            if callback(Iterate(SEARCH, step, W_now, _l1(problem.X, W_now), np.nan, limit)):
                return end(Outcome.STOPPED, polar_near(descent.quench()[0]) if bath is None else W_now)
        if is_ordered:
            if problem.complete or not few_features:
                some = problem.X if n <= 64 else problem.X[: max(_ROWS_TO_UNMIX[0] * n, _ROWS_TO_UNMIX[1])]
                W_cold = unmix_small(some, W_cold)
            components, certificate = answers.settle(W_cold)
            if certificate:
                return end(Outcome.CERTIFIED, components, certificate)
            if answers.is_enough:
                break
            if not certificate.has_zeros and problem.adopt(components):
                descent = Descent(problem.X, np.eye(n), np.random.default_rng([seed, 1, step]))
                bath = None if bath is None else HeatBath(problem.X, np.eye(n), seed)
                answers.exact_atom, answers.quenched = True, None  # which was in the old coordinates
                W_cold = np.eye(n)
            elif not certificate.has_zeros and not has_few_rows and answers.is_noisy(W_cold):
                return end(Outcome.NOISY, polar_near(unmix_small(problem.X, W_cold)))
        if step >= first_rows and not has_grown:
            has_grown = True
            if problem.draw(options.rows_per_feature[1]):
                descent.set_rows(problem.X)
        if step >= limit and limit < with_atom:
            W_test = descent.quench()[0] if bath is None else W_cold
            limit = with_atom if answers.look_for_exact_atom(W_test) else limit
        has_few_rows = few_features and len(problem.X) < _FEW_ROWS * n
        if bath is None and has_few_rows and step >= _PHASE:
            bath = HeatBath(problem.X, polar_near(descent.W), seed)
            limit = max(limit, min(step + _BATH_SWEEPS, with_atom))
        elif bath is not None and answers.look_for_exact_atom(W_cold):
            limit = with_atom
    best = answers.best()
    if best is not None:
        return end(Outcome.SETTLED, *best)
    return end(Outcome.LOST, polar_near(descent.quench()[0] if answers.quenched is None else answers.quenched))
