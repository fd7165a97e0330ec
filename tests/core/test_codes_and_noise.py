import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.coding import codes_block, keep_above, keep_largest, refit_on_support
from hrpursuit.core.manifolds import normalize_rows, polar, random_orthogonal
from hrpursuit.core.procrustes import hard_threshold_procrustes, noise_level
from hrpursuit.core.rounding import ZeroLevel, zero_levels
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows

tied = arrays(st.sampled_from([np.float32, np.float64]), (4, 9), elements=st.integers(-3, 3))
smooth = st.integers(0, 2**31).map(lambda seed: np.random.default_rng(seed).standard_normal((4, 9)))


@given(S=st.one_of(tied, smooth), n_nonzero=st.integers(0, 9))
def test_keep_largest_keeps_the_largest_and_of_equal_ones_the_first(S, n_nonzero):
    expected = np.zeros_like(S)
    for row, kept in zip(S, expected, strict=True):
        chosen = np.argsort(-np.abs(row), kind="stable")[:n_nonzero]
        kept[chosen] = row[chosen]
    assert_array_equal(keep_largest(S.copy(), n_nonzero), expected)


def test_keep_largest_handles_nearly_equal_entries():
    S = np.array([[1.0, np.nextafter(1.0, 2), 1.0, 5e-324]])
    assert_array_equal(keep_largest(S.copy(), 1), [[0, S[0, 1], 0, 0]])
    assert_array_equal(keep_largest(S.copy(), 3), [[1, S[0, 1], 1, 0]])


def test_keep_above():
    assert_array_equal(keep_above(np.array([[0.5, -0.2, 0.1]]), 0.2), [[0.5, -0.2, 0]])


@given(seed=st.integers(0, 2**31), n_nonzero=st.integers(1, 5))
def test_refit_is_least_squares_on_the_support(seed, n_nonzero):
    rng = np.random.default_rng(seed)
    W, X = rng.standard_normal((6, 6)) + 3 * np.eye(6), rng.standard_normal((8, 6))
    S = codes_block(X, np.linalg.inv(W), n_nonzero, refit=W)
    plain = keep_largest(X @ np.linalg.inv(W), n_nonzero)
    for x, code, start in zip(X, S, plain, strict=True):
        support = np.flatnonzero(start)
        expected = np.linalg.lstsq(W[support].T, x, rcond=None)[0]
        assert_allclose(code[support], expected, atol=1e-9)
        assert np.count_nonzero(code) <= n_nonzero


def test_refit_of_many_features_needs_little_memory(rng):
    """All normal equations of a block at once took 168 MB here."""
    W = normalize_rows(rng.standard_normal((600, 600)) + 10 * np.eye(600))
    X = rng.standard_normal((256, 600))
    S = keep_largest(X @ np.linalg.inv(W), 200)
    tracemalloc.start()
    try:
        refitted = refit_on_support(X, S, W, 200)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6
    assert_array_equal(refitted != 0, S != 0)
    for r in (0, 12, 13, 255):  # in the first piece, at a seam, in the last
        used = np.flatnonzero(S[r])
        assert_allclose(refitted[r, used], np.linalg.lstsq(W[used].T, X[r], rcond=None)[0], atol=1e-10)


def test_refit_of_a_zero_row_is_zero():
    S = codes_block(np.zeros((1, 3)), np.eye(3), 2, refit=np.eye(3))
    assert_array_equal(S, np.zeros((1, 3)))


@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.3])
def test_noise_level_is_found_under_sparse_codes(sigma, rng):
    S = rng.standard_normal((5000, 20)) * (rng.random((5000, 20)) < 0.3) + sigma * rng.standard_normal((5000, 20))
    assert_allclose(noise_level(S), sigma, rtol=0.15)


def test_noise_level_of_exact_codes_is_zero(rng):
    assert noise_level(rng.standard_normal((100, 20)) * (rng.random((100, 20)) < 0.3)) < 1e-12


@given(seed=st.integers(0, 2**31), n_nonzero=st.integers(1, 8))
def test_each_alternation_lowers_the_reconstruction_error(seed, n_nonzero):
    rng = np.random.default_rng(seed)
    X, W = rng.laplace(size=(60, 8)), random_orthogonal(8, rng)
    errors = []
    for n_steps in range(1, 6):
        found = hard_threshold_procrustes(ArrayRows(X), W, n_nonzero=n_nonzero, max_iter=n_steps, tol=0).components
        S = keep_largest(X @ found.T, n_nonzero)
        errors.append(np.linalg.norm(X - S @ found))
    assert np.all(np.diff(errors) <= 1e-9)


