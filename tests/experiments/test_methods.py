"""What the experiments are made of: methods, errors, data, readings."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.baselines.atom_update import SparseCodes
from hrpursuit.core.coding import codes_block
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.experiments.as_published import dense, learn, plain_gradient, replace_in_turn, with_ties
from hrpursuit.experiments.errors import recovery_error
from hrpursuit.experiments.methods import METHODS, installed, missing, warm_up
from hrpursuit.experiments.quirks import (
    GRADIENT,
    MATCHING,
    NOISE,
    OF_METHOD,
    ONE_START,
    ROUNDING,
    STALE,
    TRANSPOSE,
    TRUTH,
    of_method,
)
from hrpursuit.experiments.readings import FILE, FILLS, find_readings, read, refill
from hrpursuit.experiments.synthetic import draw, told
from hrpursuit.metrics import dictionary_error, masked_rmse


class TestMethods:
    @pytest.mark.parametrize("name", installed())
    def test_each_learns_a_dictionary_with_the_papers_settings(self, name):
        X, _, W = make_sparse_coded(2000, 5, sparsity=0.2, random_state=0)
        warm_up(name)
        model = METHODS[name].estimator(1, 0).fit(X)
        assert dictionary_error(model.components_, W) < 0.2

    def test_papers_settings(self):
        spams = METHODS["spams"].make(None, 0), METHODS["spams"].estimator(None, 0, for_readings=True)
        assert [(model.lambda1, model.batch_size, model.max_iter) for model in spams] == [
            (0.15, 400, 1000),
            (0.002, 400, 1000),
        ]
        transform = METHODS["translearn"].make(4, 0)
        assert (transform.log_det_weight, transform.frobenius_weight, transform.step_size) == (0.5, 0.25, 1e-4)
        assert (transform.max_inner_iter, transform.max_iter) == (60, 1000)
        assert METHODS["logcosh-rtr"].make(None, 0).mu == 0.01
        l1_rgd = METHODS["l1-rgd"].estimator(None, 0, for_readings=True)
        assert (l1_rgd.recovery, l1_rgd.step_size) == ("deflation", 1.0)  # chosen on no readings
        assert METHODS["proposed"].make(None, 0).scheme == "paper"

    def test_a_package_that_is_missing_is_named_with_its_extra(self, monkeypatch):
        monkeypatch.setattr("hrpursuit.experiments.methods.find_spec", lambda name: None)
        assert "spams" not in installed()
        assert 'pip install "hrpursuit[peers]"' in missing()


class TestAsPublished:
    X, W = draw(400, 8, 0.2, seed=0, trial=0)

    def learned(self, name, quirks, **more):
        options = {"truth": self.W, "lambda1": 0.15, "for_readings": False} | more
        return learn(name, self.X, 2, np.random.default_rng(0), quirks, **options)

    @pytest.mark.parametrize("name", [name for name in OF_METHOD if name in installed()])
    def test_each_learns_with_all_of_its_quirks(self, name):
        learned = self.learned(name, of_method(name))
        assert learned.components.shape == (8, 8)
        assert recovery_error(learned.components, self.W, [MATCHING]) < 0.5
        assert learned.decoded(2).shape == self.X.shape

    def test_ksvd_decodes_with_the_codes_of_before_its_last_replacement(self, monkeypatch):
        """Without the last replacement of atoms the same codes fit."""
        rng = np.random.default_rng(1)
        X = np.abs(rng.standard_normal((200, 1))) * (1 + 0.02 * rng.standard_normal((200, 12)))  # atoms are much alike
        X *= 1 + 0.1 * np.sin(np.arange(200))[:, None] * np.linspace(0, 1, 12)
        options = {"truth": X, "lambda1": 0.1, "for_readings": True}
        stale = learn("ksvd", X, 3, np.random.default_rng(0), [STALE], **options).decoded(3)
        counted = []

        def all_but_the_last(*given):
            counted.append(1)
            return replace_in_turn(*given) if len(counted) < 10 else 0

        monkeypatch.setattr("hrpursuit.experiments.as_published.replace_in_turn", all_but_the_last)
        fitting = learn("ksvd", X, 3, np.random.default_rng(0), [STALE], **options).decoded(3)
        assert len(counted) == 10
        assert np.linalg.norm(X - stale) > 1.5 * np.linalg.norm(X - fitting)

    def test_a_sample_that_is_put_in_may_double_a_later_atom(self):
        X = np.array([[0.0, 5, 0], [0, 0, 4], [3, 0, 0], *[[0, 1, 1]] * 4])
        S = np.array([*[[0.0, 0, 0]] * 3, *[[0, 1, 1]] * 4])  # no sample uses the first atom, all others are in use
        W = np.eye(3)
        assert replace_in_turn(X, W, S) == 3
        assert_array_equal(W, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])

    def test_dense_codes_are_those_of_each_sample(self):
        codes = SparseCodes(
            np.array([[2, 0], [1, 9]], np.int32), np.array([[5.0, 6.0], [7.0, 8.0]]), np.array([2, 1], np.int32),
            np.zeros(2),
        )  # fmt: skip
        assert_array_equal(dense(codes, 3), [[6, 0, 5], [0, 7, 0]])

    def test_the_transpose_of_the_transform_is_no_inverse(self):
        plain, transposed = (self.learned("translearn", quirks) for quirks in ([GRADIENT], [GRADIENT, TRANSPOSE]))
        assert_allclose(np.linalg.norm(transposed.components, axis=1), 1)
        errors = [np.linalg.norm(self.X - learned.decoded(2)) for learned in (plain, transposed)]
        assert errors[1] > 1.05 * errors[0]

    def test_codes_that_tie_are_all_kept(self):
        codes = np.array([[3.0, -2, 2, 1], [1, 1, -1, 1], [4, 3, 2, 1]])
        assert_array_equal(with_ties(codes, 2), [[3, -2, 2, 0], [1, 1, -1, 1], [4, 3, 0, 0]])

    def test_steps_that_are_too_long_are_told(self, rng):
        options = {"n_nonzero": 2, "log_det": 0.5, "frobenius": 0.25, "max_inner": 60, "max_iter": 10}
        X = rng.standard_normal((50, 4))
        W, S = plain_gradient(X, np.eye(4), step_size=1e-4, **options)
        assert_array_equal(np.count_nonzero(S, axis=1), 2)
        assert np.isfinite(W).all()
        with pytest.raises(ArithmeticError, match="steps of 1 along the gradient are too long"):
            plain_gradient(X, np.eye(4), step_size=1.0, **options)

    def test_rounding_leaves_the_complement(self):
        X = np.random.default_rng(0).laplace(size=(60, 8)) @ np.diag(
            np.geomspace(1, 0.05, 8)
        )  # samples that are not sparse; those that are round exactly
        rng = np.random.default_rng(1)
        W = learn("logcosh-rtr", X, 2, rng, [ROUNDING], truth=X, lambda1=0.1, for_readings=True).components
        assert_allclose(np.linalg.norm(W, axis=1), 1)
        assert 1e-4 < np.abs(W @ W.T - np.eye(8)).max() < 0.2

    def test_runs_of_l1_rgd_end_where_the_truth_says_so(self):
        W = self.learned("l1-rgd", of_method("l1-rgd")).components
        found = W.any(axis=1)
        cosines = np.abs(np.sum(W * self.W, axis=1))[found]
        assert found.any()
        assert (cosines >= 0.99).all()
        assert cosines.max() < 1 - 1e-9  # not a step further

    def test_one_start_stops_near_the_truth_or_goes_on(self):
        for quirks in ([ONE_START], [ONE_START, TRUTH]):
            W = self.learned("l1-rgd", quirks, for_readings=True).components
            assert_allclose(W @ W.T, np.eye(8), atol=1e-10)
            assert recovery_error(W, self.W) < 0.3

    def test_a_method_without_quirks_is_refused(self):
        with pytest.raises(ValueError, match="has no quirks"):
            self.learned("proposed", [])


class TestErrors:
    def test_many_to_one_matching_lets_two_atoms_share_an_estimate(self):
        truth = np.eye(3)
        estimates = np.array([[np.sqrt(0.5), np.sqrt(0.5), 0], [0, 0, 1], [0, 0, 1]])
        one_to_one = np.sqrt((2 - np.sqrt(2) + 2) / 3)  # an atom of the first two has no estimate of its own
        assert_allclose(recovery_error(estimates, truth), one_to_one)
        assert_allclose(recovery_error(estimates, truth, [MATCHING]), np.sqrt(2 * (2 - np.sqrt(2)) / 3))

    def test_both_agree_on_a_permuted_dictionary(self, rng):
        truth = np.linalg.qr(rng.standard_normal((5, 5)))[0]
        estimate = -truth[[2, 0, 1, 4, 3]] + 1e-3 * rng.standard_normal((5, 5))
        assert_allclose(recovery_error(estimate, truth, [MATCHING]), recovery_error(estimate, truth), rtol=1e-6)


class TestData:
    def test_every_method_sees_the_same_data_in_a_trial(self):
        X, W = draw(50, 4, 0.3, seed=1, trial=2)
        assert_array_equal(X, draw(50, 4, 0.3, seed=1, trial=2)[0])
        for other in (draw(50, 4, 0.3, seed=1, trial=3), draw(50, 4, 0.3, seed=2, trial=2)):
            assert not np.allclose(X, other[0])
        assert_allclose(W @ W.T, np.eye(4), atol=1e-12)

    def test_noise_has_its_deviation_and_by_the_quirk_its_variance(self):
        X = draw(20_000, 5, 0.5, seed=0, trial=0)[0]
        deviation = np.sqrt(np.mean(X**2)) * 10 ** (-20 / 20)
        noise = draw(20_000, 5, 0.5, 0, 0, snr_db=20)[0] - X
        assert_allclose(noise.std(), deviation, rtol=0.02)
        quirky = draw(20_000, 5, 0.5, 0, 0, snr_db=20, quirks=[NOISE])[0] - X
        assert_allclose(quirky.std(), deviation**2, rtol=0.02)

    def test_told_is_the_true_mean(self):
        assert [told(theta, 20) for theta in (0.01, 0.1, 0.7)] == [1, 2, 14]


class TestReadings:
    GAPS = np.array([[1.0, np.nan, 3.0, 5.0], [np.nan, 2.0, np.nan, 8.0], [np.nan] * 4])

    def test_published_fill_is_the_mean_of_indices_plus_noise(self):
        filled = np.mean([FILLS["published"].apply(self.GAPS, np.random.default_rng(i)) for i in range(4000)], axis=0)
        assert_allclose(filled, [[1, (1 + 3 + 4) / 3, 3, 5], [3, 2, 3, 8], [0] * 4], atol=0.1)

    def test_written_fill_is_the_mean_of_the_hour(self, rng):
        filled = FILLS["written"].apply(self.GAPS, rng)
        assert_allclose(filled, [[1, 3, 3, 5], [5, 2, 5, 8], [0] * 4])

    def test_refill_lowers_the_error_and_leaves_the_readings(self, rng):
        X, _, W = make_sparse_coded(300, 8, sparsity=0.3, random_state=0)
        gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        filled = np.where(np.isnan(gaps), 0, gaps)
        start = np.linalg.qr(W + 0.05 * rng.standard_normal(W.shape))[0]
        before = masked_rmse(gaps, codes_block(filled, start.T, 3) @ start)
        again, components = refill(filled, gaps, start, 3, n_rounds=30)
        assert_allclose(again[~np.isnan(gaps)], gaps[~np.isnan(gaps)])
        assert_allclose(components @ components.T, np.eye(8), atol=1e-10)
        assert masked_rmse(gaps, codes_block(again, components.T, 3) @ components) < before

    def test_where_they_are_looked_for(self, tmp_path, monkeypatch):
        monkeypatch.delenv("HRPURSUIT_DATA", raising=False)
        path, why_not = find_readings(None)
        assert path is None
        assert "--data" in why_not
        assert "HRPURSUIT_DATA" in why_not
        with pytest.raises(FileNotFoundError, match=str(tmp_path / FILE)):
            find_readings(tmp_path)
        monkeypatch.setenv("HRPURSUIT_DATA", str(tmp_path))
        assert str(tmp_path / FILE) in find_readings(None)[1]
        (tmp_path / FILE).write_text("hour,a,b\n0,1,\n1,2,3\n2,4,5\n")
        assert find_readings(None) == (tmp_path / FILE, "")
        assert find_readings(tmp_path / FILE) == (tmp_path / FILE, "")
        assert_array_equal(read(tmp_path / FILE).values, [[1, np.nan], [2, 3], [4, 5]])
        assert read(tmp_path / FILE).when == ""

    def test_times_in_the_file_say_when_it_was(self, tmp_path):
        text = "UTC time,3,140\n2017-10-01T00:00:00,1,\n2017-10-01T01:00:00,2,3\n2017-10-01T02:00:00,4,5\n"
        (tmp_path / "x.csv").write_text(text)
        readings = read(tmp_path / "x.csv")
        assert_array_equal(readings.values, [[1, np.nan], [2, 3], [4, 5]])
        assert readings.when == "from 2017-10-01T00:00:00 to 2017-10-01T02:00:00"

    def test_a_file_of_another_kind_is_refused(self, tmp_path):
        for text, said in (
            ("a,b\n1,2\n", "got shape"),
            ("0,1,2\n1,2,3\n", "no line of names"),
            ("hour,a,b\n1,2\n3,4,5\n", "different lengths"),
            ("hour,a,b\nx,2,3\n2,4,5\n3,4,5\n", "something else than numbers"),
            ("hour,a,b\n1,,\n2,,\n3,,\n", "no reading at all"),
        ):
            (tmp_path / "x.csv").write_text(text)
            with pytest.raises(ValueError, match=said):
                read(tmp_path / "x.csv")
