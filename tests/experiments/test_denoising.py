"""Denoising of photographs: where they come from, what each method makes of them, what is said of the results."""

import socket
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy.fft import dctn, idctn
from scipy.stats import ttest_1samp
from skimage.metrics import peak_signal_noise_ratio

from hrpursuit.experiments import denoisers
from hrpursuit.experiments.catalogue import denoising
from hrpursuit.experiments.catalogue.denoising.differences import differences, over_draws, over_photographs, time_ratio
from hrpursuit.experiments.catalogue.denoising.sentences import in_colour, in_grey
from hrpursuit.experiments.denoisers import DENOISERS, SHOWN, SIGMAS, installed, psnr, ssim, trial
from hrpursuit.experiments.experiment import Settings
from hrpursuit.experiments.patch_denoisers import HARD, cosines, ksvd, redundant_cosines
from hrpursuit.experiments.photographs import COLOURED, JUDGED, TUNING, noisy_photograph, photograph
from hrpursuit.experiments.registry import find

GAIN = {"learner": 1.5, "wavelet": 2.0}  # dB over the noisy image, at the least; 4 for the others


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a photograph was looked for on the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def no_bm3d(monkeypatch):
    monkeypatch.setattr(denoisers, "find_spec", lambda name: None if name == "bm3d" else find_spec(name))


class TestPhotographs:
    def test_all_are_here_and_none_that_is_judged_was_tuned_on(self, no_network):
        photograph.cache_clear()
        assert not set(JUDGED) & set(TUNING)
        assert len(set(JUDGED)) == len(JUDGED) >= 10
        crops = {name: photograph(name) for name in (*TUNING, *JUDGED)}
        for name, crop in crops.items():
            assert crop.shape == {"page": (191, 256), "text": (172, 256)}.get(name, (256, 256))
            assert 0 <= crop.min() < crop.max() < 255.001
            assert crop.std() > 3
        tuned = [crops[name] for name in TUNING]
        assert all(not np.array_equal(crops[name], crop) for name in JUDGED for crop in tuned)

    def test_the_crop_is_the_centre_and_grey_is_its_luminance(self):
        whole, crop = photograph("chelsea", side=1000), photograph("chelsea", side=100)
        assert whole.shape == (300, 451)
        np.testing.assert_array_equal(crop, whole[100:200, 175:275])
        for name in COLOURED:
            colour = photograph(name, in_colour=True)
            assert colour.shape == (256, 256, 3)
            low, high = colour.min(axis=2), colour.max(axis=2)
            grey = photograph(name)
            assert np.all((low - 1e-9 <= grey) & (grey <= high + 1e-9))

    def test_noise_has_its_sigma_and_differs_where_it_should(self):
        noise = noisy_photograph("moon", 25, 0) - photograph("moon")
        assert noise.std() == pytest.approx(25, rel=0.01)
        np.testing.assert_array_equal(noisy_photograph("moon", 25, 0) - photograph("moon"), noise)
        unit = noise / 25
        for name, sigma, draw, seed in (
            ("coins", 25, 0, 0),
            ("moon", 50, 0, 0),
            ("moon", 25, 1, 0),
            ("moon", 25, 0, 1),
        ):
            other = (noisy_photograph(name, sigma, draw, seed=seed) - photograph(name)) / sigma
            assert abs(np.mean(other * unit)) < 0.03

    def test_what_is_not_there_is_told(self):
        with pytest.raises(FileNotFoundError, match=r"no photograph 'lena' .*hrpursuit\[experiments\]"):
            photograph("lena")
        with pytest.raises(ValueError, match="moon is a grey photograph; those in colour are astronaut"):
            photograph("moon", in_colour=True)