def test_hard_threshold_procrustes_refines_a_noisy_dictionary(rng):
    X, _, W = make_sparse_coded(3000, 15, sparsity=0.2, snr_db=20, random_state=0)
    rough = polar(W + 0.02 * rng.standard_normal(W.shape))
    threshold = 2.5 * noise_level(X @ rough.T)
    refined = hard_threshold_procrustes(ArrayRows(X), rough, threshold=threshold)
    assert refined.converged
    assert dictionary_error(refined.components, W) < 0.15 * dictionary_error(rough, W)


class TestZeroLevel:
    X = make_sparse_coded(200, 10, sparsity=0.3, random_state=0)[0]
    rms = np.sqrt(np.median(np.mean(X[X.any(axis=1)] ** 2, axis=1)))  # of a typical row

    @pytest.mark.parametrize(("kind", "share"), [("f8", 1e-9), ("f4", 6e-6), ("f2", 3e-3)])
    def test_follows_the_format_of_the_data_and_not_of_the_array(self, kind, share):
        assert_allclose(zero_levels(self.X.astype(kind).astype("f8"))[-1].floor, share * self.rms, rtol=1e-2)

    @pytest.mark.parametrize("decimals", [2, 3, 6, 8])
    def test_follows_decimals(self, decimals):
        assert_allclose(zero_levels(np.round(self.X, decimals))[-1].floor, 6 * 10.0**-decimals / np.sqrt(12), rtol=1e-6)

    @pytest.mark.parametrize("decimals", [2, 3])
    def test_follows_decimals_in_float32(self, decimals):
        rounded = np.round(self.X, decimals).astype("f4")
        assert_allclose(zero_levels(rounded)[-1].floor, 6 * 10.0**-decimals / np.sqrt(12), rtol=1e-6)

    @pytest.mark.parametrize("scale", [1e-30, 1e30])
    def test_goes_with_the_unit_of_the_data(self, scale):
        assert_allclose(zero_levels(scale * self.X)[-1].floor, scale * zero_levels(self.X)[-1].floor)

    def test_covers_the_rounding_of_the_codes(self):
        X, codes, W = make_sparse_coded(5000, 30, sparsity=0.3, random_state=0)
        for rounded in (np.round(X, 2), X.astype("f4"), X):
            levels = zero_levels(rounded)[-1].of_rows(rounded)
            assert np.all((np.abs(rounded @ W.T) < levels[:, None]) | (codes != 0))

    def test_rows_of_zeros_do_not_count(self):
        assert zero_levels(np.vstack([self.X, np.zeros((5000, 10))])) == zero_levels(self.X)

    def test_a_few_huge_rows_do_not_decide_but_have_a_level_of_their_own(self):
        X = self.X[self.X.any(axis=1)].copy()
        X[:3] *= 1e6
        level = zero_levels(X)[-1]
        assert_allclose(level.floor, 1e-9 * self.rms, rtol=0.05)
        assert np.all(level.of_rows(X)[:3] > 1e4 * level.floor)

    def test_units_of_features_do_not_matter(self):
        units = np.exp2(np.arange(-20, 20, 4))
        assert zero_levels(self.X * units, units) == zero_levels(self.X)
        coarse = zero_levels(np.round(self.X, 3), np.full(10, 0.5))[-1]
        assert_allclose(coarse.floor, 2 * 6e-3 / np.sqrt(12), rtol=1e-6)

    def test_of_nothing(self):
        assert zero_levels(np.empty((0, 3))) == (ZeroLevel(0.0, 0.0),)
        assert zero_levels(np.zeros((2, 3))) == (ZeroLevel(0.0, 0.0),)

    def test_whole_numbers_may_be_exact(self):
        fine, coarse = zero_levels(np.round(1000 * self.X))
        assert fine.floor < 1e-2 < 1 < coarse.floor

    def test_a_spacing_as_large_as_the_data_says_nothing(self):
        assert len(zero_levels(np.round(self.X))) == 1
