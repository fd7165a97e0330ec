"""Several runs of a fit, one after the other or at the same time: the same result, and an end to what is not needed."""

import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hrpursuit import HRP, HRPOptions
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators.learning import Task, draw_seeds
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import open_rows

LAPLACE = np.random.default_rng(0).laplace(size=(600, 12))
NOISY, _, TRUTH = make_sparse_coded(400, 12, sparsity=0.2, snr_db=20, random_state=0)
GAPS = np.where(np.random.default_rng(1).random(NOISY.shape) < 0.1, np.nan, NOISY)
CASES = {
    "dense": (LAPLACE, {}),
    "noisy": (NOISY, {"dictionary": "complete"}),
    "fixed number of codes": (NOISY, {"n_nonzero_coefs": 3}),
    "free atoms": (NOISY, {"n_nonzero_coefs": 3, "dictionary": "complete"}),
    "gaps": (GAPS, {"n_nonzero_coefs": 3, "fit_intercept": True}),
    "paper": (NOISY, {"scheme": "paper"}),
    "given start": (LAPLACE, {"dict_init": np.eye(12)}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.long
def test_the_result_does_not_depend_on_the_threads(case):
    X, settings = CASES[case]
    alone, *others = [HRP(n_init=5, n_jobs=n_jobs, random_state=0, **settings).fit(X) for n_jobs in (1, 2, 3)]
    for model in others:
        assert_array_equal(model.components_, alone.components_)
        assert model.objective_ == alone.objective_
        assert model.verdict_ == alone.verdict_
        assert [stage.name for stage in model.stages_] == [stage.name for stage in alone.stages_]


def test_the_best_run_is_kept():
    X = np.random.default_rng(2).standard_normal((200, 12))  # every run ends elsewhere
    error = {
        n: HRP(n_nonzero_coefs=3, n_init=n, n_jobs=2, random_state=0).fit(X).reconstruction_error(X) for n in (1, 10)
    }
    assert error[10] < error[1]


def test_a_certified_run_ends_the_runs():
    """On data where the first run fails and a later one is certified."""
    hasty = HRPOptions(patience=(48, 48, 48))
    for seed in range(20):
        X, _, components = make_sparse_coded(170, 20, sparsity=0.65, random_state=seed)
        if not HRP(options=hasty, random_state=0).fit(X).certificate_:
            break
    alone, together = [HRP(n_init=30, n_jobs=n, options=hasty, random_state=0).fit(X) for n in (1, 2)]
    assert alone.certificate_
    assert dictionary_error(together.components_, components) < 1e-12
    assert_array_equal(together.components_, alone.components_)
    assert [stage.n_iter for stage in together.stages_] == [stage.n_iter for stage in alone.stages_]


CERTIFICATE = HRP(random_state=0).fit(make_sparse_coded(200, 12, sparsity=0.2, random_state=0)[0]).certificate_


def certified(learned):
    return replace(learned, certificate=CERTIFICATE)


class Runs:
    """In the place of `Task.run`: the real run, after `before(index, stopper)`, which may give what is done to its
    result.
    """

    def __init__(self, monkeypatch, before=lambda index, stopper: None):
        self.begun, self.threads, self._before, self._run = [], set(), before, Task.run

        def run(task, start, seed, team, stopper, log):
            index = draw_seeds(0, 10).index(seed)
            self.begun.append(index)
            self.threads.add(threading.current_thread())
            change = self._before(index, stopper) or (lambda learned: learned)
            return change(self._run(task, start, seed, team, stopper, log))

        monkeypatch.setattr(Task, "run", run)


def test_runs_are_made_at_the_same_time(monkeypatch):
    both = threading.Barrier(2, timeout=30)  # is passed by two together, or breaks

    def before(index, stopper):
        both.wait()

    runs = Runs(monkeypatch, before)
    HRP(n_init=4, n_jobs=2, random_state=0).fit(LAPLACE)
    assert sorted(runs.begun) == [0, 1, 2, 3]
    assert len(runs.threads) == 2


def test_the_first_certified_run_wins_though_a_later_one_is_quicker(monkeypatch):
    quick = threading.Event()

    def before(index, stopper):
        if index == 0:
            assert quick.wait(30)
        else:
            quick.set()
        return certified

    Runs(monkeypatch, before)
    model = HRP(n_init=2, n_jobs=2, random_state=0).fit(LAPLACE)
    alone = HRP(n_init=1, n_jobs=1, random_state=0).fit(LAPLACE)
    assert model.stages_[-1].objective_after == alone.stages_[-1].objective_after  # that of the first seed


def test_runs_behind_a_certified_one_are_given_up(monkeypatch):
    """The second run would go on for ever; the third and fourth are never begun, or give up at once."""
    has_begun = threading.Event()
    given_up = []

    def before(index, stopper):
        if index == 0:
            assert has_begun.wait(30)
            return certified
        has_begun.set()
        since = time.monotonic()
        while time.monotonic() < since + 30:
            try:
                stopper.callback(None)
            except Exception as error:
                given_up.append(type(error).__name__)
                raise
            time.sleep(0.001)
        return None

    Runs(monkeypatch, before)
    assert HRP(n_init=4, n_jobs=2, random_state=0).fit(LAPLACE).certificate_
    assert set(given_up) == {"Cancelled"}


def test_an_error_of_a_run_is_raised_and_the_others_end(monkeypatch):
    def before(index, stopper):
        if index == 0:
            raise ZeroDivisionError("in a run")

    Runs(monkeypatch, before)
    threads = set(threading.enumerate())  # other tests of this process may have left some, as Dask's scheduler does
    with pytest.raises(ZeroDivisionError, match="in a run"):
        HRP(n_init=4, n_jobs=2, random_state=0).fit(LAPLACE)
    assert set(threading.enumerate()) <= threads


def test_with_a_callback_runs_follow_each_other(monkeypatch):
    runs = Runs(monkeypatch)
    seen = []
    HRP(n_init=3, n_jobs=2, random_state=0, callback=lambda it: seen.append(it.stage) and None).fit(LAPLACE)
    assert runs.threads == {threading.main_thread()}
    assert "search" in seen


def test_outside_memory_runs_follow_each_other(monkeypatch, tmp_path):
    np.save(tmp_path / "X.npy", LAPLACE)
    runs = Runs(monkeypatch)
    model = HRP(n_init=3, n_jobs=2, random_state=0).fit(open_rows(tmp_path / "X.npy"))
    assert runs.threads == {threading.main_thread()}
    assert runs.begun == [0, 1, 2]
    assert dictionary_error(model.components_, HRP(n_init=3, random_state=0).fit(LAPLACE).components_) < 1e-6


def test_in_a_worker_process_runs_follow_each_other(monkeypatch):
    runs = Runs(monkeypatch)
    monkeypatch.setattr("multiprocessing.parent_process", object)
    HRP(n_init=2, n_jobs=2, random_state=0).fit(LAPLACE)
    assert runs.threads == {threading.main_thread()}


def test_n_jobs_of_joblib(monkeypatch):
    runs = Runs(monkeypatch)
    with joblib.parallel_config(n_jobs=2):
        HRP(n_init=2, random_state=0).fit(LAPLACE)
    assert threading.main_thread() not in runs.threads


def test_stages_are_printed_run_by_run(capsys):
    def lines(n_jobs):
        HRP(n_init=3, n_jobs=n_jobs, random_state=0, verbose=1).fit(LAPLACE)
        return re.sub(r"[\d.]+ s$", "", capsys.readouterr().out, flags=re.M)

    assert lines(1) == lines(2)


@pytest.mark.skipif(sys.platform == "win32", reason="a signal to one process of a group")
@pytest.mark.long
def test_ctrl_c_ends_all_runs():
    code = """
import numpy as np
from hrpursuit import HRP, HRPOptions
X = np.random.default_rng(0).laplace(size=(20_000, 60))
HRP(random_state=0).fit(X[:1000])  # compiles what is missing
print("begins", flush=True)
HRP(n_init=1000, n_jobs=2, random_state=0).fit(X)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "begins\n"
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=20)
    finally:
        child.kill()
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert child.returncode != 0
