"""The comparisons of methods: what a trial measures, and that the sentences follow from the numbers."""

import numpy as np
import pandas as pd
import pytest

from hrpursuit.blas import one_blas_thread
from hrpursuit.experiments.catalogue import missing_data, recovery_heatmaps, sensor_table, time_by_atoms
from hrpursuit.experiments.experiment import Settings
from hrpursuit.experiments.methods import METHODS
from hrpursuit.experiments.quirks import OF_METHOD, of_method
from hrpursuit.experiments.readings import FILE, digest_of, find_readings
from hrpursuit.experiments.trials import recovery

FIXED = {"trial": 0, "seed": 0, "quirks": []}


@pytest.fixture(autouse=True)
def every_method_is_there(monkeypatch):
    """SPAMS too: no test here fits it."""
    monkeypatch.setattr("hrpursuit.experiments.methods.find_spec", lambda package: package)


def words(findings):
    return [verdict.word for verdict in findings.verdicts]


class TestHeatMaps:
    def records(self, **errors):
        """Each method with the same error in every cell, or 0.5."""
        rows = [
            config
            | {"error": errors.get(config["method"], 0.5), "success": errors.get(config["method"], 0.5) < 1e-3}
            | {"loose_error": errors.get(config["method"], 0.5)}
            for config in recovery_heatmaps.plan(Settings())
        ]
        return pd.DataFrame(rows)

    def test_a_trial_recovers_where_it_should(self):
        run = recovery_heatmaps.run
        found = run("ours", n_samples=200, sparsity=0.3, snr_db=None, **FIXED)
        assert found["success"]
        assert found["error"] < 1e-12
        assert not run("l4-msp", n_samples=200, sparsity=0.3, snr_db=None, **FIXED)["success"]

    def test_plan_has_every_cell_for_every_method(self):
        for scale, n_cells in (("quick", 35), ("paper", 70)):
            plan = pd.DataFrame(recovery_heatmaps.plan(Settings(scale)))
            cells = plan.groupby("method")[["n_samples", "sparsity"]].apply(lambda rows: len(rows.drop_duplicates()))
            assert set(cells) == {n_cells}
            assert set(cells.index) == set(METHODS)
        counts = plan.groupby("method").size() / 70 / 50
        assert {name: int(count) for name, count in counts.items()} == {
            name: 2 if name in OF_METHOD else 1 for name in METHODS
        }

    def test_as_published_errors_are_squared_and_matched_many_to_one(self):
        """Methods with quirks have trials of their own for it, those without are in both figures."""
        records = self.records(ours=1e-15)
        is_published = records.quirks.map(len) > 0
        records.loc[is_published & (records.trial == 0), "loose_error"] = 0.1
        best, published = recovery_heatmaps.columns(records)
        assert set(best.method) == set(published.method) == set(METHODS)
        assert set(published[published.method == "l4-msp"].quirks.map(tuple)) == {("fifty-iterations",)}
        assert set(best[best.method == "l4-msp"].quirks.map(tuple)) == {()}
        figure = recovery_heatmaps.conclude(records, Settings()).figures["as-published"]
        drawn = {axis.get_title(): axis.collections[0].get_array() for axis in figure.axes if axis.get_title()}
        assert np.nanmax(drawn["l4-MSP"]) == pytest.approx(np.sqrt((0.1**2 + 9 * 0.5**2) / 10))
        assert np.nanmax(drawn["l3-s1"]) == pytest.approx(0.5)
        assert "hrpursuit" not in drawn

    def test_sentences_follow_the_numbers(self):
        good = recovery_heatmaps.conclude(self.records(ours=1e-15, proposed=0.1, **{"logcosh-rtr": 0.2}), Settings())
        assert words(good) == ["holds", "agrees", "agrees", "note", "note"]
        assert good.verdicts[0].text.endswith("from 300.")
        bad = recovery_heatmaps.conclude(self.records(ours=0.1, proposed=0.6, **{"logcosh-rtr": 0.2}), Settings())
        assert words(bad)[:3] == ["fails", "differs", "differs"]
        assert "θ = 0.1 with 200 (0%)" in bad.verdicts[0].text

    def test_nothing_is_said_of_exact_recovery_in_noise_or_of_a_rank_among_some(self):
        noisy = recovery_heatmaps.conclude(self.records(ours=0.1), Settings(snr_db=20))
        assert words(noisy) == []
        some = self.records(ours=1e-15)
        some = some[some.method.isin(["ours", "l3-s1"])]
        findings = recovery_heatmaps.conclude(some, Settings(methods=("ours", "l3-s1")))
        assert words(findings) == ["holds", "note"]
        assert [axis.get_title() for axis in findings.figures[""].axes[:2]] == ["l3-s1", "hrpursuit"]

    def test_seed_reaches_data_and_fits(self, monkeypatch):
        seen = []
        method = METHODS["l3-s1"]
        monkeypatch.setattr(recovery, "METHODS", {"l3-s1": method})
        monkeypatch.setattr(type(method), "estimator", lambda self, k, seed: seen.append(seed) or self.make(k, seed))
        for seed in (0, 1):
            for trial in (0, 1):
                recovery_heatmaps.run("l3-s1", 100, 0.3, trial=trial, seed=seed, snr_db=None, quirks=[])
        assert len(set(seen)) == 4

    def test_nine_panels_on_one_colour_scale(self):
        findings = recovery_heatmaps.conclude(self.records(ours=1e-15), Settings())
        axes = findings.figures[""].axes
        titles = [axis.get_title() for axis in axes[:9]]
        assert titles == [METHODS[name].label for name in recovery_heatmaps.PANELS]
        limits = {axis.collections[0].get_clim() for axis in axes[:9] if axis.collections}
        assert limits == {(1e-3, 1.0)}

    def test_eight_panels_leave_no_hole(self):
        axes = recovery_heatmaps.conclude(self.records(ours=1e-15), Settings()).figures["as-published"].axes[:-1]
        assert len(axes) == 8
        assert {axis.get_subplotspec().get_gridspec().get_geometry() for axis in axes} == {(2, 4)}
        assert all(axis.get_title() for axis in axes)


