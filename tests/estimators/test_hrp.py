"""What the estimator promises: exact recovery, the right finish for each kind of data, and its attributes."""

import io
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from skimage.data import camera
from sklearn import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hrpursuit import HRP
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import HRPOptions
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows


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
        assert found.certified_
        assert dictionary_error(found.components_, W) < 1e-11
        assert_allclose(found.components_ @ found.components_.T, np.eye(n_features), atol=1e-12)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("condition", [2, 10, 300])
    def test_complete(self, condition, seed):
        X, _, A = make_sparse_coded(
            1000, 20, sparsity=0.2, dictionary="complete", condition=condition, random_state=seed
        )
        found = HRP(dictionary="complete", random_state=seed).fit(X)
        assert found.certified_
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
        assert found.certified_
        assert found.components_.dtype == np.float32
        assert found.transform(X.astype(np.float32)).dtype == np.float32
        assert dictionary_error(found.components_, W) < 1e-6

    def test_float32_computed_in_float32(self):
        _, codes, W = make_sparse_coded(1000, 50, sparsity=0.2, random_state=0)
        found = HRP(random_state=0).fit(codes.astype(np.float32) @ W.astype(np.float32))
        assert found.certified_
        assert dictionary_error(found.components_, W) < 1e-6

    @pytest.mark.parametrize("decimals", [2, 3, 4, 6])
    def test_rounded_to_decimals(self, decimals):
        X, _, W = make_sparse_coded(400, 20, sparsity=0.3, random_state=0)
        found = HRP(random_state=0).fit(np.round(X, decimals))
        assert found.certified_
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
        assert found.certified_.n_rows <= 300

    def test_dense_data_is_never_certified(self, rng):
        for n_features in (5, 20):
            assert not HRP(random_state=0).fit(rng.standard_normal((40 * n_features, n_features))).certified_

    @pytest.mark.parametrize("seed", range(6))
    def test_no_false_certificate_with_few_samples(self, seed):
        for sparsity in (0.2, 0.4, 0.6):
            X, _, W = make_sparse_coded(80, 20, sparsity=sparsity, random_state=seed)
            found = HRP(random_state=seed).fit(X)
            assert not found.certified_ or dictionary_error(found.components_, W) < 1e-10


class TestOtherData:
    @pytest.mark.parametrize(("n_samples", "snr_db"), [(300, 20), (3000, 10), (3000, 30)])
    def test_noise_is_recognised_and_handled_better_than_by_the_paper(self, n_samples, snr_db):
        errors = {"exact": [], "paper": []}
        for seed in range(5):
            X, _, W = make_sparse_coded(n_samples, 20, sparsity=0.3, snr_db=snr_db, random_state=seed)
            for scheme, found in errors.items():
                model = HRP(scheme=scheme, random_state=seed).fit(X)
                assert not model.certified_
                found.append(dictionary_error(model.components_, W))
            assert "Procrustes" in [stage.name for stage in HRP(random_state=seed).fit(X).stages_]
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

    def test_readings_of_sensors(self, readings):
        exact, paper = (HRP(scheme=scheme, random_state=0).fit(readings) for scheme in ("exact", "paper"))
        assert exact.objective_ <= paper.objective_
        for n_nonzero in (5, 28):
            exact, paper = (HRP(n_nonzero, scheme=s, random_state=0).fit(readings) for s in ("exact", "paper"))
            assert exact.score(readings) > paper.score(readings)

    def test_patches_of_an_image(self):
        patches = np.lib.stride_tricks.sliding_window_view(camera()[::4, ::4] / 255.0, (6, 6)).reshape(-1, 36)[::3]
        patches = patches - patches.mean(axis=1, keepdims=True)
        exact, paper = (HRP(scheme=scheme, random_state=0).fit(patches) for scheme in ("exact", "paper"))
        assert exact.objective_ <= paper.objective_

    def test_dead_features_get_atoms_of_their_own(self):
        X, _, W = make_sparse_coded(300, 10, sparsity=0.3, random_state=0)
        padded = np.insert(X, [3, 7], 0.0, axis=1)
        found = HRP(random_state=0).fit(padded)
        assert found.certified_
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
        assert not found.certified_
        assert found.objective_ == 0


