"""Results at the paper's scale: the CSV files, the script that keeps them, and the page that is made of them."""

import csv
import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from hrpursuit.experiments.cache import TrialCache
from hrpursuit.experiments.earlier import read_trials

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "benchmarks" / "results" / "paper_scale").glob("*.csv"))


@pytest.fixture
def keeping(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("paper_scale")


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "extensions"))
    pytest.importorskip("sphinx")
    return importlib.import_module("paper_pages")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_page_says_how_many_trials_there_are_and_what_follows_from_them(path, pages, tmp_path):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    experiment, ended, records = pages.trials_of(path.stem, path)
    assert len(records) == len(rows)
    names = list(ended[0])
    assert len(ended) == len({tuple(row[name] for name in names) for row in rows})
    text = "\n".join(pages.section(path.stem, tmp_path))
    assert f"{len(ended):,} of " in text or f"All {len(ended):,} trials have ended" in text
    for verdict in experiment.conclude(records, pages.PAPER_SCALE).verdicts:
        assert f"- **{verdict.word}**: " in text
    pictures = {picture.name for picture in tmp_path.iterdir()}
    assert f"{path.stem}.png" in pictures
    assert all(f"({name})" in text for name in pictures)


def test_the_site_has_a_section_for_each_file(pages, tmp_path):
    (tmp_path / "reference").mkdir()
    pages.write_page(SimpleNamespace(srcdir=tmp_path))
    text = (tmp_path / "reference" / "results" / "paper_scale.md").read_text()
    assert [path.stem for path in FILES if f"`hrpursuit reproduce {path.stem} --scale paper`" in text] == [
        path.stem for path in FILES
    ]


def test_trials_of_a_run_and_those_that_are_kept_go_together(keeping, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(keeping, "KEPT", tmp_path / "kept")
    configs = keeping.plan("sample-complexity")
    for folder, chosen, error in (("a", configs[:3], 0.123456), ("b", configs[2:5], 1.0)):
        cache = TrialCache(tmp_path / folder / "cache", "sample-complexity", code=folder)
        for config in chosen:
            rows = [{"scheme": scheme, "n_samples": 300, "error": error, "success": False} for scheme in "ab"]
            cache.put(config, rows, 1.0)
    for folders in (["a"], ["b"]):
        monkeypatch.setattr("sys.argv", ["x", "sample-complexity", *(str(tmp_path / folder) for folder in folders)])
        keeping.main()
    assert "5 of 800 trials" in capsys.readouterr().out
    experiment = keeping.find("sample-complexity")
    found = read_trials(tmp_path / "kept" / "sample-complexity.csv", experiment, configs)
    assert [rows and [row["error"] for row in rows] for rows in found[:6]] == [
        [0.1235, 0.1235], [0.1235, 0.1235], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], None,
    ]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["x", "time-by-atoms", str(tmp_path / "a")])
    with pytest.raises(SystemExit):
        keeping.main()
    assert "none of the 1800 trials" in capsys.readouterr().err


def test_times_are_kept_with_their_machine(keeping, pages, monkeypatch, tmp_path):
    monkeypatch.setattr(keeping, "KEPT", tmp_path)
    monkeypatch.setattr(pages, "KEPT", tmp_path)
    cache = TrialCache(tmp_path / "a" / "cache", "time-by-atoms", code="12ab This Processor, Linux, Python 3")
    chosen = [config for config in keeping.plan("time-by-atoms") if config["trial"] < 2]
    for config in chosen:
        cache.put(config, [{"seconds": 0.123456, "error": 1e-15, "success": True}], 1.0)
    monkeypatch.setattr("sys.argv", ["x", "time-by-atoms", str(tmp_path / "a")])
    keeping.main()
    text = "\n".join(pages.section("time-by-atoms", tmp_path))
    assert f"**{len(chosen)} of 1,800 trials have ended**, 2 of 50 in each cell" in text
    assert "Times are of This Processor, Linux, Python 3." in text
    assert "0.12" in text


def test_files_are_sorted_whatever_the_order_of_trials(keeping):
    keys = [json.dumps([config[key] for key in sorted(config)]) for config in keeping.plan("recovery-heatmaps")]
    assert keys == sorted(keys)
    assert len(keys) == len(set(keys))
