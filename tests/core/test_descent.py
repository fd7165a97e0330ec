"""The rules of the search, and its steps against plain numpy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.descent_kernels import descend
from hrpursuit.core.manifolds import normalize_rows, polar, random_orthogonal
from hrpursuit.core.search import Descent, Order, Schedule
from hrpursuit.datasets import make_sparse_coded

N = 10


def unit_rows(X):
    return np.sqrt(X.shape[1]) * normalize_rows(X)


SPARSE, _, TRUTH = make_sparse_coded(400, N, sparsity=0.2, random_state=0)
SPARSE = unit_rows(SPARSE[SPARSE.any(axis=1)])


class TestRules:
    shares = st.floats(0.236, 1.0)

    @given(share=shares, part=st.floats(0, 1), n_rows=st.integers(1, 10**6))
    def test_equal_atoms_are_even_and_fewer_rows_are_more_lenient(self, share, part, n_rows):
        assert Order(share, share, 0.5, n_rows).is_even(part)
        uneven = Order(0.236, share, 0.5, n_rows)
        assert uneven.is_even(part) <= replace(uneven, n_rows=max(1, n_rows // 2)).is_even(part)
        assert uneven.is_even(part) <= uneven.is_even(part / 2)

    def test_gaussian_codes_are_not_ordered_and_sparse_ones_are(self, rng):
        for codes, ordered in ((rng.standard_normal((4000, N)), False), (SPARSE @ TRUTH.T, True)):
            size = np.abs(codes) / np.sqrt(np.mean(codes**2, axis=0))
            small = (size < 0.3).mean(axis=0)
            order = Order(small.min(), small.max(), size.mean(), len(codes))
            assert order.is_worth_a_quench() == ordered
            assert order.is_ordered(20) == order.is_ordered(50) == ordered

    def test_one_atom_that_is_not_ordered_is_enough_to_say_no(self):
        assert Order(0.7, 0.8, 0.5, 10_000).is_ordered(50)
        assert not Order(0.31, 0.8, 0.5, 10_000).is_ordered(50)
        assert Order(0.31, 0.8, 0.5, 10_000).is_ordered(20)  # settling costs little
        assert not Order(0.25, 0.8, 0.5, 10_000).is_ordered(20)

    def test_up_to_eight_features_every_quench_is_settled(self):
        assert Order(0.2, 0.25, 0.8, 400).is_ordered(8)
        assert not Order(0.2, 0.25, 0.8, 400).is_ordered(9)

    @pytest.mark.parametrize(("n_features", "first", "most"), [(20, 16, 64), (32, 16, 64), (33, 8, 48), (500, 8, 48)])
    def test_looks_become_fewer_but_not_at_once(self, n_features, first, most):
        schedule = Schedule(n_features)
        assert schedule.n_steps == first
        schedule.slow_down(47)
        assert schedule.n_steps == first
        schedule.slow_down(48)
        assert schedule.n_steps == first + 8
        for step in range(100, 2000, 100):
            schedule.slow_down(step)
        assert schedule.n_steps == most
        assert Schedule(n_features, look_every=3).n_steps == 3

    def test_scores_take_turns_after_the_first_phase(self):
        is_sign = [Schedule(50).softening(step) < 0 for step in (0, 499, 500, 999, 1000, 1499, 1500)]
        assert is_sign == [True, True, False, False, True, True, False]


class TestDescent:
    def test_it_stays_orthogonal_and_the_seed_decides(self):
        start = random_orthogonal(N, np.random.default_rng(2))
        ways = [Descent(SPARSE, start, np.random.default_rng(3)) for _ in range(2)]
        for descent in ways:
            for softening in (-1.0, 0.1):
                descent.go(100, softening)
                assert np.abs(descent.W @ descent.W.T - np.eye(N)).max() < 0.2
        assert_array_equal(ways[0].W, ways[1].W)
        assert np.abs(ways[0].W - start).max() > 0.1

    @pytest.mark.parametrize("size", [1e2, 1e4, 1e8])
    @pytest.mark.parametrize("softening", [-1.0, 0.1])
    def test_one_huge_direction_does_not_overflow(self, size, softening, rng):
        X = SPARSE + size * rng.standard_normal((len(SPARSE), 1)) * normalize_rows(rng.standard_normal((1, N)))
        descent = Descent(unit_rows(X), random_orthogonal(N, rng), rng)
        for _ in range(20):
            order = descent.go(25, softening)
            assert np.isfinite(descent.W).all()
            assert np.isfinite([order.fewest, order.most, order.flatness]).all()
        W, _ = descent.quench()
        assert_allclose(W @ W.T, np.eye(N), atol=1e-5)

    @pytest.mark.parametrize("n_features", [10, 40])
    def test_a_quench_lowers_the_l1_norm_and_leaves_the_state_alone(self, n_features):
        X, _, W = make_sparse_coded(10 * n_features, n_features, sparsity=0.2, random_state=4)
        X = unit_rows(X[X.any(axis=1)])
        noise = np.random.default_rng(0).standard_normal(W.shape)
        descent = Descent(X, polar(W + 0.06 * noise), np.random.default_rng(0))
        state, l1 = descent.W.copy(), np.abs(X @ descent.W.T).sum() / len(X)
        cold, order = descent.quench()
        assert_array_equal(descent.W, state)
        assert np.abs(X @ cold.T).sum() / len(X) < 0.95 * l1
        assert order.is_ordered(n_features)
        again, _ = descent.quench()
        assert_array_equal(again, cold)

    @pytest.mark.parametrize("softening", [-1.0, 0.1])
    def test_steps_are_those_of_plain_numpy(self, softening, rng):
        start, n_batch, offsets, turns = polar(rng.standard_normal((N, N))), 150, [350, 20, 7], [0.3, 0.2, 0.1]
        W, M = start.copy(), np.zeros((N, N))
        for offset, turn in zip(offsets, turns, strict=True):
            S = np.take(SPARSE, range(offset, offset + n_batch), axis=0, mode="wrap") @ W.T
            P = np.sign(S) if softening < 0 else S / (softening + np.abs(S)) ** 1.5
            G = S.T @ P - P.T @ S
            M = 0.65 * M + turn * G / np.sqrt(np.mean(np.sum(G * G, axis=1)))
            M /= max(1, np.linalg.norm(M, axis=1).max())
            W = W + M @ W
            W = 1.5 * W - 0.5 * W @ W.T @ W
        found, momentum = start.astype(np.float32), np.zeros((N, N), np.float32)
        twice = np.concatenate([SPARSE, SPARSE]).astype(np.float32)
        shares = descend(
            twice, found, momentum, np.array(offsets), n_batch, np.array(turns), np.float32(0.65), np.float32(softening)
        )
        assert_allclose(found, W, atol=2e-5)
        assert_allclose(momentum, M, atol=2e-5)
        size = np.abs(S) / np.sqrt(np.mean(S * S, axis=0))  # codes of the last batch, before its step
        small = (size < 0.3).mean(axis=0)
        assert_allclose(shares, [small.min(), small.max(), size.mean()], atol=0.5 / n_batch + 1e-5)

    def test_a_step_is_down_the_l1_norm(self):
        W = random_orthogonal(N, np.random.default_rng(6)).astype(np.float32)
        l1 = np.abs(SPARSE @ W.T).sum()
        twice = np.concatenate([SPARSE, SPARSE]).astype(np.float32)
        descend(
            twice, W, np.zeros_like(W), np.zeros(1, int), len(SPARSE), np.array([0.01]), np.float32(0), np.float32(-1)
        )
        assert np.abs(SPARSE @ W.T).sum() < l1 * (1 - 1e-4)
