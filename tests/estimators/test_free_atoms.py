"""HRP with a fixed number of codes and free atoms: lower errors than K-SVD, and no need of an inverse."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP, sparse_code
from hrpursuit.baselines import KSVD
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.datasets import make_sensor_network
from hrpursuit.estimators import HRPOptions
from hrpursuit.metrics import dictionary_error, masked_rmse
from hrpursuit.schemes.fixed_sparsity import T0_LEAST_SQUARES
from hrpursuit.schemes.free import T0_FREE


def make(n_samples=600, n=12, n_nonzero=3, snr_db=30.0, condition=10.0, seed=0):
    """Samples of exactly `n_nonzero` codes in a complete dictionary, with noise, and the dictionary."""
    rng = np.random.default_rng(seed)
    U, _, Vt = np.linalg.svd(rng.standard_normal((n, n)))
    W = normalize_rows((U * np.geomspace(1, 1 / condition, n)) @ Vt)
    order = rng.random((n_samples, n)).argsort(axis=1)
    X = (rng.standard_normal(order.shape) * (order < n_nonzero)) @ W
    noise = rng.standard_normal(X.shape)
    return X + noise * np.linalg.norm(X) / np.linalg.norm(noise) * 10 ** (-snr_db / 20), W


X, W_TRUE = make()


@pytest.fixture(scope="module")
def model():
    return HRP(n_nonzero_coefs=3, dictionary="complete", random_state=0).fit(X)


@pytest.fixture(scope="module")
def many():
    """More rows than the sample that keeps its codes."""
    return make(4000, 8, 2, snr_db=20, seed=6)[0]


class TestLearning:
    @pytest.mark.parametrize("n_nonzero", [3, 6])
    def test_k_svd_is_beaten_on_noisy_data(self, n_nonzero):
        data, W = make(1000, 20, n_nonzero, seed=n_nonzero)
        ours = HRP(n_nonzero_coefs=n_nonzero, dictionary="complete", random_state=0).fit(data)
        theirs = KSVD(n_nonzero_coefs=n_nonzero, random_state=0).fit(data)
        assert ours.reconstruction_error(data) < 0.8 * theirs.reconstruction_error(data)
        assert dictionary_error(ours.components_, W) < 0.02
        assert ours.stages_[-1].name == T0_FREE

    @pytest.mark.parametrize("n_nonzero", [4, 10])
    def test_readings_with_gaps(self, n_nonzero):
        readings = make_sensor_network(300, 24, random_state=3)
        filled = np.where(np.isnan(readings), np.nanmean(readings, axis=1, keepdims=True), readings)
        free = HRP(n_nonzero_coefs=n_nonzero, dictionary="complete", random_state=0).fit(readings)
        orthogonal = HRP(n_nonzero_coefs=n_nonzero, random_state=0).fit(readings)
        ksvd = KSVD(n_nonzero_coefs=n_nonzero, random_state=0).fit(filled)
        errors = [
            masked_rmse(readings, found.inverse_transform(found.transform(data)))
            for found, data in ((free, readings), (orthogonal, readings), (ksvd, filled))
        ]
        assert errors[0] < 0.95 * errors[1]
        assert errors[0] < 0.9 * errors[2]

    def test_exactly_sparse_data_is_recovered_and_certified(self):
        data, W = make(snr_db=np.inf)
        found = HRP(n_nonzero_coefs=3, dictionary="complete", random_state=0).fit(data)
        assert found.certificate_
        assert dictionary_error(found.components_, W) < 1e-12
        assert_allclose(found.encoder_, np.linalg.inv(found.components_), atol=1e-9)
        assert found.reconstruction_error(data) < 1e-12

    def test_codes_found_anew_are_as_good_as_those_of_the_fit(self, model):
        assert model.reconstruction_error(X) < 1.01 * model.stages_[-1].objective_after
        assert np.count_nonzero(model.transform(X), axis=1).max() == 3

    def test_no_worse_than_dict_init(self):
        data = make(400, 10, 2, snr_db=15, seed=4)[0]
        start = KSVD(n_nonzero_coefs=2, random_state=0).fit(data)
        found = HRP(n_nonzero_coefs=2, dictionary="complete", dict_init=start.components_, random_state=0).fit(data)
        assert found.reconstruction_error(data) < start.reconstruction_error(data)
        singular = start.components_.copy()
        singular[1] = singular[0]
        again = HRP(n_nonzero_coefs=2, dictionary="complete", dict_init=singular, random_state=0).fit(data)
        assert again.reconstruction_error(data) < start.reconstruction_error(data)

    def test_rounds_are_an_option(self):
        found = HRP(n_nonzero_coefs=2, dictionary="complete", options=HRPOptions(free_rounds=2), random_state=0).fit(X)
        assert found.stages_[-1].n_iter == 2

    def test_the_same_seed_gives_the_same_dictionary(self, model):
        again = HRP(n_nonzero_coefs=3, dictionary="complete", random_state=0).fit(X)
        assert_array_equal(again.components_, model.components_)

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.parametrize("share", [0.0, 0.2])
    def test_of_several_runs_the_one_with_the_lowest_error_is_kept(self, dictionary, share):
        """Of each run alone, with the seeds that the runs get, none is better."""
        rng = np.random.default_rng(0)
        data = rng.laplace(size=(200, 8)) @ rng.standard_normal((8, 8))
        data[rng.random(data.shape) < share] = np.nan
        options = HRPOptions(gap_rounds=5, free_rounds=3)
        ends, runs = [], []

        def look(iterate):
            runs.append((iterate.stage, iterate.value))

        found = HRP(
            n_nonzero_coefs=2, dictionary=dictionary, n_init=5, options=options, random_state=1, callback=look
        ).fit(data)
        name = found.stages_[-1].name
        ends = [
            value for (stage, value), after in zip(runs, [*runs[1:], ("", 0)], strict=True) if stage == name != after[0]
        ]
        if name != "T0 Procrustes":  # whose callback counts something else
            assert len(ends) == 5
            assert max(ends) > 1.001 * min(ends)
            assert found.stages_[-1].objective_after == pytest.approx(min(ends), rel=1e-9)
        first = HRP(n_nonzero_coefs=2, dictionary=dictionary, options=options, random_state=1).fit(data)
        assert found.stages_[-1].objective_after <= first.stages_[-1].objective_after + 1e-12


class TestLackOfRank:
    def test_dead_dependent_and_constant_features(self):
        wide = np.column_stack([X, np.zeros(len(X)), X[:, 0], X[:, 1] - X[:, 2], np.ones((len(X), 2))])
        with pytest.raises(ValueError, match="linearly independent"):
            HRP(dictionary="complete").fit(wide)
        free = HRP(n_nonzero_coefs=4, dictionary="complete", random_state=0).fit(wide)
        for found in (free.components_, free.encoder_, free.transform(wide)):
            assert np.isfinite(found).all()
        assert_allclose(np.linalg.norm(free.components_, axis=1), 1, atol=1e-12)
        assert_allclose(free.encoder_, np.linalg.pinv(free.components_, rcond=1e-10), atol=1e-9)
        assert_allclose(free.inverse_transform(free.transform(wide))[:, 12], 0, atol=1e-12)
        for other in (HRP(n_nonzero_coefs=4, random_state=0), KSVD(n_nonzero_coefs=4, random_state=0)):
            assert free.reconstruction_error(wide) < 0.9 * other.fit(wide).reconstruction_error(wide)

    def test_copies_of_features_cost_nothing(self, model):
        """The search takes place in the span: what it finds there without the copies it finds with them."""
        wide = np.column_stack([X, np.zeros((len(X), 2)), X[:, :3]])
        found = HRP(n_nonzero_coefs=3, dictionary="complete", random_state=0).fit(wide)
        assert found.reconstruction_error(wide) < 1.2 * model.reconstruction_error(X)
        orthogonal = HRP(n_nonzero_coefs=3, random_state=0).fit(wide)
        assert found.reconstruction_error(wide) < 0.5 * orthogonal.reconstruction_error(wide)

    def test_units_far_apart(self):
        data = X * np.append(np.full(11, 1e8), 1.0)
        found = HRP(n_nonzero_coefs=3, dictionary="complete", random_state=0).fit(data)
        assert np.isfinite(found.components_).all()
        assert found.reconstruction_error(data) < 0.1

    def test_fewer_directions_than_features(self, rng):
        data = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 6))
        found = HRP(n_nonzero_coefs=2, dictionary="complete", random_state=0).fit(data)
        assert found.reconstruction_error(data) < 1e-10

    @pytest.mark.parametrize("data", [np.zeros((30, 4)), np.ones((30, 4)), np.eye(4)[np.arange(30) % 4]])
    def test_hardly_any_data(self, data):
        found = HRP(n_nonzero_coefs=1, dictionary="complete", random_state=0).fit(data)
        assert_allclose(np.linalg.norm(found.components_, axis=1), 1)
        assert np.isfinite(found.encoder_).all()
        assert_allclose(found.inverse_transform(found.transform(data)), data, atol=1e-12)

    def test_scarcely_observed_features(self):
        gappy = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
        gappy[:, 4] = np.nan
        gappy[1:, 7] = np.nan
        found = HRP(n_nonzero_coefs=3, dictionary="complete", random_state=0).fit(gappy)
        assert np.isfinite(found.components_).all()
        assert_array_equal(found.components_[:, 4], 0)
        assert np.isfinite(found.transform(X)).all()  # observes what the fit has not


class TestSparseCode:
    def test_a_singular_dictionary_needs_a_number_of_codes(self, rng):
        W = rng.standard_normal((5, 5))
        W[4] = W[3]
        with pytest.raises(ValueError, match=r"must be invertible; got a matrix of rank 4 .* Give n_nonzero_coefs"):
            sparse_code(X[:, :5], W)
        codes = sparse_code(X[:, :5], W, 4)
        basis = np.linalg.lstsq(W[:4].T, X[:, :5].T, rcond=None)[0]
        assert_allclose(codes @ W, (W[:4].T @ basis).T, atol=1e-9)

    def test_better_than_the_largest_codes_of_the_inverse(self):
        plain = X @ np.linalg.inv(W_TRUE)
        smallest = np.argsort(np.abs(plain), axis=1)[:, :-3]
        error = np.linalg.norm(X - sparse_code(X, W_TRUE, 3) @ W_TRUE, axis=1)
        for x, e, out in zip(X, error, smallest, strict=True):
            A = np.delete(W_TRUE, out, axis=0).T
            assert e <= np.linalg.norm(x - A @ np.linalg.lstsq(A, x, rcond=None)[0]) + 1e-12
        assert_allclose(sparse_code(X, W_TRUE, 12), plain, atol=1e-12)

    def test_threshold(self):
        codes = sparse_code(X, W_TRUE, 3, threshold=0.5)
        assert (np.abs(codes[codes != 0]) >= 0.5).all()


class TestPlaces:
    def test_files_and_dask_give_the_dictionary_of_the_array(self, many, tmp_path):
        np.save(tmp_path / "x.npy", many)
        inside = HRP(n_nonzero_coefs=2, dictionary="complete", random_state=0).fit(many)
        assert inside.stages_[-1].name == T0_LEAST_SQUARES
        assert inside.reconstruction_error(many) == pytest.approx(inside.stages_[-1].objective_after, rel=1e-6)
        for data in (tmp_path / "x.npy", da.from_array(many, chunks=(900, -1))):
            found = HRP(n_nonzero_coefs=2, dictionary="complete", random_state=0).fit(data)
            assert_allclose(found.components_, inside.components_, atol=1e-6)
            assert found.reconstruction_error(data) == pytest.approx(inside.reconstruction_error(many), abs=1e-8)
        assert inside.reconstruction_error(many) < 1.001 * KSVD(n_nonzero_coefs=2, random_state=0).fit(
            many
        ).reconstruction_error(many)

    def test_a_file_that_lacks_rank(self, many, tmp_path):
        np.save(tmp_path / "x.npy", np.column_stack([many, many[:, 0], np.zeros(len(many))]))
        found = HRP(n_nonzero_coefs=2, dictionary="complete", random_state=0).fit(tmp_path / "x.npy")
        assert np.isfinite(found.components_).all()
        assert found.reconstruction_error(tmp_path / "x.npy") < 0.3

    def test_codes_stream(self, model, tmp_path):
        np.save(tmp_path / "x.npy", X)
        expected = model.transform(X)
        assert_allclose(np.concatenate(list(model.transform(tmp_path / "x.npy"))), expected, atol=1e-12)
        assert_allclose(model.transform(da.from_array(X, chunks=(100, -1))).compute(), expected, atol=1e-12)

    def test_float32(self, model):
        found = HRP(n_nonzero_coefs=3, dictionary="complete", random_state=0).fit(X.astype(np.float32))
        assert found.components_.dtype == found.encoder_.dtype == np.float32
        codes = found.transform(X.astype(np.float32))
        assert codes.dtype == np.float32
        error = np.linalg.norm(X - codes @ found.components_) / np.linalg.norm(X)
        assert error < 1.001 * model.reconstruction_error(X)

    def test_saved_and_loaded(self, model, tmp_path):
        model.save(tmp_path / "m.npz")
        loaded = HRP.load(tmp_path / "m.npz")
        assert_array_equal(loaded.transform(X), model.transform(X))
        assert loaded.stages_ == model.stages_