class TestSparseCodes:
    def test_exact_scheme_fits_the_dictionary_to_the_sparsity(self, rng):
        X = rng.laplace(size=(600, 16)) @ rng.standard_normal((16, 16))
        for n_nonzero in (1, 4, 12):
            plain, fitted = HRP(random_state=0).fit(X), HRP(n_nonzero, random_state=0).fit(X)
            cut = plain.set_params(n_nonzero_coefs=n_nonzero)
            assert fitted.score(X) > cut.score(X)
            assert np.count_nonzero(fitted.transform(X), axis=1).max() <= n_nonzero
            stage = fitted.stages_[-1]
            assert stage.name == "T0 Procrustes"
            assert stage.objective_after < stage.objective_before
            assert_allclose(-fitted.score(X), stage.objective_after, rtol=1e-6)

    def test_codes_that_are_sparse_already_stay_certified(self):
        X, _, W = make_sparse_coded(300, 12, sparsity=0.2, random_state=0)
        found = HRP(12, random_state=0).fit(X)
        assert found.certified_
        assert dictionary_error(found.components_, W) < 1e-12

    def test_complete_codes_are_refitted(self, rng):
        kind = {"sparsity": 0.3, "dictionary": "complete", "condition": 4, "random_state": 0}
        X = make_sparse_coded(500, 10, **kind)[0]
        found = HRP(2, dictionary="complete", random_state=0).fit(X)
        codes = found.transform(X)
        assert np.count_nonzero(codes, axis=1).max() == 2
        for x, code in zip(X[:20], codes[:20], strict=True):
            support = np.flatnonzero(code)
            residual = x - code @ found.components_
            assert_allclose(found.components_[support] @ residual, 0, atol=1e-9)
        plain = HRP(dictionary="complete", random_state=0).fit(X).set_params(n_nonzero_coefs=2)
        assert found.score(X) > plain.score(X)

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_codes_give_the_data_back(self, dictionary):
        X = make_sparse_coded(300, 10, sparsity=0.4, dictionary=dictionary, random_state=0)[0]
        found = HRP(dictionary=dictionary, random_state=0).fit(X)
        assert_allclose(found.transform(X) @ found.components_, X, atol=1e-10)
        assert_allclose(found.inverse_transform(found.transform(X)), X, atol=1e-10)
        assert_allclose(found.transform(X), X @ found.encoder_, atol=1e-12)
        assert found.score(X) > -1e-10


