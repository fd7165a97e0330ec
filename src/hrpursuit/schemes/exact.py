"""Our scheme for orthogonal dictionaries: plane search, polish, certificate; finishes for noisy and for real data."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.certificate import Certificate, certify
from hrpursuit.core.evaluate import gram
from hrpursuit.core.manifolds import polar, random_orthogonal
from hrpursuit.core.nucleation import PLANE_SEARCH, Outcome, Problem, SearchResult, nucleate
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.planes import Planes
from hrpursuit.core.procrustes import PROCRUSTES, hard_threshold_procrustes, noise_level
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.tangent import STAGE_TWO, tangent_descent
from hrpursuit.rows import ArrayRows, MappedRows
from hrpursuit.schemes.fixed_sparsity import alternate_orthogonal
from hrpursuit.schemes.paper import l1_per_row, stage_one
from hrpursuit.schemes.stages import Learned, StageLog, Stopper
from hrpursuit.schemes.working_sample import OrthogonalSample, sample_live_rows

GREEDY_PLANES = "greedy planes"
_RANK_TOL = 1e-12  # of the eigenvalues of X^T X, relative to the largest


@dataclass(frozen=True)
class Setup:
    """What both exact schemes are run with."""

    options: HRPOptions
    max_iter: int
    tol: float
    seed: int
    pool: ThreadPoolExecutor | None
    stopper: Stopper
    log: StageLog


def search(problem: Problem, W: Array, warm: bool, setup: Setup) -> SearchResult:
    """The plane search with its record."""
    key = int(np.random.default_rng([setup.seed, 1]).integers(2**63))
    callback = setup.stopper.callback
    found = nucleate(problem, W, setup.options, key, warm=warm, pool=setup.pool, callback=callback)
    shortfall = None
    if found.has_exact_atom and found.outcome in (Outcome.LOST, Outcome.NOISY):
        zeros = 0 if found.certificate is None else found.certificate.fewest_zeros
        shortfall = (
            f"a certified dictionary in {found.n_sweeps} plane sweeps, although some atoms are exact "
            f"({zeros} zeros in the worst code column, {len(W)} needed); increase n_init or give more samples"
        )
    before = float(np.abs(problem.X @ W.T).sum()) / max(1, len(problem.X))
    after = problem.l1(found.components)
    setup.log.add(PLANE_SEARCH, found.n_sweeps, before * problem.scale, after * problem.scale, shortfall)
    return found


def finish_noisy(rows: Rows, W: Array, X: Array, scale: float, setup: Setup) -> tuple[Array, float]:
    """Hard threshold at a multiple of the noise level that the working sample shows, and Procrustes, on all rows."""
    threshold = setup.options.threshold * noise_level(X @ W.T) * scale
    before = l1_per_row(rows, W)
    result = hard_threshold_procrustes(rows, W, threshold=threshold, callback=setup.stopper.callback)
    after = l1_per_row(rows, result.components)
    setup.log.add(PROCRUSTES, result.n_iter, before, after)
    return result.components, after


def finish_real(rows: Rows, W0: Array, W_chain: Array, setup: Setup) -> tuple[Array, float]:
    """Data that is not exactly sparse: Stage One or the quenched search, each with greedy sweeps, then Stage Two.

    The first two work on a sample, and the lower l1 norm wins; Stage Two works on all rows.
    """
    options, stopper, log = setup.options, setup.stopper, setup.log
    n_rows = options.fallback_rows_per_feature * rows.n_features
    X = sample_live_rows(rows, n_rows, setup.seed).astype(np.float32)
    scale = float(np.sqrt(np.mean(np.square(X, dtype=np.float64)))) or 1.0
    X = X / np.float32(scale)
    sample = ArrayRows(X)
    W_one, before = stage_one(sample, W0, setup.max_iter, setup.tol, stopper, log, l1_per_row(sample, W0))
    if not stopper.stopped:
        started = [(Planes(X, W_one, setup.pool), 6), (Planes(X, W_chain, setup.pool), 3)]
        turned = [planes.greedy(n_sweeps) for planes, n_sweeps in started]
        W = min(turned, key=lambda W: l1_per_row(sample, W))
        log.add(GREEDY_PLANES, 9, before, l1_per_row(sample, W))
    else:
        W = W_one
    before = l1_per_row(rows, W)
    if stopper.stopped:
        return W, before
    result = tangent_descent(rows, W, step_size=0.04 / scale, n_steps=options.refine_steps, callback=stopper.callback)
    after = l1_per_row(rows, result.components)
    log.add(STAGE_TWO, result.n_iter, before, min(before, after))
    return (result.components, after) if after < before else (W, before)


def _span(rows: Rows, X: Array) -> tuple[Array, Array] | None:
    """Bases of the span of all rows and of its complement; None where the sample X shows that they span everything."""
    values = np.linalg.eigvalsh(X.T @ X)
    if values[0] > _RANK_TOL * values[-1]:
        return None
    values, V = np.linalg.eigh(gram(rows))
    dead = values <= _RANK_TOL * values[-1]
    return (V[:, ~dead], V[:, dead]) if dead.any() else None


def learn_orthogonal(rows: Rows, W: Array, warm: bool, setup: Setup) -> tuple[Array, Certificate, float]:
    """Dictionary, certificate on the working sample, l1 norm per row (of the sample if certified)."""
    problem = OrthogonalSample(rows, setup.seed)
    if not problem.draw(setup.options.rows_per_feature[0]):
        return W, Certificate(0, rows.n_features, 0.0, 0), 0.0  # nothing but zeros: every dictionary is as good
    bases = _span(rows, problem.X)
    if bases is not None:
        return _learn_in_span(rows, W, warm, setup, *bases)
    found = search(problem, W, warm, setup)
    certificate = found.certificate or certify(problem.rows, found.components, problem.zero_level)
    if found.outcome is Outcome.CERTIFIED:
        objective = problem.l1(found.components) * problem.scale
        return found.components, _in_data_units(certificate, problem.scale), objective
    if found.outcome in (Outcome.SETTLED, Outcome.STOPPED):
        components, objective = found.components, l1_per_row(rows, found.components)
    elif found.outcome is Outcome.NOISY:
        components, objective = finish_noisy(rows, found.components, problem.X, problem.scale, setup)
    else:
        components, objective = finish_real(rows, W, found.components, setup)
    certificate = certify(problem.rows, components, problem.zero_level)
    return components, _in_data_units(certificate, problem.scale), objective


def _learn_in_span(
    rows: Rows, W: Array, warm: bool, setup: Setup, V: Array, V_dead: Array
) -> tuple[Array, Certificate, float]:
    """Rows that lack rank: atoms for their span, and any orthonormal ones for the rest, whose codes are zero."""
    inside = MappedRows(rows, V)
    rank = V.shape[1]
    start = polar(W[:rank] @ V) if warm else random_orthogonal(rank, np.random.default_rng([setup.seed, 2]))
    components, certificate, objective = learn_orthogonal(inside, start, warm, setup)
    return np.vstack([components @ V.T, V_dead.T]), certificate, objective


def _in_data_units(certificate: Certificate, scale: float) -> Certificate:
    return replace(certificate, zero_level=certificate.zero_level * scale)


def exact_scheme(rows: Rows, W: Array, *, warm: bool, n_nonzero: int | None, setup: Setup) -> Learned:
    """Learn an orthogonal dictionary from the start W; with `n_nonzero`, end with the alternation for so many a row."""
    W, certificate, objective = learn_orthogonal(rows, W, warm, setup)
    if n_nonzero is not None and not setup.stopper.stopped:
        max_iter = setup.options.alternations
        W_fixed = alternate_orthogonal(rows, W, n_nonzero, max_iter, setup.stopper, setup.log)
        if W_fixed is not W:
            W = W_fixed
            problem = OrthogonalSample(rows, setup.seed)
            problem.draw(setup.options.rows_per_feature[0])
            certificate = _in_data_units(certify(problem.rows, W, problem.zero_level), problem.scale)
            objective = l1_per_row(rows, W)
    return Learned(W, W.T, certificate, objective)
