"""Trials in real processes: kept, resumed, failing alone, killed."""

import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pandas as pd
import pytest

from hrpursuit.experiments.cache import TrialCache, code_version, depends_on
from hrpursuit.experiments.experiment import Experiment, Findings, Settings
from hrpursuit.experiments.runner import run_trials
from hrpursuit.experiments.workers import Workers
from hrpursuit.progress import Bars

TRIALS = """
import os, signal, time
from pathlib import Path
import numpy as np
from threadpoolctl import threadpool_info

def run(number, folder):
    with (Path(folder) / "ran.txt").open("a") as file:
        file.write(f"{number} ")
    if number == 13:
        raise RuntimeError("unlucky")
    if number == 66:
        os.kill(os.getpid(), signal.SIGKILL)
    if number >= 100:
        time.sleep(0.3)
    np.ones((2, 2)) @ np.ones((2, 2))
    threads = max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
    return [{"square": np.float64(number) ** 2, "blas_threads": threads, "process": os.getpid()}]
"""


@pytest.fixture
def trials(tmp_path, monkeypatch):
    """An experiment whose trials are in a module that other processes can import."""
    (tmp_path / "some_trials.py").write_text(TRIALS)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("some_trials", None)
    code_version.cache_clear()
    run = import_module("some_trials").run

    def experiment(numbers, **more):
        def plan(settings):
            return [{"number": number, "folder": str(tmp_path)} for number in numbers]

        return Experiment("squares", "Squares", "nowhere", plan, run, lambda records, settings: Findings(), **more)

    return experiment


def perform(experiment, folder, n_jobs=1):
    said = []
    with Bars(False) as bars, Workers(n_jobs) as workers:
        results = run_trials(experiment, Settings(), folder / "cache", workers, bars, said.append)
    return results, said


def ran(folder):
    return (folder / "ran.txt").read_text().split()


class TestTrials:
    @pytest.mark.long
    def test_run_once_in_processes_with_one_thread(self, trials, tmp_path):
        results, _ = perform(trials(range(6)), tmp_path, n_jobs=2)
        assert list(results.records.number) == list(range(6))
        assert list(results.records.square) == [n**2 for n in range(6)]
        assert set(results.records.blas_threads) == {1}
        assert os.getpid() not in set(results.records.process)
        again, said = perform(trials(range(8)), tmp_path)
        assert (again.n_trials, again.n_cached) == (8, 6)
        assert sorted(map(int, ran(tmp_path))) == list(range(8))
        assert said == []
        pd.testing.assert_frame_equal(again.records[:6], results.records)

    def test_timed_ones_do_not_run_side_by_side(self, trials, tmp_path):
        results, _ = perform(trials([100, 101, 102], is_timed=True), tmp_path, n_jobs=2)
        assert results.seconds > 0.9

    @pytest.mark.long
    def test_one_that_fails_is_recorded_and_the_others_go_on(self, trials, tmp_path):
        results, _ = perform(trials([1, 13, 2]), tmp_path)
        assert list(results.records.number) == [1, 2]
        (failure,) = results.failures
        assert failure.config["number"] == 13
        assert failure.error.startswith("RuntimeError: unlucky (some_trials.py:")
        again, _ = perform(trials([1, 13, 2]), tmp_path)  # it may have been the machine: a failure is not kept
        assert ran(tmp_path).count("13") == 2
        assert again.n_cached == 2

    @pytest.mark.long
    def test_one_that_kills_its_process_harms_no_other(self, trials, tmp_path):
        results, _ = perform(trials([1, 2, 66, 3, 4, 5]), tmp_path, n_jobs=2)
        assert list(results.records.number) == [1, 2, 3, 4, 5]
        (failure,) = results.failures
        assert failure.config["number"] == 66
        assert "killed" in failure.error