class TestAttributes:
    def test_order_and_signs_do_not_depend_on_the_seed(self):
        X = make_sparse_coded(5000, 15, sparsity=0.2, random_state=0)[0]
        first, second = (HRP(random_state=seed).fit(X).components_ for seed in (1, 2))
        assert_allclose(first, second, atol=1e-12)

    def test_signs_of_atoms_with_equal_entries(self):
        """Haar atoms: rounding must not choose the sign."""
        W = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1.0]])
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        codes = make_sparse_coded(400, 4, sparsity=0.3, random_state=0)[1]
        first, second = (HRP(random_state=seed).fit(codes @ W).components_ for seed in (1, 2))
        assert_allclose(first, second, atol=1e-12)
        for atom in first:
            assert atom[np.argmax(np.abs(atom) > 0.999 * np.abs(atom).max())] > 0

    def test_atoms_come_by_the_magnitude_of_their_codes(self):
        X = make_sparse_coded(150, 15, sparsity=0.2, random_state=0)[0]
        found = HRP(random_state=0).fit(X)
        assert np.all(np.diff(np.abs(found.transform(X)).sum(axis=0)) <= 1e-9)

    def test_stages_and_counts_add_up(self, rng):
        found = HRP(random_state=0).fit(rng.laplace(size=(2000, 8)))
        counted = sum(stage.n_iter for stage in found.stages_ if stage.name in ("Stage One", "plane search"))
        assert found.n_iter_ == counted > 0
        names = [stage.name for stage in found.stages_]
        assert names[:2] == ["plane search", "Stage One"]
        assert all(stage.seconds >= 0 for stage in found.stages_)
        for stage in found.stages_:
            assert stage.objective_after <= stage.objective_before * (1 + 1e-9)

    def test_objective_is_the_l1_norm_of_the_codes_per_sample(self, rng):
        for X in (make_sparse_coded(100, 10, sparsity=0.3, random_state=0)[0], rng.laplace(size=(400, 10))):
            found = HRP(random_state=0).fit(X)
            live = X[X.any(axis=1)]
            assert_allclose(found.objective_, np.abs(found.transform(live)).sum() / len(live), rtol=1e-9)

    def test_certify_looks_at_all_samples(self):
        X, _, _ = make_sparse_coded(3000, 12, sparsity=0.3, random_state=0)
        found = HRP(random_state=0).fit(X)
        on_all = found.certify(X)
        assert on_all
        assert on_all.n_rows > found.certified_.n_rows
        other = make_sparse_coded(3000, 12, sparsity=0.3, random_state=1)[0]
        assert not found.certify(other)

    def test_certified_fits_make_no_pass_over_all_rows(self, monkeypatch):
        X = make_sparse_coded(50_000, 12, sparsity=0.3, random_state=0)[0]
        longest = []
        plain = ArrayRows.blocks
        monkeypatch.setattr(ArrayRows, "blocks", lambda self: longest.append(len(self.X)) or plain(self))
        assert HRP(random_state=0).fit(X).certified_
        assert max(longest) < 1000

    def test_n_init_keeps_the_lowest_l1_norm(self, rng):
        X = rng.laplace(size=(300, 12))
        singles = [HRP(n_init=n, random_state=0).fit(X).objective_ for n in (1, 2, 3, 4)]
        assert np.all(np.diff(singles) <= 0)
        assert singles[-1] < singles[0]

    def test_n_init_stops_at_a_certificate(self):
        X = make_sparse_coded(200, 12, sparsity=0.2, random_state=0)[0]
        starts = []
        HRP(n_init=5, random_state=0, callback=lambda it: starts.append(it.n_iter) and None).fit(X)
        assert starts.count(min(starts)) == 1

    def test_a_warm_start_at_the_answer_needs_no_sweep(self):
        X, _, W = make_sparse_coded(300, 12, sparsity=0.3, random_state=0)
        found = HRP(dict_init=W, random_state=0).fit(X)
        assert found.certified_
        assert found.n_iter_ == 0

    def test_a_warm_start_of_a_complete_dictionary(self):
        kind = {"sparsity": 0.2, "dictionary": "complete", "condition": 5, "random_state": 0}
        X, _, A = make_sparse_coded(1000, 12, **kind)
        found = HRP(dictionary="complete", dict_init=A, random_state=0).fit(X)
        assert found.n_iter_ == 0
        assert dictionary_error(found.components_, A) < 1e-12

    def test_options_reach_the_search(self):
        X = make_sparse_coded(500, 12, sparsity=0.3, random_state=0)[0]
        found = HRP(options=HRPOptions(rows_per_feature=(30, 40)), random_state=0).fit(X)
        assert 340 < found.certified_.n_rows < 380

    def test_same_seed_same_result(self, rng):
        for X in (rng.laplace(size=(200, 8)), make_sparse_coded(200, 8, sparsity=0.3, random_state=0)[0]):
            first, second = (HRP(random_state=3).fit(X).components_ for _ in range(2))
            assert_allclose(first, second, atol=1e-13)


