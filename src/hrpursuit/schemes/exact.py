"""Our scheme for orthogonal dictionaries: plane search, polish, certificate; finishes for noisy and for real data."""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.certificate import certify, unchecked
from hrpursuit.core.manifolds import polar, random_orthogonal
from hrpursuit.core.nucleation import PLANE_SEARCH, Outcome, Problem, SearchResult, nucleate
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.planes import Planes
from hrpursuit.core.procrustes import PROCRUSTES, hard_threshold_procrustes, noise_level
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.tangent import STAGE_TWO, tangent_descent
from hrpursuit.core.team import Team
from hrpursuit.rows import ArrayRows, MappedRows
from hrpursuit.schemes.fixed_sparsity import alternate_orthogonal
from hrpursuit.schemes.paper import l1_per_row, stage_one
from hrpursuit.schemes.stages import Learned, StageLog, Stopper
from hrpursuit.schemes.working_sample import OrthogonalSample, missing_directions, sample_live_rows

GREEDY_PLANES = "greedy planes"
_GREEDY_SWEEPS = 6
_FINE_STEP = 0.04  # of Stage Two after greedy sweeps, for data of unit rms


@dataclass(frozen=True)
class Setup:
    """What both exact schemes are run with."""

    options: HRPOptions
    max_iter: int
    tol: float
    seed: int
    team: Team
    stopper: Stopper
    log: StageLog


def search(problem: Problem, W: Array, warm: bool, setup: Setup) -> SearchResult:
    """The plane search with its record."""
    key = int(np.random.default_rng([setup.seed, 1]).integers(2**63))
    callback = setup.stopper.callback
    with one_blas_thread():
        found = nucleate(problem, W, setup.options, key, warm=warm, team=setup.team, callback=callback)
    shortfall = None
    if found.has_exact_atom and found.outcome in (Outcome.LOST, Outcome.NOISY):
        zeros = 0 if found.certificate is None else found.certificate.fewest_zeros
        shortfall = (
            f"a certified dictionary in {found.n_sweeps} plane sweeps, although some atoms are exact "
            f"({zeros} zeros in the worst code column, {len(W)} needed); increase n_init or give more samples"
        )
    before = _l1_of_orthogonal(problem, W)
    settled = found.outcome in (Outcome.CERTIFIED, Outcome.SETTLED)
    after = problem.l1(found.components) if settled else _l1_of_orthogonal(problem, found.components)
    setup.log.add(PLANE_SEARCH, found.n_sweeps, before * problem.scale, after * problem.scale, shortfall)
    return found


def _l1_of_orthogonal(problem: Problem, W: Array) -> float:
    return float(np.abs(problem.X @ W.T).sum()) / max(1, len(problem.X))


def finish_noisy(rows: Rows, W: Array, X: Array, scale: float, setup: Setup) -> tuple[Array, float]:
    """Hard threshold at a multiple of the noise level that the working sample shows, and Procrustes, on all rows."""
    threshold = setup.options.threshold * noise_level(X @ W.T) * scale
    before = l1_per_row(rows, W)
    result = hard_threshold_procrustes(rows, W, threshold=threshold, callback=setup.stopper.callback)
    after = l1_per_row(rows, result.components)
    setup.log.add(PROCRUSTES, result.n_iter, before, after)
    return result.components, after


