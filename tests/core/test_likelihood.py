import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit.core.likelihood import (
    complete_step,
    log_likelihoods,
    maximize_likelihood,
    newton_block,
    orthogonal_step,
)
from hrpursuit.core.manifolds import polar, random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows


def near(B, rng, size=0.03, orthogonal=True):
    E = size * rng.standard_normal(B.shape)
    return polar(B + (E - E.T) @ B) if orthogonal else B + E @ B


def atoms(B):
    return np.linalg.inv(B).T


def final_gradient(X, fit, orthogonal):
    """In standard errors, by the densities of the fit."""
    encoder = (fit.encoder / fit.densities.units[:, None]).T
    products, derivatives, squares, _ = (item / len(X) for item in newton_block(X, encoder, *fit.densities.tables))
    if orthogonal:
        step, slope = orthogonal_step(products, derivatives, squares, fit.densities.units)
    else:
        step, slope = complete_step(products, derivatives, squares)
    return np.sqrt(slope * len(X) / np.count_nonzero(step) * (2 if orthogonal else 1))


@pytest.mark.parametrize(
    ("codes", "bound"),
    [
        (lambda rng: rng.laplace(size=(20_000, 6)), 0.017),
        (lambda rng: rng.standard_t(3, (20_000, 6)), 0.019),
        (lambda rng: np.c_[rng.laplace(size=(20_000, 3)) / np.sqrt(2), rng.uniform(-1.73, 1.73, (20_000, 3))], 0.017),
    ],
    ids=["Laplace", "Student", "Laplace and uniform"],
)
@pytest.mark.parametrize("orthogonal", [True, False])
def test_dense_sources_are_found_to_their_statistical_error(codes, bound, orthogonal):
    rng = np.random.default_rng(5)
    W = random_orthogonal(6, rng)
    if not orthogonal:
        W = W + 0.3 * rng.standard_normal((6, 6))
    X = codes(rng) @ W
    fit = maximize_likelihood(ArrayRows(X), near(np.linalg.inv(W).T, rng, 0.1, orthogonal), orthogonal=orthogonal)
    assert fit.converged
    assert dictionary_error(atoms(fit.encoder), W) < bound
    assert final_gradient(X, fit, orthogonal) < 0.1
    if orthogonal:
        assert_allclose(fit.encoder @ fit.encoder.T, np.eye(6), atol=1e-12)


@pytest.mark.parametrize(("snr_db", "bound"), [(60, 3e-4), (30, 5e-3), (10, 0.06)])
def test_sparse_codes_in_noise(snr_db, bound, rng):
    X, _, W = make_sparse_coded(1000, 20, sparsity=0.2, snr_db=snr_db, random_state=3)
    fit = maximize_likelihood(ArrayRows(X), near(W, rng), orthogonal=True)
    assert dictionary_error(fit.encoder, W) < bound


def test_error_falls_with_the_root_of_the_number_of_rows():
    errors = []
    for n in (2000, 32_000):
        rng = np.random.default_rng(0)
        S = rng.laplace(size=(n, 8))
        fit = maximize_likelihood(ArrayRows(S), near(np.eye(8), rng), orthogonal=True)
        errors.append(dictionary_error(fit.encoder, np.eye(8)))
    assert 2.5 < errors[0] / errors[1] < 6  # sqrt(16) = 4


def test_likelihood_never_falls_from_pass_to_pass():
    rng = np.random.default_rng(1)
    X = rng.laplace(size=(3000, 8)) @ random_orthogonal(8, rng)
    values = []
    fit = maximize_likelihood(
        ArrayRows(X), np.eye(8), orthogonal=True, callback=lambda iterate: values.append(-iterate.value)
    )
    assert (np.diff(values) > -1e-3).all()
    start, end = log_likelihoods(ArrayRows(X), X, [np.eye(8), fit.encoder])
    assert end > start
    assert_allclose(fit.log_likelihood, end, atol=0.02)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_size_of_the_blocks_does_not_matter(orthogonal, rng):
    X = rng.laplace(size=(1000, 5))
    start = near(np.eye(5), rng, 0.1, orthogonal)
    whole, blocks = (
        maximize_likelihood(ArrayRows(X, block_size), start, orthogonal=orthogonal).encoder for block_size in (1000, 37)
    )
    assert_allclose(whole, blocks, atol=1e-4)


def test_callback_sees_atoms_and_stops(rng):
    X = rng.laplace(size=(500, 4))
    seen = []

    def callback(iterate):
        seen.append(iterate)
        return len(seen) == 2

    fit = maximize_likelihood(ArrayRows(X), 2 * np.eye(4), orthogonal=False, callback=callback)
    assert len(seen) == fit.n_iter == 2
    assert not fit.converged
    assert_allclose(np.linalg.norm(seen[0].components, axis=1), 1)


def test_equivariance_of_the_complete_case(rng):
    X = rng.laplace(size=(2000, 5))
    A = rng.standard_normal((5, 5)) * np.array([1e-6, 1, 1e6, 1, 1e3])
    B = near(np.eye(5), rng, 0.1, orthogonal=False)
    plain = maximize_likelihood(ArrayRows(X), B, orthogonal=False)
    mixed = maximize_likelihood(ArrayRows(X @ A), B @ np.linalg.inv(A).T, orthogonal=False)
    assert_allclose(mixed.encoder @ A.T, plain.encoder, atol=2e-3)


AWKWARD = {
    "zero column": lambda rng: rng.laplace(size=(300, 4)) * [1, 1, 1, 0],
    "constant column": lambda rng: rng.laplace(size=(300, 4)) * [1, 1, 1, 0] + [0, 0, 0, 2],
    "Gaussian": lambda rng: rng.standard_normal((300, 4)),
    "duplicates": lambda rng: np.repeat(rng.laplace(size=(5, 4)), 60, axis=0),
    "Cauchy": lambda rng: rng.standard_cauchy((300, 4)),
    "one huge row": lambda rng: np.r_[rng.laplace(size=(299, 4)), [[1e200, -1e200, 1e100, 1]]],
    "units": lambda rng: rng.laplace(size=(300, 4)) * [1e-6, 1e6, 1, 1e3],
    "one feature": lambda rng: rng.laplace(size=(50, 1)),
    "two features": lambda rng: rng.laplace(size=(50, 2)),
    "few rows": lambda rng: rng.laplace(size=(5, 4)),
    "one row": lambda rng: rng.laplace(size=(1, 3)),
    "all zeros": lambda rng: np.zeros((20, 3)),
    "float32": lambda rng: rng.laplace(size=(300, 4)).astype(np.float32),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("orthogonal", [True, False])
def test_awkward_data_gives_a_finite_encoder_that_is_no_less_likely(name, orthogonal, rng):
    X = AWKWARD[name](rng)
    n = X.shape[1]
    start = near(np.eye(n), rng, 0.1, orthogonal)
    fit = maximize_likelihood(ArrayRows(X), start, orthogonal=orthogonal, max_iter=10)
    assert np.isfinite(fit.encoder).all()
    assert np.linalg.cond(fit.encoder) < 1e8
    before, after = log_likelihoods(ArrayRows(X), X, [start, fit.encoder])
    assert after >= before - 0.02 * n
