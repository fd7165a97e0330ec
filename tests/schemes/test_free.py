"""The alternation of free atoms and codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.manifolds import normalize_rows, random_orthogonal
from hrpursuit.core.masked import GapTable
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.fixed_sparsity import T0_LEAST_SQUARES, alternate_complete
from hrpursuit.schemes.free import T0_FREE, alternate_free, free_encoder
from hrpursuit.schemes.stages import StageLog, Stopper


def noisy(seed, n_rows=80, n=8, share=0.2, noise=0.2):
    rng = np.random.default_rng(seed)
    W = normalize_rows(rng.standard_normal((n, n)))
    order = rng.random((n_rows, n)).argsort(axis=1)
    X = (rng.standard_normal(order.shape) * (order < 2)) @ W + noise * rng.standard_normal(order.shape)
    return np.where(rng.random(X.shape) < share, np.nan, X), W


def watched(seen):
    return Stopper(seen.append)


class TestAlternation:
    @settings(max_examples=25)
    @given(seed=st.integers(0, 2**31), share=st.floats(0, 0.8), n_nonzero=st.integers(1, 8))
    def test_the_error_never_rises(self, seed, share, n_nonzero):
        X, _ = noisy(seed, share=share)
        table, seen = GapTable(X), []
        start = random_orthogonal(8, np.random.default_rng(seed))
        W, S, error = alternate_free(table, [start], n_nonzero, 12, watched(seen), StageLog())
        errors = [iterate.value for iterate in seen]
        assert (np.diff(errors) <= 1e-12).all()
        assert error == table.error(S, W)
        assert (np.count_nonzero(S, axis=1) <= n_nonzero).all()
        assert np.isfinite(W).all()
        norms = np.linalg.norm(W, axis=1)
        assert_allclose(norms[norms > 0], 1, atol=1e-12)

    def test_it_starts_from_the_best_and_does_not_fall_behind_it(self):
        X, W_true = noisy(3, n_rows=300)
        table, log = GapTable(X), StageLog()
        bad = random_orthogonal(8, np.random.default_rng(0))
        alternate_free(table, [bad, W_true, bad], 2, 5, Stopper(None), log)
        alone = StageLog()
        alternate_free(table, [W_true], 2, 5, Stopper(None), alone)
        assert log.stages[-1].name == T0_FREE
        assert log.stages[-1].objective_before == alone.stages[-1].objective_before
        assert log.stages[-1].objective_after < log.stages[-1].objective_before

    def test_it_stops_when_asked(self):
        table, seen = GapTable(noisy(4)[0]), []

        def stop(iterate):
            seen.append(iterate.n_iter)
            return iterate.n_iter == 3

        alternate_free(table, [np.eye(8)], 2, 50, Stopper(stop), StageLog())
        assert seen == [1, 2, 3]

    def test_exact_codes_are_left_alone(self):
        X, W = noisy(5, share=0.0, noise=0.0)
        found, _, error = alternate_free(GapTable(X), [W], 2, 50, Stopper(None), StageLog())
        assert_allclose(found, W, atol=1e-15)
        assert error < 1e-12


class TestSumsOverBlocks:
    @pytest.mark.parametrize("rank", [4, 8])
    def test_the_error_falls_without_an_inverse(self, rank):
        rng = np.random.default_rng(rank)
        X = noisy(6, n_rows=400, share=0.0)[0] @ rng.standard_normal((8, rank)) @ rng.standard_normal((rank, 8))
        start = normalize_rows(rng.standard_normal((8, 8)))
        start[3] = start[2]  # singular
        seen, log = [], StageLog()
        W, error = alternate_complete(ArrayRows(X, block_size=64), start, 2, 20, watched(seen), log)
        errors = [iterate.value for iterate in seen]
        assert (np.diff(errors) < 0).all()
        assert log.stages[-1].name == T0_LEAST_SQUARES
        assert error == errors[-1] < 0.9 * log.stages[-1].objective_before
        assert_allclose(np.linalg.norm(W, axis=1), 1, atol=1e-12)

    def test_blocks_do_not_matter(self):
        X = noisy(7, n_rows=300, share=0.0)[0]
        one, many = (
            alternate_complete(ArrayRows(X, block_size=size), np.eye(8), 2, 5, Stopper(None), StageLog())
            for size in (300, 17)
        )
        assert_allclose(one[0], many[0], atol=1e-9)


def test_encoder_is_the_pseudo_inverse(rng):
    W = rng.standard_normal((6, 3)) @ rng.standard_normal((3, 6))
    assert_allclose(W @ free_encoder(W) @ W, W, atol=1e-10)
    assert_array_equal(free_encoder(np.eye(3)), np.eye(3))
