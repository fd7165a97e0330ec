"""Recovery from rows that are not as the model makes them, and certificates of what is returned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit import HRP
from hrpursuit.core.manifolds import normalize_rows, random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error, match_atoms

DICTIONARIES = ["orthogonal", "complete"]


def make(dictionary, seed, n_samples=600, n_features=15, sparsity=0.2):
    return make_sparse_coded(n_samples, n_features, sparsity=sparsity, dictionary=dictionary, random_state=seed)


def fit(X, dictionary, seed, **settings):
    return HRP(dictionary=dictionary, random_state=seed, **settings).fit(X)


def outliers(X, share, rng, size=3):
    chosen = rng.permutation(len(X))[: round(share * len(X))]
    X[chosen] = size * np.sqrt(np.mean(X**2)) * rng.standard_normal((len(chosen), X.shape[1]))
    return X


def one_sample_for_half(X, rng):
    X[rng.permutation(len(X))[: len(X) // 2]] = X[np.flatnonzero(X.any(axis=1))[0]]
    return X


def half_zero(X, rng):
    X[rng.permutation(len(X))[: len(X) // 2]] = 0
    return X


ROWS = {
    "1% outliers": lambda X, rng: outliers(X, 0.01, rng),
    "5% outliers": lambda X, rng: outliers(X, 0.05, rng),
    "1% huge outliers": lambda X, rng: outliers(X, 0.01, rng, 1e4),
    "one sample for half": one_sample_for_half,
    "half zero": half_zero,
    "every row twice, and its negative": lambda X, rng: np.concatenate([X, X, -X]),
    "rows of any size": lambda X, rng: X * 10.0 ** rng.uniform(-3, 3, (len(X), 1)),
}


@pytest.mark.parametrize("dictionary", DICTIONARIES)
@pytest.mark.parametrize("kind", ROWS)
def test_rows_that_should_not_count(kind, dictionary):
    for seed in range(4):
        X, _, A = make(dictionary, seed)
        found = fit(ROWS[kind](X.copy(), np.random.default_rng(seed)), dictionary, seed)
        assert found.certificate_, seed
        assert dictionary_error(found.components_, A) < 1e-11, seed


@pytest.mark.parametrize("seed", range(3))
def test_units_of_the_features(seed):
    X, _, A = make("complete", seed)
    units = np.random.default_rng(seed).permutation(10.0 ** np.linspace(-6, 6, 15))
    found = fit(X * units, "complete", seed)
    assert found.certificate_
    assert found.certify(X * units)
    assert dictionary_error(found.components_ / units, A) < 1e-11
    plain = fit(X, "complete", seed)
    assert dictionary_error(normalize_rows(found.components_ / units), plain.components_) < 1e-11


def by_atom(rng, m, n):
    return rng.standard_normal((m, n)) * (rng.random((m, n)) < np.linspace(0.02, 0.6, n))


def markov(rng, m, n):
    """Supports that last for some rows: each atom is switched on and off by a chain."""
    on = np.zeros((m, n), bool)
    for k in range(1, m):
        on[k] = np.where(on[k - 1], rng.random(n) < 0.8, rng.random(n) < 0.05)
    return rng.standard_normal((m, n)) * on


def signs(rng, m, n):
    return rng.choice([-1.0, 1.0], (m, n)) * (rng.random((m, n)) < 0.2)


def exactly_three(rng, m, n):
    return rng.standard_normal((m, n)) * (np.argsort(rng.random((m, n)), axis=1) < 3)


def positive(rng, m, n):
    return rng.exponential(size=(m, n)) * (rng.random((m, n)) < 0.2)


def uniform(rng, m, n):
    return rng.uniform(-1, 1, (m, n)) * (rng.random((m, n)) < 0.2)


@pytest.mark.parametrize("dictionary", DICTIONARIES)
@pytest.mark.parametrize("codes", [by_atom, markov, signs, exactly_three, positive, uniform])
def test_codes_of_other_kinds(codes, dictionary):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A = make(dictionary, seed, 1)[2]
        n_samples = 1500 if codes in (by_atom, markov) else 600
        found = fit(codes(rng, n_samples, 15) @ A, dictionary, seed)
        assert dictionary_error(found.components_, A) < 1e-11, seed
        assert found.certificate_ or not found.certificate_.is_conclusive, seed  # an atom may be used in too few rows


class TestRoundedRows:
    """Rounded data once ended, in some 3% of fits, with a dictionary of NaN that was certified."""

    def check(self, X, seed, dictionary="orthogonal"):
        found = fit(X, dictionary, seed)
        assert np.isfinite(found.components_).all()
        assert np.isfinite(found.encoder_).all()
        assert_allclose(found.components_ @ found.encoder_, np.eye(X.shape[1]), atol=1e-8)
        if found.certificate_:
            assert found.certify(X)
        return found

    def test_the_example(self):
        X, _, W = make_sparse_coded(500, 50, sparsity=0.2, random_state=5)
        found = self.check(np.round(20 * X), 5)
        assert dictionary_error(found.components_, W) < 0.05

    @pytest.mark.parametrize("seed", range(30))
    def test_more_seeds(self, seed):
        X, _, W = make_sparse_coded(300, 20, sparsity=0.2, random_state=seed)
        found = self.check(np.round(20 * X), seed)
        assert dictionary_error(found.components_, W) < 0.05

    @pytest.mark.parametrize("seed", range(3))
    def test_as_large_as_the_example(self, seed):
        self.check(np.round(20 * make_sparse_coded(500, 50, sparsity=0.2, random_state=seed)[0]), seed)

    @pytest.mark.parametrize("seed", range(8))
    def test_complete(self, seed):
        X = make_sparse_coded(400, 12, sparsity=0.2, dictionary="complete", random_state=seed)[0]
        self.check(np.round(20 * X), seed, "complete")


class TestNamedPairs:
    """The pairs of a certificate are of the atoms in the order in which they are returned."""

    @staticmethod
    def entangled_codes(rng, n_samples=2000, n_features=10, pair=(2, 7)):
        """Two atoms that are used in the same rows most of the time, all others independent."""
        on = rng.random((n_samples, n_features)) < 0.3
        on[:, pair[1]] = np.where(rng.random(n_samples) < 0.7, on[:, pair[0]], on[:, pair[1]])
        return rng.standard_normal((n_samples, n_features)) * on * np.linspace(1, 4, n_features)

    @pytest.mark.parametrize("seed", range(5))
    def test_of_a_fit(self, seed):
        rng = np.random.default_rng(seed)
        W = random_orthogonal(10, rng)
        found = fit(self.entangled_codes(rng) @ W, "orthogonal", seed)
        assert not found.certificate_
        order, _ = match_atoms(found.components_, W)
        expected = sorted(int(i) for i in order[[2, 7]])
        assert dictionary_error(found.components_, W) < 1e-11
        assert np.sort(found.certificate_.failing_pairs, axis=1).tolist() == [expected]

    @pytest.mark.parametrize("dictionary", DICTIONARIES)
    def test_by_the_codes(self, dictionary):
        """The named pairs share more zeros than any other pair of the returned codes."""
        rng = np.random.default_rng(1)
        A = make(dictionary, 1, 1, 10)[2]
        X = self.entangled_codes(rng) @ A
        found = fit(X, dictionary, 1)
        codes = np.abs(found.transform(X)) < 1e-9
        shared = np.triu(np.cov(codes.T.astype(float)), 1)
        most = list(np.unravel_index(np.argmax(shared), shared.shape))
        for certificate in (found.certificate_, found.certify(X)):
            assert most in np.sort(certificate.entangled, axis=1).tolist()

    def test_pairs_follow_a_new_order(self):
        found = fit(self.entangled_codes(np.random.default_rng(0)), "orthogonal", 0).certificate_
        order = np.random.default_rng(0).permutation(10)
        again = found.reordered(order)
        assert_allclose(np.sort(order[again.entangled], axis=1), np.sort(found.entangled, axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_outliers_along_one_direction_are_never_certified_wrongly(seed, rng):
    X, _, W = make("orthogonal", seed)
    X[:30] += 10 * rng.standard_normal((30, 1)) * rng.standard_normal((1, 15))
    found = fit(X, "orthogonal", seed)
    assert not found.certificate_ or dictionary_error(found.components_, W) < 1e-11


class TestFirstValuesZero:
    """The probe of the first 256 values for decimals once divided by their largest, which was zero."""

    def test_a_column(self):
        X = np.round(make("complete", 0)[0], 2)
        X[:280, 0] = 0
        assert np.isfinite(fit(X, "complete", 0).components_).all()

    def test_sparse_rows(self):
        X = make_sparse_coded(5000, 20, sparsity=0.01, random_state=12)[0]
        model = HRP(random_state=0).fit(X)
        assert model.certify(X).n_rows > 0


@pytest.mark.parametrize("seed", [12, 13, 14])
def test_a_larger_sample_does_not_spoil_an_exact_answer(seed):
    X, _, W = make_sparse_coded(5000, 20, sparsity=0.01, random_state=seed)
    assert dictionary_error(HRP(random_state=0).fit(X).components_, W) < 1e-11


@pytest.mark.parametrize("n_features", [64, 100])
@pytest.mark.parametrize("kind", ["uniform", "counts", "common factor", "positive codes"])
@pytest.mark.long
def test_a_dominant_direction(kind, n_features):
    """All atoms once turned in one plane, beyond the range of a Newton-Schulz step, and the search ended with NaN."""
    rng = np.random.default_rng(0)
    shape = 10 * n_features, n_features
    X = {
        "uniform": lambda: rng.random(shape),
        "counts": lambda: rng.poisson(5, shape).astype(float),
        "common factor": lambda: rng.standard_normal(shape) + 3 * rng.standard_normal((shape[0], 1)),
        "positive codes": lambda: (
            positive(rng, *shape) @ np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
        ),
    }[kind]()
    found = HRP(random_state=0).fit(X)
    assert_allclose(found.components_ @ found.components_.T, np.eye(n_features), atol=1e-10)


@pytest.mark.parametrize("dictionary", DICTIONARIES)
@pytest.mark.parametrize("share", [0.05, 0.2])
@pytest.mark.long
def test_outliers_on_a_line_are_never_certified_wrongly(dictionary, share):
    for seed in range(5):
        X, _, A = make(dictionary, seed, 1000, 20)
        rng = np.random.default_rng(seed)
        chosen = rng.permutation(1000)[: int(1000 * share)]
        X[chosen] = 10 * rng.standard_normal((len(chosen), 1)) * rng.standard_normal(20)
        found = fit(X, dictionary, seed)
        assert dictionary_error(found.components_, A) < 1e-9 or not found.certificate_


@pytest.mark.long
def test_an_eigenvalue_below_zero_by_rounding():
    """Of float32 rows that lack a dimension: its root was NaN."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        codes = (rng.random((165, 33)) < rng.uniform(0.01, 0.05, 33)) * np.geomspace(1, 10, 33)
        codes[:, 0] = 0
        X = (codes @ random_orthogonal(33, rng)).astype(np.float32)
        assert np.isfinite(HRP(random_state=seed).fit(X).components_).all()
