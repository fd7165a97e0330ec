import warnings

import numpy as np
import pytest

from hrpursuit import HRP, MisspecifiedWarning
from hrpursuit.datasets import make_sensor_network, make_sparse_coded
from hrpursuit.metrics import dictionary_error


def make(n_samples, n_features, seed=0, **kind):
    return make_sparse_coded(n_samples, n_features, random_state=seed, **{"sparsity": 0.2} | kind)[0]


def verdict(X, **settings):
    return HRP(random_state=0, **settings).fit(X).verdict_


class TestKind:
    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_exact(self, dictionary):
        found = verdict(make(300, 20, dictionary=dictionary), dictionary=dictionary)
        assert found.kind == "exact"
        assert "certified" in found.confidence
        assert found.advice == ""

    def test_atoms_that_no_sample_uses_are_said_to_be_any(self):
        """They were not mentioned: "certified" stood for dictionaries of which half of the atoms were arbitrary."""
        _, codes, components = make_sparse_coded(300, 20, sparsity=0.2, random_state=3)
        codes[:, :2] = 0
        model = HRP(random_state=0).fit(codes @ components)
        assert model.certificate_
        assert model.verdict_.kind == "exact"
        assert "2 of 20 atoms are used by no sample" in model.verdict_.confidence
        assert "no sample" not in verdict(make(300, 20)).confidence

    def test_an_atom_of_a_complete_dictionary_that_one_sample_uses_is_not_determined(self):
        """It was "most likely right", with errors above .1: parts of other atoms make that sample sparser."""
        for seed in range(5):
            _, codes, components = make_sparse_coded(400, 10, sparsity=0.2, dictionary="complete", random_state=seed)
            codes[:, 4] = 0
            codes[7, 4] = 1
            assert verdict(codes @ components, dictionary="complete").kind == "undetermined"

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.parametrize("values", ["0 and 1", "0 and ±1"])
    def test_codes_of_few_values_are_not_certified_in_a_wrong_dictionary(self, dictionary, values):
        """Many were: of 8 atoms with codes of 0 and 1 half of those that were certified."""
        for seed in range(6):
            rng = np.random.default_rng(seed)
            n_samples, n_features = (80, 160, 120)[seed % 3], (8, 8, 12)[seed % 3]
            components = make_sparse_coded(1, n_features, sparsity=1, dictionary=dictionary, random_state=seed)[2]
            codes = 1.0 * (rng.random((n_samples, n_features)) < (0.5 if n_features == 8 else 0.3))
            codes *= 1 if values == "0 and 1" else rng.choice([-1, 1], codes.shape)
            model = HRP(dictionary=dictionary, random_state=0).fit(codes @ components)
            wrong = dictionary_error(model.components_, components) > 1e-6
            assert not (wrong and (model.certificate_ or model.verdict_.kind == "exact"))

    @pytest.mark.parametrize("n_features", [3, 10, 20])
    def test_few_different_samples_are_not_noisy(self, n_features, rng):
        """One-hot samples were sparse codes in noise at 290 dB."""
        found = verdict(np.eye(n_features)[rng.integers(n_features, size=100 * n_features)])
        assert found.kind == "undetermined"
        assert f"only {n_features} different samples" in found.finding

    def test_exact_although_not_certified(self):
        """An atom that three samples use cannot be certified, but it is found."""
        _, codes, components = make_sparse_coded(300, 20, sparsity=0.2, random_state=3)
        codes[np.flatnonzero(codes[:, 4])[3:], 4] = 0
        model = HRP(random_state=0).fit(codes @ components)
        assert not model.certificate_
        assert model.verdict_.kind == "exact"
        assert "used by only" in model.verdict_.confidence

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.parametrize("snr_db", [60, 30, 12])
    def test_noise_and_its_level(self, dictionary, snr_db):
        found = verdict(make(1000, 20, dictionary=dictionary, snr_db=snr_db), dictionary=dictionary)
        assert found.kind == "noisy"
        assert abs(found.snr_db - snr_db) < 1.5

    @pytest.mark.parametrize(("unit", "n_samples"), [(2, 200), (3, 600), (5, 600), (10, 200), (10, 600)])
    def test_whole_numbers_are_noisy(self, unit, n_samples):
        """Whole numbers fit into float16, which does not make a code of .003 rms a zero."""
        X = unit * make(n_samples, 20, 3)
        rounded = np.round(X)
        found = verdict(rounded)
        assert found.kind == "noisy"
        assert abs(found.snr_db - 10 * np.log10(np.var(X) / np.var(rounded - X))) < 1.5

    def test_finer_whole_numbers_are_exact_up_to_their_rounding(self):
        found = verdict(np.round(100 * make(400, 20)))
        assert found.kind == "exact"
        assert "up to their rounding" in found.finding
        assert "rounding" not in verdict(make(400, 20)).finding

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.parametrize(("n_samples", "n_features"), [(100, 8), (400, 20), (2000, 20)])
    def test_rounded_readings_are_not_exactly_sparse(self, dictionary, n_samples, n_features):
        """Smooth readings differ little from row to row, and many rows could be coded by values as small as their
        rounding: with few zeros among them, of which dictionaries had been certified.
        """
        rng, t = np.random.default_rng(0), np.arange(n_samples)[:, None]
        daily = 5 * np.sin(t / 24 * 2 * np.pi + rng.uniform(0, 6, n_features))
        X = np.round(20 + daily + np.cumsum(0.1 * rng.standard_normal((n_samples, n_features)), axis=0), 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error", MisspecifiedWarning)
            model = HRP(dictionary=dictionary, random_state=0).fit(X)
        assert not model.certificate_
        assert model.verdict_.kind in ("not sparse", "compressible", "undetermined")

    @pytest.mark.parametrize("scale", [1e-60, 1e-3, 1e40])
    def test_unit_does_not_matter(self, scale):
        X = make(1000, 20, snr_db=20)
        assert verdict(scale * X) == verdict(X)

    @pytest.mark.parametrize(
        ("draw", "kind"),
        [
            ("laplace", "compressible"),
            ("standard_cauchy", "compressible"),
            ("exponential", "compressible"),
            ("uniform", "not sparse"),
            ("standard_normal", "not sparse"),
        ],
    )
    def test_dense_codes(self, rng, draw, kind):
        X = getattr(rng, draw)(size=(6000, 10))
        assert verdict(X - np.median(X, axis=0)).kind == kind

    def test_gaussian_data_of_few_samples_is_undetermined(self, rng):
        found = verdict(rng.standard_normal((200, 20)))
        assert found.kind == "undetermined"
        assert "samples would tell" in found.advice

    def test_too_few_exact_samples_are_undetermined(self):
        found = [verdict(make(30, 20, seed, sparsity=0.5)).kind for seed in range(5)]
        assert found == ["undetermined"] * 5

    def test_other_settings_are_named(self):
        with pytest.warns(MisspecifiedWarning, match="complete"):
            found = verdict(make(500, 20, dictionary="complete"))
        assert (found.kind, found.advice) == ("misspecified", 'use dictionary="complete"')
        assert found.finding == "the samples are exactly sparse in a dictionary whose atoms are not orthogonal"
        with pytest.warns(MisspecifiedWarning, match="fit_intercept"):
            found = verdict(make(500, 20) + 3)
        assert (found.kind, found.advice) == ("misspecified", "use fit_intercept=True")

    def test_zeros_and_callbacks(self):
        assert "all samples are zero" in verdict(np.zeros((50, 5))).finding
        stopped = verdict(make(500, 20, snr_db=20), callback=lambda iterate: True)
        assert (stopped.kind, stopped.finding) == ("undetermined", "the callback ended the fit")


class TestWhatToTry:
    def test_an_offset_in_noise(self):
        assert "fit_intercept=True" in verdict(make(1000, 20, snr_db=20) + 1).advice
        assert "fit_intercept" not in verdict(make(1000, 20, snr_db=20) + 1, fit_intercept=True).advice
        assert "fit_intercept" not in verdict(make(1000, 20, snr_db=20)).advice

    @pytest.mark.parametrize("snr_db", [60, 20])
    def test_a_complete_dictionary_in_noise(self, snr_db):
        X = make(1000, 20, dictionary="complete", snr_db=snr_db)
        assert 'dictionary="complete"' in verdict(X).advice
        assert "complete" not in verdict(X, dictionary="complete").advice
        assert "complete" not in verdict(make(1000, 20, snr_db=snr_db)).advice

    def test_a_number_of_codes_unless_there_is_one(self, rng):
        X = rng.laplace(size=(1000, 10))
        assert "set n_nonzero_coefs" in verdict(X).advice
        few = verdict(X, n_nonzero_coefs=3)
        assert "n_nonzero_coefs" not in few.advice
        assert few.confidence == "the dictionary is fitted to 3 codes per sample"

    def test_outliers_are_not_cured_by_more_samples(self):
        found = verdict(make(500, 20, seed=1, outliers=0.2))
        assert found.kind == "exact"
        assert found.finding.startswith("many samples are exactly sparse")
        assert "for these" in found.confidence
        assert found.advice.startswith("leave out samples that are outliers")

    def test_filled_gaps_are_not_outliers(self):
        """The mean that fills a gap leaves no zero code, but the sample itself is fine."""
        X = make(600, 10)
        gappy = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
        found = verdict(gappy)
        assert found.kind == "exact"
        assert "a gap that was filled" in found.confidence
        assert found.advice.startswith("fit the samples without gaps alone")
        assert "outliers" not in str(found)
        assert HRP(random_state=0).fit(gappy[~np.isnan(gappy).any(axis=1)]).certificate_  # the advice helps

    def test_another_scheme(self):
        with pytest.warns(UserWarning, match="did not reach tol"):
            found = verdict(make(1000, 20), scheme="paper", max_iter=2)
        assert (found.kind, found.advice) == ("compressible", 'try scheme="exact"')


class TestExpectedError:
    """Against the error that the truth shows. Seeds are used by no benchmark."""

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.parametrize(("n_features", "n_samples"), [(10, 300), (20, 1000), (40, 1000)])
    @pytest.mark.parametrize("snr_db", [50, 20, 10])
    def test_noise(self, dictionary, n_features, n_samples, snr_db):
        X, _, components = make_sparse_coded(
            n_samples, n_features, sparsity=0.2, snr_db=snr_db, dictionary=dictionary, random_state=77
        )
        model = HRP(dictionary=dictionary, random_state=0).fit(X)
        ratio = model.verdict_.expected_error / dictionary_error(model.components_, components)
        assert 0.7 < ratio < 1.3
        assert f"about {model.verdict_.expected_error:.2g}" in model.verdict_.confidence

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_dense_codes(self, rng, dictionary):
        _, _, components = make_sparse_coded(20, 10, sparsity=0.2, dictionary=dictionary, random_state=5)
        model = HRP(dictionary=dictionary, random_state=0).fit(rng.laplace(size=(8000, 10)) @ components)
        ratio = model.verdict_.expected_error / dictionary_error(model.components_, components)
        assert 0.6 < ratio < 1.5

    def test_repeated_samples_are_no_evidence(self):
        X = make(500, 15, snr_db=20)
        once, often = verdict(X).expected_error, verdict(np.tile(X, (4, 1))).expected_error
        assert 0.8 < often / once < 1.25

    def test_none_where_nothing_was_estimated(self, rng):
        assert verdict(make(300, 20)).expected_error is None
        assert verdict(make(300, 20, snr_db=20), n_nonzero_coefs=4).expected_error is None
        assert verdict(rng.standard_normal((200, 20))).expected_error is None


class TestGaps:
    @staticmethod
    def table(snr_db=None, seed=0):
        rng = np.random.default_rng(seed)
        codes = np.zeros((500, 20))
        for row in codes:
            row[rng.choice(20, 4, replace=False)] = rng.standard_normal(4)
        _, _, components = make_sparse_coded(20, 20, sparsity=0.2, random_state=seed)
        X = codes @ components
        if snr_db is not None:
            X = X + 10 ** (-snr_db / 20) * X.std() * rng.standard_normal(X.shape)
        return np.where(rng.random(X.shape) < 0.12, np.nan, X), components

    def test_exact(self):
        X, components = self.table()
        model = HRP(n_nonzero_coefs=4, random_state=0).fit(X)
        assert dictionary_error(model.components_, components) < 1e-6
        assert model.verdict_.kind == "exact"
        assert "leave no error" in model.verdict_.finding
        assert model.verdict_.advice == ""

    def test_noise_and_its_level(self):
        X, _ = self.table(snr_db=25)
        found = verdict(X, n_nonzero_coefs=4)
        assert found.kind == "noisy"
        assert abs(found.snr_db - 25) < 3
        assert "11.8% of the entries are missing" in found.finding


class TestTruth:
    def test_a_verdict_is_neither_true_nor_false(self):
        with pytest.raises(TypeError, match=r"verdict_\.kind"):
            bool(verdict(make(200, 10)))


class TestAtomsUsedTogether:
    """Two atoms that the same samples use can be mixed without loss of zeros; others cannot, however often they go
    together.
    """

    @staticmethod
    def fit(use_second, dictionary="orthogonal"):
        rng = np.random.default_rng(7)
        used = rng.random((1000, 16)) < 0.2
        used[:, 1] = use_second(used[:, 0], rng)
        _, _, components = make_sparse_coded(20, 16, sparsity=0.2, dictionary=dictionary, random_state=1)
        model = HRP(dictionary=dictionary, random_state=0).fit(rng.standard_normal(used.shape) * used @ components)
        assert not model.certificate_
        return model.verdict_, dictionary_error(model.components_, components)

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_always_together(self, dictionary):
        found, error = self.fit(lambda first, rng: first, dictionary)
        assert error > 0.01
        assert found.kind == "undetermined"
        assert "2 of 16 atoms are used by the same samples" in found.finding

    def test_the_one_only_with_the_other(self):
        def use_second(first, rng):
            return first & (rng.random(len(first)) < 0.5)

        found, error = self.fit(use_second)
        assert error < 1e-12
        assert found.kind == "exact"
        assert self.fit(use_second, "complete")[0].kind == "undetermined"

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_mostly_together(self, dictionary):
        found, error = self.fit(lambda first, rng: first ^ (rng.random(len(first)) < 0.1), dictionary)
        assert error < 1e-12
        assert found.kind == "exact"
        assert "often used together" in found.confidence

    def test_blocks(self):
        rng = np.random.default_rng(7)
        used = np.repeat(rng.random((600, 4)) < 0.25, 4, axis=1)
        _, _, components = make_sparse_coded(20, 16, sparsity=0.2, random_state=1)
        found = verdict(rng.standard_normal(used.shape) * used @ components)
        assert found.kind == "undetermined"
        assert "others" not in found.confidence


class TestFixedNumberOfCodes:
    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_of_exactly_sparse_samples_with_more(self, dictionary):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # who searches for the best number of codes tries numbers like this
            found = verdict(make(300, 20), n_nonzero_coefs=3, dictionary=dictionary)
        assert found.kind == "misspecified"
        assert "without n_nonzero_coefs" in found.advice
        assert "more than the 3 codes that are kept" in found.finding
        assert "without n_nonzero_coefs" in found.advice

    def test_of_exactly_sparse_samples_with_fewer(self):
        found = verdict(make(300, 20), n_nonzero_coefs=20)
        assert (found.kind, found.advice) == ("exact", "")


class TestOddSamples:
    def test_few_that_differ(self, rng):
        found = verdict(np.repeat(rng.standard_normal((3, 5)), 20, axis=0))
        assert found.kind == "undetermined"
        assert found.finding == "only 3 different samples were found"
        assert verdict(np.ones((50, 5))).finding == "all samples are equal"

    def test_some_features_are_often_zero(self, rng):
        X = rng.standard_normal((600, 10)) @ np.linalg.qr(rng.standard_normal((10, 10)))[0]
        X[:, :3] *= rng.random((600, 3)) < 0.2
        found = verdict(X)
        assert found.kind == "undetermined"
        assert "others have none" in found.finding
        assert "NaN" in found.advice

    def test_a_gap_in_exact_samples_is_mentioned(self):
        X = make(300, 20)
        X[5, 3] = np.nan
        found = verdict(X)
        assert found.kind == "exact"
        assert "missing and were filled with the mean of their row" in found.finding


class TestWhyNothingWasChecked:
    def test_reasons(self):
        X = make(300, 20)
        gappy = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
        reasons = {
            "samples with gaps": HRP(n_nonzero_coefs=4).fit(gappy),
            'scheme="paper"': HRP(scheme="paper").fit(X),
            "free atoms": HRP(n_nonzero_coefs=3, dictionary="complete").fit(X),
            "all samples are zero": HRP().fit(np.zeros((30, 4))),
        }
        for reason, model in reasons.items():
            assert reason in str(model.certificate_)
            assert not model.certificate_


class TestWords:
    def test_gaps(self):
        X = make_sensor_network(500, 12, random_state=0)
        assert np.isnan(X).any()
        filled, fitted = verdict(X), verdict(X, n_nonzero_coefs=3)
        assert "filled with the mean of their row" in filled.finding
        assert "left out of the fit" in fitted.finding
        assert "relative RMSE" in fitted.finding

    def test_repr_shows_it_once_fitted(self):
        X = make(300, 20)
        model = HRP(random_state=0)
        assert repr(model) == "HRP(random_state=0)"
        assert repr(model.fit(X)) == f"HRP(random_state=0)\n# {model.verdict_}"

    def test_sentences(self):
        X, codes, _ = make_sparse_coded(300, 20, sparsity=0.2, random_state=0)
        text = str(verdict(X[:200]))  # all of them are the working sample
        n_used = np.count_nonzero(codes[:200]) / 200
        n_live = codes[:200].any(axis=1).sum()
        assert text == (
            f"exact: The samples are exactly sparse, with {n_used:.3g} of 20 codes in use on average. "
            f"Certified on {n_live} samples."
        )

    def test_ordinary_data_gives_no_warning(self, rng):
        for X in (make(300, 20), make(300, 20, snr_db=10), rng.laplace(size=(500, 10)), rng.normal(size=(200, 10))):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                verdict(X)
            assert caught == []
