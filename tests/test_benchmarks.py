"""What the benchmarks are judged by: results are kept, missed bars fail, and the data is what its name says."""

import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hrpursuit.metrics import dictionary_error

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
NAMES = ("cases", "denoising", "figures", "gaps", "results", "robustness")


@pytest.fixture(scope="module")
def modules():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield {name: importlib.import_module(name) for name in NAMES}


@pytest.fixture
def results(modules, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["benchmarks/speed.py", "--large"])
    return lambda **settings: modules["results"].Results("benchmarks/speed.py", folder=tmp_path, **settings)


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def kept(folder, name="speed.json"):
    return json.loads((folder / name).read_text(), parse_constant=refuse)


def test_results_are_printed_and_kept_as_numbers(results, tmp_path, capsys):
    with results() as run:
        error, cells = 1.23456789e-15, [("a", 20, np.float64(0.125), np.True_), ("b", np.int64(50), None, False)]
        assert run.bar("error", error, at_most=1e-11)
        assert run.bar("exact", np.int64(20), at_least=19)
        rows = run.figures("cells", ["cell", "features", "time", "reached"], cells)
    expected = [["a", 20, 0.125, True], ["b", 50, None, False]]
    record = kept(tmp_path)
    assert rows == expected == record["figures"]["cells"]["rows"]
    assert record["bars"] == [
        {"bar": "error", "asked": {"at_most": 1e-11}, "measured": 1.23457e-15, "passed": True},
        {"bar": "exact", "asked": {"at_least": 19}, "measured": 20, "passed": True},
    ]
    assert record["benchmark"] == "speed"
    assert record["command"] == "python benchmarks/speed.py --large"
    assert record["passed"] is True
    assert {"date", "seconds", "commit", "uncommitted_changes"} <= set(record)
    assert record["machine"]["cores"] >= 1
    assert "numpy" in record["versions"]
    printed = capsys.readouterr().out
    assert "2 of 2 bars reached" in printed
    assert [line.split(" | ")[-1].strip() for line in printed.splitlines() if " | " in line][1:] == ["yes", "NO"]
    lines = (tmp_path / "speed.json").read_text().splitlines()
    assert '["a", 20, 0.125, true],' in [line.strip() for line in lines]  # one line for each row
    assert len(lines) < 40


def test_a_missed_bar_is_named_and_ends_with_1(results, tmp_path, capsys):
    run = results().__enter__()
    assert not run.bar("slope", -0.3, at_least=-0.6, at_most=-0.4)
    assert not run.bar("error", np.nan, at_most=1)
    assert not run.bar("largest", np.inf, at_most=1)
    with pytest.raises(SystemExit) as end:
        run.__exit__(None, None, None)
    assert end.value.code == 1
    record = kept(tmp_path)
    assert record["passed"] is False
    assert [bar["measured"] for bar in record["bars"]] == [-0.3, "nan", "inf"]
    assert "FAIL slope: -0.3, asked at least -0.6 and at most -0.4" in capsys.readouterr().out


def test_a_partial_run_is_judged_and_not_kept(results, tmp_path):
    with pytest.raises(SystemExit), results(partial=True) as run:
        run.bar("error", 1, at_most=0)
    assert not list(tmp_path.iterdir())


def test_a_run_that_breaks_off_is_not_kept(results, tmp_path):
    with pytest.raises(ZeroDivisionError), results() as run:
        run.bar("error", 1 / 0, at_most=0)
    assert not list(tmp_path.iterdir())


def test_each_name_is_used_once_and_a_bar_needs_a_limit(results):
    with results(partial=True) as run:
        run.bar("error", 0, at_most=0)
        run.figures("cells", ["cell"], [])
        with pytest.raises(ValueError, match="already a bar 'error'"):
            run.bar("error", 0, at_most=0)
        with pytest.raises(ValueError, match="already a table 'cells'"):
            run.figures("cells", ["cell"], [])
        with pytest.raises(ValueError, match="needs at_most or at_least"):
            run.bar("time", 0)


def test_parts_of_a_benchmark_have_files_of_their_own(results, tmp_path):
    with results(suffix="_large"):
        pass
    assert kept(tmp_path, "speed_large.json")["bars"] == []


@pytest.fixture
def make(modules):
    """Of a case, samples of 20 features."""
    cases = {case.name: case for case in modules["cases"].SPARSE_CASES + modules["cases"].DENSE_CASES}
    return lambda name, n_samples=1000, seed=1: cases[name].make(n_samples, 20, seed)


def usage(sample):
    """Share of the samples that use each atom."""
    return np.mean(sample.codes != 0, axis=0)


