"""Subgradient descent on the sphere: its steps, what it takes for atoms, and the dictionary it finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hrpursuit.baselines import L1RGD
from hrpursuit.baselines.deflation import complement
from hrpursuit.baselines.subgradient import (
    LOOK,
    Runs,
    atoms_of,
    distinct,
    subgradient_block,
    subgradient_descent,
    values_and_subgradients,
)
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows

SEEDS = st.integers(0, 10_000)


class TestDescent:
    def test_follows_the_published_iteration(self, rng):
        X, _, _ = make_sparse_coded(200, 8, sparsity=0.3, random_state=5)
        starts = random_on_sphere(7, 8, rng)
        runs = subgradient_descent(ArrayRows(X), starts, step_size=1.0, max_iter=LOOK - 1, tol=0)
        for start, end, value in zip(starts, runs.points, runs.values, strict=True):
            q = start
            for t in range(1, LOOK):
                v = sum(np.sign(x @ q) * x for x in X) / len(X)
                q = q - (v - (v @ q) * q) / np.sqrt(t)
                q = q / np.linalg.norm(q)
            assert_allclose(end, q, atol=1e-12)
            assert_allclose(value, np.abs(X @ q).mean())

    def test_one_of_runs_that_have_met_goes_on(self, rng):
        X, _, W = make_sparse_coded(1000, 5, sparsity=0.2, random_state=0)
        counts = []
        runs = subgradient_descent(
            ArrayRows(X),
            random_on_sphere(60, 5, rng),
            step_size=1.0,
            max_iter=2000,
            tol=5e-3,
            watch=lambda n, Q, value, step: counts.append(len(Q)),
        )
        assert counts[0] == 60
        assert len(runs.points) == 5
        assert (runs.moved <= 5e-3).all()
        assert dictionary_error(runs.points, W) < 0.01

    @given(SEEDS, st.integers(1, 700))
    def test_parts_of_a_block_sum_to_the_block(self, seed, n_samples):
        rng = np.random.default_rng(seed)
        X, Q = rng.standard_normal((n_samples, 3)), random_on_sphere(400, 3, rng)
        assert_allclose(subgradient_block(X, Q)[0], np.sign(X @ Q.T).T @ X, atol=1e-9)
        values, G = values_and_subgradients(ArrayRows(X), Q)
        assert_allclose(values, np.abs(X @ Q.T).mean(axis=0), rtol=1e-9)
        assert_allclose(np.sum(G * Q, axis=1), values)


class TestAtoms:
    @given(SEEDS, st.floats(0.1, 0.99), st.integers(1, 30))
    def test_those_taken_differ_and_stand_for_all(self, seed, cosine, n):
        rng = np.random.default_rng(seed)
        Q, values = random_on_sphere(n, 3, rng), rng.random(n)
        taken = distinct(Q, values, cosine)
        between = np.abs(Q @ Q[taken].T)
        assert (np.diff(values[taken]) >= 0).all()
        assert taken[0] == np.argmin(values)
        assert (between[taken] - np.eye(len(taken)) <= cosine + 1e-12).all()
        for row, value in zip(between, values, strict=True):  # each has one at least as good beside it
            assert (values[taken][row > cosine] <= value).any()

    def test_no_more_than_asked_for(self, rng):
        assert len(distinct(np.eye(5), rng.random(5), 0.5, at_most=3)) == 3

    def test_runs_that_still_move_are_no_atoms(self):
        runs = Runs(np.eye(3), np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 0.0]), 100, False)
        assert atoms_of(runs, 0.5, 0.1, 3).tolist() == [1, 2]

    def test_unless_all_of_them_move(self):
        runs = Runs(np.eye(3), np.array([3.0, 2.0, 1.0]), np.full(3, np.inf), 10, False)
        assert atoms_of(runs, 0.5, 0.1, 3).tolist() == [2, 1, 0]

    @given(SEEDS, st.integers(1, 5))
    def test_the_complement_is_orthonormal_and_orthogonal_to_the_rows(self, seed, m):
        Q = random_on_sphere(m, 6, np.random.default_rng(seed))
        V = complement(Q)
        assert V.shape == (6, 6 - m)
        assert_allclose(V.T @ V, np.eye(6 - m), atol=1e-12)
        assert_allclose(Q @ V, 0, atol=1e-12)


class TestL1RGD:
    @pytest.mark.parametrize("recovery", ["runs", "deflation"])
    def test_recovers_an_easy_dictionary(self, recovery):
        X, _, W = make_sparse_coded(1000, 8, sparsity=0.2, random_state=3)
        model = L1RGD(recovery=recovery, random_state=0).fit(X)
        assert dictionary_error(model.components_, W) < 0.015
        assert_allclose(model.components_ @ model.components_.T, np.eye(8), atol=1e-12)

    def test_atoms_that_no_run_found_are_found_in_the_complement(self):
        X, _, W = make_sparse_coded(1000, 8, sparsity=0.2, random_state=3)
        rounds = []
        model = L1RGD(n_runs=3, random_state=0, callback=lambda i: rounds.append(i.n_iter == 1) and None).fit(X)
        assert sum(rounds) >= 3  # 8 atoms, of which the last is forced, 3 at most in each round
        assert dictionary_error(model.components_, W) < 0.02

    def test_the_error_that_is_left_falls_with_the_steps(self):
        X, _, W = make_sparse_coded(1000, 6, sparsity=0.2, random_state=1)
        errors = []
        for max_iter in (100, 1600):
            with pytest.warns(match="increase max_iter or tol"):
                model = L1RGD(max_iter=max_iter, tol=0, random_state=0).fit(X)
            errors.append(dictionary_error(model.components_, W))
        assert errors[1] < errors[0] / 2
        assert errors[1] > 1e-4

    def test_the_unit_of_the_data_and_the_step_size_go_together(self):
        X = make_sparse_coded(300, 5, sparsity=0.3, random_state=0)[0]
        one = L1RGD(random_state=0).fit(X).components_
        assert_allclose(L1RGD(step_size=1 / 8, random_state=0).fit(8 * X).components_, one, atol=1e-9)

    @pytest.mark.parametrize("recovery", ["runs", "deflation"])
    def test_a_callback_sees_all_runs_and_stops_the_fit(self, recovery):
        X = make_sparse_coded(400, 6, sparsity=0.2, random_state=0)[0]
        seen = []

        def third(iterate):
            seen.append(iterate)
            return len(seen) == 3

        model = L1RGD(recovery=recovery, n_runs=4, callback=third, random_state=0).fit(X)
        assert model.n_iter_ == len(seen) == 3
        for iterate in seen:
            assert iterate.components.shape == (4, 6)
            assert_allclose(iterate.value, np.abs(X @ iterate.components.T).sum() / 400)
        assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)

    def test_single_precision_recovers_too(self):
        X, _, W = make_sparse_coded(500, 6, sparsity=0.2, random_state=0)
        model = L1RGD(random_state=0).fit(X.astype(np.float32))
        assert model.components_.dtype == np.float32
        assert dictionary_error(model.components_, W) < 0.02

    @pytest.mark.parametrize(
        ("wrong", "named"), [({"recovery": "truth"}, "recovery"), ({"n_runs": 0}, "n_runs"), ({"step_size": 0}, "step")]
    )
    def test_bad_parameters_are_named(self, wrong, named):
        with pytest.raises(ValueError, match=f"The '{named}.* parameter of L1RGD"):
            L1RGD(**wrong).fit(np.eye(4))
