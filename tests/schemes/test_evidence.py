"""Rows as evidence: not zero, each once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from hrpursuit.rows import ArrayRows, open_rows
from hrpursuit.schemes.evidence import distinct_live, is_live, sample_evidence

small_rows = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=20),
    elements=st.sampled_from([-1.0, 0.0, 1.0, 2.0, 1e-200, 1e200]),
)


def brute_force(X):
    """Indices of first occurrences, by a set of rows and their negatives."""
    seen, kept = set(), []
    for k, row in enumerate(X):
        if not row.any():
            continue
        both = tuple(row + 0.0), tuple(-row + 0.0)
        if seen.isdisjoint(both):
            kept.append(k)
        seen.update(both)
    return kept


class Counted(ArrayRows):
    """Counts the draws, and the passes over all rows that a condition needs."""

    def __init__(self, X):
        super().__init__(X)
        self.sizes, self.n_passes = [], 0

    def sample(self, n, seed, where=None):
        self.sizes.append(n)
        self.n_passes += 1 if where is None else 2
        return super().sample(n, seed, where)


class TestDistinctLive:
    @given(X=small_rows)
    def test_it_is_the_set_of_rows_up_to_sign(self, X):
        assert_array_equal(distinct_live(X), brute_force(X))

    @given(seed=st.integers(0, 2**31))
    def test_copies_and_negatives_of_dense_rows(self, seed):
        rng = np.random.default_rng(seed)
        base = rng.standard_normal((12, 5)) * 10.0 ** rng.integers(-15, 15, (12, 1))
        X = base[rng.integers(12, size=40)] * rng.choice([-1, 0, 1], (40, 1))
        assert_array_equal(distinct_live(X), brute_force(X))

    def test_rows_that_differ_in_the_last_bit_are_two(self, rng):
        row = rng.standard_normal(6)
        near = row.copy()
        near[3] = np.nextafter(near[3], np.inf)
        assert_array_equal(distinct_live(np.stack([row, near])), [0, 1])

    def test_a_multiple_is_another_row(self, rng):
        row = rng.standard_normal(6)
        assert_array_equal(distinct_live(np.stack([row, 2 * row, -row, -2 * row])), [0, 1])

    def test_nothing_but_zeros(self):
        assert distinct_live(np.zeros((5, 3))).size == 0
        assert_array_equal(is_live(np.array([[0.0, 0.0], [0.0, -0.0], [0.0, 1e-300]])), [False, False, True])

    def test_copies_that_are_far_apart(self, rng):
        X = rng.standard_normal((5000, 8))
        X[4000:] = -X[:1000]
        assert_array_equal(distinct_live(X), np.arange(4000))


class TestSampleEvidence:
    @pytest.fixture
    def X(self, rng):
        return rng.standard_normal((20_000, 6))

    def test_clean_rows_are_drawn_once(self, X):
        rows = Counted(X)
        assert_array_equal(sample_evidence(rows, 300), ArrayRows(X).sample(300, 0))
        assert rows.sizes == [300]

    def test_rows_that_were_drawn_before_are_taken(self, X):
        rows = Counted(X)
        assert_array_equal(sample_evidence(rows, 300, X[:300]), X[:300])
        assert rows.sizes == []

    @pytest.mark.parametrize("kind", ["zero", "copies"])
    def test_half_the_rows_say_nothing(self, kind, X, rng):
        X[rng.permutation(20_000)[:10_000]] = 0 if kind == "zero" else X[0]
        rows = Counted(X)
        found = sample_evidence(rows, 300)
        assert 250 <= len(found) <= 350
        assert len(distinct_live(found)) == len(found)
        assert rows.n_passes == 2
        assert rows.sizes[1] <= 4 * 300

    def test_few_live_rows_are_all_found(self, X, rng):
        X[rng.permutation(20_000)[:19_950]] = 0
        rows = Counted(X)
        found = sample_evidence(rows, 300)
        assert_array_equal(found, X[X.any(axis=1)])
        assert rows.n_passes == 3

    def test_few_live_rows_in_a_larger_sample(self, X, rng):
        X[rng.permutation(20_000)[:16_500]] = 0
        rows = Counted(X)
        found = sample_evidence(rows, 300)
        assert len(found) == 300
        assert found.any(axis=1).all()
        assert rows.n_passes == 3

    @pytest.mark.parametrize("n_copies", [2, 10, 10_000])
    def test_every_row_many_times(self, n_copies, rng):
        """However often rows come, the number of draws does not grow."""
        base = rng.standard_normal((20_000 // n_copies, 6))
        rows = Counted(np.tile(base, (n_copies, 1)))
        found = sample_evidence(rows, 300)
        assert len(rows.sizes) <= 2
        assert len(distinct_live(found)) == len(found)
        assert len(found) >= min(len(base), 250)

    def test_all_rows_are_looked_at_once(self, rng):
        X = rng.standard_normal((200, 4))
        X[::2] = 0
        rows = Counted(X)
        assert_array_equal(sample_evidence(rows, 300), X[1::2])
        assert rows.sizes == [300]

    def test_zeros_alone(self):
        assert len(sample_evidence(ArrayRows(np.zeros((1000, 3))), 200)) == 0

    def test_rows_in_a_file_are_the_same_evidence(self, X, rng, tmp_path):
        X[rng.permutation(20_000)[:12_000]] = X[7]
        np.save(tmp_path / "x.npy", X)
        assert_array_equal(sample_evidence(open_rows(tmp_path / "x.npy"), 300), sample_evidence(ArrayRows(X), 300))
