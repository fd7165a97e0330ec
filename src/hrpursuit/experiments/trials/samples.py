"""A trial of the sample complexity: both schemes on the same samples."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.protocols import Array
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.estimators import HRP, recover_atom
from hrpursuit.experiments.errors import SUCCESS, atom_error, recovery_error
from hrpursuit.experiments.published import GROUP, MANIFOLDS, adaptive_stage_two
from hrpursuit.experiments.quirks import SHRINK
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.rows import ArrayRows

SCHEMES = {"ours": "our default", "paper": "the paper's scheme"}


def run(
    where: str, n_features: int, theta: float, exponent: float, trial: int, seed: int, quirks: Sequence[str]
) -> list[dict[str, Any]]:
    """Both schemes on the same samples; the dictionary is the same in all trials, the codes are new.

    With fewer samples than features nothing can be learned: no success, and no fit.
    """
    n_samples = round(10 * n_features**exponent)
    if n_samples < n_features:
        return [{"scheme": scheme, "n_samples": n_samples, "error": None, "success": False} for scheme in SCHEMES]
    truth = random_orthogonal(n_features, np.random.default_rng([seed, n_features]))
    rng = np.random.default_rng([seed, n_features, n_samples, round(1000 * theta), trial])
    X = bernoulli_gaussian(n_samples, n_features, theta, rng, truth)
    found = []
    for scheme in SCHEMES:
        began = time.perf_counter()
        W = _paper(X, where, rng, quirks) if scheme == "paper" else _ours(X, where, rng)
        seconds = time.perf_counter() - began
        error = recovery_error(W, truth, quirks) if where == GROUP else atom_error(W, truth)
        found.append(
            {"scheme": scheme, "n_samples": n_samples, "error": error, "success": error < SUCCESS, "seconds": seconds}
        )
    return found


def _paper(X: Array, where: str, rng: np.random.Generator, quirks: Sequence[str]) -> Array:
    """Stage One until `norm(W_next - W) / len(W)` is 1e-4, 100 iterations at most, then the adaptive Stage Two."""
    rows, n_features = ArrayRows(X), X.shape[1]
    make, shrink = MANIFOLDS[where]
    manifold = make()
    start = random_orthogonal(n_features, rng) if where == GROUP else random_on_sphere(1, n_features, rng)
    R = gpm(rows, start, manifold=manifold, max_iter=100, tol=1e-4).components
    W = R
    for accepted, _ in adaptive_stage_two(rows, R, manifold, shrink, always=SHRINK in quirks):
        W = accepted
    return manifold.project(W)


def _ours(X: Array, where: str, rng: np.random.Generator) -> Array:
    seed = int(rng.integers(2**31))
    return HRP(random_state=seed).fit(X).components_ if where == GROUP else recover_atom(X, random_state=seed).atom