def test_every_case_is_its_codes_in_its_dictionary(modules):
    changed = ("outliers", "half", "decimals", "float32", "dB")  # rows or entries that are something else
    for case in modules["cases"].SPARSE_CASES + modules["cases"].DENSE_CASES:
        sample = case.make(100, 20, 3)
        again = case.make(100, 20, 3)
        assert np.array_equal(sample.X, again.X)
        assert not np.array_equal(sample.X, case.make(100, 20, 4).X)
        exact = (sample.codes @ sample.components + sample.offset) * sample.units
        if not any(word in case.name for word in changed):
            np.testing.assert_allclose(sample.X, exact, atol=1e-12 * np.abs(exact).max(axis=0).max())
        gram = sample.components @ sample.components.T
        is_orthogonal = case.dictionary == "orthogonal" and case.asked != "message"
        assert (np.abs(gram - np.eye(20)).max() < 1e-12) == is_orthogonal
        assert sample.error(sample.components * sample.units) < 1e-14


@pytest.mark.parametrize("values", ["Gaussian", "uniform", "Laplace", "±1", "positive"])
def test_values_of_codes(make, values):
    sample = make(f"{values} codes")
    found = sample.codes[sample.codes != 0]
    assert abs(usage(sample).mean() - 0.2) < 0.01
    assert (found.min() > 0) == (values == "positive")
    assert set(np.unique(found)) == {-1, 1} or values != "±1"
    kurtosis = np.mean(found**4) / np.mean(found**2) ** 2
    expected = {"Gaussian": 3, "uniform": 1.8, "Laplace": 6, "±1": 1, "positive": 3}[values]
    assert abs(kurtosis / expected - 1) < 0.25


def test_supports(make):
    assert np.all(np.sum(make("exactly 3 nonzeros").codes != 0, axis=1) == 3)
    shares = usage(make("sparsity .02 to .6", 20_000))
    np.testing.assert_allclose(shares, np.geomspace(0.02, 0.6, 20), rtol=0.2)
    assert np.all(np.sum(make("sparsity .02 to .6", 60).codes != 0, axis=0) >= 3)
    markov = make("Markov supports", 20_000)
    used = markov.codes != 0
    assert abs(usage(markov).mean() - 0.2) < 0.01
    assert abs(np.mean(used[1:][used[:-1]]) - 0.8) < 0.01


def test_energies(make):
    codes = make("energies 1 to 100", 20_000).codes
    energies = np.sum(codes**2, axis=0) / np.sum(codes != 0, axis=0)
    np.testing.assert_allclose(energies, np.geomspace(1, 100, 20), rtol=0.15)


def test_offsets(make):
    assert np.linalg.norm(make("offset").offset) > 1
    for name in ("centred", "positive and centred"):
        sample = make(name)
        assert np.abs(sample.X.mean(axis=0)).max() < 1e-14
        assert sample.offset_error(sample.offset) == 0
        assert sample.offset_error(sample.offset + 1) > 1
    assert make("positive and centred").codes.min() == 0


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_outliers_are_large_dense_rows(make, share):
    sample = make(f"{share:.0%} outliers")
    clean = sample.codes @ sample.components
    changed = np.any(clean != sample.X, axis=1)
    assert changed.sum() == share * 1000
    assert np.sqrt(np.mean(sample.X[changed] ** 2) / np.mean(clean**2)) == pytest.approx(10, rel=0.2)


def test_repeated_and_zero_rows(make):
    rows, counts = np.unique(make("half one sample").X, axis=0, return_counts=True)
    assert counts.max() >= 500
    assert rows[counts.argmax()].any()
    assert np.sum(~make("half zero").X.any(axis=1)) >= 500


def test_units_are_taken_out_of_the_error(make):
    sample = make("units 1e±6, complete")
    assert sample.units.max() / sample.units.min() == pytest.approx(1e12)
    nudged = sample.components.copy()
    nudged[:, sample.units.argmin()] += 0.1  # the smallest feature counts as much as any
    assert sample.error(nudged * sample.units) > 0.05


def test_precision_and_noise(make):
    for decimals in (2, 3):
        X = make(f"{decimals} decimals").X
        assert np.array_equal(X, np.round(X, decimals))
        assert not np.array_equal(X, np.round(X, decimals - 1))
    assert make("float32").X.dtype == np.float32
    for snr_db in (60, 30, 20, 10, 0):
        for name in (f"{snr_db} dB", f"{snr_db} dB, complete"):
            sample = make(name)
            clean = sample.codes @ sample.components
            ratio = np.mean(clean**2) / np.mean((sample.X - clean) ** 2)
            assert 10 * np.log10(ratio) == pytest.approx(snr_db, abs=0.2)


def test_dense_sources(make):
    for source in ("Laplace", "Student t", "Laplace + uniform"):
        codes = make(source, 20_000).codes
        assert np.all(codes != 0)
        np.testing.assert_allclose(np.mean(codes**2, axis=0), 1, atol=0.35)
        heavy = np.mean(codes**4, axis=0) > 3
        assert heavy.sum() == (10 if "+" in source else 20)