class TestTimeTables:
    def records(self, ours, others, error=1e-15):
        rows = []
        for n_atoms, _ in time_by_atoms.CELLS:
            for name in METHODS:
                is_ours = name == "ours"
                rows.append({"method": name, "n_features": n_atoms, "seconds": ours if is_ours else others[name],
                             "error": error if is_ours else 0.1})  # fmt: skip
        return pd.DataFrame(rows)

    def test_a_trial_measures_time_and_error(self):
        found = time_by_atoms.EXPERIMENT.run("ours", n_features=10, n_samples=1000, **FIXED)
        assert 0 < found["seconds"] < 5
        assert found["error"] < 1e-12

    def test_sentences_follow_the_numbers(self):
        by_paper = sorted(time_by_atoms.PAPER, key=lambda name: time_by_atoms.PAPER[name][0])
        in_order = {name: 10.0 * (i + 1) for i, name in enumerate(by_paper)}
        fast = time_by_atoms.EXPERIMENT.conclude(self.records(0.1, in_order), Settings())
        assert words(fast)[0] == "holds"
        assert "Faster" not in fast.verdicts[1].text
        inexact = time_by_atoms.EXPERIMENT.conclude(self.records(0.1, in_order, error=1e-3), Settings())
        assert words(inexact)[0] == "fails"
        slow = time_by_atoms.EXPERIMENT.conclude(self.records(1e6, in_order), Settings())
        assert "Faster than hrpursuit, but not exact" in slow.verdicts[1].text
        assert slow.verdicts[1].word == "note"
        others = self.records(0.1, in_order)
        without = time_by_atoms.EXPERIMENT.conclude(others[others.method != "ours"], Settings())
        assert all("ratio" not in table.title for table in without.tables)
        assert len(without.verdicts) >= 1
        reverse = {name: 1 / seconds for name, seconds in in_order.items()}
        findings = time_by_atoms.EXPERIMENT.conclude(self.records(1e-6, reverse), Settings())
        assert "not the paper's in some cells" in findings.verdicts[1].text


