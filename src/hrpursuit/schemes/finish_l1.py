"""The finish for codes that are not independent, such as those of image patches: the least l1 norm."""

import numpy as np

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.planes import Planes
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.tangent import tangent_descent
from hrpursuit.core.team import Team
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.finished import Finished
from hrpursuit.schemes.stages import Stopper

GREEDY_PLANES = "greedy planes"
_FEW_ROWS_PER_FEATURE, _MANY_ROWS_PER_FEATURE = 30, 300  # of the samples that starts are compared and refined on
_STAGE_ONE_STEPS, _STAGE_ONE_TOL = 30, 1e-4
_FEW_SWEEPS, _MANY_SWEEPS = 4, 6  # greedy sweeps on the two samples
_FINE_STEP, _FINE_STEPS = 0.04, 30  # of Stage Two after greedy sweeps: step size for data of unit rms, and steps


def _scaled(X: Array) -> tuple[Array, float]:
    """Rows that are not zero in float32 with unit rms, and the rms that they had."""
    X = X[X.any(axis=1)]
    scale = float(np.sqrt(np.mean(np.square(X, dtype=np.float64)))) if X.size else 1.0
    return (X / scale).astype(np.float32), scale


def l1_block(X: Array, dictionaries: Array) -> tuple[Array]:
    return (np.array([np.abs(X @ W.T).sum(dtype=np.float64) for W in dictionaries]),)


def l1_norms(rows: Rows, dictionaries: list[Array]) -> list[float]:
    """l1 norm of the codes per row for each orthogonal dictionary; one pass."""
    (values,) = rows.sum(l1_block, np.stack(dictionaries).astype(rows.dtype, copy=False))
    return [float(value) / max(1, rows.n_samples or 0) for value in values]


def finish_l1(
    rows: Rows, starts: list[Array], *, seed: int, team: Team | None = None, callback: Callback | None = None
) -> Finished:
    """Finish an orthogonal dictionary by greedy plane sweeps and Stage Two; its l1 norm is never above a start's.

    The starts, and Stage One from a random one, are compared on a small sample after a few sweeps that turn each pair
    of atoms to the least l1 norm of its plane. The best goes on with more sweeps on a larger sample, and with Stage Two
    over all rows where there are more.

    Parameters
    ----------
    rows : Rows
    starts : list of arrays of shape (n_features, n_features)
        Orthogonal dictionaries.
    seed : int
        Of the samples and of the random start.
    team : Team or None, default=None
        Threads of the plane sweeps.
    callback : callable or None, default=None
        Seen at each step of the two stages; returning True ends the finish with the best so far.
    """
    n, stopper = rows.n_features, Stopper(callback)
    X, scale = _scaled(rows.sample(_FEW_ROWS_PER_FEATURE * n, seed))
    random = random_orthogonal(n, np.random.default_rng([seed, 4]))
    stage_one = gpm(ArrayRows(X), random, max_iter=_STAGE_ONE_STEPS, tol=_STAGE_ONE_TOL, callback=stopper.callback)
    n_iter, found = stage_one.n_iter, []
    if not stopper.stopped:
        turned = [Planes(X, W, team).greedy(_FEW_SWEEPS) for W in (stage_one.components, *starts)]
        W, n_sweeps = min(turned, key=lambda result: np.abs(X @ result[0].T).sum())
        X, scale = _scaled(rows.sample(_MANY_ROWS_PER_FEATURE * n, seed))
        W, n_more = Planes(X, W, team).greedy(_MANY_SWEEPS)
        n_iter += n_sweeps + n_more
        found.append(W)
        if len(X) < (rows.n_samples or 0):
            step_size = _FINE_STEP / scale
            refined = tangent_descent(rows, W, step_size=step_size, n_steps=_FINE_STEPS, callback=stopper.callback)
            n_iter += refined.n_iter
            found.append(refined.components)
    tried = [*starts, *found]
    values = l1_norms(rows, tried)
    k = int(np.argmin(values))
    return Finished(tried[k], tried[k].T, n_iter, min(values[: len(starts)]), values[k], GREEDY_PLANES)
