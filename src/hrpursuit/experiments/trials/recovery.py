"""A trial of the heat maps: one method on synthetic data, and how far its dictionary is from the truth."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hrpursuit.experiments.as_published import learn
from hrpursuit.experiments.errors import SUCCESS, recovery_error
from hrpursuit.experiments.methods import LEARNS_SPARSITY, METHODS, SYNTHETIC_LAMBDA
from hrpursuit.experiments.quirks import MATCHING, of_method
from hrpursuit.experiments.synthetic import draw, fit_seed, told

N_FEATURES = 20


def run(
    method: str, n_samples: int, sparsity: float, trial: int, seed: int, snr_db: float | None, quirks: Sequence[str]
) -> dict[str, Any]:
    """The error with atoms matched one to one, and as the published code measures it, many to one."""
    X, truth = draw(n_samples, N_FEATURES, sparsity, seed, trial, snr_db, quirks)
    k = told(sparsity, N_FEATURES) if method in LEARNS_SPARSITY else None
    habits = of_method(method, quirks)
    if habits:
        rng = np.random.default_rng([seed, trial])
        W = learn(
            method, X, k, rng, habits, truth=truth, lambda1=SYNTHETIC_LAMBDA, for_readings=False
        ).components  # fmt: skip
    else:
        W = METHODS[method].estimator(k, fit_seed(seed, trial)).fit(X).components_
    error = recovery_error(W, truth, quirks)
    return {"error": error, "success": error < SUCCESS, "loose_error": recovery_error(W, truth, [MATCHING])}