class TestCallbackAndMessages:
    def test_called_at_each_iteration_and_may_stop(self):
        X = make_sparse_coded(2000, 12, sparsity=0.2, random_state=0)[0]
        seen = []
        found = HRP(scheme="paper", random_state=0, callback=seen.append).fit(X)
        assert [it.stage for it in seen] == ["Stage One"] * found.n_iter_ + ["Stage Two"] * 49
        stopped = HRP(scheme="paper", random_state=0, callback=lambda it: it.n_iter == 2).fit(X)
        assert stopped.n_iter_ == 2
        assert [stage.name for stage in stopped.stages_] == ["Stage One"]

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_stops_the_plane_search(self, dictionary, rng):
        looks = []
        X = rng.laplace(size=(300, 12))
        found = HRP(dictionary=dictionary, random_state=0, callback=lambda it: looks.append(it) or len(looks) == 3).fit(
            X
        )
        assert [it.stage for it in looks] == ["plane search"] * 3
        assert looks[-1].n_iter == found.n_iter_ == 12
        assert_allclose(np.linalg.norm(found.components_, axis=1), 1)

    def test_components_in_a_callback_are_orthogonal(self):
        X = make_sparse_coded(200, 12, sparsity=0.5, random_state=0)[0]
        HRP(
            random_state=0, callback=lambda it: assert_allclose(it.components @ it.components.T, np.eye(12), atol=1e-9)
        ).fit(X)

    def test_warning_has_figures(self, rng):
        X = rng.laplace(size=(300, 12))
        with pytest.warns(ConvergenceWarning, match=r"did not reach tol=1e-12 in max_iter=3 iterations \(last step"):
            HRP(scheme="paper", max_iter=3, tol=1e-12, random_state=0).fit(X)
        with pytest.warns(ConvergenceWarning, match="max_iter=2"):
            HRP(max_iter=2, tol=0, random_state=0).fit(X)

    def test_verbose_prints_a_line_a_stage(self, capsys):
        X = make_sparse_coded(500, 12, sparsity=0.2, random_state=0)[0]
        found = HRP(scheme="paper", verbose=1, random_state=0).fit(X)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(found.stages_) == 2
        assert "Stage One" in lines[0]
        HRP(random_state=0).fit(X)
        assert capsys.readouterr().out == ""


class TestCitizen:
    X, _, W = make_sparse_coded(300, 6, sparsity=0.3, random_state=0)
    names = tuple("abcdef")

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_data_frames_in_and_out(self, frame):
        table = frame(dict(zip(self.names, self.X.T, strict=True)))
        found = HRP(random_state=0).fit(table)
        assert found.feature_names_in_.tolist() == list(self.names)
        assert_array_equal(found.components_, HRP(random_state=0).fit(self.X).components_)
        kind = "pandas" if frame is pd.DataFrame else "polars"
        out = found.set_output(transform=kind).transform(table)
        assert isinstance(out, frame)
        assert list(out.columns) == found.get_feature_names_out().tolist() == [f"hrp{i}" for i in range(6)]

    def test_other_columns_are_refused(self):
        found = HRP(random_state=0).fit(pd.DataFrame(self.X, columns=list(self.names)))
        with pytest.raises(ValueError, match="feature names"):
            found.transform(pd.DataFrame(self.X, columns=list("fedcba")))

    def test_memory_order_does_not_matter(self):
        first, second = (HRP(random_state=0).fit(X).components_ for X in (self.X, np.asfortranarray(self.X)))
        assert_allclose(first, second, atol=1e-12)

    def test_pickle_and_clone(self):
        found = HRP(2, random_state=0, options=HRPOptions(look_every=2)).fit(self.X)
        again = pickle.load(io.BytesIO(pickle.dumps(found)))
        assert_array_equal(found.transform(self.X), again.transform(self.X))
        assert clone(found).get_params() == found.get_params()

    def test_pipeline_and_grid_search(self):
        pipeline = make_pipeline(StandardScaler(with_mean=False), HRP(random_state=0))
        assert pipeline.fit_transform(self.X).shape == self.X.shape
        search = GridSearchCV(HRP(random_state=0), {"n_nonzero_coefs": [1, 3, 5]}, cv=3).fit(self.X)
        assert search.best_params_ == {"n_nonzero_coefs": 5}
        assert search.best_score_ <= 0

    def test_does_not_change_its_input(self, rng):
        X = rng.laplace(size=(100, 6))
        kept, start = X.copy(), random_orthogonal(6, rng)
        start_kept = start.copy()
        HRP(2, dict_init=start, random_state=0).fit(X).transform(X)
        assert_array_equal(X, kept)
        assert_array_equal(start, start_kept)


