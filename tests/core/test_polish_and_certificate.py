import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hrpursuit import Certificate
from hrpursuit.core.certificate import certify, certify_codes, has_exact_atom, moves_along, same_atoms, used_seldom
from hrpursuit.core.few_values import has_few_values
from hrpursuit.core.manifolds import polar, random_orthogonal
from hrpursuit.core.polish import polish_free, polish_orthogonal
from hrpursuit.core.rounding import ZeroLevel, zero_levels
from hrpursuit.core.settle import settle_complete, settle_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import HRP
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows


def turn(W, i, j, angle):
    turned = W.copy()
    turned[i] = np.cos(angle) * W[i] + np.sin(angle) * W[j]
    turned[j] = np.cos(angle) * W[j] - np.sin(angle) * W[i]
    return turned


@given(seed=st.integers(0, 2**31), sparsity=st.sampled_from([0.1, 0.3, 0.5]))
def test_polish_ends_at_rounding(seed, sparsity):
    X, _, W = make_sparse_coded(300, 15, sparsity=sparsity, random_state=seed)
    rough = polar(W + 0.02 * np.random.default_rng(seed).standard_normal(W.shape))
    assert dictionary_error(rough, W) > 0.03
    polished = polish_orthogonal(X, rough, zero_levels(X)[-1].floor)
    assert dictionary_error(polished, W) < 1e-13
    assert_allclose(polished @ polished.T, np.eye(15), atol=1e-13)


@given(seed=st.integers(0, 2**31), condition=st.sampled_from([1.5, 10, 100]))
def test_free_polish_ends_at_rounding_without_orthogonality(seed, condition):
    X, _, A = make_sparse_coded(400, 12, sparsity=0.25, dictionary="complete", condition=condition, random_state=seed)
    B = np.linalg.inv(A).T  # codes X B^T
    mixing = np.eye(12) + 0.01 * np.random.default_rng(seed).standard_normal((12, 12))
    polished = polish_free(X, mixing @ B, zero_levels(X)[-1].floor)
    assert dictionary_error(np.linalg.inv(polished).T, A) < 1e-11 * condition


def test_polish_leaves_dense_data_orthogonal(rng):
    X, W = rng.standard_normal((200, 10)), random_orthogonal(10, rng)
    polished = polish_orthogonal(X, W, zero_levels(X)[-1].floor)
    assert_allclose(polished @ polished.T, np.eye(10), atol=1e-12)


class TestCertificate:
    """Each of the three conditions fails on an example that the others pass or do not reach."""

    X, codes, W = make_sparse_coded(300, 12, sparsity=0.3, random_state=11)
    level = zero_levels(X)[-1]

    def check(self, W, X=None, **kwargs):
        return certify(ArrayRows(self.X if X is None else X), W, self.level, **kwargs)

    def test_the_truth_is_certified(self):
        found = self.check(self.W)
        assert found
        assert found.fewest_zeros == (self.codes[self.codes.any(axis=1)] == 0).sum(axis=0).min()
        assert found.n_rows == np.sum(self.codes.any(axis=1) & (self.codes == 0).any(axis=1))
        assert "certified sparse" in str(found)

    def test_any_other_dictionary_lacks_zeros(self, rng):
        found = self.check(random_orthogonal(12, rng))
        assert not found
        assert found.fewest_zeros == 0
        assert "12 needed" in str(found)

    @pytest.mark.parametrize("angle", [0.1, 0.4, np.pi / 4])
    def test_two_mixed_atoms_are_named(self, angle):
        found = self.check(turn(self.W, 2, 7, angle))
        assert found.has_zeros  # their common zeros are enough for the first condition
        assert not found
        assert [2, 7] in found.failing_pairs.tolist()
        assert [2, 7] in found.entangled.tolist()

    def test_stationarity_sees_a_slope_where_zeros_are_independent(self):
        """Columns with independent zeros but the same signs, one small and one large: turning lowers the l1 norm."""
        rng = np.random.default_rng(0)
        S = rng.choice([-1.0, 1.0], (400, 1)) * [0.1, 3.0] * (rng.random((400, 2)) < 0.8)
        found = certify(ArrayRows(S), np.eye(2), ZeroLevel(1e-9, 0.0))
        assert found.has_zeros
        assert found.entangled.size == 0
        assert found.unstationary.tolist() == [[0, 1]]

    def test_zero_rows_prove_nothing(self):
        padded = np.vstack([self.X, np.zeros((1000, 12))])
        assert self.check(self.W, padded).n_rows == self.check(self.W).n_rows
        rng = np.random.default_rng(0)
        assert not self.check(random_orthogonal(12, rng), padded)

    @pytest.mark.parametrize("block_size", [1, 17, 1000])
    def test_blocks_do_not_matter(self, block_size):
        mixed = turn(self.W, 2, 7, 0.4)
        whole, blocked = self.check(mixed), certify(ArrayRows(self.X, block_size), mixed, self.level)
        assert whole.fewest_zeros == blocked.fewest_zeros
        assert whole.failing_pairs.tolist() == blocked.failing_pairs.tolist()

    def test_density_around_zero_is_no_zero(self, rng):
        """With a coarse zero level a dense column has many 'zeros', but as many just beside them."""
        X = rng.standard_normal((100_000, 3))
        assert (np.abs(X) < 0.01).sum(axis=0).min() > 3
        found = certify(ArrayRows(X), np.eye(3), ZeroLevel(0.01, 0.0))
        assert found.fewest_zeros < 200 < (np.abs(X) < 0.01).sum(axis=0).min()

    def test_chance_does_not_entangle_many_independent_atoms(self):
        X, _, W = make_sparse_coded(3000, 300, sparsity=0.1, random_state=5)
        assert certify(ArrayRows(X), W, zero_levels(X)[-1])

    @pytest.mark.parametrize("angle", [0.1, 0.5])
    def test_settling_repairs_mixed_pairs(self, angle):
        mixed = turn(turn(self.W, 2, 7, angle), 0, 5, -angle)
        settled, certificate = settle_orthogonal(self.X, mixed, self.level.of_rows(self.X))
        assert certificate
        assert dictionary_error(settled, self.W) < 1e-13

    def test_complete_dictionaries(self):
        X, _, A = make_sparse_coded(300, 12, sparsity=0.3, dictionary="complete", condition=5, random_state=2)
        B = np.linalg.inv(A).T
        level = zero_levels(X)[-1]
        assert certify(ArrayRows(X), B, level, orthogonal=False)
        mixed = B.copy()
        mixed[3] += 0.3 * B[4]
        assert not certify(ArrayRows(X), mixed, level, orthogonal=False)
        settled, certificate = settle_complete(X, mixed, level.of_rows(X))
        assert certificate
        assert dictionary_error(np.linalg.inv(settled).T, A) < 1e-12


