"""HRP(fit_intercept=True): the offset of the samples, exact where the dictionary is."""

import warnings

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import open_rows

N = 12


def make(kind, seed=0, n_samples=600):
    """Samples around an offset, the atoms and the offset."""
    dictionary = "complete" if "complete" in kind else "orthogonal"
    _, codes, A = make_sparse_coded(n_samples, N, sparsity=0.2, dictionary=dictionary, random_state=seed)
    if "positive" in kind:
        codes = np.abs(codes)
    offset = np.random.default_rng(seed).uniform(-3, 3, N)
    X = codes @ A + offset
    if "centred" in kind:
        offset = offset - X.mean(axis=0)
        X = X - X.mean(axis=0)
    return X, A, offset


def model(kind="", seed=0, **settings):
    dictionary = "complete" if "complete" in kind else "orthogonal"
    return HRP(fit_intercept=True, dictionary=dictionary, random_state=seed, **settings)


KINDS = [
    "orthogonal", "orthogonal, positive", "orthogonal, centred", "orthogonal, positive, centred",
    "complete", "complete, positive", "complete, centred", "complete, positive, centred",
]  # fmt: skip


class TestExact:
    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.parametrize("size", [1e5, 1e7, 1e9])
    def test_a_large_offset_costs_its_rounding_and_no_more(self, dictionary, size):
        """What counts as a zero follows from the samples less their offset: 1e9 made a code of 1 a zero."""
        X, A, _ = make(dictionary, n_samples=400)
        for shift in (np.full(N, size), np.geomspace(1, size, N)):
            found = model(dictionary).fit(X + shift)
            assert found.certificate_
            assert found.verdict_.kind == "exact"
            assert dictionary_error(found.components_, A) < np.spacing(size)
            assert found.certify(X + shift)
        assert not found.certify(np.random.default_rng(1).normal(size=X.shape) + shift)

    @pytest.mark.parametrize("size", [1e3, 1e4])
    def test_a_large_offset_in_single_precision(self, size):
        X, A, _ = make("orthogonal", n_samples=400)
        X = (X + size).astype(np.float32)
        found = model().fit(X)
        assert found.certificate_
        assert dictionary_error(found.components_, A) < np.spacing(np.float32(size))

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.parametrize("size", [1e5, 1e6])
    def test_an_offset_whose_rounding_is_noise(self, dictionary, size):
        """float32 keeps two digits of samples around 1e5, and one around 1e6: that is noise, and a fit in noise."""
        X, A, _ = make(dictionary, n_samples=2000)
        found = model(dictionary).fit((X + size).astype(np.float32))
        assert not found.certificate_
        assert found.verdict_.kind == "noisy"
        assert dictionary_error(found.components_, A) < 0.01

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("kind", KINDS)
    def test_atoms_and_offset_to_rounding(self, kind, seed):
        X, A, offset = make(kind, seed)
        found = model(kind, seed).fit(X)
        assert found.certificate_
        assert dictionary_error(found.components_, A) < 1e-12
        assert_allclose(found.intercept_, offset, atol=1e-12)
        assert np.abs(offset - X.mean(axis=0)).max() > 0.01  # the mean is not the offset

    @pytest.mark.parametrize("size", [0, 1e-6, 100, 1e4])
    def test_offsets_of_any_size(self, size):
        X, A, offset = make("orthogonal")
        found = model().fit(X - offset + size * offset)
        assert found.certificate_
        assert dictionary_error(found.components_, A) < 1e-14 * (100 + size * 10)
        assert_allclose(found.intercept_, size * offset, atol=1e-14 * (1 + size * 10))

    @pytest.mark.parametrize("unit", [1e-80, 1e-6, 1e6, 1e80])
    def test_the_unit_does_not_matter(self, unit):
        X, A, offset = make("orthogonal")
        found = model().fit(unit * X)
        assert dictionary_error(found.components_, A) < 1e-12
        assert_allclose(found.intercept_, unit * offset, atol=unit * 1e-12)

    def test_units_of_the_features_and_a_complete_dictionary(self):
        X, A, offset = make("complete")
        units = 10.0 ** np.linspace(-6, 6, N)
        found = model("complete").fit(X * units)
        assert found.certificate_
        assert dictionary_error(found.components_ / units, A) < 1e-11
        assert_allclose(found.intercept_ / units, offset, atol=1e-11)

    def test_dead_and_constant_features(self):
        X, A, offset = make("orthogonal")
        X = np.insert(X, [3, 7], [[0.0, 5.0]], axis=1)
        found = model().fit(X)
        assert found.certificate_
        assert_allclose(found.intercept_, np.insert(offset, [3, 7], [0.0, 5.0]), atol=1e-12)
        live = found.components_[np.abs(found.transform(X)).max(axis=0) > 1e-9]
        assert dictionary_error(live, np.insert(A, [3, 7], 0.0, axis=1)) < 1e-12

    @pytest.mark.parametrize("kind", ["orthogonal", "complete"])
    def test_outliers(self, kind, rng):
        X, A, offset = make(kind)
        X[rng.permutation(600)[:12]] = 10 * rng.standard_normal((12, N))
        found = model(kind).fit(X)
        assert dictionary_error(found.components_, A) < 1e-12
        assert_allclose(found.intercept_, offset, atol=1e-12)

    def test_float32(self):
        for kind in ("orthogonal", "complete"):
            X, A, offset = make(kind)
            found = model(kind).fit(X.astype(np.float32))
            assert found.intercept_.dtype == found.components_.dtype == np.float32
            assert found.certificate_
            assert dictionary_error(found.components_, A) < 2e-6
            assert_allclose(found.intercept_, offset, atol=5e-6)

    def test_rounded_samples(self):
        X, A, offset = make("orthogonal")
        found = model().fit(np.round(X, 3))
        assert found.certificate_
        assert dictionary_error(found.components_, A) < 1e-3
        assert_allclose(found.intercept_, offset, atol=1e-3)


