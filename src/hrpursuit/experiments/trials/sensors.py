"""A trial of the sensor table: one method on the readings, and the error at each number of codes."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from hrpursuit.estimators import sparse_code
from hrpursuit.experiments.as_published import learn
from hrpursuit.experiments.methods import METHODS, PROPOSED, SENSOR_LAMBDA, warm_up
from hrpursuit.experiments.quirks import TRUTH, of_method
from hrpursuit.experiments.readings import FILLS, read, refill
from hrpursuit.experiments.synthetic import fit_seed
from hrpursuit.metrics import masked_rmse

T0 = (5, 7, 11, 18, 28)
REFILLED, KEPT = "refilled", "kept"


def run(
    digest: str,
    fill: str,
    scaling: str,
    method: str,
    start: int,
    n_nonzero: int | None,
    seed: int,
    quirks: Sequence[str],
    path: str,
) -> list[dict[str, Any]]:
    """Error at each T0 that the dictionary serves, and CPU seconds of the fit."""
    readings = read(path).values
    n_hours, n_sensors = readings.shape
    served = [k for k in (T0 if n_nonzero is None else (n_nonzero,)) if k <= n_sensors]
    if not served:
        return []
    unit = float(np.nanmax(readings)) if scaling == "largest" else 1.0
    scaled = readings / unit
    rng = np.random.default_rng([seed, start])
    X = FILLS[fill].apply(readings, rng) / unit
    warm_up(method)
    if fill == KEPT:
        sparse_code(np.array([[1.0, np.nan]]), np.eye(2), 1)  # compiles what only gaps need
    habits = of_method(method, quirks)
    truth = METHODS[PROPOSED].estimator(None, fit_seed(seed, start)).fit(X).components_ if TRUTH in habits else X
    before = time.process_time()
    if habits:
        learned = learn(method, X, n_nonzero, rng, habits, truth=truth, lambda1=SENSOR_LAMBDA, for_readings=True)
        seconds = time.process_time() - before
        decoded = learned.decoded
    else:
        model = METHODS[method].estimator(n_nonzero, fit_seed(seed, start), for_readings=True).fit(X)
        if fill == REFILLED:
            X, model.components_ = refill(X, scaled, model.components_, served[0])
            model.encoder_ = model.components_.T
        seconds = time.process_time() - before

        def decoded(k: int) -> np.ndarray:
            return model.inverse_transform(model.set_params(n_nonzero_coefs=k).transform(X))

    shared = {"seconds": seconds, "n_hours": n_hours, "n_sensors": n_sensors}
    return [
        {"t0": k, "ratio": n_sensors // k, "error_percent": 100 * masked_rmse(scaled, decoded(k))} | shared
        for k in served
    ]
