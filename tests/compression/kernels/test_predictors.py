"""Predictions learn what can be learned, from the past and from other sensors."""

import numpy as np

from hrpursuit.compression.kernels.compiled import integers
from hrpursuit.compression.kernels.predictors import end_row, factorize, new_predictors, observe, predict


def errors_of(series):
    """Absolute errors of the four predictions, rows x sensors x predictions, as sample coding asks for them."""
    n_rows, n = series.shape
    scale = np.maximum(np.abs(np.diff(series, axis=0)).mean(axis=0) * 2, 4).astype(np.int64)
    state, errors = new_predictors(scale), np.zeros((n_rows, n, 4))
    for t in range(2, n_rows):
        if t % 8 == 0:
            factorize(state)
        changes = 0
        for k in range(n):
            last = series[t - 1, k]
            state.features[:] = (
                last - series[t - 2, k],
                series[:t, k].sum() // t - last,
                0,
                0,
                changes // k if k else 0,
            )
            predict(state, k, last)
            errors[t, k] = series[t, k] - state.predictions
            observe(state, k, series[t, k] - last, True)
            changes += series[t, k] - last
        end_row(state)
    return errors


def test_the_error_on_an_autoregressive_process_falls_to_its_innovation(rng):
    innovation = rng.normal(0, 300, (1500, 2))
    series = np.zeros((1500, 2))
    for t in range(2, 1500):
        series[t] = 1.5 * series[t - 1] - 0.7 * series[t - 2] + innovation[t]
    errors = errors_of(np.rint(series).astype(np.int64))[500:]
    rms = np.sqrt((errors**2).mean(axis=(0, 1)))
    assert rms[0] < 1.06 * 300
    assert rms[1] < 1.06 * 300
    assert rms[3] > 1.4 * 300  # hold


def test_sensors_tell_of_each_other(rng):
    common = rng.normal(0, 300, (1200, 1))
    series = np.rint(np.cumsum(common * [1.0, 0.5, 2.0] + rng.normal(0, 30, (1200, 3)), axis=0)).astype(np.int64)
    rms = np.sqrt((errors_of(series)[400:] ** 2).mean(axis=0))
    assert rms[0, 0] > 280
    assert rms[1, 0] < 50  # 34 is all that the first leaves
    assert rms[2, 0] < 110
    assert rms[2, 0] < 0.3 * rms[2, 3]


def test_factors_reproduce_the_covariance(rng):
    n = 12
    rows = rng.standard_normal((100, n)) @ rng.standard_normal((n, n)) * 100
    state = new_predictors(np.full(n, 50))
    state.covariance[:] = np.rint(rows.T @ rows).astype(np.int64)
    factorize(state)
    lower = np.tril(state.factor / 65536, -1) + np.eye(n)
    wanted = rows.T @ rows + 20 * 50**2 * np.eye(n)
    assert np.abs(lower @ np.diag(state.diagonal.astype(float)) @ lower.T - wanted).max() < 1e-3 * wanted.max()


def test_large_covariances_are_scaled_down(rng):
    n = 5
    rows = rng.standard_normal((50, n)) * 1e6
    state = new_predictors(np.full(n, 50))
    state.covariance[:] = np.rint(rows.T @ rows).astype(np.int64)
    factorize(state)
    lower, covariance = np.tril(state.factor / 65536, -1) + np.eye(n), rows.T @ rows
    product = lower @ np.diag(state.diagonal.astype(float)) @ lower.T
    assert state.diagonal.max() < 2**30
    np.testing.assert_allclose(product / product[0, 0], covariance / covariance[0, 0], atol=1e-3)


def test_a_gap_teaches_nothing():
    state = new_predictors(np.full(3, 10))
    state.features[:] = 100
    before = [part.copy() for part in (state.products, state.targets, state.full, state.past)]
    predict(state, 0, 500)
    observe(state, 0, 10**6, False)
    for part, old in zip((state.products, state.targets, state.full, state.past), before, strict=True):
        np.testing.assert_array_equal(part, old)
    np.testing.assert_array_equal(state.innovation, integers(3))
