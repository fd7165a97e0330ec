import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.datasets import make_sparse_coded


def test_model_and_sparsity():
    X, codes, W = make_sparse_coded(5000, 20, sparsity=0.3, random_state=0)
    assert_allclose(X, codes @ W, atol=1e-12)
    assert_allclose(W @ W.T, np.eye(20), atol=1e-12)
    assert_allclose(np.mean(codes != 0), 0.3, atol=0.01)
    assert_allclose(codes[codes != 0].std(), 1, atol=0.02)


@pytest.mark.parametrize("condition", [None, 1, 3, 100, 1e5])
def test_complete_dictionaries_have_the_condition_and_unit_atoms(condition):
    X, codes, W = make_sparse_coded(50, 15, sparsity=0.3, dictionary="complete", condition=condition, random_state=0)
    assert_allclose(np.linalg.cond(W), condition or 2, rtol=1e-6)
    assert_allclose(np.linalg.norm(W, axis=1), 1, rtol=1e-12)
    assert_allclose(X, codes @ W, atol=1e-10)


@pytest.mark.parametrize("snr_db", [0, 10, 30])
def test_noise_has_the_asked_ratio(snr_db):
    X, codes, W = make_sparse_coded(20_000, 10, sparsity=0.3, snr_db=snr_db, random_state=0)
    signal = codes @ W
    assert_allclose(10 * np.log10(np.mean(signal**2) / np.mean((X - signal) ** 2)), snr_db, atol=0.1)


@pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
def test_outliers_are_dense_and_keep_the_model(dictionary):
    X, codes, W = make_sparse_coded(1000, 10, sparsity=0.2, outliers=0.1, dictionary=dictionary, random_state=0)
    assert np.sum((codes != 0).all(axis=1)) == 100
    assert_allclose(X, codes @ W, atol=1e-10)


def test_given_components_are_used():
    W = make_sparse_coded(1, 6, sparsity=1, dictionary="complete", random_state=0)[2]
    X, codes, components = make_sparse_coded(50, 6, sparsity=0.3, components=2 * W, outliers=0.1, random_state=1)
    assert_array_equal(components, 2 * W)
    assert_allclose(X, codes @ (2 * W), atol=1e-12)


@pytest.mark.parametrize("wrong", [np.eye(4), np.ones((3, 3)), np.eye(3)[:2]])
def test_components_must_be_invertible_and_fit(wrong):
    with pytest.raises(ValueError, match="components must be an invertible"):
        make_sparse_coded(10, 3, sparsity=0.5, components=wrong)


def test_components_that_are_given_are_not_drawn():
    with pytest.raises(ValueError, match="leave out dictionary and condition"):
        make_sparse_coded(10, 3, sparsity=0.5, components=np.eye(3), dictionary="complete")


def test_same_seed_same_data():
    for first, second in zip(*(make_sparse_coded(9, 4, sparsity=0.5, random_state=3) for _ in range(2)), strict=True):
        assert_array_equal(first, second)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sparsity": 0},
        {"sparsity": 1.5},
        {"n_samples": 0},
        {"dictionary": "square"},
        {"outliers": 1},
        {"condition": 0.5, "dictionary": "complete"},
        {"condition": 3},
    ],
)
def test_bad_settings_are_named(wrong):
    settings = {"n_samples": 10, "n_features": 3, "sparsity": 0.5} | wrong
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make_sparse_coded(**settings)
