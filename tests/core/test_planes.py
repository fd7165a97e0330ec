from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.heat_bath import HeatBath
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.planes import Planes
from hrpursuit.core.team import Team
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

seeds = st.integers(0, 2**32 - 1)


def hot(planes, n_sweeps=3, key=5, temperature=1.0, spacing=0.2):
    planes.heat(temperature, spacing, n_sweeps, key)
    return planes


def consistent(planes, X):
    """The codes are those of the dictionary, the norms are those of the codes, the dictionary is orthogonal."""
    W = planes.components
    assert_allclose(W @ W.T, np.eye(len(W)), atol=1e-12)
    assert_allclose(planes.Z[:, : planes.m], W @ X.T, atol=2e-5 * np.abs(X).max())
    assert_allclose(planes.norms, np.abs(planes.Z[:, : planes.m]).sum(axis=1), rtol=1e-4)


@given(n=st.integers(2, 9), m=st.integers(1, 40), seed=seeds)
def test_rotations_keep_codes_and_dictionary_together(n, m, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    planes = hot(Planes(X, random_orthogonal(n, rng)))
    consistent(planes, X)
    before = planes.l1
    planes.greedy(4)
    consistent(planes, X)
    assert planes.l1 <= before * (1 + 1e-5)


def test_heat_bath_draws_from_the_gibbs_distribution(rng):
    """Two atoms, one plane: the chain visits angles as often as exp(-E / T) says; the period is a quarter turn."""
    X = rng.standard_normal((6, 2)) * (rng.random((6, 2)) < 0.5) + 0.1 * rng.standard_normal((6, 2))
    temperature, n_sweeps = 1.0, 60_000
    planes = Planes(X, np.eye(2))
    angles = np.empty(n_sweeps)
    for k in range(n_sweeps):
        planes.heat(temperature, 0.5, 1, key=k)
        c, s = planes.Z[0, planes.m :]
        angles[k] = np.arctan2(s, c) % (np.pi / 2)
    edges = np.linspace(0, np.pi / 2, 9)
    fine = np.linspace(0, np.pi / 2, 8001)
    c, s = np.cos(fine)[:, None], np.sin(fine)[:, None]
    turned = np.sqrt(np.abs(c * X[:, 0] + s * X[:, 1])) + np.sqrt(np.abs(c * X[:, 1] - s * X[:, 0]))
    energy = turned.sum(axis=1)
    weights = np.exp(-(energy - energy.min()) / temperature)
    expected = np.array([weights[(fine >= a) & (fine < b)].sum() for a, b in pairwise(edges)])
    found = np.histogram(angles, edges)[0] / n_sweeps
    assert np.ptp(expected / expected.sum()) > 0.05  # a flat histogram would not pass
    assert_allclose(found, expected / expected.sum(), atol=0.005)


@given(seed=seeds)
def test_greedy_finds_nearly_the_least_l1_norm_of_a_plane(seed):
    X = np.random.default_rng(seed).laplace(size=(30, 2))
    planes = Planes(X, np.eye(2))
    planes.greedy(5)
    fine = np.linspace(0, np.pi / 2, 20_001)
    c, s = np.cos(fine)[:, None], np.sin(fine)[:, None]
    l1 = np.abs(c * X[:, 0] + s * X[:, 1]).sum(axis=1) + np.abs(c * X[:, 1] - s * X[:, 0]).sum(axis=1)
    assert planes.l1 * 30 <= l1.min() * 1.01  # nine angles and halvings, among dozens of shallow minima


def test_greedy_says_how_many_sweeps_it_took(rng):
    planes = Planes(rng.laplace(size=(200, 8)), random_orthogonal(8, rng))
    assert planes.greedy(1)[1] == 1
    assert 1 <= planes.greedy(50)[1] < 50
    assert planes.greedy(50)[1] == 1  # nothing is left to turn


def test_quench_lowers_the_l1_norm_and_leaves_the_state(rng):
    X, _, W = make_sparse_coded(200, 10, sparsity=0.2, random_state=0)
    planes = hot(Planes(X, W), temperature=50)
    state = planes.Z.copy()
    cold, l1 = planes.quench()
    assert_allclose(l1, np.abs(X @ cold.T).sum() / len(X), rtol=1e-5)
    assert l1 < planes.l1
    assert_array_equal(planes.Z, state)


@pytest.mark.parametrize("n_threads", [2, 3, 5])
@pytest.mark.parametrize("n", [20, 160])
def test_threads_do_not_change_a_bit(n, n_threads, rng):
    X = rng.laplace(size=(2 * n, n))
    W = random_orthogonal(n, rng)
    alone = Planes(X, W)
    with Team(n_threads) as team:
        shared = Planes(X, W, team)
        assert_array_equal(alone.quench()[0], shared.quench()[0])
        assert_array_equal(alone.greedy(1)[0], shared.greedy(1)[0])


def test_moves_depend_on_the_key(rng):
    X, W = rng.laplace(size=(50, 6)), random_orthogonal(6, rng)
    first, again, other = (hot(Planes(X, W), key=key).Z for key in (1, 1, 2))
    assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01


def test_heat_bath_comes_near_the_truth_from_few_rows():
    X, _, W = make_sparse_coded(60, 10, sparsity=0.4, random_state=4)
    start = random_orthogonal(10, np.random.default_rng(0))
    bath = HeatBath(X / np.sqrt(np.mean(X**2)), start, seed=0)
    errors = [dictionary_error(bath.go()[0], W) for _ in range(30)]
    assert min(errors) < 0.05 < 0.5 < dictionary_error(start, W)
