"""Plane search by nucleation: held at a nearly constant temperature, a few atoms lock on and the rest follow, as in a
crystal.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from hrpursuit.core.certificate import Certificate, most_small, same_atoms
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.planes import Planes
from hrpursuit.core.protocols import Array, Callback, Iterate
from hrpursuit.core.team import Team

PLANE_SEARCH = "plane search"
_FEW_ROWS = 600  # a sample so small that its shares say little: once an atom is exact, look by settling


class Outcome(Enum):
    """How a search ended."""

    CERTIFIED = "certified"
    SETTLED = "settled"  # exact zeros in every column, but atoms whose zeros go together
    NOISY = "noisy"  # ordered, with no exact atom
    LOST = "lost"  # never ordered: not sparse, or not enough rows
    STOPPED = "stopped"  # by the callback


class Problem(Protocol):
    """What is searched: a working sample, and how a dictionary that is nearly right is settled on it."""

    scale: float  # of the objective: the data is the working sample times this
    X: Array

    def draw(self, rows_per_feature: int) -> bool:
        """Make the working sample this large, if there are so many rows; whether it has grown."""
        ...

    def settle(self, W: Array) -> tuple[Array, Certificate]:
        """Polished components and what the certificate says of them."""
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
        Settled components if certified or settled; else the quenched dictionary.
    n_sweeps : int
    certificate : Certificate or None
        The last one that was asked for.
    has_exact_atom : bool
        Whether an exact atom was seen, so that more sweeps or samples might have led to the end.
    """

    outcome: Outcome
    components: Array
    n_sweeps: int
    certificate: Certificate | None
    has_exact_atom: bool


def _schedules(X: Array, options: HRPOptions, n_sweeps: int) -> tuple[Array, Array]:
    """Temperatures and angle spacings for a working sample."""
    m, n = X.shape
    hot, cold = options.temperature
    tau = np.maximum(cold, hot * (cold / hot) ** (np.arange(n_sweeps) / options.cooling_sweeps))
    rms = np.sqrt(np.mean(X * X))
    return tau * (rms * m / n), np.minimum(options.spacing * np.sqrt(m) / n * tau, 0.5)


def nucleate(
    problem: Problem,
    W: Array,
    options: HRPOptions,
    key: int,
    *,
    warm: bool = False,
    team: Team | None = None,
    callback: Callback | None = None,
) -> SearchResult:
    """Heat-bath sweeps from W on a working sample until the codes are ordered and a settled dictionary is certified, or
    it is clear that none will be.

    With `warm` the start itself is looked at first.
    """
    few, without_atom, with_atom = options.limits(len(W))
    problem.draw(options.rows_per_feature[0])
    planes = Planes(problem.X, W, team)
    temperatures, spacings = _schedules(problem.X, options, few)
    look, gate, limit = options.look_every, options.ordered_share, few
    sweep = n_ordered = 0
    exact_atom = False
    quenched: Array | None = None
    certificate: Certificate | None = None
    settled: list[tuple[float, int, Array, Certificate]] = []

    def end(outcome: Outcome, components: Array) -> SearchResult:
        return SearchResult(outcome, components, sweep, certificate, exact_atom)

    def find_exact_atom(W: Array) -> bool:
        return problem.has_exact_atom(W[most_small(problem.X @ W.T)])

    while sweep < limit:
        n_sweeps = 0 if warm else min(look, limit - sweep)
        warm = False
        planes.heat(temperatures, spacings, sweep, n_sweeps, key)
        sweep += n_sweeps
        if callback is not None and callback(Iterate(PLANE_SEARCH, sweep, planes.components, planes.l1, np.nan, limit)):
            certificate = None  # an earlier one says nothing of this dictionary
            return end(Outcome.STOPPED, planes.quench())
        if planes.smallest_share() > gate:
            n_ordered += 1
            previous, quenched = quenched, planes.quench()
            components, certificate = problem.settle(quenched)
            if certificate:
                return end(Outcome.CERTIFIED, components)
            if certificate.has_zeros and len(certificate.unstationary) == 0:
                settled.append((problem.l1(components), n_ordered, components, certificate))
                if len(settled) == 3:
                    break
            look = 32 if exact_atom else min(2 * look, 64)
            if not exact_atom and n_ordered >= 2 and previous is not None:
                exact_atom = find_exact_atom(quenched)
                if not exact_atom and not certificate.has_zeros and same_atoms(quenched, previous):
                    return end(Outcome.NOISY, quenched)
        if sweep >= limit and limit < with_atom:
            if limit == few:
                if problem.draw(options.rows_per_feature[1]):
                    planes = Planes(problem.X, planes.components, team)
                temperatures, spacings = _schedules(problem.X, options, with_atom)
            quenched = planes.quench()
            exact_atom = exact_atom or find_exact_atom(quenched)
            limit = with_atom if exact_atom else without_atom
        if exact_atom:
            look = 32
            gate = -1.0 if len(problem.X) < _FEW_ROWS else gate
    if settled:
        _, _, components, certificate = min(settled, key=lambda found: found[:2])
        return end(Outcome.SETTLED, components)
    if quenched is None:
        quenched = planes.quench()
    return end(Outcome.LOST, quenched)
