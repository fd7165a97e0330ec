"""What rows span, units of features, whitening; and the number of draws that this takes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP
from hrpursuit.core.manifolds import normalize_rows, random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.span import IsAlong, missing_directions, spanning, units_of, whitening_of
from hrpursuit.schemes.working_sample import WorkingSample

seeds = st.integers(0, 2**31)


class Counted(ArrayRows):
    def __init__(self, X):
        super().__init__(X)
        self.n_draws = 0

    def sample(self, n, seed, where=None):
        self.n_draws += 1
        return super().sample(n, seed, where)


class TestMissingDirections:
    @given(seed=seeds, rank=st.integers(1, 8), n_rows=st.integers(1, 30))
    def test_they_complete_the_row_space(self, seed, rank, n_rows):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n_rows, rank)) @ random_orthogonal(8, rng)[:rank]
        missing = missing_directions(X)
        assert missing.shape == (8, 8 - min(rank, n_rows))
        assert_allclose(missing.T @ missing, np.eye(missing.shape[1]), atol=1e-12)
        assert_allclose(X @ missing, 0, atol=1e-12 * np.abs(X).max())

    @pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e150])
    def test_the_unit_does_not_matter(self, scale, rng):
        X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 6))
        assert missing_directions(scale * X).shape == (6, 3)
        assert missing_directions(scale * rng.standard_normal((40, 6))).shape == (6, 0)

    @pytest.mark.parametrize("size", [1e-5, 1e-8, 1e-10])
    def test_a_small_direction_is_not_missing(self, size, rng):
        X = rng.standard_normal((200, 6))
        X[:, 2] *= size
        assert missing_directions(X).shape == (6, 0)

    def test_a_dead_feature_is_missing(self, rng):
        X = rng.standard_normal((200, 6))
        X[:, 2] = 0
        assert_allclose(np.abs(missing_directions(X)[:, 0]), np.eye(6)[2], atol=1e-13)


class TestSpanning:
    def test_rows_along_a_seldom_used_direction_are_found(self, rng):
        W = random_orthogonal(6, rng)
        codes = rng.standard_normal((5000, 6))
        codes[:, 3] *= np.arange(5000) >= 4990
        rows = Counted(codes @ W)
        X, missing = spanning(rows, rows.X[:100], 1e-9, fixed=False)
        assert missing.shape[1] == 0
        assert (np.abs(X @ W[3]) > 1e-9).sum() == 10
        assert_array_equal(X[-100:], rows.X[:100])

    def test_a_dead_direction_costs_one_look(self, rng):
        W = random_orthogonal(6, rng)
        rows = Counted(rng.standard_normal((5000, 5)) @ W[:5])
        X, missing = spanning(rows, rows.X[:100], 1e-9, fixed=False)
        assert rows.n_draws == 1
        assert len(X) == 100
        assert_allclose(np.abs(missing[:, 0] @ W[5]), 1, atol=1e-12)

    def test_fixed_rows_stay(self, rng):
        X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 5))
        rows = Counted(rng.standard_normal((500, 5)))
        found, missing = spanning(rows, X, 1e-9, fixed=True)
        assert rows.n_draws == 0
        assert missing.shape == (5, 2)
        assert found is X

    def test_which_rows_are_along(self):
        X = np.array([[1.0, 0.0], [1.0, 1e-3], [0.0, -2.0]])
        assert_array_equal(IsAlong(np.array([[0.0], [1.0]]), 1e-2)(X), [False, False, True])


class TestUnits:
    @given(X=hnp.arrays(np.float64, (20, 3), elements=st.floats(-1, 1)), power=st.integers(-900, 900))
    def test_powers_of_two_within_a_factor_of_the_rms(self, X, power):
        X = np.where(np.abs(X) < 1e-6, 0, X)
        units = units_of(np.ldexp(X, power))
        assert_array_equal(np.frexp(units)[0], 0.5)
        rms = np.sqrt(np.mean(X**2, axis=0))
        ratio = np.ldexp(units, -power)[rms > 0] / rms[rms > 0]
        assert (ratio <= np.sqrt(2) * (1 + 1e-9)).all()
        assert (ratio >= np.sqrt(0.5) * (1 - 1e-9)).all()
        assert_array_equal(units[rms == 0], 1)

    @given(seed=seeds, powers=st.lists(st.integers(-500, 500), min_size=3, max_size=3))
    def test_they_follow_the_features(self, seed, powers):
        X = np.random.default_rng(seed).standard_normal((50, 3))
        assert_array_equal(units_of(np.ldexp(X, powers)), np.ldexp(units_of(X), powers))

    def test_float32(self, rng):
        X = (1e30 * rng.standard_normal((50, 3))).astype(np.float32)
        assert_array_equal(units_of(X), units_of(X.astype(np.float64)))


def second_moment(X, P):
    Y = np.sqrt(X.shape[1]) * normalize_rows(X @ P)
    return Y.T @ Y / len(Y)


class TestWhitening:
    X, _, A = make_sparse_coded(1000, 8, sparsity=0.3, dictionary="complete", condition=20, random_state=0)
    X = X[X.any(axis=1)]

    def test_directions_of_whitened_rows_have_no_preference(self):
        assert np.linalg.cond(second_moment(self.X, np.eye(8))) > 5
        assert np.linalg.cond(second_moment(self.X, whitening_of(self.X))) < 1.5

    @given(seed=seeds)
    def test_an_invertible_map_changes_it_by_a_rotation(self, seed):
        M = np.random.default_rng(seed).standard_normal((8, 8)) + 2 * np.eye(8)
        if np.linalg.cond(M) > 1e3:
            return
        plain, mapped = self.X @ whitening_of(self.X), self.X @ M @ whitening_of(self.X @ M)
        plain, mapped = plain[:100], mapped[:100]
        assert_allclose(mapped @ mapped.T, plain @ plain.T, atol=1e-6 * np.square(plain).sum(axis=1).max())

    def test_units_of_features(self):
        units = 10.0 ** np.linspace(-1, 1, 8)
        plain, scaled = self.X @ whitening_of(self.X), (self.X * units) @ whitening_of(self.X * units)
        assert_allclose(scaled @ scaled.T, plain @ plain.T, atol=1e-6 * np.square(plain).sum(axis=1).max())

    @pytest.mark.parametrize("size", [10, 1e3, 1e5])
    def test_outliers_do_not_turn_it(self, size, rng):
        """5% large rows: the inner products of the others change by little."""
        bad = rng.permutation(len(self.X))[: len(self.X) // 20]
        spoiled = self.X.copy()
        spoiled[bad] = size * rng.standard_normal((len(bad), 8))
        good = np.delete(self.X, bad, axis=0)
        P, Q = whitening_of(self.X), whitening_of(spoiled)
        assert np.linalg.cond(second_moment(good, Q)) < 1.5 * np.linalg.cond(second_moment(good, P))
        with_mean_squares = np.linalg.inv(np.linalg.cholesky(spoiled.T @ spoiled)).T
        assert np.linalg.cond(second_moment(good, with_mean_squares)) > 5

    def test_dependent_features_do_not_fail(self, rng):
        X = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 5))
        assert np.isfinite(whitening_of(X)).all()


def test_rank_that_pivots_do_not_show():
    """The pivots of its Cholesky factor are all large, and its smallest singular value is 3e-18 of the largest."""
    R = np.triu(-np.ones((60, 60)), 1) + np.eye(60)
    assert missing_directions(R).shape == (60, 1)


def test_full_rank_by_the_condition():
    assert missing_directions(np.diag(np.r_[np.ones(9), 1e-3])).shape == (10, 0)
    assert missing_directions(np.zeros((5, 3))).shape == (3, 3)


@pytest.fixture(scope="module")
def data():
    return make_sparse_coded(200_000, 20, sparsity=0.2, random_state=0)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    X = make_sparse_coded(200, 5, sparsity=0.3, random_state=0)[0]
    for dictionary in ("orthogonal", "complete"):
        HRP(dictionary=dictionary, random_state=0).fit(X)


class TestOneTinyFeature:
    """The working sample once drew the same rows again and again to span a feature that is there, but tiny."""

    @pytest.mark.parametrize("size", [1e-6, 1e-7, 1e-8])
    @pytest.mark.parametrize("complete", [False, True])
    def test_it_takes_few_draws(self, size, complete, data):
        X = data[0].copy()
        X[:, 7] *= size
        rows = Counted(X)
        sample = WorkingSample(rows, 0, complete=complete)
        assert sample.draw(10)
        assert rows.n_draws <= 4
        assert sample.rank == 20
        sample.draw(20)
        assert rows.n_draws <= 8
        assert len(sample.X) <= (600 if complete else 400)

    @pytest.mark.parametrize("size", [1e-6, 1e-8])
    def test_the_fit_is_certified(self, size, data):
        X, _, A = data
        units = np.ones(20)
        units[7] = size
        found = HRP(dictionary="complete", random_state=0).fit(X * units)
        assert found.certificate_
        assert dictionary_error(found.components_ / units, A) < 1e-9

    @pytest.mark.parametrize("size", [1e-5, 1e-7, 1e-8])
    def test_an_atom_of_its_own_in_the_default(self, size):
        """A tiny feature that is an atom by itself: the polish loses it, the complete dictionary has it."""
        codes = make_sparse_coded(200_000, 20, sparsity=0.2, random_state=1)[1]
        W = np.eye(20)
        W[:19, :19] = random_orthogonal(19, np.random.default_rng(0))
        codes[:, 19] *= size
        found = HRP(random_state=0).fit(codes @ W)
        assert_allclose(found.components_ @ found.components_.T, np.eye(20), atol=1e-12)
        assert found.certificate_
        assert dictionary_error(found.components_, W) < 1e-9
