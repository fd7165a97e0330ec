import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.evaluate import gram_block, value_and_grad
from hrpursuit.core.objectives import LpNorm
from hrpursuit.rows import ArrayRows, MappedRows, whitening
from hrpursuit.rows.array import sample_indices
from hrpursuit.rows.mapped import _AfterMap


@given(n_rows=st.integers(1, 50), block_size=st.integers(1, 60))
def test_blocks_are_the_rows_in_order(n_rows, block_size):
    X = np.arange(3.0 * n_rows).reshape(n_rows, 3)
    blocks = list(ArrayRows(X, block_size).blocks())
    assert max(map(len, blocks)) <= block_size
    assert_array_equal(np.concatenate(blocks), X)
    assert_array_equal(np.concatenate(list(ArrayRows(X, block_size).map(lambda block: 2 * block))), 2 * X)


def test_sums_are_made_in_double(rng):
    X = rng.standard_normal((5000, 4)).astype(np.float32)
    value, G = ArrayRows(X, 100).sum(lambda block: (block.sum(), block.T @ block))
    assert value.dtype == G.dtype == np.float64
    assert_allclose(G, X.astype(float).T @ X.astype(float), rtol=1e-5)


@pytest.mark.parametrize("n_features", [10, 50, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_fit_in_cache(n_features, dtype):
    """Codes of a block stay in a core's cache of a megabyte, and a block is long enough for its matrix products."""
    block = next(ArrayRows(np.zeros((20_000, n_features), dtype)).blocks())
    assert block.nbytes <= 1 << 20
    assert len(block) >= 500


@given(n_samples=st.integers(1, 200), n=st.integers(1, 250), seed=st.integers(0, 2**31))
def test_a_sample_is_sorted_without_repetition_and_follows_the_seed(n_samples, n, seed):
    chosen = sample_indices(n_samples, n, seed)
    if n >= n_samples:
        assert chosen is None
        return
    assert len(chosen) == n
    assert np.all(np.diff(chosen) > 0)
    assert 0 <= chosen[0] <= chosen[-1] < n_samples
    assert_array_equal(chosen, sample_indices(n_samples, n, seed))


def test_a_sample_does_not_depend_on_the_blocks(rng):
    X = rng.standard_normal((100, 3))
    assert_array_equal(ArrayRows(X, 7).sample(20, 5), ArrayRows(X).sample(20, 5))


def test_mapped_rows_are_rows_times_a_matrix(rng):
    X, A, W = rng.standard_normal((100, 5)), rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
    mapped, plain = MappedRows(ArrayRows(X, 9), A), ArrayRows(X @ A)
    assert (mapped.n_samples, mapped.n_features, mapped.dtype) == (100, 3, np.float64)
    for found, expected in zip(value_and_grad(mapped, W, LpNorm(3)), value_and_grad(plain, W, LpNorm(3)), strict=True):
        assert_allclose(found, expected, rtol=1e-10)
    assert_allclose(np.concatenate(list(mapped.blocks())), X @ A)
    assert_allclose(np.concatenate(list(mapped.map(np.abs))), np.abs(X @ A))
    assert_allclose(mapped.sample(10, 1), ArrayRows(X).sample(10, 1) @ A)


def test_mapped_kernels_can_be_sent_to_another_process(rng):
    kernel = pickle.loads(pickle.dumps(_AfterMap(gram_block)))
    X, A = rng.standard_normal((10, 4)), rng.standard_normal((4, 4))
    assert_allclose(kernel(X, A, None)[0], (X @ A).T @ (X @ A))
    assert_allclose(kernel(X, None, X[0])[0], (X - X[0]).T @ (X - X[0]))


@pytest.mark.parametrize("condition", [1, 1e4])
def test_whitening_makes_the_second_moment_the_identity(condition, rng):
    X = rng.standard_normal((1000, 6)) @ np.diag(np.geomspace(1, condition, 6))
    white = X @ whitening(X.T @ X, len(X))
    assert_allclose(white.T @ white / 1000, np.eye(6), atol=1e-8)
