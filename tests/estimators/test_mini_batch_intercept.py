"""MiniBatchHRP(fit_intercept=True): the offset of a stream, exact where the dictionary is, and followed elsewhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP, MiniBatchHRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

N = 12
ONES = ("orthogonal", "complete")


def make(dictionary, n_rows=3000, seed=0, size=3.0, positive=False, **kind):
    """Rows around an offset of `size` times their rms, the atoms and the offset."""
    X, codes, W = make_sparse_coded(n_rows, N, sparsity=0.2, dictionary=dictionary, random_state=seed, **kind)
    X = np.abs(codes) @ W if positive else X
    offset = size * np.sqrt(np.mean(X**2)) * np.random.default_rng(seed).standard_normal(N)
    return X + offset, W, offset


def online(dictionary="orthogonal", **settings):
    return MiniBatchHRP(dictionary=dictionary, fit_intercept=True, random_state=0, **settings)


def feed(model, X, size=100):
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size])
    return model


class TestExactlySparse:
    @pytest.mark.parametrize("positive", [False, True])
    @pytest.mark.parametrize("size", [0, 3, 100])
    @pytest.mark.parametrize("dictionary", ONES)
    def test_atoms_and_offset_to_rounding(self, dictionary, size, positive):
        for seed in range(3):
            X, W, offset = make(dictionary, seed=seed, size=size, positive=positive)
            model = feed(online(dictionary), X)
            assert model.certificate_
            assert model.n_changes_ == 0
            assert dictionary_error(model.components_, W) < 1e-14 * (100 + 10 * size)
            assert_allclose(model.intercept_, offset, atol=1e-14 * (1 + 10 * size))
            if positive:
                assert np.abs(X.mean(axis=0) - offset).max() > 0.01  # the mean is not the offset

    @pytest.mark.parametrize(("n_features", "size", "seed"), [(12, 50, 218), (8, 10, 203), (8, 10, 210)])
    def test_unmixing_atoms_is_no_change_of_the_dictionary(self, n_features, size, seed):
        """From few samples two atoms are found as mixtures of each other, which the verdict says; more unmix them."""
        X, _, W = make_sparse_coded(1500, n_features, sparsity=0.25, random_state=seed)
        model, kinds = online(), []
        for batch in np.split(X + 5, 1500 // size):
            model.partial_fit(batch)
            kinds.append(model.verdict_.kind)
        assert "undetermined" in kinds
        assert model.certificate_
        assert dictionary_error(model.components_, W) < 1e-13
        assert model.n_changes_ == 0
        assert "has changed" not in str(model.verdict_)

    def test_rows_that_equal_the_offset_do_not_look_dense(self):
        """Their codes are rounding, whose sparsity is that of noise; there is no drift in it."""
        X, _, _ = make("orthogonal", 6000, size=100)
        X[np.random.default_rng(0).random(6000) < 0.5] = (
            X[0] - make_sparse_coded(6000, N, sparsity=0.2, random_state=0)[0][0]
        )
        model, drifts = online(), []
        for batch in np.split(X, 60):
            drifts.append(model.partial_fit(batch).drift_)
        assert np.abs(drifts).max() < 0.1
        assert model.n_changes_ == 0

    def test_agrees_with_the_batch_fit(self):
        X, _, _ = make("complete")
        model, batch = feed(online("complete"), X), HRP(dictionary="complete", fit_intercept=True).fit(X)
        assert dictionary_error(model.components_, batch.components_) < 1e-12
        assert_allclose(model.intercept_, batch.intercept_, atol=1e-12)

    def test_float32(self):
        X, W, offset = make("orthogonal", size=10)
        model = feed(online(), X.astype(np.float32))
        assert model.intercept_.dtype == np.float32
        assert model.certificate_
        assert dictionary_error(model.components_, W) < 1e-5
        assert_allclose(model.intercept_, offset, atol=1e-5 * np.abs(offset).max())


class TestNoisy:
    @pytest.mark.parametrize("size", [3, 100])
    @pytest.mark.parametrize("dictionary", ONES)
    def test_as_near_as_without_an_offset(self, dictionary, size):
        for seed in range(3):
            X, W, offset = make(dictionary, 8000, seed, size, snr_db=20)
            model = feed(online(dictionary), X)
            plain = feed(MiniBatchHRP(dictionary=dictionary, random_state=0), X - offset)
            error, reference = (dictionary_error(found.components_, W) for found in (model, plain))
            assert error < 1.1 * reference
            rms = np.sqrt(np.mean((X - offset) ** 2))
            assert np.abs(model.intercept_ - offset).max() < 5 * rms / np.sqrt(2000)  # rows that are remembered
            assert model.n_changes_ == 0

    def test_without_forgetting_it_is_the_mean(self):
        X, _, _ = make("orthogonal", 4000, snr_db=20)
        model = feed(online(forgetting=1.0), X)
        assert_allclose(model.intercept_, X.mean(axis=0), atol=1e-12)

    @pytest.mark.parametrize("dictionary", ONES)
    def test_dense_rows(self, dictionary, rng):
        W = make_sparse_coded(100, N, sparsity=0.2, dictionary=dictionary, random_state=1)[2]
        X = rng.laplace(size=(12_000, N)) @ W
        model = feed(online(dictionary), X + 50.0, size=500)
        plain = feed(MiniBatchHRP(dictionary=dictionary, random_state=0), X, size=500)
        assert dictionary_error(model.components_, W) < 1.2 * dictionary_error(plain.components_, W)


class TestFixedNumberOfCodes:
    @pytest.mark.parametrize("dictionary", ONES)
    def test_the_error_is_that_without_an_offset(self, dictionary):
        X, _, offset = make(dictionary, 5000, size=100)
        model = feed(online(dictionary, n_nonzero_coefs=1), X)
        plain = feed(MiniBatchHRP(dictionary=dictionary, n_nonzero_coefs=1, random_state=0), X - offset)
        assert np.count_nonzero(model.transform(X), axis=1).max() == 1
        left = X - model.inverse_transform(model.transform(X))
        error = np.linalg.norm(left) / np.linalg.norm(X - offset)
        assert error < 1.02 * plain.reconstruction_error(X - offset)


class TestUse:
    @pytest.mark.parametrize("kind", [{}, {"snr_db": 20}], ids=str)
    @pytest.mark.parametrize("dictionary", ONES)
    def test_every_method_takes_it_off(self, dictionary, kind):
        X, _, offset = make(dictionary, size=20, **kind)
        model = feed(online(dictionary), X)
        codes = model.transform(X)
        assert_allclose(codes, (X - model.intercept_) @ model.encoder_, atol=1e-10)
        assert_allclose(model.inverse_transform(codes), X, atol=1e-10)
        assert_allclose(model.inverse_transform(np.zeros((1, N)))[0], model.intercept_)
        assert model.reconstruction_error(X) < 1e-12
        assert model.score(X) > model.score(X - offset) + 10
        assert_allclose(model.score_samples(X).mean(), model.score(X))
        assert bool(model.certify(X)) == (not kind)
        assert not model.certify(X + 1)

    def test_score_is_that_of_the_rows_without_offset(self):
        X, _, offset = make("orthogonal", 6000, size=20, snr_db=20)
        plain = feed(MiniBatchHRP(random_state=0), X - offset)
        assert_allclose(feed(online(), X).score(X), plain.score(X - offset), atol=0.1)

    def test_without_it_the_intercept_is_zero(self):
        X, _, offset = make("orthogonal")
        model = MiniBatchHRP(random_state=0).fit(X - offset)
        assert_array_equal(model.intercept_, np.zeros(N))

    @pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.8])
    @pytest.mark.parametrize("settings", [{}, {"dictionary": "complete"}, {"n_nonzero_coefs": 2}], ids=str)
    def test_saved_and_restored_it_goes_on_alike(self, settings, share, tmp_path):
        X = np.concatenate([make("orthogonal", 1500)[0], make("orthogonal", 1500, 1, snr_db=20)[0]])
        stop = round(share * len(X))
        whole = online(**settings).partial_fit(X)
        online(**settings).partial_fit(X[:stop]).save(tmp_path / "m.npz")
        restored = MiniBatchHRP.load(tmp_path / "m.npz")
        assert restored.fit_intercept is True
        restored.partial_fit(X[stop:])
        for name in ("components_", "encoder_", "intercept_"):
            assert_array_equal(getattr(restored, name), getattr(whole, name))
        assert (restored.drift_, restored.n_changes_) == (whole.drift_, whole.n_changes_)

    def test_a_constant_feature_is_named(self):
        X, _, _ = make("complete")
        X[:, 3] = 7.0
        with pytest.raises(ValueError, match="constant: 4"):
            online("complete").fit(X)
        assert np.isfinite(online("complete").partial_fit(X).encoder_).all()

    def test_constant_rows(self):
        row = np.array([1.0, -2.0, 3.0, 0.5])
        model = feed(online(), np.tile(row, (700, 1)))
        assert_allclose(model.intercept_, row, atol=1e-12)
        assert_allclose(model.transform(row[None]), 0, atol=1e-12)
        for settings in ({}, {"n_nonzero_coefs": 2}):  # the density of nothing but zeros is narrow, and finite
            model = feed(online(**settings), np.tile(row, (700, 1)))
            assert -np.inf < model.score(row[None] + 1) < model.score(row[None])


class TestJumps:
    @pytest.mark.parametrize("row", [3000, 3030, 3150])  # at the end of a step, and within one
    @pytest.mark.parametrize("jump", [0.1, 1, 30])
    @pytest.mark.parametrize("dictionary", ONES)
    def test_an_exact_offset_that_jumps_is_a_change_and_found_again(self, dictionary, jump, row):
        X, W, offset = make(dictionary, 5000, positive=True)
        shift = jump * np.random.default_rng(1).standard_normal(N)
        X[row:] += shift
        model = feed(online(dictionary), X)
        assert model.n_changes_ == 1
        assert model.certificate_
        assert dictionary_error(model.components_, W) < 1e-12
        assert_allclose(model.intercept_, offset + shift, atol=1e-11)

    @pytest.mark.parametrize("dictionary", ONES)
    def test_in_noise(self, dictionary):
        X, W, offset = make(dictionary, 9000, snr_db=20)
        X[3030:] += 2.0
        model = feed(online(dictionary), X)
        assert model.n_changes_ == 1
        assert np.abs(model.intercept_ - offset - 2).max() < 0.06
        assert dictionary_error(model.components_, W) < 0.05

    def test_a_slow_drift_in_noise_is_followed(self):
        X, W, offset = make("orthogonal", 10_000, snr_db=20)
        rms = np.sqrt(np.mean((X - offset) ** 2))
        X += rms * np.linspace(0, 1, 10_000)[:, None]  # by a fifth of the rms in the memory of 2,000 rows
        model = feed(online(), X)
        assert np.abs(model.intercept_ - offset - rms).max() < 0.3 * rms
        assert dictionary_error(model.components_, W) < 0.02