def test_exact_atom_is_told_from_a_dense_direction(sparse_data, rng):
    X, _, W = sparse_data
    near = W[3] + 0.03 * rng.standard_normal(12)
    dense = rng.standard_normal((300, 12))
    assert has_exact_atom(X, near / np.linalg.norm(near), zero_levels(X)[-1].of_rows(X))
    assert not has_exact_atom(dense, W[3], zero_levels(dense)[-1].of_rows(dense))


def test_same_atoms_is_one_to_one(rng):
    W = random_orthogonal(6, rng)
    assert same_atoms(W, -W[::-1])
    doubled = W.copy()
    doubled[0] = W[1]
    assert not same_atoms(doubled, W)


def moves(S):
    levels, norms = np.full(len(S), 1e-9), np.ones(S.shape[1])
    return moves_along(S, levels, norms, used_seldom(S, levels, norms))


class TestAtomsUsedSeldom:
    """Of a complete dictionary: a code column could be moved along that of an atom used in a few rows, and stay."""

    @staticmethod
    def codes(rng):
        S = rng.standard_normal((200, 8)) * (rng.random((200, 8)) < 0.3)
        S[:, 7] = 0
        S[:6, 7] = rng.standard_normal(6)
        S[:6, :7] = 0
        S[:2, 0] = 1, -2  # two of the six rows that use atom 7 use atom 0 as well
        return S

    def test_the_truth_has_no_move(self, rng):
        assert moves(self.codes(rng)) == []

    def test_what_is_mixed_in_is_found(self, rng):
        S = self.codes(rng)
        S[:, 3] += 0.7 * S[:, 7]
        (move,) = moves(S)
        assert (move.column, move.along, move.n_more) == (3, 7, 6)
        assert move.factor == pytest.approx(-0.7, abs=1e-9)

    def test_a_tie_is_not_certified(self, rng):
        S = self.codes(rng)
        S[:6, 7] = 1.0
        S[:3, 0], S[3:6, 0] = 0.0, 0.5  # moved along atom 7 by -.5, column 0 has as many zeros
        certificate = certify_codes(S, np.full(200, 1e-9), np.ones(8), orthogonal=False)
        assert not certificate
        assert [0, 7] in certificate.ambiguous.tolist()
        assert "told apart by too few rows" in str(certificate)
        assert [1, 0] in certificate.reordered(np.array([7, 0, 1, 2, 3, 4, 5, 6])).ambiguous.tolist()

    @pytest.mark.parametrize(("n_samples", "sparsity"), [(200, 0.05), (100, 0.1)])
    def test_few_samples(self, n_samples, sparsity):
        """Of 40 such dictionaries one or none was exact, and a few that were wrong passed a check of the l1 norm."""
        n_exact = 0
        for seed in range(40):
            kind = {"sparsity": sparsity, "dictionary": "complete", "condition": 10, "random_state": 61_000 + seed}
            X, _, A = make_sparse_coded(n_samples, 20, **kind)
            model = HRP(dictionary="complete", random_state=0).fit(X)
            error = dictionary_error(model.components_, A)
            n_exact += error < 1e-9
            assert error < 1e-9 or not model.certificate_
        assert n_exact >= 24

    def test_columns_do_not_move_along_each_other(self):
        """Both of a pair at once became one atom, and the search was lost, in most fits. About one search in 300 is
        still lost, which one depends on the last bits of products.
        """
        n_exact = 0
        for seed in range(8):
            kind = {"sparsity": 0.01, "dictionary": "complete", "condition": 10, "random_state": seed}
            X, _, A = make_sparse_coded(6000, 60, **kind)
            model = HRP(dictionary="complete", random_state=0).fit(X)
            is_exact = dictionary_error(model.components_, A) < 1e-7
            assert is_exact or not model.certificate_
            n_exact += is_exact
        assert n_exact >= 7

    @pytest.mark.parametrize("seed", range(6))
    def test_all_rows_are_checked_alike(self, seed):
        """`certify` of all samples once passed over the fourth condition."""
        rng = np.random.default_rng(seed)
        _, codes, A = make_sparse_coded(3000, 6, sparsity=0.3, dictionary="complete", random_state=seed)
        codes[:, 0] = 0
        codes[rng.permutation(3000)[:5], 0] = rng.standard_normal(5)
        X = codes @ A
        model = HRP(dictionary="complete", random_state=0).fit(X)
        assert dictionary_error(model.components_, A) < 1e-7 or not model.certify(X)
        wrong = np.linalg.inv(A).T.copy()
        used = np.flatnonzero(codes[:, 0])
        row = used[np.argmax(np.abs(codes[used][:, 1:]).min(axis=1))]
        wrong[1] -= codes[row, 1] / codes[row, 0] * wrong[0]  # a zero more in one row, fewer in others
        zero = zero_levels(X)[-1]
        S = X @ wrong.T
        in_memory = certify_codes(S, zero.of_rows(X), np.linalg.norm(wrong, axis=1), orthogonal=False)
        in_blocks = certify(ArrayRows(X, block_size=256), wrong, zero, orthogonal=False)
        assert sorted(in_blocks.ambiguous.tolist()) == sorted(in_memory.ambiguous.tolist())


