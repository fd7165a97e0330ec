import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit.core.spike_slab import (
    evidence,
    fit_spike_slab,
    in_other_units,
    initial_model,
    lasso_dictionary,
    posterior_block,
)
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows


def noisy(snr_db, n_samples=1000, seed=0, n_features=12):
    X, _, A = make_sparse_coded(
        n_samples,
        n_features,
        sparsity=0.2,
        dictionary="complete",
        condition=4,
        snr_db=snr_db,
        random_state=seed,
    )
    return X / np.sqrt(np.mean(X * X)), A


def start(X, A, rng):
    away = A + 0.1 * rng.standard_normal(A.shape)
    return initial_model(lasso_dictionary(X, away, 1.0), np.mean(X * X, axis=0))


@pytest.mark.parametrize(("snr_db", "bound"), [(60, 3e-4), (30, 6e-3), (20, 0.02), (10, 0.07)])
def test_dictionary_and_noise_are_found(snr_db, bound, rng):
    X, A = noisy(snr_db)
    fit = fit_spike_slab(ArrayRows(X), start(X, A, rng))
    assert fit.converged
    assert dictionary_error(fit.model.components, A) < bound
    assert_allclose(np.sqrt(fit.model.noise.mean()), 10 ** (-snr_db / 20), rtol=0.15)
    assert_allclose(fit.model.sparsity.mean(), 0.2, atol=0.06)


def test_lasso_brings_a_start_closer(rng):
    X, A = noisy(20)
    away = A + 0.2 * rng.standard_normal(A.shape)
    assert dictionary_error(lasso_dictionary(X, away, 1.0), A) < 0.5 * dictionary_error(away, A)


def test_evidence_rises_and_is_that_of_the_model(rng):
    X, A = noisy(20)
    seen = []
    fit = fit_spike_slab(ArrayRows(X), start(X, A, rng), callback=lambda iterate: seen.append(-iterate.value))
    assert (np.diff(seen) > -1e-3).all()
    assert evidence(ArrayRows(X), fit.model) >= seen[-1] - 1e-3


def test_posterior_of_orthonormal_atoms_is_the_exact_one(rng):
    """Without overlap of the atoms mean field is exact: the evidence is that of a mixture of two Gaussians per code."""
    X = rng.standard_normal((200, 3)) * (rng.random((200, 3)) < 0.4) + 0.2 * rng.standard_normal((200, 3))
    model = initial_model(np.eye(3), np.full(3, 0.4))
    density = sum(
        share * np.exp(-(X**2) / (2 * v)) / np.sqrt(2 * np.pi * v)
        for share, v in ((0.8, model.noise[0]), (0.2, model.noise[0] + model.variances[0]))
    )
    assert_allclose(evidence(ArrayRows(X), model), np.log(density).sum(axis=1).mean(), rtol=1e-6)


def test_size_of_the_blocks_does_not_matter(rng):
    X, A = noisy(20, 300)
    model = start(X, A, rng)
    whole, blocks = (fit_spike_slab(ArrayRows(X, size), model, max_iter=5) for size in (300, 23))
    assert_allclose(whole.model.components, blocks.model.components, atol=1e-9)
    assert_allclose(whole.evidence, blocks.evidence, rtol=1e-9)


def test_units_of_the_features_do_not_matter(rng):
    X, A = noisy(20)
    units = 10.0 ** rng.integers(-6, 7, X.shape[1])
    model = start(X, A, rng)
    plain = fit_spike_slab(ArrayRows(X), model, max_iter=5)
    scaled = fit_spike_slab(ArrayRows(X * units), in_other_units(model, units), max_iter=5)
    assert_allclose(scaled.evidence, plain.evidence - np.log(units).sum(), rtol=1e-6)
    back = in_other_units(scaled.model, 1 / units)
    assert dictionary_error(back.components, plain.model.components) < 1e-3


def test_callback_stops(rng):
    X, A = noisy(20, 200)
    fit = fit_spike_slab(ArrayRows(X), start(X, A, rng), callback=lambda iterate: iterate.n_iter == 2)
    assert fit.n_iter == 2
    assert not fit.converged


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((20, 3)),
        np.ones((20, 3)),
        np.repeat(np.eye(3), 5, axis=0),
        np.random.default_rng(0).standard_cauchy((200, 3)),
        np.random.default_rng(0).standard_normal((200, 3)) * [1, 1, 0],
        np.random.default_rng(0).standard_normal((4, 3)),
        np.random.default_rng(0).standard_normal((50, 1)),
    ],
    ids=["zeros", "ones", "unit vectors", "Cauchy", "dead feature", "few rows", "one feature"],
)
def test_awkward_data_stays_finite(X):
    n = X.shape[1]
    model = initial_model(lasso_dictionary(X, np.eye(n), 1.0), np.mean(X * X, axis=0))
    fit = fit_spike_slab(ArrayRows(X), model)
    assert all(np.isfinite(item).all() for item in vars(fit.model).values())
    assert_allclose(np.linalg.norm(fit.model.components, axis=1), 1)
    assert all(np.isfinite(item).all() for item in posterior_block(X, fit.model))
