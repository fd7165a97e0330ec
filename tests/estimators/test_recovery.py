"""Exact recovery, the right finish for each kind of data, and cases that once went wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from skimage.data import camera

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error


class TestExactRecovery:
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize(
        ("n_features", "n_samples", "sparsity"),
        [
            (20, 100, 0.3),
            (20, 100, 0.5),
            (20, 200, 0.6),
            (20, 300, 0.7),
            (50, 500, 0.2),
            (50, 500, 0.5),
            (20, 5000, 0.1),
        ],
    )
    def test_orthogonal(self, n_features, n_samples, sparsity, seed):
        X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
        found = HRP(random_state=seed).fit(X)
        assert found.certificate_
        assert dictionary_error(found.components_, W) < 1e-11
        assert_allclose(found.components_ @ found.components_.T, np.eye(n_features), atol=1e-12)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("condition", [2, 10, 300])
    def test_complete(self, condition, seed):
        X, _, A = make_sparse_coded(
            1000, 20, sparsity=0.2, dictionary="complete", condition=condition, random_state=seed
        )
        found = HRP(dictionary="complete", random_state=seed).fit(X)
        assert found.certificate_
        assert dictionary_error(found.components_, A) < 1e-12
        assert_allclose(np.linalg.norm(found.components_, axis=1), 1)
        assert_allclose(found.encoder_ @ found.components_, np.eye(20), atol=1e-10)

    def test_a_larger_dictionary_with_threads(self):
        X, _, W = make_sparse_coded(1600, 160, sparsity=0.15, random_state=0)
        one, two = (HRP(random_state=0, n_jobs=n_jobs).fit(X) for n_jobs in (None, 2))
        assert dictionary_error(one.components_, W) < 1e-12
        assert one.n_iter_ == two.n_iter_
        assert_allclose(one.components_, two.components_, atol=1e-13)

    @pytest.mark.parametrize("seed", range(4))
    def test_float32(self, seed):
        X, _, W = make_sparse_coded(400, 20, sparsity=0.3, random_state=seed)
        found = HRP(random_state=seed).fit(X.astype(np.float32))
        assert found.certificate_
        assert found.components_.dtype == np.float32
        assert found.transform(X.astype(np.float32)).dtype == np.float32
        assert dictionary_error(found.components_, W) < 1e-6

    def test_float32_computed_in_float32(self):
        _, codes, W = make_sparse_coded(1000, 50, sparsity=0.2, random_state=0)
        found = HRP(random_state=0).fit(codes.astype(np.float32) @ W.astype(np.float32))
        assert found.certificate_
        assert dictionary_error(found.components_, W) < 1e-6

    @pytest.mark.parametrize("decimals", [2, 3, 4, 6])
    def test_rounded_to_decimals(self, decimals):
        X, _, W = make_sparse_coded(400, 20, sparsity=0.3, random_state=0)
        found = HRP(random_state=0).fit(np.round(X, decimals))
        assert found.certificate_
        assert dictionary_error(found.components_, W) < 0.3 * 10.0**-decimals

    @pytest.mark.parametrize("scale", [1e-80, 1e-20, 1e20, 1e80])
    def test_unit_of_the_data_does_not_matter(self, scale):
        X, _, W = make_sparse_coded(200, 12, sparsity=0.3, random_state=0)
        found = HRP(random_state=0).fit(scale * X)
        assert dictionary_error(found.components_, W) < 1e-12
        assert_allclose(found.objective_, scale * HRP(random_state=0).fit(X).objective_, rtol=1e-6)

    def test_rows_of_zeros_are_allowed_and_prove_nothing(self):
        X, _, W = make_sparse_coded(300, 12, sparsity=0.3, random_state=0)
        found = HRP(random_state=0).fit(np.vstack([X, np.zeros((5000, 12))]))
        assert dictionary_error(found.components_, W) < 1e-12
        assert found.certificate_.n_rows <= 300

    def test_dense_data_is_never_certified(self, rng):
        for n_features in (5, 20):
            assert not HRP(random_state=0).fit(rng.standard_normal((40 * n_features, n_features))).certificate_

    @pytest.mark.parametrize("seed", range(6))
    def test_no_false_certificate_with_few_samples(self, seed):
        for sparsity in (0.2, 0.4, 0.6):
            X, _, W = make_sparse_coded(80, 20, sparsity=sparsity, random_state=seed)
            found = HRP(random_state=seed).fit(X)
            assert not found.certificate_ or dictionary_error(found.components_, W) < 1e-10


class TestOtherData:
    @pytest.mark.parametrize(
        ("n_samples", "snr_db"),
        [(300, 20), *(pytest.param(3000, snr_db, marks=pytest.mark.long) for snr_db in (10, 30))],
    )
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the paper's scheme
    def test_noise_is_recognised_and_handled_better_than_by_the_paper(self, n_samples, snr_db):
        errors = {"exact": [], "paper": []}
        for seed in range(5):
            X, _, W = make_sparse_coded(n_samples, 20, sparsity=0.3, snr_db=snr_db, random_state=seed)
            for scheme, found in errors.items():
                model = HRP(scheme=scheme, random_state=seed).fit(X)
                assert not model.certificate_
                found.append(dictionary_error(model.components_, W))
            assert "maximum likelihood" in [stage.name for stage in HRP(random_state=seed).fit(X).stages_]
        assert np.mean(errors["exact"]) < 0.8 * np.mean(errors["paper"])

    def test_noise_and_a_complete_dictionary(self):
        kind = {"sparsity": 0.2, "dictionary": "complete", "condition": 3, "snr_db": 25, "random_state": 0}
        X, _, A = make_sparse_coded(4000, 12, **kind)
        exact, paper = (HRP(dictionary="complete", scheme=s, random_state=0).fit(X) for s in ("exact", "paper"))
        assert dictionary_error(exact.components_, A) < 0.06
        assert dictionary_error(exact.components_, A) < 1.1 * dictionary_error(paper.components_, A)

    def test_a_few_outliers_do_not_harm(self):
        X, _, W = make_sparse_coded(600, 15, sparsity=0.2, outliers=0.03, random_state=0)
        assert dictionary_error(HRP(random_state=0).fit(X).components_, W) < 1e-3

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the paper's scheme
    def test_readings_of_sensors(self, readings):
        exact, paper = (HRP(scheme=scheme, random_state=0).fit(readings) for scheme in ("exact", "paper"))
        assert exact.objective_ <= paper.objective_
        for n_nonzero in (5, 28):
            exact, paper = (
                HRP(n_nonzero_coefs=n_nonzero, scheme=s, random_state=0).fit(readings) for s in ("exact", "paper")
            )
            assert exact.reconstruction_error(readings) < paper.reconstruction_error(readings)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the paper's scheme
    def test_patches_of_an_image(self):
        patches = np.lib.stride_tricks.sliding_window_view(camera()[::4, ::4] / 255.0, (6, 6)).reshape(-1, 36)[::3]
        patches = patches - patches.mean(axis=1, keepdims=True)
        exact, paper = (HRP(scheme=scheme, random_state=0).fit(patches) for scheme in ("exact", "paper"))
        assert exact.objective_ <= paper.objective_

    def test_dead_features_get_atoms_of_their_own(self):
        X, _, W = make_sparse_coded(300, 10, sparsity=0.3, random_state=0)
        padded = np.insert(X, [3, 7], 0.0, axis=1)
        found = HRP(random_state=0).fit(padded)
        assert found.certificate_
        assert_allclose(found.components_ @ found.components_.T, np.eye(12), atol=1e-12)
        truth = np.insert(W, [3, 7], 0.0, axis=1)
        live = found.components_[np.abs(found.transform(padded)).max(axis=0) > 1e-9]
        assert dictionary_error(live, truth) < 1e-12

    def test_a_feature_that_is_seldom_active_is_learned(self):
        rng = np.random.default_rng(0)
        _, codes, W = make_sparse_coded(20_000, 12, sparsity=0.3, random_state=0)
        codes[rng.permutation(20_000)[:19_960], 4] = 0  # 40 samples at most, few of them in the working sample
        found = HRP(random_state=0).fit(codes @ W)
        assert dictionary_error(found.components_, W) < 1e-10

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
    def test_nothing_but_zeros(self, dtype):
        found = HRP(random_state=0).fit(np.zeros((30, 4), dtype))
        assert_allclose(found.components_ @ found.components_.T, np.eye(4), atol=1e-6)
        assert not found.certificate_
        assert found.objective_ == 0


class TestSmallAndOdd:
    """Cases that once went wrong."""

    @pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.long
    def test_few_features_of_any_kind(self, n_features, dictionary):
        for seed in range(40):
            rng = np.random.default_rng(seed)
            n_samples, sparsity = int(rng.integers(n_features + 1, 12)), rng.choice([0.2, 0.5, 0.8])
            X = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)[0]
            if dictionary == "complete" and np.linalg.matrix_rank(X) < n_features:
                continue
            found = HRP(dictionary=dictionary, random_state=seed).fit(X)
            assert_allclose(np.linalg.norm(found.components_, axis=1), 1)
            assert_allclose(found.transform(X) @ found.components_, X, atol=1e-8)

    @pytest.mark.parametrize("n_zero_rows", [3000, 20_000, 100_000])
    def test_a_few_rows_among_many_zeros(self, n_zero_rows):
        X, _, W = make_sparse_coded(300, 12, sparsity=0.3, random_state=0)
        order = np.random.default_rng(0).permutation(300 + n_zero_rows)
        for seed in range(3):
            found = HRP(random_state=seed).fit(np.vstack([X, np.zeros((n_zero_rows, 12))])[order])
            assert dictionary_error(found.components_, W) < 1e-12

    def test_no_false_certificate_of_few_features(self):
        for n_features, n_samples, sparsity in [(4, 20, 0.3), (4, 20, 0.5), (3, 15, 0.5), (3, 30, 0.8)]:
            for seed in range(20):
                X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
                found = HRP(random_state=seed).fit(X)
                assert not found.certificate_ or dictionary_error(found.components_, W) < 1e-8

    def test_few_features_are_certified_with_enough_rows(self):
        for n_features in (2, 3, 5):
            X, _, W = make_sparse_coded(300, n_features, sparsity=0.3, random_state=0)
            found = HRP(random_state=0).fit(X)
            assert found.certificate_
            assert dictionary_error(found.components_, W) < 1e-12

    @pytest.mark.parametrize("kind", ["rounded", "float32", "float32 in float64"])
    def test_rounding_is_seen_behind_dead_features(self, kind):
        X, _, W = make_sparse_coded(400, 10, sparsity=0.3, random_state=0)
        X = np.insert(X, [3, 7], 0.0, axis=1)
        X = {"rounded": np.round(X, 3), "float32": X.astype("f4")}.get(kind, X.astype("f4").astype("f8"))
        found = HRP(random_state=0).fit(X)
        assert found.certificate_
        assert found.certify(X)
        live = found.components_[np.abs(found.transform(X)).max(axis=0) > 1e-2]
        assert dictionary_error(live, np.insert(W, [3, 7], 0.0, axis=1)) < (1e-3 if kind == "rounded" else 1e-6)

    def test_whole_numbers_can_be_exact(self, rng):
        codes = rng.integers(-1, 2, (400, 10)) * (rng.random((400, 10)) < 0.3)
        found = HRP(random_state=0).fit(codes.astype(float))
        assert dictionary_error(found.components_, np.eye(10)) < 1e-12
        found = HRP(random_state=0).fit(99.0 * codes)
        assert found.certificate_

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_a_seldom_used_atom_costs_little_memory(self, dictionary):
        rng = np.random.default_rng(0)
        _, codes, A = make_sparse_coded(60_000, 15, sparsity=0.3, dictionary=dictionary, random_state=0)
        codes[rng.permutation(60_000)[:59_900], 4] = 0
        found = HRP(dictionary=dictionary, random_state=0).fit(codes @ A)
        assert dictionary_error(found.components_, A) < 1e-10
        assert found.certificate_.n_rows < 1000

    @pytest.mark.parametrize("seed", range(3))
    def test_seldom_used_atoms_that_come_in_runs_of_rows(self, seed):
        rng = np.random.default_rng(seed)
        _, codes, W = make_sparse_coded(60_000, 10, sparsity=0.25, random_state=seed)
        codes[:, :3] = 0
        for j in range(3):
            codes[j * 15_000 : j * 15_000 + 300, j] = rng.standard_normal(300)
        found = HRP(random_state=seed).fit(codes @ W)
        assert found.certificate_.n_features == 10
        assert not found.certificate_ or dictionary_error(found.components_, W) < 1e-10

    @pytest.mark.parametrize("scale", [1e-80, 1e-9, 1e9, 1e80])
    def test_unit_of_the_data_of_other_kinds(self, scale):
        X, _, A = make_sparse_coded(1000, 10, sparsity=0.2, dictionary="complete", random_state=0)
        assert dictionary_error(HRP(dictionary="complete", random_state=0).fit(scale * X).components_, A) < 1e-12
        X, _, W = make_sparse_coded(2000, 10, sparsity=0.2, snr_db=20, random_state=0)
        for n_nonzero in (None, 3):
            plain, scaled = (HRP(n_nonzero_coefs=n_nonzero, random_state=0).fit(data) for data in (X, scale * X))
            assert_allclose(plain.components_, scaled.components_, atol=1e-6)
            assert_allclose(plain.reconstruction_error(X), scaled.reconstruction_error(scale * X), atol=1e-6)
        assert dictionary_error(plain.components_, W) < 0.1

    @pytest.mark.parametrize("scale", [1e-80, 1e80])
    def test_certify_does_not_depend_on_the_unit(self, scale):
        rng = np.random.default_rng(0)
        S = rng.choice([-1.0, 1.0], (400, 1)) * [0.1, 3.0] * (rng.random((400, 2)) < 0.8)
        X = make_sparse_coded(300, 2, sparsity=0.3, random_state=0)[0]
        model = HRP(random_state=0).fit(X)
        model.encoder_ = np.eye(2)
        assert len(model.certify(S * (1 + 1e-3 * rng.random((400, 2)))).unstationary) == 1
        assert len(model.certify(scale * S * (1 + 1e-3 * rng.random((400, 2)))).unstationary) == 1

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the paper's scheme
    def test_stages_tell_the_objective_of_what_was_reached(self, rng):
        for settings in ({}, {"dictionary": "complete"}, {"scheme": "paper"}):
            for X in (rng.laplace(size=(3000, 8)), rng.standard_normal((400, 8))):
                for stage in HRP(random_state=0, **settings).fit(X).stages_:
                    assert stage.objective_after <= stage.objective_before * (1 + 1e-9), stage

    def test_stopping_the_alternation_of_a_complete_dictionary(self, rng):
        X = rng.laplace(size=(400, 8)) @ rng.standard_normal((8, 8))
        seen = []
        stop = lambda it: it.stage == "T0 free atoms" and (seen.append(it) or True)  # noqa: E731
        HRP(n_nonzero_coefs=2, dictionary="complete", random_state=0, callback=stop).fit(X)
        assert [it.n_iter for it in seen] == [1]
