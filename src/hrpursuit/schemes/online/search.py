"""Plane search on the window of the online learner."""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.certificate import Certificate, certify, most_small, unchecked
from hrpursuit.core.manifolds import polar
from hrpursuit.core.nucleation import Outcome
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.planes import Planes
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.team import Team
from hrpursuit.rows import ArrayRows, MappedRows
from hrpursuit.schemes.exact import Setup, search
from hrpursuit.schemes.online.follow import second_moment
from hrpursuit.schemes.online.state import OnlineState
from hrpursuit.schemes.stages import StageLog, Stopper
from hrpursuit.schemes.working_sample import CompleteSample, OrthogonalSample, missing_directions

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
        return self.outcome in (Outcome.CERTIFIED, Outcome.SETTLED)


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


def search_window(state: OnlineState, P: Array | None, patience: int | None, *, warm: bool) -> Found | None:
    """Search the window for a dictionary, from the present one; None where it has nothing but zeros.

    Parameters
    ----------
    state : OnlineState
        The number of searches seeds the next one, so that no random generator has to be kept.
    P : array or None
        Whitening, for a complete dictionary.
    patience : int or None
        Most sweeps, for a search that only looks for sparsity; None leaves it to the search, and what is not sparse is
        taken to a local minimum.
    warm : bool
        Whether to look at the present dictionary first.
    """
    state.n_searches += 1
    seed = int(np.random.default_rng([state.settings.seed, state.n_searches]).integers(2**31))
    options = HRPOptions()
    if patience is not None:
        options = HRPOptions(patience=(patience, patience, patience), look_every=max(4, patience // 2))
    setup = Setup(options, 50, 1e-4, seed, Team(1), Stopper(None), StageLog())
    rows = ArrayRows(state.held)
    if P is None:
        return _search_orthogonal(rows, state.coder.T, warm, patience is None, setup)
    W = polar(state.coder.T @ np.linalg.inv(P))  # the present dictionary in today's whitened coordinates
    return _search_complete(rows, W, P, warm, patience is None, setup)


def _search_orthogonal(
    rows: Rows, W: Array, warm: bool, refine: bool, setup: Setup, levels: tuple[float, ...] | None = None
) -> Found | None:
    problem = OrthogonalSample(rows, setup.seed, levels)
    if not problem.draw(setup.options.rows_per_feature[0]):
        return None
    if problem.missing.shape[1]:  # atoms for the span of the rows, and any for the rest, whose codes are zero
        V_dead = problem.missing
        V = missing_directions(V_dead.T)
        inside = _search_orthogonal(
            MappedRows(rows, V), polar(W[: V.shape[1]] @ V), False, refine, setup, problem.data_levels
        )
        if inside is None:
            return None
        return replace(inside, coder=np.hstack([V @ inside.coder, V_dead]))
    found = search(problem, W, warm, setup)
    W = found.components
    if found.outcome is Outcome.LOST and refine:
        W = _greedy(problem.X, W)
    certificate = found.certificate
    if certificate is None or W is not found.components:
        certificate = certify(problem.rows, W, problem.levels[-1])
    return Found(found.outcome, W.T.copy(), _in_data_unit(certificate, problem.scale))


def _search_complete(rows: Rows, W: Array, P: Array, warm: bool, refine: bool, setup: Setup) -> Found | None:
    problem = CompleteSample(rows, setup.seed, P)
    if not problem.draw(setup.options.rows_per_feature[0]):
        return None
    found = search(problem, W, warm, setup)
    if found.outcome in (Outcome.CERTIFIED, Outcome.SETTLED) and found.certificate is not None:
        B = found.components
        if np.linalg.cond(B) < _WORST_CONDITION:
            S = problem.plain.X @ B.T
            B = B / (np.sqrt(np.mean(S * S, axis=0))[:, None] * problem.plain.scale)
            certificate = _in_data_unit(found.certificate, problem.plain.scale)
            return Found(found.outcome, B.T.copy(), certificate)
        found = replace(found, outcome=Outcome.LOST, components=polar(B @ np.linalg.inv(P)))
    W = found.components
    if found.outcome is Outcome.LOST and refine:
        W = _greedy(problem.X, W)
    return Found(found.outcome, P @ W.T, found.certificate or unchecked(len(W)))


def _greedy(X: Array, W: Array) -> Array:
    """A local minimum of the l1 norm in every plane, or nearly."""
    return Planes(X.astype(np.float32), W, None).greedy(_GREEDY_SWEEPS)[0]


def _in_data_unit(certificate: Certificate, scale: float) -> Certificate:
    return replace(certificate, zero_level=certificate.zero_level * scale)


def window_has_exact_atom(state: OnlineState, P: Array | None) -> bool:
    """Whether some atom becomes exact on the window: far cheaper to see than to search."""
    rows = ArrayRows(state.held)
    problem = OrthogonalSample(rows, 0) if P is None else CompleteSample(rows, 0, P)
    if not problem.draw(HRPOptions().rows_per_feature[0]):
        return False
    W = state.coder.T if P is None else polar(state.coder.T @ np.linalg.inv(P))
    return problem.has_exact_atom(W[most_small(problem.X @ W.T)])
