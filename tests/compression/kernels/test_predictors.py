"""Predictions learn what can be learned, from the past and from other sensors."""

import numpy as np
import pytest

from hrpursuit.compression.kernels.compiled import integers
from hrpursuit.compression.kernels.predictors import (
    N_PREDICTIONS,
    RIDGE,
    ROW,
    TO_MEAN,
    end_row,
    factorize,
    new_predictors,
    observe,
    predict,
)

OWN, OF_ALL, LEVELS, CHANGES = range(4)


def errors_of(series):
    """Errors of the predictions, rows x sensors x predictions, as sample coding asks for them."""
    n_rows, n = series.shape
    scale = np.maximum(np.abs(np.diff(series, axis=0)).mean(axis=0) * 2, 4).astype(np.int64)
    state, errors = new_predictors(scale), np.zeros((n_rows, n, N_PREDICTIONS))
    for t in range(2, n_rows):
        if t % 8 == 0:
            factorize(state, 0)
            factorize(state, 1)
        changes, to_mean = 0, series[:t].sum(axis=0) // t - series[t - 1]
        for k in range(n):
            last = series[t - 1, k]
            state.features[:] = 0
            state.features[0] = last - series[t - 2, k]
            state.features[TO_MEAN] = to_mean[k]
            state.features[ROW] = changes // k if k else 0
            state.features[4] = to_mean.sum() // n
            predict(state, k, last)
            errors[t, k] = series[t, k] - state.predictions
            observe(state, k, series[t, k] - last, True)
            changes += series[t, k] - last
        end_row(state, 256)
    return errors


def test_the_error_on_an_autoregressive_process_falls_to_its_innovation(rng):
    innovation = rng.normal(0, 300, (1500, 2))
    series = np.zeros((1500, 2))
    for t in range(2, 1500):
        series[t] = 1.5 * series[t - 1] - 0.7 * series[t - 2] + innovation[t]
    series = np.rint(series).astype(np.int64)
    rms = np.sqrt((errors_of(series)[500:] ** 2).mean(axis=(0, 1)))
    assert rms[OWN] < 1.06 * 300
    assert rms[OF_ALL] < 1.06 * 300
    assert np.diff(series[500:], axis=0).std() > 1.4 * 300  # hold


def test_sensors_tell_of_the_changes_of_each_other(rng):
    common = rng.normal(0, 300, (1200, 1))
    series = np.rint(np.cumsum(common * [1.0, 0.5, 2.0] + rng.normal(0, 30, (1200, 3)), axis=0)).astype(np.int64)
    rms = np.sqrt((errors_of(series)[400:] ** 2).mean(axis=0))
    assert rms[0, CHANGES] > 280
    assert rms[1, CHANGES] < 50  # 34 is all that the first leaves
    assert rms[2, CHANGES] < 110
    assert rms[2, OWN] < 120


def test_sensors_tell_of_the_level_of_each_other(rng):
    """Where each has noise of its own around what they share, levels tell more than changes."""
    common = np.cumsum(rng.normal(0, 300, (1500, 1)), axis=0)
    common -= np.linspace(0, 1, 1500)[:, None] * common[-1]
    series = np.rint(common * [1.0, 0.5, 2.0, 1.0] + rng.normal(0, 100, (1500, 4))).astype(np.int64)
    rms = np.sqrt((errors_of(series)[500:] ** 2).mean(axis=0))
    assert rms[1, LEVELS] < 0.85 * rms[1, CHANGES]
    assert rms[3, LEVELS] < 0.85 * rms[3, CHANGES]
    assert rms[3, OWN] < 1.1 * rms[3, LEVELS]


def test_all_sensors_learn_together_whatever_their_scales(rng):
    """After a few rows, when a regression of each has seen too little."""
    series = np.zeros((24, 40))
    for t in range(1, 24):
        series[t] = 0.6 * series[t - 1] + rng.normal(0, 1, 40)
    scales = np.geomspace(50, 5000, 40)
    errors = errors_of(np.rint(series * scales).astype(np.int64))[8:] / scales[:, None]
    rms = np.sqrt((errors**2).mean(axis=(0, 1)))
    assert rms[OF_ALL] < 0.97 * rms[OWN]
    assert rms[OF_ALL] < 1.1


def test_a_row_counts_as_much_as_its_weight():
    state = new_predictors(np.full(2, 10))
    state.left[:] = [[100, -200], [30, 50]]
    end_row(state, 512)
    np.testing.assert_array_equal(state.covariance[0], [[20000, 0], [-40000, 80000]])
    np.testing.assert_array_equal(state.covariance[1], [[1800, 0], [3000, 5000]])


@pytest.mark.parametrize("tie", [0, 1])
def test_factors_reproduce_the_covariance(rng, tie):
    n = 12
    rows = rng.standard_normal((100, n)) @ rng.standard_normal((n, n)) * 100
    state = new_predictors(np.full(n, 50))
    state.covariance[tie] = np.rint(rows.T @ rows).astype(np.int64)
    factorize(state, tie)
    lower = np.tril(state.factor[tie] / 65536, -1) + np.eye(n)
    wanted = rows.T @ rows + RIDGE * 50**2 * np.eye(n)
    assert np.abs(lower @ np.diag(state.diagonal.astype(float)) @ lower.T - wanted).max() < 1e-3 * wanted.max()
    assert not state.factor[1 - tie].any()


def test_large_covariances_are_scaled_down(rng):
    n = 5
    rows = rng.standard_normal((50, n)) * 1e6
    state = new_predictors(np.full(n, 50))
    state.covariance[0] = np.rint(rows.T @ rows).astype(np.int64)
    factorize(state, 0)
    lower, covariance = np.tril(state.factor[0] / 65536, -1) + np.eye(n), rows.T @ rows
    product = lower @ np.diag(state.diagonal.astype(float)) @ lower.T
    assert state.diagonal.max() < 2**30
    np.testing.assert_allclose(product / product[0, 0], covariance / covariance[0, 0], atol=1e-3)


def test_a_gap_teaches_nothing():
    state = new_predictors(np.full(3, 10))
    state.features[:] = 100
    before = [part.copy() for part in (state.products, state.targets, state.weights)]
    predict(state, 0, 500)
    observe(state, 0, 10**6, False)
    for part, old in zip((state.products, state.targets, state.weights), before, strict=True):
        np.testing.assert_array_equal(part, old)
    np.testing.assert_array_equal(state.innovation, integers((2, 3)))
