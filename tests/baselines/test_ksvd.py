"""Batch-OMP and approximate K-SVD."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import hadamard
from sklearn.linear_model import orthogonal_mp_gram

from hrpursuit.baselines import KSVD
from hrpursuit.baselines.atom_update import code_all, replace_atoms, room_for, update_atoms
from hrpursuit.baselines.omp import omp_block
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error


def problem(seed, n_samples, n_atoms, n_features):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_samples, n_features)), normalize_rows(rng.standard_normal((n_atoms, n_features)))


def omp(X, W, n_nonzero=None, error_tol=None):
    return omp_block(X, W, W @ W.T, n_nonzero, error_tol)


problems = st.builds(problem, st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 14), st.integers(1, 10))


class TestBatchOMP:
    @pytest.mark.parametrize(("n_atoms", "n_nonzero"), [(8, 3), (12, 3), (12, 12), (30, 5), (5, 5)])
    def test_agrees_with_scikit_learn(self, n_atoms, n_nonzero):
        X, W = problem(3, 200, n_atoms, 12)
        expected = orthogonal_mp_gram(W @ W.T, W @ X.T, n_nonzero_coefs=n_nonzero).T
        assert_allclose(omp(X, W, n_nonzero), expected, atol=1e-10)

    def test_error_target_agrees_with_scikit_learn(self):
        X, W = problem(4, 200, 15, 10)
        X = X[np.linalg.norm(X, axis=1) > 1.5]  # scikit-learn gives a code to smaller ones too
        squares = np.sum(X**2, axis=1)
        expected = orthogonal_mp_gram(W @ W.T, W @ X.T, tol=1.5**2, norms_squared=squares).T
        assert_allclose(omp(X, W, error_tol=1.5), expected, atol=1e-10)

    @given(problems, st.integers(1, 10))
    def test_residuals_are_orthogonal_to_the_chosen_atoms(self, given_problem, n_nonzero):
        X, W = given_problem
        codes = omp(X, W, n_nonzero)
        assert (np.count_nonzero(codes, axis=1) <= min(n_nonzero, *W.shape)).all()
        products = (X - codes @ W) @ W.T
        assert np.abs(products[codes != 0]).max(initial=0) < 1e-8 * (1 + np.abs(codes).max())

    @given(problems, st.floats(0.01, 3))
    def test_an_error_target_is_met_where_it_can_be_and_no_sooner(self, given_problem, target):
        X, W = given_problem
        codes = omp(X, W, error_tol=target)
        left = np.linalg.norm(X - codes @ W, axis=1)
        reachable = np.linalg.norm(X - X @ np.linalg.pinv(W) @ W, axis=1)
        assert (left <= np.maximum(target, reachable + 1e-3) + 1e-6).all()
        assert not codes[np.linalg.norm(X, axis=1) <= target].any()

    def test_float32_gives_what_double_gives(self):
        X, W = problem(5, 50, 9, 7)
        codes = omp(X.astype(np.float32), W, 3)
        assert codes.dtype == np.float32
        assert_allclose(codes, omp(X.astype(np.float32).astype(np.float64), W, 3), rtol=1e-5)

    def test_zero_samples_equal_atoms_and_dependent_atoms(self):
        W = normalize_rows(np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [-1, 0, 0]]))
        X = np.array([[0.0, 0, 0], [2, 0, 0], [2, 3, 0], [0, 0, 5], [1, 2, 3]])
        codes = omp(X, W, 3)
        assert np.isfinite(codes).all()
        assert_allclose(codes @ W, X * [1, 1, 0], atol=1e-12)
        assert not codes[[0, 3]].any()
        assert_allclose(codes[1], [2, 0, 0, 0, 0])  # of equal products the first

    def test_exact_codes_of_exact_samples(self):
        _, W = problem(6, 1, 12, 12)
        W = np.linalg.qr(W)[0]
        codes = np.zeros((100, 12))
        rng = np.random.default_rng(0)
        for row in codes:
            row[rng.choice(12, 4, replace=False)] = rng.standard_normal(4)
        assert_allclose(omp(codes @ W, W, 4), codes, atol=1e-12)


class TestAtomUpdate:
    def test_follows_the_explicit_formula(self):
        X, W = problem(7, 60, 9, 6)
        codes = room_for(X, W, 3)
        products = code_all(X, W, None, codes)
        dense = omp(X, W, 3)
        assert_allclose(products, dense.T @ X, atol=1e-10)
        assert_allclose(codes.left, np.sum((X - dense @ W) ** 2, axis=1), atol=1e-10)
        order = np.random.default_rng(1).permutation(9)
        updated = W.copy()
        n_users = update_atoms(X, updated, codes, products, order)
        for j in order:
            users = dense[:, j] != 0
            assert n_users[j] == users.sum()
            residual = X[users] - dense[users] @ W + np.outer(dense[users, j], W[j])
            W[j] = dense[users, j] @ residual / np.linalg.norm(dense[users, j] @ residual)
            dense[users, j] = residual @ W[j]
        assert_allclose(updated, W, atol=1e-10)
        found = np.zeros_like(dense)
        for i, n in enumerate(codes.count):
            found[i, codes.index[i, :n]] = codes.value[i, :n]
        assert_allclose(found, dense, atol=1e-10)

    def test_unused_and_equal_atoms_give_way_to_the_worst_samples(self):
        X, W = problem(8, 40, 5, 4)
        W[3] = -W[1]
        left = np.arange(40.0)
        kept = W.copy()
        assert replace_atoms(X, W, np.array([9, 9, 2, 9, 9]), left) == 2
        assert_array_equal(W[[0, 3, 4]], kept[[0, 3, 4]])  # of the equal pair one stays
        assert_allclose(W[1], X[39] / np.linalg.norm(X[39]))
        assert_allclose(W[2], X[38] / np.linalg.norm(X[38]))

    def test_nothing_replaces_where_nothing_is_left(self):
        X, W = problem(9, 40, 5, 4)
        kept = W.copy()
        assert replace_atoms(X, W, np.zeros(5), np.zeros(40)) == 0
        assert_array_equal(W, kept)


class TestKSVD:
    def test_recovers_an_easy_dictionary(self):
        X, _, W = make_sparse_coded(4000, 12, sparsity=0.15, random_state=1)
        model = KSVD(n_nonzero_coefs=3, random_state=0).fit(X)
        assert dictionary_error(model.components_, W) < 0.03
        assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-12)

    def test_recovers_more_atoms_than_features_exactly(self):
        rng = np.random.default_rng(2)
        W = np.concatenate(
            [np.eye(16), hadamard(16) / 4]
        )  # incoherent enough for the pursuit of two codes never to err
        codes = np.zeros((2000, 32))
        chosen = np.argsort(rng.random(codes.shape), axis=1)[:, :2]
        np.put_along_axis(codes, chosen, rng.choice([-1.0, 1.0], chosen.shape) * (1 + rng.random(chosen.shape)), axis=1)
        X = codes @ W
        start = W + 0.1 * rng.standard_normal(W.shape)
        model = KSVD(n_nonzero_coefs=2, n_components=32, tol=1e-9, max_iter=200, dict_init=start, random_state=0).fit(X)
        assert dictionary_error(model.components_, W) < 1e-6
        assert model.objective_ < 1e-6
        assert model.transform(X).shape == (2000, 32)
        assert_allclose(model.inverse_transform(model.transform(X[:5])), X[:5], atol=1e-5)

    def test_the_error_falls_and_objective_is_minus_score(self):
        X = make_sparse_coded(1000, 10, sparsity=0.3, snr_db=20, random_state=2)[0]
        errors = []
        model = KSVD(
            n_nonzero_coefs=3, max_iter=30, callback=lambda it: errors.append((it.stage, it.value)), random_state=1
        ).fit(X)
        assert errors[0][0] == "K-SVD"
        assert len(errors) == model.n_iter_
        assert errors[-1][1] < 0.8 * errors[0][1]
        assert_allclose(model.objective_, model.reconstruction_error(X), rtol=1e-10)
        magnitude = np.abs(model.transform(X)).sum(axis=0)
        assert (np.diff(magnitude) <= 0).all()

    def test_an_error_target_holds_for_every_sample(self):
        X = make_sparse_coded(800, 10, sparsity=0.3, random_state=3)[0]
        model = KSVD(error_tol=0.5, max_iter=20, random_state=0).fit(X)
        left = np.linalg.norm(X - model.inverse_transform(model.transform(X)), axis=1)
        assert left.max() <= 0.5 + 1e-9
        limited = KSVD(n_nonzero_coefs=2, error_tol=0.5, max_iter=20, random_state=0).fit(X)
        assert np.count_nonzero(limited.transform(X), axis=1).max() == 2

    def test_without_targets_a_tenth_of_the_features(self):
        X = np.random.default_rng(0).standard_normal((200, 30))
        codes = KSVD(max_iter=3, random_state=0).fit_transform(X)
        assert set(np.count_nonzero(codes, axis=1)) == {3}

    def test_a_callback_stops_it(self):
        X = make_sparse_coded(200, 6, sparsity=0.3, random_state=0)[0]
        assert KSVD(n_nonzero_coefs=2, tol=0, callback=lambda it: it.n_iter == 3).fit(X).n_iter_ == 3

    def test_says_when_iterations_run_out(self):
        X = make_sparse_coded(200, 6, sparsity=0.3, random_state=0)[0]
        with pytest.warns(match="KSVD did not reach tol=1e-12 in 2 iterations"):
            KSVD(n_nonzero_coefs=2, tol=1e-12, max_iter=2, random_state=0).fit(X)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_components": 41}, "n_components must be at most 39, the number of samples that are not zero"),
            ({"dict_init": np.eye(5)}, r"dict_init must have shape \(6, 6\) for 6 atoms and X with 6 features; got"),
            ({"n_components": 4, "dict_init": np.eye(6)}, r"dict_init must have shape \(4, 6\)"),
            ({"dict_init": np.diag([1, 1, 0, 1, 1, 1])}, "atoms of dict_init must not be zero; row 2 is"),
            ({"error_tol": -1.0}, "'error_tol' parameter of KSVD must be"),
            ({"n_nonzero_coefs": 0}, "'n_nonzero_coefs' parameter of KSVD must be"),
        ],
    )
    def test_bad_parameters_are_refused(self, parameters, message):
        X = np.random.default_rng(0).standard_normal((40, 6))
        X[7] = 0
        with pytest.raises(ValueError, match=message):
            KSVD(**parameters).fit(X)

    def test_dask_arrays_with_another_number_of_atoms(self):
        da = pytest.importorskip("dask.array")
        X = make_sparse_coded(300, 6, sparsity=0.3, random_state=1)[0]
        model = KSVD(n_nonzero_coefs=2, n_components=9, max_iter=3, random_state=0).fit(X)
        lazy = model.transform(da.from_array(X, chunks=(100, 6)))
        assert lazy.shape == (300, 9)
        assert_allclose(lazy.compute(), model.transform(X), atol=1e-12)