class TestSmallAndOdd:
    """Cases that once went wrong."""

    @pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
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
                assert not found.certified_ or dictionary_error(found.components_, W) < 1e-8

    def test_few_features_are_certified_with_enough_rows(self):
        for n_features in (2, 3, 5):
            X, _, W = make_sparse_coded(300, n_features, sparsity=0.3, random_state=0)
            found = HRP(random_state=0).fit(X)
            assert found.certified_
            assert dictionary_error(found.components_, W) < 1e-12

    @pytest.mark.parametrize("kind", ["rounded", "float32", "float32 in float64"])
    def test_rounding_is_seen_behind_dead_features(self, kind):
        X, _, W = make_sparse_coded(400, 10, sparsity=0.3, random_state=0)
        X = np.insert(X, [3, 7], 0.0, axis=1)
        X = {"rounded": np.round(X, 3), "float32": X.astype("f4")}.get(kind, X.astype("f4").astype("f8"))
        found = HRP(random_state=0).fit(X)
        assert found.certified_
        assert found.certify(X)
        live = found.components_[np.abs(found.transform(X)).max(axis=0) > 1e-2]
        assert dictionary_error(live, np.insert(W, [3, 7], 0.0, axis=1)) < (1e-3 if kind == "rounded" else 1e-6)

    def test_whole_numbers_can_be_exact(self, rng):
        codes = rng.integers(-1, 2, (400, 10)) * (rng.random((400, 10)) < 0.3)
        found = HRP(random_state=0).fit(codes.astype(float))
        assert dictionary_error(found.components_, np.eye(10)) < 1e-12
        found = HRP(random_state=0).fit(99.0 * codes)
        assert found.certified_

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_a_seldom_used_atom_costs_little_memory(self, dictionary):
        rng = np.random.default_rng(0)
        _, codes, A = make_sparse_coded(60_000, 15, sparsity=0.3, dictionary=dictionary, random_state=0)
        codes[rng.permutation(60_000)[:59_900], 4] = 0
        found = HRP(dictionary=dictionary, random_state=0).fit(codes @ A)
        assert dictionary_error(found.components_, A) < 1e-10
        assert found.certified_.n_rows < 1000

    @pytest.mark.parametrize("scale", [1e-80, 1e-9, 1e9, 1e80])
    def test_unit_of_the_data_of_other_kinds(self, scale):
        X, _, A = make_sparse_coded(1000, 10, sparsity=0.2, dictionary="complete", random_state=0)
        assert dictionary_error(HRP(dictionary="complete", random_state=0).fit(scale * X).components_, A) < 1e-12
        X, _, W = make_sparse_coded(2000, 10, sparsity=0.2, snr_db=20, random_state=0)
        for n_nonzero in (None, 3):
            plain, scaled = (HRP(n_nonzero, random_state=0).fit(data) for data in (X, scale * X))
            assert_allclose(plain.components_, scaled.components_, atol=1e-6)
            assert_allclose(plain.score(X), scaled.score(scale * X), atol=1e-6)
        assert dictionary_error(plain.components_, W) < 0.1

    @pytest.mark.parametrize("scale", [1e-80, 1e80])
    def test_certify_does_not_depend_on_the_unit(self, scale):
        rng = np.random.default_rng(0)
        S = rng.choice([-1.0, 1.0], (400, 1)) * [0.1, 3.0] * (rng.random((400, 2)) < 0.7)
        X = make_sparse_coded(300, 2, sparsity=0.3, random_state=0)[0]
        model = HRP(random_state=0).fit(X)
        model.encoder_ = np.eye(2)
        assert len(model.certify(S * (1 + 1e-3 * rng.random((400, 2)))).unstationary) == 1
        assert len(model.certify(scale * S * (1 + 1e-3 * rng.random((400, 2)))).unstationary) == 1

    def test_stages_tell_the_objective_of_what_was_reached(self, rng):
        for settings in ({}, {"dictionary": "complete"}, {"scheme": "paper"}):
            for X in (rng.laplace(size=(3000, 8)), rng.standard_normal((400, 8))):
                for stage in HRP(random_state=0, **settings).fit(X).stages_:
                    assert stage.objective_after <= stage.objective_before * (1 + 1e-9), stage

    def test_stopping_the_alternation_of_a_complete_dictionary(self, rng):
        X = rng.laplace(size=(400, 8)) @ rng.standard_normal((8, 8))
        seen = []
        stop = lambda it: it.stage == "T0 least squares" and (seen.append(it) or True)  # noqa: E731
        HRP(2, dictionary="complete", random_state=0, callback=stop).fit(X)
        assert [it.n_iter for it in seen] == [1]
