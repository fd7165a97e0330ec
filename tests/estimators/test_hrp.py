"""What the estimator promises beside recovery: codes, attributes, callbacks, and manners."""

import io
import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hrpursuit import HRP, MisspecifiedWarning
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import HRPOptions
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows


class TestSparseCodes:
    def test_exact_scheme_fits_the_dictionary_to_the_sparsity(self, rng):
        X = rng.laplace(size=(600, 16)) @ rng.standard_normal((16, 16))
        for n_nonzero in (1, 4, 12):
            plain, fitted = HRP(random_state=0).fit(X), HRP(n_nonzero_coefs=n_nonzero, random_state=0).fit(X)
            cut = plain.set_params(n_nonzero_coefs=n_nonzero)
            assert fitted.reconstruction_error(X) < cut.reconstruction_error(X)
            assert np.count_nonzero(fitted.transform(X), axis=1).max() <= n_nonzero
            stage = fitted.stages_[-1]
            assert stage.name == "T0 Procrustes"
            assert stage.objective_after < stage.objective_before
            assert_allclose(fitted.reconstruction_error(X), stage.objective_after, rtol=1e-6)

    def test_codes_that_are_sparse_already_stay_certified(self):
        X, _, W = make_sparse_coded(300, 12, sparsity=0.2, random_state=0)
        found = HRP(n_nonzero_coefs=12, random_state=0).fit(X)
        assert found.certificate_
        assert dictionary_error(found.components_, W) < 1e-12

    def test_complete_codes_are_refitted(self, rng):
        kind = {"sparsity": 0.3, "dictionary": "complete", "condition": 4, "random_state": 0}
        X = make_sparse_coded(500, 10, **kind)[0]
        found = HRP(n_nonzero_coefs=2, dictionary="complete", random_state=0).fit(X)
        codes = found.transform(X)
        assert np.count_nonzero(codes, axis=1).max() == 2
        for x, code in zip(X[:20], codes[:20], strict=True):
            support = np.flatnonzero(code)
            residual = x - code @ found.components_
            assert_allclose(found.components_[support] @ residual, 0, atol=1e-9)
        plain = HRP(dictionary="complete", random_state=0).fit(X).set_params(n_nonzero_coefs=2)
        assert found.reconstruction_error(X) < plain.reconstruction_error(X)

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_codes_give_the_data_back(self, dictionary):
        X = make_sparse_coded(300, 10, sparsity=0.4, dictionary=dictionary, random_state=0)[0]
        found = HRP(dictionary=dictionary, random_state=0).fit(X)
        assert_allclose(found.transform(X) @ found.components_, X, atol=1e-10)
        assert_allclose(found.inverse_transform(found.transform(X)), X, atol=1e-10)
        assert_allclose(found.transform(X), X @ found.encoder_, atol=1e-12)
        assert found.reconstruction_error(X) < 1e-10


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
        counted = sum(stage.n_iter for stage in found.stages_ if stage.name in ("Stage One", "search"))
        assert found.n_iter_ == counted > 0
        names = [stage.name for stage in found.stages_]
        assert names == ["search", "maximum likelihood"]
        assert all(stage.seconds >= 0 for stage in found.stages_)
        for stage in found.stages_:
            assert stage.objective_after <= stage.objective_before + 1e-9 * abs(stage.objective_before)

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
        assert on_all.n_rows > found.certificate_.n_rows
        other = make_sparse_coded(3000, 12, sparsity=0.3, random_state=1)[0]
        assert not found.certify(other)

    def test_certified_fits_make_no_pass_over_all_rows_but_the_survey(self, monkeypatch):
        X = make_sparse_coded(50_000, 12, sparsity=0.3, random_state=0)[0]
        longest = []
        plain = ArrayRows.blocks
        monkeypatch.setattr(ArrayRows, "blocks", lambda self: longest.append(len(self.X)) or plain(self))
        assert HRP(random_state=0).fit(X).certificate_
        assert longest.count(len(X)) == 1
        assert sorted(longest)[:-1][-1] < 1000

    @pytest.mark.long
    def test_n_init_keeps_the_likeliest(self, rng):
        gains = []
        for _ in range(5):
            X = rng.laplace(size=(150, 12))
            likelihoods = [-HRP(n_init=n, random_state=0).fit(X).stages_[-1].objective_after for n in (1, 3, 6)]
            assert np.all(np.diff(likelihoods) >= 0)
            gains.append(likelihoods[-1] - likelihoods[0])
        assert max(gains) > 1e-3

    def test_n_init_stops_at_a_certificate(self):
        X = make_sparse_coded(200, 12, sparsity=0.2, random_state=0)[0]
        starts = []
        HRP(n_init=5, random_state=0, callback=lambda it: starts.append(it.n_iter) and None).fit(X)
        assert starts.count(min(starts)) == 1

    def test_a_warm_start_at_the_answer_needs_no_step(self):
        X, _, W = make_sparse_coded(300, 12, sparsity=0.3, random_state=0)
        found = HRP(dict_init=W, random_state=0).fit(X)
        assert found.certificate_
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
        assert 340 < found.certificate_.n_rows < 380

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
    def test_stops_the_search(self, dictionary, rng):
        looks = []
        X = rng.laplace(size=(300, 12))
        found = HRP(dictionary=dictionary, random_state=0, callback=lambda it: looks.append(it) or len(looks) == 3).fit(
            X
        )
        assert [it.stage for it in looks] == ["search"] * 3
        assert looks[-1].n_iter == found.n_iter_ == 48
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

    def test_verbose_prints_a_line_a_stage(self, capsys):
        X = make_sparse_coded(500, 12, sparsity=0.2, random_state=0)[0]
        found = HRP(scheme="paper", verbose=1, random_state=0).fit(X)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) - 1 == len(found.stages_) == 2
        assert "Stage One" in lines[0]
        assert lines[-1] == f"[HRP] {found.verdict_}"
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

    def test_dask_collections(self):
        expected = HRP(random_state=0).fit(self.X).components_
        frame = pd.DataFrame(self.X, columns=list(self.names))
        for data in (da.from_array(self.X, chunks=(50, 6)), dd.from_pandas(frame, npartitions=3)):
            found = HRP(random_state=0).fit(data)
            assert_allclose(found.components_, expected, atol=1e-13)
            assert_allclose(found.transform(data), self.X @ found.encoder_, atol=1e-12)

    def test_other_columns_are_refused(self):
        found = HRP(random_state=0).fit(pd.DataFrame(self.X, columns=list(self.names)))
        with pytest.raises(ValueError, match="feature names"):
            found.transform(pd.DataFrame(self.X, columns=list("fedcba")))

    def test_memory_order_does_not_matter(self):
        first, second = (HRP(random_state=0).fit(X).components_ for X in (self.X, np.asfortranarray(self.X)))
        assert_allclose(first, second, atol=1e-12)

    def test_pickle_and_clone(self):
        found = HRP(n_nonzero_coefs=2, random_state=0, options=HRPOptions(look_every=2)).fit(self.X)
        again = pickle.load(io.BytesIO(pickle.dumps(found)))
        assert_array_equal(found.transform(self.X), again.transform(self.X))
        assert clone(found).get_params() == found.get_params()

    def test_pipeline_and_grid_search(self):
        """Features in units of their own make atoms that are not orthogonal."""
        pipeline = make_pipeline(StandardScaler(with_mean=False), HRP(dictionary="complete", random_state=0))
        codes = pipeline.fit_transform(self.X)
        assert pipeline[-1].certificate_
        assert_allclose(pipeline.inverse_transform(codes), self.X, atol=1e-12)
        search = GridSearchCV(pipeline, {"hrp__dictionary": ["orthogonal", "complete"]}, cv=3)
        with pytest.warns(MisspecifiedWarning, match='use dictionary="complete"'):
            search.fit(self.X)
        assert search.best_params_ == {"hrp__dictionary": "complete"}

    def test_does_not_change_its_input(self, rng):
        X = rng.laplace(size=(100, 6))
        kept, start = X.copy(), random_orthogonal(6, rng)
        start_kept = start.copy()
        HRP(n_nonzero_coefs=2, dict_init=start, random_state=0).fit(X).transform(X)
        assert_array_equal(X, kept)
        assert_array_equal(start, start_kept)


@pytest.mark.parametrize("order", ["C", "F", "strided", "read-only", "big-endian"])
def test_arrays_of_any_layout(order):
    X = make_sparse_coded(200, 8, sparsity=0.3, random_state=0)[0]
    given = {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "read-only": X.copy(),
        "big-endian": X.astype(">f8"),
    }[order]
    given.flags.writeable = order != "read-only"
    assert_allclose(HRP(random_state=0).fit(given).components_, HRP(random_state=0).fit(X).components_, atol=1e-12)


def test_a_fit_that_fails_leaves_the_number_of_features():
    model = HRP(random_state=0).fit(make_sparse_coded(60, 5, sparsity=0.3, random_state=0)[0])
    with pytest.raises(ValueError, match="samples"):
        model.fit(np.random.default_rng(0).standard_normal((4, 8)))
    assert model.n_features_in_ == model.components_.shape[1] == 5
