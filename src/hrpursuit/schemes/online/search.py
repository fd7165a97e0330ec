"""Search on the window of the online learner."""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.certificate import Certificate, most_small
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.planes import Planes
from hrpursuit.core.protocols import Array
from hrpursuit.core.search import Outcome
from hrpursuit.core.team import Team
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.online.follow import second_moment, unit_atoms
from hrpursuit.schemes.online.state import OnlineState
from hrpursuit.schemes.setup import EXACT, Setup, run_search
from hrpursuit.schemes.stages import StageLog, Stopper
from hrpursuit.schemes.working_sample import WorkingSample

_PATIENCE = 150, 300, None  # of a full search: without an exact atom it is better to wait for more rows
_GREEDY_SWEEPS = 3
_WORST_CONDITION = 1e8
_RIDGE = 1e-6


@dataclass(frozen=True)
class Found:
    """What a search on the window found.

    Attributes
    ----------
    outcome : Outcome
    coder : array of shape (n_features, n_features)
        The codes are X @ coder.
    certificate : Certificate
        On the rows that the search looked at, zero level in the unit of the data.
    """

    outcome: Outcome
    coder: Array
    certificate: Certificate

    @property
    def is_exact(self) -> bool:
        return self.outcome in EXACT


def whitening_root(state: OnlineState) -> tuple[Array, bool]:
    """P = C^(-1/2) for the running second moment C, and whether the features are linearly independent so far.

    Where they are not, a small ridge stands in for what is missing, so that there is a dictionary at all.
    """
    n = state.settings.n_features
    C = second_moment(state)
    widths = np.sqrt(np.diag(C))
    if not widths.max() > 0:
        return np.eye(n), False
    values = np.linalg.eigvalsh(state.moments / (np.outer(widths, widths) * max(state.moments_weight, 1.0)))
    has_rank = bool(values[0] > n * np.finfo(float).eps)
    if not has_rank:
        C = C + _RIDGE * np.diag(np.maximum(widths, 1e-3 * widths.max()) ** 2)
    values, V = np.linalg.eigh(C)
    return (V / np.sqrt(values)) @ V.T, has_rank


def search_window(state: OnlineState, patience: int | None, *, warm: bool) -> Found | None:
    """Search the window for a dictionary, from the present one; None where it has nothing but zeros.

    Parameters
    ----------
    state : OnlineState
        The number of searches seeds the next one, so that no random generator has to be kept.
    patience : int or None
        Most steps, for a search that only looks for sparsity; None leaves it to the search, and what is not sparse is
        taken to a local minimum.
    warm : bool
        Whether to look at the present dictionary first.
    """
    state.n_searches += 1
    seed = int(np.random.default_rng([state.settings.seed, state.n_searches]).integers(2**31))
    options = HRPOptions(patience=_PATIENCE if patience is None else (patience, patience, patience))
    sample = WorkingSample(ArrayRows(state.held), seed, complete=state.settings.complete)
    if not sample.draw(options.rows_per_feature[0]):
        return None
    present = unit_atoms(state.coder, state.settings.complete)[0]
    setup = Setup(options, seed, Team(1), Stopper(None), StageLog())
    found = run_search(sample, sample.start(present), warm and sample.span is None, setup)
    outcome, B = found.outcome, found.components
    if outcome not in EXACT:
        if outcome is Outcome.LOST and patience is None:
            B = _greedy(sample.X, B)
        B = sample.encoding(B)
    components, encoder = sample.dictionary(B)
    if sample.complete:
        if np.linalg.cond(components) > _WORST_CONDITION:
            return None
        codes = state.held @ encoder
        encoder = encoder / np.sqrt(np.maximum(np.mean(codes * codes, axis=0), np.finfo(float).tiny))
    certificate = sample.check(B)
    stretch = np.linalg.norm(encoder * sample.units[:, None], axis=0) / np.linalg.norm(encoder, axis=0)
    certificate = replace(certificate, zero_level=certificate.zero_level * float(stretch.max()))  # in data units
    return Found(outcome, encoder.copy(), certificate)


def _greedy(X: Array, W: Array) -> Array:
    """A local minimum of the l1 norm in every plane, or nearly."""
    return Planes(X.astype(np.float32), W, None).greedy(_GREEDY_SWEEPS)[0]


def window_has_exact_atom(state: OnlineState) -> bool:
    """Whether some atom becomes exact on the window: far cheaper to see than to search."""
    sample = WorkingSample(ArrayRows(state.held), 0, complete=state.settings.complete)
    if not sample.draw(HRPOptions().rows_per_feature[0]):
        return False
    W = sample.start(unit_atoms(state.coder, state.settings.complete)[0])
    return sample.has_exact_atom(W[most_small(sample.X @ W.T)[0]])
