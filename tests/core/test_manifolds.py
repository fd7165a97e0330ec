import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hrpursuit.core.manifolds import OrthogonalGroup, Sphere, polar, polar_near, random_orthogonal

sizes = st.integers(1, 12)
seeds = st.integers(0, 2**32 - 1)


def with_singular_values(values, rng):
    n = len(values)
    return (random_orthogonal(n, rng) * values) @ random_orthogonal(n, rng)


@given(n=sizes, seed=seeds, log_condition=st.floats(0, 6))
def test_polar_agrees_with_scipy(n, seed, log_condition):
    G = with_singular_values(np.geomspace(1, 10**-log_condition, n), np.random.default_rng(seed))
    P = polar(G)
    assert_allclose(P @ P.T, np.eye(n), atol=1e-13)
    assert_allclose(P, scipy.linalg.polar(G)[0], atol=1e-13 * 10**log_condition + 1e-13)


@given(n=st.integers(2, 10), seed=seeds, rank=st.integers(0, 9))
def test_polar_of_rank_deficient_input_is_orthogonal_and_maximises(n, seed, rank):
    rng = np.random.default_rng(seed)
    values = np.r_[rng.uniform(0.5, 2, min(rank, n - 1)), np.zeros(n - min(rank, n - 1))]
    G = with_singular_values(values, rng)
    P = polar(G)
    assert_allclose(P @ P.T, np.eye(n), atol=1e-12)
    assert_allclose(np.vdot(P, G), values.sum(), atol=1e-12)  # Proposition 1 of the paper


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_polar_does_not_leave_the_range_of_double(scale, rng):
    G = rng.standard_normal((6, 6))
    assert_allclose(polar(scale * G), polar(G), atol=1e-12)


def test_polar_refuses_what_is_not_finite():
    with pytest.raises(FloatingPointError, match="rescale"):
        polar(np.array([[np.inf, 0], [0, 1]]))


@given(n=sizes, seed=seeds, size=st.floats(0, 0.05))
def test_polar_near_agrees_with_polar(n, seed, size):
    rng = np.random.default_rng(seed)
    G = random_orthogonal(n, rng) + size * rng.standard_normal((n, n))
    assert_allclose(polar_near(G), scipy.linalg.polar(G)[0], atol=1e-11)


def test_polar_near_falls_back_when_far(rng):
    G = with_singular_values(np.geomspace(5, 0.1, 8), rng)
    assert_allclose(polar_near(G), scipy.linalg.polar(G)[0], atol=1e-11)


@given(n=sizes, seed=seeds)
def test_tangent_projection_is_the_nearest_tangent_vector(n, seed):
    rng = np.random.default_rng(seed)
    R, A = random_orthogonal(n, rng), rng.standard_normal((n, n))
    T = OrthogonalGroup().tangent(R, A)
    omega = R.T @ T
    assert_allclose(omega, -omega.T, atol=1e-12)  # Lemma 1: tangent vectors are R times skew matrices
    other = rng.standard_normal((n, n))
    assert abs(np.vdot(A - T, R @ (other - other.T))) < 1e-10  # what is left is orthogonal to all of them
    assert_allclose(OrthogonalGroup().tangent(R, T), T, atol=1e-12)


@given(n=st.integers(2, 12), seed=seeds)
def test_sphere_tangent_and_projection(n, seed):
    rng = np.random.default_rng(seed)
    R = Sphere().project(rng.standard_normal((3, n)))
    T = Sphere().tangent(R, rng.standard_normal((3, n)))
    assert_allclose(np.linalg.norm(R, axis=1), 1, atol=1e-14)
    assert_allclose(np.sum(R * T, axis=1), 0, atol=1e-12)


def test_random_orthogonal_has_no_preferred_sign(rng):
    corners = [random_orthogonal(3, rng)[0, 0] for _ in range(2000)]
    assert abs(np.mean(corners)) < 0.05  # the plain Q of LAPACK has a negative first entry almost always
