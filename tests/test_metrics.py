import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.metrics import dictionary_error, masked_rmse, match_atoms


@given(n=st.integers(1, 12), seed=st.integers(0, 2**31))
def test_order_sign_and_scale_do_not_count(n, seed):
    rng = np.random.default_rng(seed)
    W = random_orthogonal(n, rng)
    order, signs = rng.permutation(n), rng.choice([-1.0, 1.0], n)
    shuffled = 7 * signs[:, None] * W[order]
    assert dictionary_error(shuffled, W) < 1e-13
    found, found_signs = match_atoms(shuffled, W)
    assert_allclose(found_signs[:, None] * shuffled[found] / 7, W, atol=1e-13)


def test_two_estimates_of_one_atom_are_an_error():
    W = np.eye(5)
    doubled = W.copy()
    doubled[0] = W[1] + 1e-3 * W[2]
    assert dictionary_error(doubled, W) > 0.1


def test_error_of_a_known_rotation():
    angle = 0.01
    turned = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    assert_allclose(dictionary_error(turned, np.eye(2)), 2 * np.sin(angle / 2), rtol=1e-10)


def test_unrelated_dictionaries_are_far_apart(rng):
    assert dictionary_error(random_orthogonal(50, rng), random_orthogonal(50, rng)) > 1


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"\(2, 2\) and \(3, 3\)"):
        dictionary_error(np.eye(2), np.eye(3))


def test_masked_rmse_sees_the_observed_entries_only():
    X = np.array([[3.0, np.nan], [4.0, 0.0]])
    assert_allclose(masked_rmse(X, [[3.0, 99.0], [4.0, 0.5]]), 0.1)
    assert_allclose(masked_rmse(X, X + 1, mask=[[True, False], [False, False]]), 1 / 3)
    assert masked_rmse([[0.0]], [[0.0]]) == 0
    assert masked_rmse([[0.0]], [[1.0]]) == np.inf


@pytest.mark.parametrize(
    ("X", "X_hat", "mask", "message"),
    [
        ([[1.0]], [[1.0, 2.0]], None, "same shape"),
        ([[np.nan]], [[1.0]], None, "at least one"),
        ([[1.0]], [[1.0]], [[False]], "at least one"),
    ],
)
def test_masked_rmse_refuses_what_means_nothing(X, X_hat, mask, message):
    with pytest.raises(ValueError, match=message):
        masked_rmse(X, X_hat, mask)