class TestDenoisers:
    @pytest.mark.parametrize("name", DENOISERS)
    def test_each_takes_noise_away(self, name):
        if not DENOISERS[name].is_installed:
            pytest.skip(f"{DENOISERS[name].package} is not installed; it is in the extra peers")
        clean, noisy = photograph("camera", side=48), noisy_photograph("camera", 25, 0, side=48)
        result = DENOISERS[name].run(noisy, 25, 0)
        assert result.shape == clean.shape
        assert psnr(result, clean) > psnr(noisy, clean) + GAIN.get(name, 4)

    @pytest.mark.parametrize("name", [name for name, one in DENOISERS.items() if one.takes_colour])
    def test_those_for_colour_take_it(self, name):
        if not DENOISERS[name].is_installed:
            pytest.skip(f"{DENOISERS[name].package} is not installed; it is in the extra peers")
        found, result = denoisers.measure(name, "coffee", 25, 0, in_colour=True, side=32)
        assert result.shape == (32, 32, 3)
        assert found["psnr"] > 10 * np.log10(255**2 / 25**2) + GAIN.get(name, 4)
        assert found["seconds"] > 0

    def test_cosines_are_those_of_scipy_patch_by_patch(self):
        noisy = noisy_photograph("camera", 25, 0, side=12)
        total, weights = np.zeros((12, 12)), np.zeros((12, 12))
        for y in range(5):
            for x in range(5):
                place = slice(y, y + 8), slice(x, x + 8)
                codes = dctn(noisy[place], norm="ortho")
                codes[(np.abs(codes) < HARD * 25) & (np.arange(64).reshape(8, 8) > 0)] = 0
                weight = 1 / np.count_nonzero(codes)
                total[place] += weight * idctn(codes, norm="ortho")
                weights[place] += weight
        np.testing.assert_allclose(cosines(noisy, 25), total / weights, rtol=1e-4)

    def test_ksvd_starts_from_unit_cosines_and_leaves_a_flat_image_flat(self, rng):
        atoms = redundant_cosines(8, 16)
        assert atoms.shape == (256, 64)
        np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1)
        np.testing.assert_allclose(atoms[0], 1 / 8)
        np.testing.assert_allclose(atoms[1:].sum(axis=1), 0, atol=1e-12)
        assert np.linalg.matrix_rank(atoms) == 64
        noisy = 100 + 20 * rng.standard_normal((64, 64))
        assert np.sqrt(np.mean((ksvd(noisy, 20) - 100) ** 2)) < 0.25 * 20

    @pytest.mark.parametrize(("absent", "name"), [("skimage", "scikit-image"), ("pywt", "PyWavelets")])
    def test_what_is_missing_is_said_before_the_work(self, monkeypatch, absent, name):
        monkeypatch.setitem(sys.modules, absent, None)
        with pytest.raises(ImportError, match=rf"need {name}, .*hrpursuit\[experiments\]\", or {name}\."):
            find("denoising")

    def test_bm3d_is_left_out_where_it_is_not_installed(self, no_bm3d):
        assert "bm3d" not in installed()
        assert {config["method"] for config in denoising.plan(Settings())} == set(DENOISERS) - {"bm3d"}


class TestTrials:
    def test_measures_are_scikit_images(self):
        clean, noisy = photograph("coffee", side=64), noisy_photograph("coffee", 25, 0, side=64)
        assert psnr(noisy, clean) == pytest.approx(peak_signal_noise_ratio(clean, noisy, data_range=255))
        assert ssim(clean, clean) == pytest.approx(1)
        assert ssim(noisy, clean) < 0.8

    def test_a_square_is_kept_of_the_one_that_is_shown(self):
        config = {"method": "wavelet", "image": SHOWN.image, "draw": SHOWN.draw, "in_colour": False, "seed": 0}
        kept = trial(sigma=SHOWN.sigma, **config)
        result = denoisers.measure("wavelet", SHOWN.image, SHOWN.sigma, SHOWN.draw)[1]
        square = SHOWN.unpacked(kept["square"])
        np.testing.assert_allclose(square, np.clip(SHOWN.cut(result), 0, 255), atol=0.5)
        assert "square" not in trial(sigma=50, **config)

    def test_the_plan_has_every_pair(self):
        paper = pd.DataFrame(denoising.plan(Settings("paper")))
        counts = paper.groupby(["in_colour", "method"]).size()
        assert set(counts[False]) == {len(JUDGED) * len(SIGMAS) * 3}
        assert set(counts[True]) == {len(set(JUDGED) & set(COLOURED)) * len(SIGMAS) * 3}
        assert set(counts[False].index) == set(installed())
        quick = pd.DataFrame(denoising.plan(Settings()))
        columns = ["method", "image", "sigma", "draw", "in_colour"]
        assert len(quick.merge(paper, on=columns)) == len(quick) < 150
        assert ((quick.image == SHOWN.image) & (quick.sigma == SHOWN.sigma)).any()


def made(better=0.1, faster=0.2, fast=0.05, in_colour=0.0, methods=DENOISERS):
    """Results as of all methods on all photographs: BM3D at 30 dB, `best` better by this much, the others worse."""
    rng = np.random.default_rng(0)
    rows = []
    for name in methods:
        gain = {"best": better, "bm3d": 0, "fast": fast - 0.5, "ksvd": -0.5}.get(name, -1)
        seconds = {"best": faster, "bm3d": 1.0, "fast": 0.1, "ksvd": 0.5}.get(name, 0.3)
        for image in JUDGED:
            for sigma in SIGMAS:
                for draw in range(3):
                    value = 30 + gain + 0.01 * rng.standard_normal()
                    row = {"method": name, "image": image, "sigma": sigma, "draw": draw, "in_colour": False, "seed": 0}
                    rows.append(row | {"psnr": value, "ssim": value / 40, "seconds": seconds})
                    if name in ("best", "bm3d") and image in COLOURED:
                        own = in_colour if name == "best" else 0
                        rows.append(rows[-1] | {"in_colour": True, "psnr": 30 + own})
    return pd.DataFrame(rows)


