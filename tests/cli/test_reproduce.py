"""hrpursuit reproduce: real runs of a cheap experiment, the page, and what goes wrong."""

import csv
import os
import pty
import re
import signal
import subprocess
import sys

import pytest

from hrpursuit.cli.main import run
from hrpursuit.experiments import registry
from hrpursuit.experiments.catalogue import lp_balls
from hrpursuit.experiments.experiment import Experiment, Findings
from hrpursuit.experiments.quirks import QUIRKS
from hrpursuit.experiments.registry import NAMES


@pytest.fixture
def only_cheap(monkeypatch):
    """As if there were no more than these."""
    monkeypatch.setattr(registry, "NAMES", ("lp-balls", "missing-data"))
    monkeypatch.setattr("hrpursuit.cli.reproduce.NAMES", ("lp-balls", "missing-data"))
    monkeypatch.delenv("HRPURSUIT_DATA", raising=False)


def test_all_writes_results_and_one_page_and_resumes(only_cheap, tmp_path, capsys):
    assert run(["reproduce", "all", "--out", str(tmp_path / "r"), "--jobs", "1"]) == 0
    printed = capsys.readouterr()
    assert "missing-data: skipped" in printed.err
    assert "HRPURSUIT_DATA" in printed.err
    files = {path.name for path in (tmp_path / "r").iterdir() if path.is_file()}
    assert files == {"lp-balls.csv", "lp-balls.png", "lp-balls.svg", "report.html"}
    with (tmp_path / "r" / "lp-balls.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["p"] for row in rows} == {"1", "2", "3", "4"}
    page = (tmp_path / "r" / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert not re.search(r'(src|href)="https?:', page)
    assert "Skipped:" in page
    assert 'class="agrees"' in page
    assert run(["reproduce", "lp-balls", "--out", str(tmp_path / "r"), "--jobs", "1"]) == 0
    assert "4 trials, 4 from the cache" in capsys.readouterr().out


def test_list_names_experiments_and_options(capsys):
    assert run(["reproduce", "--list"]) == 0
    printed = capsys.readouterr().out
    for name in (*NAMES, *QUIRKS, "published"):
        assert name in printed


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_its_experiment(name):
    experiment = registry.find(name)
    assert experiment.name == name
    assert experiment.title
    assert experiment.in_paper
    assert set(experiment.quirks) <= set(QUIRKS)


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["sensor-tabel"], "did you mean sensor-table?"),
            (["lp-balls", "--quirk", "noise-times-variance"], "means nothing to lp-balls"),
            (["lp-balls", "--methods", "ours"], "--methods means nothing to lp-balls"),
            (["recovery-heatmaps", "--methods", "our"], "there is no method 'our'"),
            (["all", "sensor-tabel"], "did you mean sensor-table?"),
            (["lp-balls", "--fill", "written"], "--fill and --scaling mean nothing to lp-balls"),
            (["lp-balls", "--snr-db", "20"], "--snr-db means nothing to lp-balls"),
            (["recovery-heatmaps", "--quirk", "noise-times-variance"], "give --snr-db as well"),
            (["missing-data", "--data", "nowhere.csv"], "there are no readings at nowhere.csv"),
            (["missing-data"], "set HRPURSUIT_DATA"),
        ],
    )
    def test_one_line_says_what_to_do(self, arguments, said, tmp_path, monkeypatch, capsys):
        monkeypatch.delenv("HRPURSUIT_DATA", raising=False)
        assert run(["reproduce", *arguments, "--out", str(tmp_path / "r")]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert said in error
        assert not (tmp_path / "r").exists()

    def test_a_wrong_file_of_readings_is_refused_before_the_work(self, tmp_path, capsys):
        (tmp_path / "x.csv").write_text("# Some text\nand more, of it\n")
        for name in ("missing-data", "sensor-table", "all"):
            assert run(["reproduce", name, "--data", str(tmp_path / "x.csv"), "--out", str(tmp_path / "r")]) == 1
            assert "expected a CSV file with a line of names" in capsys.readouterr().err
        assert not (tmp_path / "r").exists()

    def test_a_file_in_place_of_the_folder(self, tmp_path, capsys):
        (tmp_path / "file").write_text("kept")
        assert run(["reproduce", "lp-balls", "--out", str(tmp_path / "file")]) == 1
        assert "is a file; give a folder" in capsys.readouterr().err
        assert (tmp_path / "file").read_text() == "kept"


def test_a_trial_that_fails_is_told_and_the_exit_code_says_so(tmp_path, monkeypatch, capsys):
    def plan(settings):
        return [{"p": p, "n_points": 5} for p in (1, 0)]  # 1 / p fails for 0

    def conclude(records, settings):
        assert set(records.p) == {1}
        return Findings()

    broken = Experiment("lp-balls", "Some", "nowhere", plan, lp_balls.run, conclude)
    monkeypatch.setattr("hrpursuit.cli.reproduce.find", lambda name: broken)
    assert run(["reproduce", "lp-balls", "--out", str(tmp_path), "--jobs", "1"]) == 3
    assert "ZeroDivisionError" in capsys.readouterr().err
    failures = (tmp_path / "lp-balls-failures.csv").read_text()
    assert "ZeroDivisionError" in failures
    assert len((tmp_path / "lp-balls.csv").read_text().splitlines()) == 6


@pytest.mark.long
def test_results_too_few_for_a_figure_are_kept_and_told(tmp_path, monkeypatch, capsys):
    def plan(settings):
        return [{"p": 0, "n_points": 5}] + ([{"p": 1, "n_points": 5}] if settings.seed else [])

    broken = Experiment("lp-balls", "Some", "nowhere", plan, lp_balls.run, lambda records, settings: records.absent)
    monkeypatch.setattr("hrpursuit.cli.reproduce.find", lambda name: broken)
    for seed, said in ((0, "Every trial failed"), (1, "Too many trials failed for a figure (AttributeError")):
        arguments = ["reproduce", "lp-balls", "--out", str(tmp_path), "--jobs", "1", "--seed", str(seed)]
        assert run(arguments) == 3
        assert said in capsys.readouterr().out
    assert len((tmp_path / "lp-balls.csv").read_text().splitlines()) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals and signals")
@pytest.mark.long
def test_a_terminal_shows_the_trials_and_ctrl_c_keeps_them(tmp_path):
    """A real command in a real terminal, interrupted after a few trials, then run to its end from where it stopped."""
    command = [sys.executable, "-c", "from hrpursuit.cli import main; main()", "reproduce", "good-subset"]
    command += ["two-stage", "time-by-samples", "--methods", "ours", "--out", "r", "--jobs", "1"]
    leader, follower = pty.openpty()
    with subprocess.Popen(command, cwd=tmp_path, stderr=follower, stdout=subprocess.DEVNULL) as process:
        os.close(follower)
        shown = b""
        is_asked = False
        while True:
            try:
                shown += os.read(leader, 4096)
            except OSError:
                break
            if not is_asked and len(list(tmp_path.glob("r/cache/good-subset/*.json"))) >= 1:
                process.send_signal(signal.SIGINT)
                is_asked = True
    os.close(leader)
    assert process.returncode == 130
    assert b"good-subset" in shown
    assert b"the same command goes on from there" in b" ".join(shown.split())
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "from the cache" in again.stdout.splitlines()[0]
    assert again.stderr == ""


class TestFromAnEarlierRun:
    @pytest.fixture
    def written(self, tmp_path, capsys):
        """The file of a whole run."""
        assert run(["reproduce", "lp-balls", "--out", str(tmp_path / "a"), "--jobs", "1"]) == 0
        capsys.readouterr()
        return tmp_path / "a" / "lp-balls.csv"

    @pytest.mark.parametrize("is_folder", [False, True])
    def test_its_trials_are_taken_and_the_others_run(self, written, only_cheap, is_folder, tmp_path, capsys):
        lines = written.read_text().splitlines(keepends=True)
        part = tmp_path / "lp-balls.csv"
        part.write_text("".join(line for line in lines if not line.startswith("4")))
        given = part.parent if is_folder else part
        names = "all" if is_folder else "lp-balls"
        arguments = ["reproduce", names, "--out", str(tmp_path / "b"), "--jobs", "1", "--from", str(given)]
        assert run(arguments) == 0
        assert "4 trials, 3 from an earlier run" in capsys.readouterr().out
        assert (tmp_path / "b" / "lp-balls.csv").read_bytes() == written.read_bytes()
        if is_folder:
            assert "4 trials, 3 of them from an earlier run" in (tmp_path / "b" / "report.html").read_text()
        assert run(arguments) == 0
        assert "4 trials, 3 from an earlier run, 1 from the cache" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda text: text.replace("p,", "q,", 1), "it has no column p"),
            (lambda text: text.replace("\n4,", "\n5,"), "p 5, n_points 721 is no trial of lp-balls"),
            (lambda text: text.rstrip().rpartition(",")[0], "expected 6 cells"),
        ],
    )
    def test_what_does_not_belong_to_the_plan_is_refused(self, written, change, said, tmp_path, capsys):
        text = change(written.read_text())
        written.write_text(text)
        arguments = ["reproduce", "lp-balls", "--out", str(tmp_path / "b"), "--from", str(written)]
        assert run(arguments) == 1
        assert said in capsys.readouterr().err

    def test_a_column_of_results_that_is_missing_is_named(self, written, tmp_path, capsys):
        written.write_text("\n".join(line.rpartition(",")[0] for line in written.read_text().splitlines()) + "\n")
        arguments = ["reproduce", "lp-balls", "--out", str(tmp_path / "b"), "--jobs", "1", "--from", str(written)]
        assert run(arguments) == 1
        assert "lacks a column of lp-balls" in capsys.readouterr().err

    def test_times_and_several_experiments_take_none(self, written, tmp_path, capsys):
        arguments = ["--out", str(tmp_path / "b"), "--from", str(written)]
        assert run(["reproduce", "time-by-atoms", *arguments]) == 1
        assert "measures times" in capsys.readouterr().err
        assert run(["reproduce", "theory", *arguments]) == 1
        assert "several kinds" in capsys.readouterr().err
        assert run(["reproduce", "lp-balls", "two-stage", *arguments]) == 1
        assert "give one NAME" in capsys.readouterr().err
