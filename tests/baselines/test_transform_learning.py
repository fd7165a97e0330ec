"""Transform learning."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit.baselines import TransformLearning
from hrpursuit.baselines.transform_learning import TransformCost, conjugate_gradients
from hrpursuit.core.coding import keep_largest
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error


def explicit_cost(X, Z, W, log_det=0.5, frobenius=0.25):
    value = np.linalg.norm(X @ W.T - Z) ** 2
    return value - log_det * np.log(np.abs(np.linalg.det(W))) + frobenius * np.linalg.norm(W) ** 2


def best_transform(X, Z, log_det=0.5, frobenius=0.25):
    """The closed form of Ravishankar and Bresler (2015): with X^T X + mu I = L L^T and Q S R^T = L^-1 X^T Z the
    minimiser is R (S + (S^2 + 2 lambda I)^(1/2)) Q^T L^-1 / 2.
    """
    L_inverse = np.linalg.inv(np.linalg.cholesky(X.T @ X + frobenius * np.eye(X.shape[1])))
    Q, S, Rt = np.linalg.svd(L_inverse @ X.T @ Z)
    return 0.5 * (Rt.T * (S + np.sqrt(S**2 + 2 * log_det))) @ Q.T @ L_inverse


@pytest.fixture
def fixed_codes(rng):
    X = make_sparse_coded(100, 6, sparsity=0.3, random_state=0)[0]
    W = np.linalg.qr(rng.standard_normal((6, 6)))[0] + 0.2 * rng.standard_normal((6, 6))
    Z = keep_largest(X @ W.T, 2)
    return X, Z, W, TransformCost(X.T @ X, Z.T @ X, float(np.vdot(Z, Z)), 0.5, 0.25)


class TestTransformUpdate:
    def test_value_and_gradient_are_those_of_the_explicit_cost(self, fixed_codes, rng):
        X, Z, W, cost = fixed_codes
        value, gradient = cost.value_and_grad(W)
        assert_allclose(value, explicit_cost(X, Z, W), rtol=1e-12)
        for _ in range(5):
            V = rng.standard_normal(W.shape)
            slope = (explicit_cost(X, Z, W + 1e-6 * V) - explicit_cost(X, Z, W - 1e-6 * V)) / 2e-6
            assert_allclose(np.vdot(gradient, V), slope, rtol=1e-5)

    def test_ends_at_the_closed_form(self, fixed_codes):
        X, Z, W, cost = fixed_codes
        found, value, _ = conjugate_gradients(cost, W, 1e-3, 30_000)
        best = explicit_cost(X, Z, best_transform(X, Z))
        assert value <= best * (1 + 1e-8)
        assert explicit_cost(X, Z, found) >= best * (1 - 1e-12)

    def test_a_step_that_is_too_long_is_halved(self, fixed_codes):
        *_, W, cost = fixed_codes
        before = cost.value_and_grad(W)[0]
        _, value, step_size = conjugate_gradients(cost, W, 10.0, 60)
        assert value < before
        assert step_size < 0.1

    def test_singular_transforms_are_infinitely_bad(self, fixed_codes):
        *_, cost = fixed_codes
        assert cost.value_and_grad(np.zeros((6, 6)))[0] == np.inf
        assert np.isnan(cost.grad(np.zeros((6, 6)))).all()

    def test_the_gradient_alone_is_the_same(self, fixed_codes):
        *_, W, cost = fixed_codes
        assert np.array_equal(cost.grad(W), cost.value_and_grad(W)[1])


class TestTransformLearning:
    def test_recovers_an_easy_dictionary(self):
        X, _, W = make_sparse_coded(500, 8, sparsity=0.15, random_state=0)
        model = TransformLearning(n_nonzero_coefs=2, max_iter=150, tol=1e-3, random_state=0).fit(X)
        assert dictionary_error(model.components_, W) < 0.1
        assert_allclose(model.encoder_ @ model.components_, np.eye(8), atol=1e-10)
        assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-12)

    def test_the_cost_never_rises(self):
        X = make_sparse_coded(300, 8, sparsity=0.3, random_state=1)[0]
        values = []
        TransformLearning(
            n_nonzero_coefs=3, max_iter=20, callback=lambda it: values.append(it.value), random_state=0
        ).fit(X)
        assert (np.diff(values) <= 1e-9).all()
        assert values[-1] < 0.5 * values[0]

    @pytest.mark.parametrize("scale", [1e-8, 1e4, 1e60])
    def test_any_unit_ends_in_finite_numbers(self, scale):
        X = scale * make_sparse_coded(100, 5, sparsity=0.3, random_state=1)[0]
        model = TransformLearning(n_nonzero_coefs=2, max_iter=10, random_state=0).fit(X)
        assert np.isfinite(model.components_).all()
        assert_allclose(X @ model.encoder_ @ model.components_, X, atol=1e-8 * scale)

    def test_codes_are_thresholded_and_not_refitted(self):
        X = make_sparse_coded(100, 6, sparsity=0.3, random_state=2)[0]
        model = TransformLearning(n_nonzero_coefs=2, max_iter=5, random_state=0).fit(X)
        assert_allclose(model.transform(X), keep_largest(X @ model.encoder_, 2), atol=1e-12)

    def test_says_when_iterations_run_out(self):
        X = make_sparse_coded(100, 6, sparsity=0.3, random_state=2)[0]
        with pytest.warns(match="TransformLearning did not reach tol=1e-05 in 2 iterations"):
            TransformLearning(n_nonzero_coefs=2, max_iter=2, random_state=0).fit(X)

    @pytest.mark.parametrize("parameters", [{"step_size": 0.0}, {"log_det_weight": 0.0}, {"frobenius_weight": -1.0}])
    def test_bad_parameters_are_refused(self, parameters):
        (name,) = parameters
        with pytest.raises(ValueError, match=f"'{name}' parameter of TransformLearning must be"):
            TransformLearning(**parameters).fit(np.eye(6))