def test_certificates_can_be_compared_and_hashed():
    pairs = np.array([[0, 1]])
    first, same = (Certificate(100, 5, 1e-9, 30, 12, entangled=pairs.copy()) for _ in range(2))
    other = Certificate(100, 5, 1e-9, 30, 12, unstationary=pairs)
    assert first == same
    assert first != other
    assert first != "a certificate"
    assert len({first, same, other}) == 2
    assert str(first) == "not certified on 100 rows: 1 pair of atoms with too many common zeros"


def test_two_samples_per_feature_are_never_certified():
    """Of such fits every sixth that passed the other conditions was wrong."""
    n_exact = 0
    for seed in range(12):
        X, _, W = make_sparse_coded(40, 20, sparsity=0.2, random_state=seed)
        found = HRP(random_state=0).fit(X)
        n_exact += dictionary_error(found.components_, W) < 1e-6
        assert not found.certificate_
        assert found.verdict_.kind == "undetermined"
    assert n_exact > 0
    X, _, W = make_sparse_coded(80, 20, sparsity=0.2, random_state=0)
    assert HRP(random_state=0).fit(X).certificate_


@pytest.mark.parametrize("values", [[0, 1], [-1, 0, 0, 1]])
def test_turn_that_gives_codes_of_few_values_more_zeros(values, rng):
    """Two atoms mixed by half a right angle have zeros wherever their codes were equal, and a lowest l1 norm."""
    codes = rng.choice(values, (100, 8)).astype(float)
    W = random_orthogonal(8, rng)
    mixed = W.copy()
    mixed[:2] = np.array([[1, 1], [1, -1]]) / np.sqrt(2) @ W[:2]
    X, levels = codes @ W, np.full(100, 1e-9)
    assert [0, 1] not in certify_codes(X @ W.T, levels, np.ones(8), orthogonal=True).unstationary.tolist()
    certificate = certify_codes(X @ mixed.T, levels, np.ones(8), orthogonal=True)
    assert [0, 1] in certificate.unstationary.tolist()
    assert "few values" in str(certificate)
    assert "few values" in str(certify(ArrayRows(X), mixed, zero_levels(X)[0]))
    assert has_few_values(codes, levels, np.ones(8))
    assert not has_few_values(codes * rng.standard_normal(codes.shape), levels, np.ones(8))