class TestCache:
    @pytest.mark.long
    def test_another_version_of_the_code_is_recomputed_with_a_note(self, trials, tmp_path):
        perform(trials([1, 2]), tmp_path)
        module = tmp_path / "some_trials.py"
        module.write_text(TRIALS.replace("** 2", "** 3"))
        code_version.cache_clear()
        results, said = perform(trials([1, 2]), tmp_path)
        assert list(results.records.square) == [1, 8]
        assert said == ["squares: 2 trials in the cache are damaged or of another version; they run anew"]

    def test_a_damaged_file_counts_as_absent(self, tmp_path):
        cache, config = TrialCache(tmp_path, "e", "v"), {"a": 1}
        assert not cache.is_stale(config)
        cache.put(config, [{"b": 2}], 0.1)
        assert cache.get(config) == [{"b": 2}]
        whole = cache.path(config).read_text()
        for damage in ("", "{", "[]", '{"code": "v"}', whole[:-9]):
            cache.path(config).write_text(damage)
            assert cache.get(config) is None
            assert cache.is_stale(config)

    def test_version_follows_what_computes_and_the_module_alone(self, tmp_path):
        name = "hrpursuit.experiments.catalogue.lp_balls"
        assert code_version(name) == code_version(name)
        assert code_version(name) != code_version("hrpursuit.experiments.catalogue.missing_data")

    def test_version_is_of_the_modules_that_a_trial_imports(self):
        """Those of others too, and those inside of functions; not the codec, and nothing that draws."""
        found = depends_on("hrpursuit.experiments.trials.recovery")
        for name in ("baselines.ksvd", "core.search", "schemes.exact", "estimators.hrp", "experiments.as_published"):
            assert f"hrpursuit.{name}" in found
        rooms = {name.split(".")[1] for name in found}
        assert not rooms & {"compression", "images", "live", "reports", "cli", "plots"}
        assert "hrpursuit.experiments.style" not in found
        assert "hrpursuit.images.denoise" in depends_on("hrpursuit.experiments.catalogue.denoising")

    def test_version_follows_what_is_imported_relatively_and_inside_of_functions(self, tmp_path, monkeypatch):
        package = tmp_path / "hrpursuit"
        for name, text in {
            "a/__init__.py": "",
            "a/one.py": "def run():\n    from . import two\n    from hrpursuit.b import f\n",
            "a/two.py": "from ..c import g\n",
            "b.py": "def f(): needed('spams', 'x')\n",
            "c.py": "def g(): pass\n",
            "d.py": "",
        }.items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(text)
        monkeypatch.setattr("hrpursuit.experiments.cache._PACKAGE", package)
        assert depends_on("hrpursuit.a.one") == {f"hrpursuit.{name}" for name in ("a", "a.one", "a.two", "b", "c")}

        def version():
            code_version.cache_clear()
            return code_version("hrpursuit.a.one")

        before = version()
        (package / "d.py").write_text("changed = 1\n")
        assert version() == before
        (package / "c.py").write_text("def g(): return 1\n")
        assert version() != before
        code_version.cache_clear()

    def test_configurations_that_differ_have_other_names(self, tmp_path):
        cache = TrialCache(tmp_path, "e", "v")
        assert cache.path({"a": 1, "b": 2}) == cache.path({"b": 2, "a": 1})
        assert len({cache.path({"a": value}) for value in (1, 2, None, "1")}) == 4

    def test_what_is_not_plain_is_refused_and_nothing_is_written(self, tmp_path):
        cache = TrialCache(tmp_path, "e", "v")
        with pytest.raises(TypeError, match="numbers, text and lists"):
            cache.put({"a": 1}, [{"value": object()}], 0.0)
        assert not list(tmp_path.rglob("*.json"))


@pytest.mark.long
def test_a_killed_run_is_resumed_and_leaves_no_process(trials, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        dedent(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from pathlib import Path
        from some_trials import run
        from hrpursuit.experiments.experiment import Experiment, Findings, Settings
        from hrpursuit.experiments.runner import run_trials
        from hrpursuit.experiments.workers import Workers
        from hrpursuit.progress import Bars

        if __name__ == "__main__":
            plan = lambda settings: [{{"number": 100 + n, "folder": {str(tmp_path)!r}}} for n in range(20)]
            experiment = Experiment("squares", "", "", plan, run, lambda records, settings: Findings())
            with Bars(False) as bars, Workers(2) as workers:
                run_trials(experiment, Settings(), Path({str(tmp_path)!r}) / "cache", workers, bars, print)
        """)
    )
    process = subprocess.Popen([sys.executable, str(script)])
    folder = tmp_path / "cache" / "squares"
    for _ in range(600):
        if folder.exists() and len(list(folder.glob("*.json"))) >= 3:
            break
        time.sleep(0.1)
    process.kill()
    process.wait()
    kept = [json.loads(path.read_text()) for path in folder.glob("[!.]*.json")]
    assert 3 <= len(kept) < 20
    workers = {row["process"] for trial in kept for row in trial["rows"]}
    for _ in range(100):
        workers = {pid for pid in workers if _is_alive(pid)}
        if not workers:
            break
        time.sleep(0.1)
    assert not workers
    results, _ = perform(trials(range(100, 120)), tmp_path)
    assert results.n_cached >= len(kept)
    assert len(results.records) == 20


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")  # a process that has ended may wait there for its parent
    return not stat.exists() or " Z " not in stat.read_text()


def test_interrupted_run_ends_its_workers(trials, tmp_path):
    """Ctrl-C while trials run: an exception inside the `with` of the workers."""
    experiment = trials([100, 101, 102, 103])

    def interrupted():
        with Workers(1) as workers:
            for _ in workers.perform(experiment.run, experiment.plan(Settings()), 1):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(ran(tmp_path)) <= 2