class TestUse:
    @pytest.mark.parametrize("kind", ["orthogonal", "complete"])
    def test_codes_and_back(self, kind):
        X, _, offset = make(kind)
        found = model(kind).fit(X)
        codes = found.transform(X)
        assert_allclose(codes, (X - found.intercept_) @ found.encoder_, atol=1e-12)
        assert 0.1 < np.mean(np.abs(codes) > 1e-9) < 0.3
        assert_allclose(found.inverse_transform(codes), X, atol=1e-12)
        assert_allclose(found.inverse_transform(np.zeros((2, N))), [offset, offset], atol=1e-12)
        assert 0 <= found.reconstruction_error(X) < 1e-14

    @pytest.mark.parametrize("kind", ["orthogonal", "complete"])
    def test_certify_takes_the_offset_off(self, kind):
        X, _, offset = make(kind)
        found = model(kind).fit(X)
        assert found.certify(X)
        assert found.certify(X[:200])
        assert not found.certify(X - offset)
        assert not found.certify(X + 1)

    @pytest.mark.parametrize("settings", [{}, {"n_nonzero_coefs": 4}, {"scheme": "paper"}])
    def test_save_and_load(self, settings, tmp_path):
        X, _, _ = make("orthogonal")
        found = model(**settings).fit(X)
        found.save(tmp_path / "model.npz")
        again = HRP.load(tmp_path / "model.npz")
        assert again.fit_intercept is True
        assert_array_equal(again.intercept_, found.intercept_)
        assert_array_equal(again.transform(X), found.transform(X))
        assert_array_equal(again.inverse_transform(again.transform(X)), found.inverse_transform(found.transform(X)))

    def test_score_counts_the_samples_with_their_offset(self):
        X, _, _ = make("orthogonal")
        found = model(n_nonzero_coefs=1).fit(X)
        error = np.linalg.norm(X - found.inverse_transform(found.transform(X))) / np.linalg.norm(X)
        assert_allclose(found.reconstruction_error(X), error)

    def test_without_it_the_intercept_is_zero(self):
        X, _, offset = make("orthogonal")
        found = HRP(random_state=0).fit(X - offset)
        assert_array_equal(found.intercept_, np.zeros(N))
        asked = model().fit(X - offset)
        assert_allclose(asked.intercept_, 0, atol=1e-13)
        assert_allclose(asked.components_, found.components_, atol=1e-12)

    def test_it_is_a_parameter_like_any_other(self):
        assert HRP().fit_intercept is False
        assert clone(model()).fit_intercept is True
        with pytest.raises(ValueError, match="fit_intercept"):
            HRP(fit_intercept="yes").fit(np.ones((30, 3)))