def finish_real(rows: Rows, W0: Array, W_chain: Array, setup: Setup) -> tuple[Array, float]:
    """Data that is not exactly sparse: Stage One or the quenched search, then greedy planes, then Stage Two.

    Stage One and the choice between the two starts, by l1 norm after a few greedy sweeps, see a small sample; the
    greedy sweeps go on on a large one, and Stage Two sees all rows, unless the large sample was all rows already.
    """
    options, stopper, log = setup.options, setup.stopper, setup.log
    few, many = (k * rows.n_features for k in options.fallback_rows_per_feature)
    X, scale = _scaled_float32(sample_live_rows(rows, few, setup.seed))
    sample = ArrayRows(X)
    W, _ = stage_one(sample, W0, setup.max_iter, setup.tol, stopper, log, scale)
    if stopper.stopped:
        return W, l1_per_row(rows, W)
    turned = [Planes(X, start, setup.team).greedy(n_sweeps) for start, n_sweeps in ((W, 4), (W_chain, 3))]
    before, (W, n_small) = l1_per_row(rows, W), min(turned, key=lambda found: l1_per_row(sample, found[0]))
    if len(X) < (rows.n_samples or 0):
        X, scale = _scaled_float32(sample_live_rows(rows, many, setup.seed))
    W, n_large = Planes(X, W, setup.team).greedy(_GREEDY_SWEEPS)
    objective = l1_per_row(rows, W)
    log.add(GREEDY_PLANES, n_small + n_large, before, objective)
    if len(X) == rows.n_samples:
        return W, objective
    result = tangent_descent(
        rows, W, step_size=_FINE_STEP / scale, n_steps=options.refine_steps, callback=stopper.callback
    )
    after = l1_per_row(rows, result.components)
    log.add(STAGE_TWO, result.n_iter, objective, min(objective, after))
    return (result.components, after) if after < objective else (W, objective)


def _scaled_float32(X: Array) -> tuple[Array, float]:
    """Rows in float32 with unit rms, and the rms that they had."""
    scale = float(np.sqrt(np.mean(np.square(X, dtype=np.float64)))) or 1.0
    return (X / scale).astype(np.float32), scale


def exact_scheme(
    rows: Rows,
    W: Array,
    *,
    warm: bool,
    n_nonzero: int | None,
    setup: Setup,
    levels: tuple[float, ...] | None = None,
) -> Learned:
    """Learn an orthogonal dictionary from the start W; with `n_nonzero`, end with the alternation for so many a row.

    `levels` are the sizes of a zero in the data, where the rows do not show them any more.
    """
    problem = OrthogonalSample(rows, setup.seed, levels)
    if not problem.draw(setup.options.rows_per_feature[0]):
        return Learned(W, W.T, unchecked(rows.n_features), 0.0)  # nothing but zeros: every dictionary is as good
    if problem.missing.shape[1]:
        return _exact_in_span(rows, W, warm, n_nonzero, setup, problem)
    found = search(problem, W, warm, setup)
    W, objective = _finish(rows, W, found, problem, setup)
    if n_nonzero is not None and not setup.stopper.stopped:
        max_iter = setup.options.alternations
        W_fixed = alternate_orthogonal(rows, W, n_nonzero, max_iter, setup.stopper, setup.log)
        if W_fixed is not W:
            W, objective = W_fixed, l1_per_row(rows, W_fixed)
    certificate = found.certificate
    if certificate is None or W is not found.components:
        certificate = certify(problem.rows, W, problem.levels[-1])
    certificate = replace(certificate, zero_level=certificate.zero_level * problem.scale)
    return Learned(W, W.T, certificate, objective)


def _finish(rows: Rows, W: Array, found: SearchResult, problem: OrthogonalSample, setup: Setup) -> tuple[Array, float]:
    """Dictionary and l1 norm per row, after the finish that the outcome of the search calls for."""
    if found.outcome is Outcome.CERTIFIED:
        return found.components, problem.l1(found.components) * problem.scale  # no pass over all rows
    if found.outcome is Outcome.NOISY:
        return finish_noisy(rows, found.components, problem.X, problem.scale, setup)
    if found.outcome is Outcome.LOST:
        return finish_real(rows, W, found.components, setup)
    return found.components, l1_per_row(rows, found.components)


def _exact_in_span(
    rows: Rows, W: Array, warm: bool, n_nonzero: int | None, setup: Setup, problem: OrthogonalSample
) -> Learned:
    """Rows that lack rank: atoms for their span, and any orthonormal ones for the rest, whose codes are zero."""
    V_dead = problem.missing
    V = missing_directions(V_dead.T)  # what the dead directions do not span
    rank = V.shape[1]
    start = polar(W[:rank] @ V) if warm else random_orthogonal(rank, np.random.default_rng([setup.seed, 2]))
    n_inside = None if n_nonzero is None else min(n_nonzero, rank)
    learned = exact_scheme(
        MappedRows(rows, V), start, warm=warm, n_nonzero=n_inside, setup=setup, levels=problem.data_levels
    )
    W = np.vstack([learned.components @ V.T, V_dead.T])
    return replace(learned, components=W, encoder=W.T)
