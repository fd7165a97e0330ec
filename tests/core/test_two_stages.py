"""Stage One and Stage Two against the formulas of the paper, in the paper's own orientation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit.core.evaluate import gram, value, value_and_grad
from hrpursuit.core.gpm import gpm
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import L1Norm, LogCosh, LpNorm
from hrpursuit.core.tangent import tangent_descent
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows


def polar_by_svd(C):
    U, _, Vt = np.linalg.svd(C)
    return U @ Vt


@pytest.fixture(scope="module")
def easy():
    return make_sparse_coded(4000, 10, sparsity=0.2, random_state=3)


@pytest.mark.parametrize("objective", [LpNorm(3), LpNorm(4), L1Norm(), LogCosh(0.3)], ids=repr)
@pytest.mark.parametrize("block_size", [1, 7, 100, 10_000])
def test_gradient_is_the_derivative_whatever_the_blocks(objective, block_size, rng):
    X, W, direction = rng.standard_normal((100, 5)), rng.standard_normal((5, 5)), rng.standard_normal((5, 5))
    rows = ArrayRows(X, block_size)
    found, G = value_and_grad(rows, W, objective)
    assert_allclose(found, objective.value(X @ W.T), rtol=1e-12)
    assert_allclose(value(rows, W, objective), found, rtol=1e-12)
    h = 1e-6
    slope = (value(rows, W + h * direction, objective) - value(rows, W - h * direction, objective)) / (2 * h)
    assert_allclose(slope, np.vdot(G, direction), rtol=1e-5)
    assert_allclose(gram(rows), X.T @ X, rtol=1e-12)


def test_one_step_of_stage_one_is_the_papers(easy, rng):
    Y = easy[0].T
    D = random_orthogonal(10, rng)
    S = D.T @ Y
    expected = polar_by_svd(Y @ (np.abs(S) * S).T)  # eq. (alg:s(t_1))
    found = gpm(ArrayRows(Y.T), D.T, max_iter=1)
    assert_allclose(found.components.T, expected, atol=1e-12)
    assert_allclose(found.step, np.linalg.norm(expected - D) / 10)
    assert not found.converged


def test_stage_one_climbs_and_stops_by_its_rule(easy, rng):
    seen = []
    found = gpm(ArrayRows(easy[0]), random_orthogonal(10, rng), tol=1e-6, max_iter=200, callback=seen.append)
    values = [iterate.value for iterate in seen]
    assert np.all(np.diff(values) >= -1e-12)
    assert found.converged
    assert found.n_iter == len(seen)
    assert seen[-1].step <= 1e-6 < seen[-2].step
    assert dictionary_error(found.components, easy[2]) < 0.02


def test_one_step_of_stage_two_is_the_papers(easy, rng):
    Y = easy[0].T
    R = random_orthogonal(10, rng)
    A = Y @ np.sign(R.T @ Y).T / Y.shape[1]  # eq. (alg:grad2)
    expected = polar_by_svd(R - 0.1 * 0.5 * (A - R @ A.T @ R))  # eqs. (alg:two) and (alg:proj)
    found = tangent_descent(ArrayRows(Y.T), R.T, n_steps=1)
    assert_allclose(found.components.T, expected, atol=1e-12)


def test_stage_two_refines_and_further_anchors_refine_more(easy, rng):
    X, _, W = easy
    start = gpm(ArrayRows(X), random_orthogonal(10, rng)).components
    one = tangent_descent(ArrayRows(X), start).components
    four = tangent_descent(ArrayRows(X), start, n_rounds=4).components
    errors = [dictionary_error(components, W) for components in (start, one, four)]
    assert errors[0] > 10 * errors[1] > 10 * 10 * errors[2]


@pytest.mark.parametrize("solve", [gpm, tangent_descent])
def test_a_callback_stops_a_stage(solve, easy, rng):
    found = solve(ArrayRows(easy[0]), random_orthogonal(10, rng), callback=lambda iterate: iterate.n_iter == 3)
    assert found.n_iter == 3
    assert not found.converged
    assert_allclose(found.components @ found.components.T, np.eye(10), atol=1e-12)