class TestSources:
    @pytest.mark.parametrize("kind", ["orthogonal", "complete"])
    def test_wherever_the_rows_are(self, kind, tmp_path):
        X, _, _ = make(kind, n_samples=3000)
        np.save(tmp_path / "x.npy", X)
        whole = model(kind).fit(X)
        for rows in (tmp_path / "x.npy", open_rows(tmp_path / "x.npy", block_size=100), da.from_array(X, (700, N))):
            found = model(kind).fit(rows)
            assert_allclose(found.components_, whole.components_, atol=1e-12)
            assert_allclose(found.intercept_, whole.intercept_, atol=1e-12)
        codes = np.concatenate(list(whole.transform(open_rows(tmp_path / "x.npy", block_size=100))))
        assert_allclose(codes, whole.transform(X), atol=1e-12)
        assert_allclose(whole.transform(da.from_array(X, (700, N))).compute(), whole.transform(X), atol=1e-12)
        assert_allclose(whole.reconstruction_error(tmp_path / "x.npy"), whole.reconstruction_error(X), atol=1e-12)
        back = whole.inverse_transform(whole.transform(tmp_path / "x.npy", out=tmp_path / "codes.npy"))
        assert_allclose(np.concatenate([block.copy() for block in back]), X, atol=1e-12)


class TestOtherSchemes:
    def test_the_paper_takes_the_mean(self):
        for dictionary in ("orthogonal", "complete"):
            X, _, _ = make(dictionary)
            found = model(dictionary, scheme="paper").fit(X)
            assert_allclose(found.intercept_, X.mean(axis=0), atol=1e-14)
            plain = HRP(scheme="paper", dictionary=dictionary, random_state=0).fit(X - X.mean(axis=0))
            assert dictionary_error(found.components_, plain.components_) < 1e-9

    def test_dense_samples_get_their_mean(self, rng):
        X = rng.laplace(size=(2000, 6)) + np.arange(6)
        found = model().fit(X)
        assert not found.certificate_
        assert_allclose(found.intercept_, X.mean(axis=0), atol=1e-12)
        plain = HRP(random_state=0).fit(X - X.mean(axis=0))
        assert dictionary_error(found.components_, np.eye(6)) < 1.2 * dictionary_error(plain.components_, np.eye(6))

    def test_exactly_three_codes(self):
        rng = np.random.default_rng(0)
        for kind in ("orthogonal", "complete"):
            _, A, offset = make(kind)
            codes = rng.standard_normal((600, N)) * (np.argsort(rng.random((600, N)), axis=1) < 3)
            X = codes @ A + offset
            found = model(kind, n_nonzero_coefs=3).fit(X)
            assert (found.transform(X) != 0).sum(axis=1).max() <= 3
            if kind == "orthogonal":
                assert found.reconstruction_error(X) < 1e-12
                assert_allclose(found.intercept_, offset, atol=1e-12)
            without = HRP(n_nonzero_coefs=3, dictionary=kind, random_state=0).fit(X)
            assert found.reconstruction_error(X) < without.reconstruction_error(X)

    @pytest.mark.parametrize("kind", ["orthogonal", "complete"])
    def test_gaps(self, kind, rng):
        X, _, _ = make(kind, n_samples=300)
        X = X + 5
        X[rng.random(X.shape) < 0.1] = np.nan
        with_offset, without = (
            HRP(n_nonzero_coefs=2, dictionary=kind, fit_intercept=fit_intercept, random_state=0).fit(X)
            for fit_intercept in (True, False)
        )
        assert with_offset.reconstruction_error(X) < without.reconstruction_error(X)
        observed = ~np.isnan(X)
        back = with_offset.inverse_transform(with_offset.transform(X))
        error = np.linalg.norm((X - back)[observed]) / np.linalg.norm(X[observed])
        assert_allclose(with_offset.reconstruction_error(X), error)
        assert np.abs(with_offset.intercept_).max() > 2

    def test_constant_rows(self):
        row = np.array([1.0, -2.0, 3.0, 0.0])
        found = model().fit(np.tile(row, (40, 1)))
        assert_allclose(found.intercept_, row, atol=1e-12)
        assert not found.certificate_
        assert_allclose(found.transform(np.tile(row, (3, 1))), 0, atol=1e-12)
        assert found.reconstruction_error(np.tile(row, (40, 1))) < 1e-12

    def test_no_warning_of_numpy_on_the_way(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            for kind in KINDS:
                model(kind).fit(make(kind, 1)[0])
