"""Atoms fitted with their codes, and the coder that they are alternated with."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.free_atoms import replace_idle_atoms, update_atoms
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.masked import GapTable, gap_codes_block, masked_codes


def make(seed, n_rows=30, n=7, share=0.2, n_nonzero=2):
    """A table with gaps, unit atoms that have nothing to do with it, and codes of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n))
    X[rng.random(X.shape) < share] = np.nan
    W = normalize_rows(rng.standard_normal((n, n)))
    table = GapTable(X)
    S = np.zeros((n_rows, n))
    table.improve_codes(W, S, n_nonzero, greedy=True, fresh=True)
    return table, S, W


def least_error(x, W, n_nonzero):
    """Squared error of the best of all supports, on the observed entries."""
    seen = ~np.isnan(x)
    best = np.sum(x[seen] ** 2)
    for support in combinations(range(len(W)), n_nonzero):
        A = W[list(support)][:, seen].T
        best = min(best, np.sum((x[seen] - A @ np.linalg.lstsq(A, x[seen], rcond=None)[0]) ** 2))
    return best


class TestAtoms:
    @given(seed=st.integers(0, 2**31), share=st.floats(0, 0.9), n_nonzero=st.integers(1, 7))
    def test_the_error_never_rises_and_supports_stay(self, seed, share, n_nonzero):
        table, S, W = make(seed, share=share, n_nonzero=n_nonzero)
        support = S != 0
        before = table.error(S, W)
        for _ in range(3):
            update_atoms(table, S, W)
            after = table.error(S, W)
            assert after <= before + 1e-13
            before = after
        assert not S[~support].any()
        assert_allclose(np.linalg.norm(W, axis=1), 1, atol=1e-12)

    def test_one_atom_for_all_rows_is_the_leading_singular_vector(self, rng):
        X = rng.standard_normal((40, 1)) * np.array([3.0, 1, 2, 0.5]) + 0.1 * rng.standard_normal((40, 4))
        table, W = GapTable(X), np.eye(4)
        S = np.zeros((40, 4))
        S[:, 0] = X[:, 0]
        for _ in range(30):
            update_atoms(table, S, W)
        U, s, Vt = np.linalg.svd(X, full_matrices=False)
        assert abs(W[0] @ Vt[0]) == pytest.approx(1, abs=1e-9)
        assert_allclose(np.outer(S[:, 0], W[0]), s[0] * np.outer(U[:, 0], Vt[0]), atol=1e-6)
        assert_array_equal(W[1:], np.eye(4)[1:])  # nobody uses them

    def test_an_entry_that_no_row_has_observed_stays(self, rng):
        X = rng.standard_normal((20, 5))
        X[:, 3] = np.nan
        table, S, W = GapTable(X), np.zeros((20, 5)), normalize_rows(rng.standard_normal((5, 5)))
        W[:, 3] = 0
        W = normalize_rows(W)
        table.improve_codes(W, S, 2, greedy=True, fresh=True)
        update_atoms(table, S, W)
        assert_array_equal(W[:, 3], 0)
        assert np.isfinite(W).all()

    def test_idle_atoms_become_what_is_represented_worst(self, rng):
        X = rng.standard_normal((10, 4))
        X[6] *= 100
        table, W = GapTable(X), np.eye(4)
        S = np.zeros((10, 4))
        S[:, 0] = X[:, 0]
        replace_idle_atoms(table, S, W)
        residual = np.append(0, X[6, 1:])
        assert_allclose(W[1], residual / np.linalg.norm(residual))
        assert_array_equal(W[0], np.eye(4)[0])
        exact = np.eye(4)
        replace_idle_atoms(GapTable(np.outer(np.ones(5), exact[0])), np.outer(np.ones(5), exact[0]), exact)
        assert_array_equal(exact, np.eye(4))  # nothing is left to represent


class TestCodes:
    @pytest.mark.parametrize(("n_nonzero", "share"), [(1, 0.0), (1, 0.3), (2, 0.0), (2, 0.3), (3, 0.2)])
    def test_against_all_supports(self, n_nonzero, share):
        rng = np.random.default_rng(5)
        n = 7
        W = normalize_rows(rng.standard_normal((n, n)))
        X = rng.standard_normal((80, n))
        X[rng.random(X.shape) < share] = np.nan
        X = X[np.sum(~np.isnan(X), axis=1) > n_nonzero]
        residual = np.where(np.isnan(X), 0, X - masked_codes(X, W, n_nonzero, np.linalg.pinv(W)) @ W)
        found = np.sum(residual**2, axis=1)
        best = np.array([least_error(x, W, n_nonzero) for x in X])
        assert (found >= best - 1e-9).all()
        is_best = found <= best + 1e-9
        assert is_best.mean() > (0.99 if n_nonzero == 1 else 0.9)
        assert found.sum() < 1.05 * best.sum()

    @given(seed=st.integers(0, 2**31), rank=st.integers(1, 6))
    def test_a_singular_dictionary_gives_least_squares_codes(self, seed, rank):
        rng = np.random.default_rng(seed)
        W = normalize_rows(rng.standard_normal((6, rank)) @ rng.standard_normal((rank, 6)))
        X = rng.standard_normal((5, 6))
        S = gap_codes_block(X, np.linalg.pinv(W, rcond=1e-10), W, 3, refit=W)
        assert np.isfinite(S).all()
        assert (np.count_nonzero(S, axis=1) <= min(3, rank)).all()
        for x, code in zip(X, S, strict=True):
            assert_allclose(W[code != 0] @ (x - code @ W), 0, atol=1e-8)

    def test_exactly_sparse_rows_of_an_ill_conditioned_dictionary(self, rng):
        """Taking atoms greedily fails here; the largest codes of the inverse are the right ones."""
        U, _, Vt = np.linalg.svd(rng.standard_normal((20, 20)))
        W = normalize_rows((U * np.geomspace(1, 1e-3, 20)) @ Vt)
        order = rng.random((200, 20)).argsort(axis=1)
        codes = rng.standard_normal(order.shape) * (order < 5)
        X = codes @ W
        found = masked_codes(X, W, 5, np.linalg.inv(W))
        assert_allclose(found, codes, atol=1e-8)
        greedy = masked_codes(X, W, 5)
        assert np.linalg.norm(X - greedy @ W) > 1e-3 * np.linalg.norm(X)

    def test_an_atom_of_zeros_is_not_used(self, rng):
        W = np.eye(4)
        W[2] = 0
        S = masked_codes(rng.standard_normal((6, 4)), W, 3, np.linalg.pinv(W))
        assert_array_equal(S[:, 2], 0)
        assert np.isfinite(S).all()
