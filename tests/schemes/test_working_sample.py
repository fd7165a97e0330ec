"""The working sample: its rows, and the way to its coordinates and back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.manifolds import normalize_rows, random_orthogonal
from hrpursuit.core.settle import mode
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.working_sample import WorkingSample

N = 8
SPREAD = 10.0 ** np.linspace(-6, 6, N)


def make(kind, n_samples=1000, seed=0):
    """Rows and true atoms (of the span first), with the settings of a working sample for them."""
    dictionary = "orthogonal" if kind.startswith(("orthogonal", "deficient")) else "complete"
    X, codes, A = make_sparse_coded(n_samples, N, sparsity=0.25, dictionary=dictionary, random_state=seed)
    if kind.startswith("deficient"):
        X = codes[:, : N - 2] @ A[: N - 2]
    if "units" in kind:
        X, A = X * SPREAD, normalize_rows(A * SPREAD)
    if "offset" in kind:
        X = X + np.random.default_rng(seed).uniform(1, 3, N) * (SPREAD if "units" in kind else 1)
    return X, A, {"complete": dictionary == "complete", "offset": "offset" in kind}


KINDS = [
    "orthogonal", "deficient", "complete", "complete, units",
    "orthogonal, offset", "deficient, offset", "complete, offset", "complete, units, offset",
]  # fmt: skip


def drawn(kind, n_samples=1000, seed=0, rows_per_feature=10):
    X, A, settings = make(kind, n_samples, seed)
    sample = WorkingSample(ArrayRows(X), seed, **settings)
    assert sample.draw(rows_per_feature)
    return X, A, sample


@pytest.mark.parametrize("kind", KINDS)
class TestRows:
    def test_they_have_unit_mean_square_and_are_live(self, kind):
        _, _, sample = drawn(kind)
        assert sample.X.shape[1] == sample.rank == (N - 2 if "deficient" in kind else N)
        assert_allclose(np.mean(sample.X**2, axis=1), 1, rtol=1e-12)
        assert 150 <= len(sample.X) <= 200
        for levels in sample.levels:
            assert len(levels) == len(sample.X)
            assert (levels > 0).all()
            assert (levels < 0.1).all()

    def test_the_true_codes_are_zero_below_the_levels(self, kind):
        _, A, sample = drawn(kind)
        B = sample.encoding_of(A if "deficient" not in kind else A[: N - 2])
        S = sample._plain @ B.T / np.linalg.norm(B, axis=1)
        is_zero = np.abs(S) < sample.levels[0][:, None]
        assert 0.5 < is_zero.mean() < 0.85  # of differences of rows about .56
        assert (np.abs(S) < 100 * sample.levels[0][:, None])[~is_zero].mean() < 0.01

    def test_it_grows_when_asked_and_only_then(self, kind):
        _, _, sample = drawn(kind)
        n_rows = len(sample.X)
        assert not sample.draw(10)
        assert len(sample.X) == n_rows
        assert sample.draw(30)
        assert n_rows < len(sample.X) <= 1.1 * 30 * N
        assert_allclose(np.mean(sample.X**2, axis=1), 1, rtol=1e-12)

    def test_the_seed_orders_rows_but_does_not_choose_them(self, kind):
        if "offset" in kind:
            return  # rows are differences of neighbours in that order
        X, _, settings = make(kind)
        one, two = WorkingSample(ArrayRows(X), 1, **settings), WorkingSample(ArrayRows(X), 2, **settings)
        for sample in (one, two):
            sample.draw(30)
        assert_array_equal(one.raw, two.raw)
        assert np.abs(one.X - two.X).max() > 0.1


@pytest.mark.parametrize("kind", KINDS)
class TestCoordinates:
    def test_a_start_comes_back(self, kind, rng):
        """A dictionary of the search as atoms in the coordinates of the data, and these as a start again."""
        _, _, sample = drawn(kind)
        W = random_orthogonal(sample.rank, rng)
        components, encoder = sample.dictionary(sample.encoding(W))
        assert_allclose(np.linalg.norm(components, axis=1), 1)
        assert_allclose(components @ encoder, np.eye(N), atol=1e-6)
        assert dictionary_error(sample.start(components), W) < (1e-9 if not sample.complete else 0.2)

    def test_encoding_of_is_the_inverse_of_dictionary(self, kind):
        _, A, sample = drawn(kind)
        components = sample.dictionary(sample.encoding_of(A)[: sample.rank])[0]
        live = slice(sample.rank)
        assert_allclose(np.abs(components[live]), np.abs(A[live]), atol=1e-9)
        if sample.span is not None:
            assert_allclose(components @ components.T, np.eye(N), atol=1e-12)
            assert_allclose(sample.missing.T @ A[live].T, 0, atol=1e-12)

    def test_settling_near_the_truth_gives_the_truth_and_its_certificate(self, kind):
        _, A, sample = drawn(kind)
        W = sample.start(A)
        B, certificate = sample.settle(W)
        assert certificate
        components, encoder = sample.dictionary(B)
        live = slice(sample.rank)
        units = SPREAD if "units" in kind else 1
        assert dictionary_error(components[live] / units, A[live] / units) < 1e-11
        assert_allclose(components @ encoder, np.eye(N), atol=1e-8)
        again = sample.check(B)
        assert again
        assert (again.n_rows, again.fewest_zeros) == (certificate.n_rows, certificate.fewest_zeros)

    def test_all_rows_have_the_codes_of_the_data(self, kind):
        X, A, sample = drawn(kind)
        B, _ = sample.settle(sample.start(A))
        intercept = sample.offset_row(B) if sample.offset else None
        encoder = sample.dictionary(B)[1]
        mapped = np.concatenate(list(sample.all_rows(intercept).blocks())) @ B.T
        direct = ((X if intercept is None else X - intercept) @ encoder)[:, : sample.rank]
        ratio = np.sqrt(np.mean(direct**2, axis=0) / np.mean(mapped**2, axis=0))  # a complete B has no scale
        size = np.abs(direct).max()
        signs = np.sign(np.sum(mapped * direct, axis=0))
        assert_allclose(mapped * ratio * signs, direct, atol=1e-8 * size)

    def test_l1_of_data(self, kind):
        X, A, sample = drawn(kind)
        B, _ = sample.settle(sample.start(A))
        encoder = sample.dictionary(B)[1]
        rows = sample.raw
        assert_allclose(sample.l1_of_data(encoder), np.abs(rows @ encoder).sum(axis=1).mean())
        offset = X.mean(axis=0)
        assert_allclose(sample.l1_of_data(encoder, offset), np.abs((rows - offset) @ encoder).sum(axis=1).mean())


class TestSettle:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_certificate_is_of_what_is_returned(self, kind, rng):
        """From anywhere: whatever is certified passes an independent check, and what is not has no certificate."""
        _, A, sample = drawn(kind)
        starts = [random_orthogonal(sample.rank, rng) for _ in range(5)]
        starts += [sample.start(normalize_rows(A + size * A[rng.permutation(N)])) for size in (0.02, 0.1, 0.3)]
        for W in starts:
            B, certificate = sample.settle(W)
            assert np.isfinite(B).all()
            assert bool(certificate) <= bool(sample.check(B))

    def test_of_more_rows_than_it_polishes_on(self):
        """From 64 features on the polish sees a part of the rows; the certificate is of all of them."""
        X, _, W = make_sparse_coded(1400, 70, sparsity=0.1, random_state=0)
        sample = WorkingSample(ArrayRows(X), 0)
        sample.draw(20)
        B, certificate = sample.settle(W)
        assert certificate.n_rows > 1300 > max(5 * 70, 600)
        assert_allclose(B @ B.T, np.eye(70), atol=1e-12)

    def test_adopted_components_become_the_identity(self):
        _, A, sample = drawn("complete")
        B = sample.encoding_of(A) + 0.0
        B[3:] += 0.05 * np.random.default_rng(0).standard_normal(B[3:].shape)
        before = sample.X
        assert sample.adopt(B)
        assert_allclose(np.mean(sample.X**2, axis=1), 1, rtol=1e-12)
        assert np.abs(sample.X - before).max() > 1e-3
        assert_allclose(normalize_rows(sample.encoding(np.eye(N))), normalize_rows(B), atol=1e-12)
        found, certificate = sample.settle(np.eye(N))
        assert certificate
        assert dictionary_error(sample.dictionary(found)[0], A) < 1e-11

    def test_nothing_to_adopt(self, rng):
        _, A, sample = drawn("complete")
        assert not sample.adopt(sample.encoding(random_orthogonal(N, rng)))  # no atom is exact
        _, A, sample = drawn("orthogonal")
        assert not sample.adopt(A)

    def test_exact_atoms_are_told_apart(self, rng):
        for kind in ("orthogonal", "deficient", "complete", "complete, units"):
            _, A, sample = drawn(kind)
            W = sample.start(A)
            assert sample.has_exact_atom(W[2])
            dense = WorkingSample(ArrayRows(rng.standard_normal((1000, N))), 0, complete=sample.complete)
            dense.draw(10)
            assert not dense.has_exact_atom(np.eye(N)[2])

    def test_enough_rows_for_a_certificate(self):
        for n_samples, enough in ((20, False), (24, False), (40, True)):
            X = np.random.default_rng(0).standard_normal((n_samples, N))
            sample = WorkingSample(ArrayRows(X), 0)
            sample.draw(10)
            assert sample.can_be_certified is enough

    def test_zeros_alone_cannot_be_drawn(self):
        assert not WorkingSample(ArrayRows(np.zeros((300, 4))), 0).draw(10)
        assert not WorkingSample(ArrayRows(np.ones((300, 4))), 0, offset=True).draw(10)


class TestOffset:
    @settings(max_examples=15)
    @given(seed=st.integers(0, 10**6), positive=st.booleans(), complete=st.booleans())
    def test_it_is_exact(self, seed, positive, complete):
        dictionary = "complete" if complete else "orthogonal"
        _, codes, A = make_sparse_coded(400, N, sparsity=0.25, dictionary=dictionary, random_state=seed)
        offset = np.random.default_rng(seed).uniform(-5, 5, N)
        X = (np.abs(codes) if positive else codes) @ A + offset
        sample = WorkingSample(ArrayRows(X), seed, complete=complete, offset=True)
        sample.draw(30)
        B, certificate = sample.settle(sample.start(A))
        assert certificate
        assert_allclose(sample.offset_row(B), offset, atol=2e-13)
        assert sample.check(B, offset)

    @given(values=st.lists(st.floats(-10, 10), min_size=5, max_size=40), at=st.floats(-5, 5), n=st.integers(42, 60))
    def test_the_mode_is_where_values_pile_up(self, values, at, n):
        noise = 1e-9 * np.random.default_rng(n).uniform(-1, 1, n)
        found = mode(np.array([*values, *(at + noise)]), 1e-8)
        assert abs(found - at) < 5e-8
