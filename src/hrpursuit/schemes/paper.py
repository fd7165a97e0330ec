"""The paper's Algorithm 1, step for step, and its remark on complete dictionaries."""

import numpy as np

from hrpursuit.blas import one_blas_thread
from hrpursuit.core.certificate import unchecked
from hrpursuit.core.evaluate import gram, mean, value
from hrpursuit.core.gpm import STAGE_ONE, gpm
from hrpursuit.core.manifolds import normalize_rows, polar, random_orthogonal
from hrpursuit.core.objectives import L1Norm
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.tangent import STAGE_TWO, tangent_descent
from hrpursuit.rows import MappedRows, whitening
from hrpursuit.schemes.stages import Learned, StageLog, Stopper

_UNCHECKED = 'scheme="paper" does not check its dictionary; certify(X) does'


def stage_one(
    rows: Rows, W: Array, max_iter: int, tol: float, stopper: Stopper, log: StageLog, scale: float = 1.0
) -> tuple[Array, float]:
    """Stage One from W with its record; returns the dictionary and `scale` times its l1 norm per row."""
    before = scale * l1_per_row(rows, W)
    result = gpm(rows, W, max_iter=max_iter, tol=tol, callback=stopper.callback)
    after = scale * l1_per_row(rows, result.components)
    shortfall = None
    if not (result.converged or stopper.stopped):
        shortfall = (
            f"tol={tol:g} in max_iter={max_iter} iterations (last step {result.step:.2g}); increase max_iter or tol"
        )
    log.add(STAGE_ONE, result.n_iter, before, after, shortfall)
    return result.components, after


def l1_per_row(rows: Rows, W: Array) -> float:
    return value(rows, W, L1Norm()) / max(1, rows.n_samples or 0)


def learn_paper(
    rows: Rows, W: Array, max_iter: int, tol: float, stopper: Stopper, log: StageLog
) -> tuple[Array, float]:
    """Stage One, then Stage Two with tau = 0.1 * 0.8^t; returns the orthogonal dictionary and its l1 norm per row."""
    W, before = stage_one(rows, W, max_iter, tol, stopper, log)
    if stopper.stopped:
        return W, before
    result = tangent_descent(rows, W, step_size=0.1, decay=0.8, n_steps=49, callback=stopper.callback)
    after = l1_per_row(rows, result.components)
    log.add(STAGE_TWO, result.n_iter, before, after)
    return result.components, after


def paper_scheme(
    rows: Rows,
    dict_init: Array | None,
    *,
    complete: bool,
    max_iter: int,
    tol: float,
    seed: int,
    stopper: Stopper,
    log: StageLog,
    offset: bool = False,
) -> Learned:
    """Learn a dictionary as the paper does, a complete one with its preconditioner; an offset is the mean."""
    intercept = mean(rows) if offset else None
    if intercept is not None:
        rows = MappedRows(rows, None, intercept)
    P = whitening(gram(rows), rows.n_samples or 0) if complete else None
    if dict_init is None:
        with one_blas_thread():
            W = random_orthogonal(rows.n_features, np.random.default_rng([seed, 0]))
    else:
        W = dict_init if P is None else polar(np.linalg.inv(dict_init).T @ np.linalg.inv(P))
    n = rows.n_features
    if P is None:
        W, objective = learn_paper(rows, W, max_iter, tol, stopper, log)
        return Learned(W, W.T, unchecked(n, _UNCHECKED), objective, intercept=intercept)
    W, _ = learn_paper(MappedRows(rows, P), W, max_iter, tol, stopper, log)
    # D = Y Xbar^T (Xbar Xbar^T)^-1 of the remark: with Xbar = W P Y, W orthogonal and P invertible, this is (W P)^-1,
    # in rows (P W^T)^-1
    components = normalize_rows(np.linalg.inv(P @ W.T))
    encoder = np.linalg.inv(components)
    return Learned(components, encoder, unchecked(n, _UNCHECKED), l1_per_row(rows, encoder.T), intercept=intercept)