class TestFindings:
    def test_differences_are_paired_and_their_intervals_students(self):
        records = made()
        records = records[~records.in_colour]
        pairs = differences(records, "best", "bm3d")
        table = records.set_index(["method", "image", "draw", "sigma"]).psnr
        assert pairs.loc[("moon", 1), 25] == table["best", "moon", 1, 25] - table["bm3d", "moon", 1, 25]
        found = over_photographs(pairs, 25)
        interval = ttest_1samp(pairs[25].groupby("image").mean(), 0).confidence_interval(0.95)
        np.testing.assert_allclose([found.value - found.half_width, found.value + found.half_width], interval)
        assert over_draws(pairs, 25).value == pytest.approx(found.value)
        assert set(time_ratio(records, "best", "bm3d")) == {0.2}
        one = differences(records[records.image == "moon"], "best", "bm3d")
        assert str(over_photographs(one, 25)) == f"{one[25].mean():+.2f}"

    def test_tables_have_the_means(self):
        records = made()
        tables = denoising.conclude(records, Settings("paper")).tables
        means, relative, similarity, by_image, colour, _ = tables
        grey = records[~records.in_colour]
        assert [row[0] for row in means.rows] == [one.label for one in DENOISERS.values()]
        expected = grey[(grey.method == "ksvd") & (grey.sigma == 50)].psnr.mean()
        row = next(row for row in means.rows if "K-SVD" in row[0])
        assert row == ["K-SVD, 256 atoms", *row[1:4], f"{expected:.2f}", "0.5"]
        assert "19 photographs with 3 draws" in means.note
        assert next(row for row in relative.rows if row[0] == "BM3D")[1].startswith("-0.10 ± 0.0")
        assert similarity.rows[0][1] == f"{grey[(grey.method == 'best') & (grey.sigma == 10)].ssim.mean():.4f}"
        assert [row[0] for row in by_image.rows] == sorted(JUDGED)
        assert [row[1] for row in colour.rows] == ["30.00", "30.00"]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({}, ["holds", "holds", "holds", "holds"]),
            ({"better": 0.03}, ["fails", "holds", "holds", "holds"]),
            ({"faster": 0.8}, ["fails", "holds", "holds", "fails"]),
            ({"fast": -0.1}, ["holds", "fails", "holds", "holds"]),
            ({"better": -0.1}, ["fails", "holds", "fails", "holds"]),
            ({"in_colour": -0.05}, ["holds", "holds", "holds", "fails"]),
        ],
    )
    def test_sentences_follow_the_numbers(self, change, words):
        records = made(**change)
        verdicts = in_grey(records[~records.in_colour], Settings("paper"))
        verdicts += in_colour(records[records.in_colour], part="colour")
        assert [verdict.word for verdict in verdicts if verdict.agrees is not None] == words
        if not change:
            assert "+0.10, +0.10, +0.10, +0.10 dB at σ = 10, 15, 25, 50, in 0.20 of its CPU time" in verdicts[0].text
        if change == {"better": -0.1}:
            assert "BM3D at σ = 10, 15, 25, 50 (+0.10, +0.10, +0.10, +0.10 dB)" in verdicts[2].text
            assert any("BM3D is better by more than 0.02 dB at some σ on" in verdict.text for verdict in verdicts)

    def test_without_bm3d_the_rest_is_said(self, no_bm3d):
        findings = denoising.conclude(made(methods=[name for name in DENOISERS if name != "bm3d"]), Settings())
        words = [verdict.word for verdict in findings.verdicts]
        assert words.count("holds") == 2
        assert any("BM3D is left out" in verdict.text for verdict in findings.verdicts)
        assert "hrpursuit, best" in findings.figures[""].axes[0].get_ylabel()

    def test_the_picture_shows_what_was_kept(self):
        kept = trial("wavelet", SHOWN.image, SHOWN.sigma, SHOWN.draw, in_colour=False, seed=0)
        records = made()
        where = (records.image == SHOWN.image) & (records.sigma == SHOWN.sigma) & (records.draw == SHOWN.draw)
        where &= ~records.in_colour & (records.method == "wavelet")
        records.loc[where, "square"] = kept["square"]
        figures = denoising.conclude(records, Settings("paper")).figures
        axes = figures["pictures"].axes
        assert [axis.get_title().split("\n")[0] for axis in axes[:3]] == ["clean", "noisy, σ = 25", "wavelets"]
        np.testing.assert_array_equal(axes[2].images[0].get_array(), SHOWN.unpacked(kept["square"]))
        assert [axis.get_title(loc="left") for axis in figures[""].axes] == [f"σ = {sigma}" for sigma in SIGMAS]
