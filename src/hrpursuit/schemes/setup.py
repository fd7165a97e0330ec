"""What the exact scheme is run with, and its search with a record."""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.protocols import Array
from hrpursuit.core.search import SEARCH, Outcome, SearchResult, search
from hrpursuit.core.team import Team
from hrpursuit.schemes.stages import StageLog, Stopper
from hrpursuit.schemes.working_sample import WorkingSample


@dataclass(frozen=True)
class Setup:
    """What the exact scheme is run with."""

    options: HRPOptions
    seed: int
    team: Team
    stopper: Stopper
    log: StageLog


def random_start(sample: WorkingSample, seed: int) -> Array:
    return random_orthogonal(sample.rank, np.random.default_rng([seed, 0]))


def run_search(
    sample: WorkingSample,
    W: Array,
    warm: bool,
    setup: Setup,
    patience: tuple[int, int | None, int | None] | None = None,
    has_exact_atom: bool = False,
) -> SearchResult:
    """The search with its record; with `patience` in the place of that of the options."""
    options = setup.options if patience is None else replace(setup.options, patience=patience)
    before = _l1(sample.X, W)
    found = search(
        sample, W, options, setup.seed, warm=warm, has_exact_atom=has_exact_atom, callback=setup.stopper.callback
    )
    after = sample.l1(found.components) if found.outcome in EXACT else _l1(sample.X, found.components)
    setup.log.add(SEARCH, found.n_steps, before, after)
    return found


EXACT = (Outcome.CERTIFIED, Outcome.SETTLED)


def _l1(X: Array, W: Array) -> float:
    return float(np.abs(X @ W.T).sum()) / max(1, len(X))
