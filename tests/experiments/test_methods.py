"""What the experiments are made of: methods, errors, data, readings."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.coding import codes_block
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.experiments.errors import recovery_error
from hrpursuit.experiments.methods import METHODS, fit_until_true, installed, missing, warm_up
from hrpursuit.experiments.quirks import MATCHING, NOISE
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
        assert (l1_rgd.recovery, l1_rgd.step_size) == ("deflation", 0.3)
        assert METHODS["proposed"].make(None, 0).scheme == "paper"

    def test_a_package_that_is_missing_is_named_with_its_extra(self, monkeypatch):
        monkeypatch.setattr("hrpursuit.experiments.methods.find_spec", lambda name: None)
        assert "spams" not in installed()
        assert 'pip install "hrpursuit[peers]"' in missing()

    def test_the_truth_as_a_judge_takes_the_best_of_several_starts(self):
        X, truth = draw(150, 12, 0.3, seed=0, trial=0)
        plain = METHODS["l1-rgd"].estimator(None, 5).fit(X)
        judged = fit_until_true("l1-rgd", None, 5, X, truth)
        assert dictionary_error(judged.components_, truth) <= dictionary_error(plain.components_, truth)


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
        assert_array_equal(read(tmp_path / FILE), [[1, np.nan], [2, 3], [4, 5]])

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