def test_a_fit_that_raises_is_counted(modules):
    robustness, cases = modules["robustness"], modules["cases"]
    case = cases.Case("no such setting", cases.sparse, {"n_wings": 2})
    fits, _ = robustness.measure(case, (20, 100), range(2))
    assert all("n_wings" in one.failure and one.error == np.inf and not one.worse for one in fits)


def test_fits_are_judged_against_truth_and_paper(modules):
    robustness, cases = modules["robustness"], modules["cases"]
    case = next(case for case in cases.SPARSE_CASES if case.name == "Gaussian codes")
    (fit,), others = robustness.measure(case, (20, 200), [5], ["FastICA", "FastICA, not whitened"], 1)
    assert fit.certified
    assert fit.finite
    assert fit.error < 1e-11
    assert not fit.wrong
    assert not fit.worse
    assert all(1e-3 < error < 1 for error in others.values())
    assert robustness.Fit("", error=0.3, paper=0.2).worse
    assert not robustness.Fit("", error=0.3, paper=0.29).worse
    assert not robustness.Fit("", error=1.3, paper=0.9).worse


def test_peers_return_atoms(modules):
    sample = next(case for case in modules["cases"].DENSE_CASES if case.dictionary == "complete").make(5000, 5, 2)
    common = importlib.import_module("common")
    found = common.fast_ica(sample.X / np.sqrt(np.mean(sample.X**2)), 0, whiten=True)
    assert dictionary_error(found, sample.components) < 0.2
    pytest.importorskip("picard")
    found = common.picard(sample.X / np.sqrt(np.mean(sample.X**2)), 0, ortho=False)
    assert dictionary_error(found, sample.components) < 0.2


def test_errors_on_other_days_are_percentages_near_those_of_pca(modules, results, monkeypatch):
    gaps = modules["gaps"]
    monkeypatch.setattr(gaps, "SEEDS", range(1))
    X = gaps.make_sensor_network(480, 24, random_state=0)
    with results(partial=True) as run:
        monkeypatch.setattr(run, "bar", lambda *args, **limits: True)  # which are for the whole table
        for _, _, ours, _, free, _, pca, _ in gaps.carried_over(X, "simulated", run):
            assert 0 < pca < 100
            assert 0.5 * pca < ours < 1.5 * pca
            assert 0.3 * pca < free < 1.5 * pca


def photographs(denoising, best=31.0, seconds=1.0):
    """Records of all methods on two made photographs, as good as each other but for `best`."""
    rows = []
    for in_colour, methods in ((False, denoising.GREY), (True, denoising.COLOUR)):
        for method in methods:
            for image in ("one", "two"):
                for sigma in denoising.SIGMAS:
                    found = (best, 0.95, seconds) if method == "best" else (30.0, 0.9, 0.2 if "fast" in method else 2.0)
                    if method == "best-blind":
                        found = (best, 0.95, seconds)
                    config = {"method": method, "image": image, "sigma": sigma, "draw": 0, "in_colour": in_colour}
                    rows.append(config | dict(zip(("psnr", "ssim", "seconds"), found, strict=True)))
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, []),
        ({"best": 30.03}, [f"grey: best and bm3d at σ = {sigma}, dB more" for sigma in (10, 15, 25, 50)]),
        ({"seconds": 1.6}, [f"{half}: best and bm3d at σ = {sigma}, ratio of CPU times"
                            for half in ("grey", "colour") for sigma in (10, 15, 25, 50)]),
    ],
)  # fmt: skip
def test_photographs_are_judged_at_each_noise(results, modules, changes, missed):
    run = results(partial=True)
    modules["denoising"].judge(run, photographs(modules["denoising"], **changes))
    assert [bar["bar"] for bar in run.missed()] == missed
    names = [bar["bar"] for bar in run._bars]
    assert len(names) == 8 + 1 + 8 + 4 + 8  # best in grey, its SSIM, fast, not knowing sigma, best in colour


def test_pages_say_on_how_many_photographs(results, modules, tmp_path, monkeypatch):
    run = results().__enter__()
    modules["denoising"].judge(run, photographs(modules["denoising"]))
    (tmp_path / "denoising.json").write_text(json.dumps(run.record()))
    monkeypatch.setattr(modules["figures"], "RESULTS", tmp_path)
    assert modules["figures"].grey_scope() == "2 photographs, 1 draw of the noise"
    assert "| `best` | 31.00 dB | 31.00 dB |" in modules["figures"].colour_photographs()
    assert modules["figures"].best_and_bm3d_in_colour().startswith("1.00, 1.00, 1.00 and 1.00 dB above BM3D, in 0.50 ")
    assert modules["figures"].grey_losses() == "none"