class TestSensorTable:
    def records(self, off, n_hours=744):
        """The paper's own rows, shifted."""
        return pd.DataFrame(
            [
                {
                    "fill": "published",
                    "quirks": of_method(name),
                    "start": 0,
                    "method": name,
                    "t0": k,
                    "error_percent": error + off,
                    "seconds": 1.0,
                    "ratio": 56 // k,
                    "n_hours": n_hours,
                    "n_sensors": 56,
                }
                for name, row in sensor_table.PAPER.items()
                for k, error in zip(sensor_table.T0, row, strict=True)
            ]
        )

    def test_rows_are_compared_with_the_papers(self):
        close = sensor_table.conclude(self.records(0.05), Settings())
        assert set(words(close)[:8]) == {"agrees"}
        assert words(close)[8:] == ["agrees", "differs"]  # of the paper's sentence: all take as long here
        far = sensor_table.conclude(self.records(0.6), Settings())
        assert [v.word for v in far.verdicts if v.text.startswith("TransLearn")] == ["agrees"]  # within 1.5
        assert words(far).count("differs") == 8
        assert "by +0.60, +0.60" in far.verdicts[0].text
        assert [row[0] for row in far.tables[0].rows[:2]] == ["Proposed (paper)", "· as published"]
        assert far.tables[0].rows[1][1] == "10.02%"
        other_file = sensor_table.conclude(self.records(0.6, n_hours=500), Settings())
        assert words(other_file) == []
        assert not any("as published" in row[0] for row in other_file.tables[0].rows)

    def test_as_published_is_the_median_over_starts_and_their_range(self):
        """One bad start of SPAMS moves the mean by points."""
        spams = self.records(0).query("method == 'spams'")
        starts = [spams.assign(start=i, error_percent=spams.error_percent + off) for i, off in enumerate((-1, 0.1, 70))]
        findings = sensor_table.conclude(pd.concat(starts), Settings())
        assert words(findings) == ["agrees"]
        assert [row[:2] for row in findings.tables[0].rows[:3]] == [
            ["SPAMS", "26.03%"],
            ["· as published", "26.13%"],
            ["· single starts", "25.0 to 96.0"],
        ]

    def test_ours_is_compared_within_a_fill_and_only_with_others(self):
        records = self.records(0)
        ours = records[records.method == "proposed"].assign(method="ours")
        alone = sensor_table.conclude(ours, Settings())
        assert words(alone) == []
        for factor, word in ((0.9, "holds"), (1.1, "fails")):
            both = pd.concat([records, ours.assign(error_percent=factor * ours.error_percent)])
            last = sensor_table.conclude(both, Settings()).verdicts[-1]
            assert last.word == word
            assert ("no method has a smaller one" in last.text) == (factor < 1)

    def test_a_trial_counts_the_readings_that_there_are(self, tmp_path, rng):
        readings = 50 + 10 * rng.standard_normal((100, 3)) @ rng.standard_normal((3, 30))
        text = "\n".join(",".join(["0", *("" if v < 45 else f"{v:.1f}" for v in row)]) for row in readings)
        (tmp_path / FILE).write_text("hour," + ",".join(f"s{i}" for i in range(30)) + "\n" + text + "\n")
        config = digest_of(Settings(readings=tmp_path / FILE)) | {"seed": 0, "start": 0, "scaling": "largest"}
        config |= {"quirks": [], "path": str(tmp_path / FILE)}
        proposed = sensor_table.run(fill="written", method="proposed", n_nonzero=None, **config)
        assert [row["t0"] for row in proposed] == list(sensor_table.T0)
        assert [row["ratio"] for row in proposed] == [6, 4, 2, 1, 1]
        errors = [row["error_percent"] for row in proposed]
        assert errors == sorted(errors, reverse=True)
        ours = {
            fill: sensor_table.run(fill=fill, method="ours", n_nonzero=5, **config)[0]["error_percent"]
            for fill in ("written", "refilled", "kept")
        }
        assert ours["refilled"] < 0.95 * ours["written"] < errors[0]
        assert ours["kept"] < 0.95 * ours["refilled"]

    def test_gaps_kept_are_compared_with_the_paper(self):
        settings = Settings(fills=("written", "kept"))
        written = self.records(0).assign(fill="written")
        for factor, word in ((0.9, "holds"), (1.1, "fails")):
            proposed = written[written.method == "proposed"]
            kept = proposed.assign(fill="kept", method="ours", error_percent=factor * proposed.error_percent)
            findings = sensor_table.conclude(pd.concat([written, kept]), settings)
            verdict = next(v for v in findings.verdicts if "Gaps kept" in v.text)
            assert verdict.word == word
            assert f"{factor:.2f} to {factor:.2f} times" in verdict.text
            assert [row[0] for row in findings.tables[1].rows] == ["hrpursuit", "Proposed, in paper"]

    def test_gaps_are_kept_by_ours_alone(self, tmp_path):
        (tmp_path / FILE).write_text("hour,a,b\n")
        settings = Settings(fills=("kept",), readings=tmp_path / FILE)
        configs = sensor_table.plan(settings)
        assert {config["method"] for config in configs} == {"ours"}
        assert [config["n_nonzero"] for config in configs] == list(sensor_table.T0)

    def test_the_papers_rows_are_reproduced(self):
        path, why_not = find_readings(None)
        if path is None:
            pytest.skip(f"it {why_not}")
        config = digest_of(Settings(readings=path)) | {"seed": 0, "scaling": "largest", "n_nonzero": None}
        config |= {"quirks": [], "path": str(path)}
        for method, close in (("proposed", 0.15), ("l3-s1", 0.25), ("l4-msp", 0.25)):
            with one_blas_thread():
                rows = [sensor_table.run(fill="published", method=method, start=start, **config) for start in range(3)]
            means = np.mean([[row["error_percent"] for row in one] for one in rows], axis=0)
            np.testing.assert_allclose(means, sensor_table.PAPER[method], atol=close)

    def test_the_picture_of_the_readings_counts_gaps(self):
        rows = [
            {"hour": h, "sensor": s, "when": "", "reading": np.nan if s == 2 else 30.0}
            for h in range(5)
            for s in (1, 2, 3)
        ]
        findings = missing_data.conclude(pd.DataFrame(rows), Settings())
        assert "33.3% of the readings are missing, and 1 sensors never report" in findings.verdicts[0].text
        assert words(findings) == ["differs"]  # not the paper's 56 sensors
