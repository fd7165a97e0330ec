"""Ctrl-C in `partial_fit`: the model is as it was before the batch, wherever it strikes, and can go on."""

import copy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hrpursuit
from hrpursuit import MiniBatchHRP
from hrpursuit.datasets import make_sparse_coded

HOME = str(Path(hrpursuit.__file__).parent)


def stream(seed=0):
    """Rows that take the learner through its modes: exact, another dictionary, noise, dense."""
    kind = {"n_features": 6, "sparsity": 0.2}
    parts = [make_sparse_coded(700, random_state=seed + i, **kind)[0] for i in range(2)]
    parts += [make_sparse_coded(900, random_state=seed + 1, snr_db=20, **kind)[0]]
    return np.concatenate([*parts, np.random.default_rng(seed).laplace(size=(700, 6))])


class StrikesAt:
    """KeyboardInterrupt at the n-th line of ours that is executed, as a signal would raise it."""

    def __init__(self, n):
        self.n_left, self.struck = n, False

    def __call__(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(HOME) or frame.f_code.co_filename.endswith("blas.py"):
            return None
        if event == "line":
            self.n_left -= 1
            if self.n_left == 0:
                self.struck = True
                raise KeyboardInterrupt
        return self

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)


def frozen(model):
    """All that the model holds, arrays as bytes."""

    def plain(value):
        if isinstance(value, np.ndarray):
            return value.dtype.str, value.shape, value.tobytes()
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return {name: plain(one) for name, one in vars(value).items()} if hasattr(value, "__dict__") else value

    return {name: plain(value) for name, value in vars(model).items()}


@pytest.mark.parametrize(
    "settings",
    [{}, {"dictionary": "complete"}, {"n_nonzero_coefs": 1}, {"fit_intercept": True, "dictionary": "complete"}],
    ids=str,
)
def test_wherever_it_strikes_the_model_is_that_of_before(settings):
    X = stream()
    n_strikes = 0
    for start, stop in ((0, 500), (500, 900), (900, 1500), (1500, 2400), (2400, 3000)):
        model = MiniBatchHRP(random_state=0, **settings)
        if start:
            model.partial_fit(X[:start])
        before = frozen(model)
        with StrikesAt(-1) as counter:
            after = frozen(MiniBatchHRP(random_state=0, **settings).partial_fit(X[:stop]))
            if start:
                whole = MiniBatchHRP(random_state=0, **settings).partial_fit(X[:start])
                counter.n_left = 0
                after = frozen(whole.partial_fit(X[start:stop]))
        n_lines = -counter.n_left
        for place in np.unique(np.r_[1:6, np.geomspace(6, n_lines, 25).astype(int), n_lines - 5 : n_lines + 1]):
            with StrikesAt(place) as strike:
                try:
                    model.partial_fit(X[start:stop])
                except KeyboardInterrupt:
                    n_strikes += 1
            now = frozen(model)
            if now != before:  # the batch was done when it struck
                assert place > n_lines - 5 or not strike.struck
                assert now == after
                break
            assert strike.struck
        model = MiniBatchHRP(random_state=0, **settings)
        if start:
            model.partial_fit(X[:start])
        assert frozen(model.partial_fit(X[start:stop])) == after
    assert n_strikes > 100


LOOP = """if True:
    import signal, sys
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # but in a batch: here nobody would catch it
    import numpy as np
    from hrpursuit import MiniBatchHRP
    X = np.load(sys.argv[1])
    MiniBatchHRP(random_state=0).fit(X[:2000])  # compiles
    print("ready", flush=True)
    model, n_interrupts = MiniBatchHRP(random_state=0), 0
    while n_interrupts < 5:
        model = MiniBatchHRP(random_state=0)
        for batch in np.split(X, 10):
            while True:
                before = dict(vars(model))
                try:
                    try:
                        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
                        model.partial_fit(batch)
                    finally:
                        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                    break
                except KeyboardInterrupt:
                    n_interrupts += 1
                    print("interrupted", flush=True)
                    now = vars(model)
                    if now.get("n_samples_seen_") != before.get("n_samples_seen_"):
                        break  # it was done
                    assert now.keys() == before.keys()
                    assert all(now[name] is before[name] for name in before), "changed"
    whole = MiniBatchHRP(random_state=0).partial_fit(X)
    assert np.array_equal(model.components_, whole.components_)
    assert (model.drift_, model.n_samples_seen_) == (whole.drift_, whole.n_samples_seen_)
    print("the same", n_interrupts)"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_in_a_process(tmp_path):
    np.save(tmp_path / "x.npy", make_sparse_coded(20_000, 40, sparsity=0.2, snr_db=20, random_state=0)[0])
    with subprocess.Popen(
        [sys.executable, "-c", LOOP, str(tmp_path / "x.npy")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            for _ in range(5):
                time.sleep(0.05)
                process.send_signal(signal.SIGINT)  # one by one: two that come together are one
                assert process.stdout.readline() == "interrupted\n"
            out, error = process.communicate(timeout=120)
        finally:
            process.kill()
    assert out == "the same 5\n", error


def test_a_model_copied_before_a_batch_is_not_touched_by_it():
    """Batches make new states, so that copies are safe, and so is whoever kept an older array."""
    X = stream()
    model = MiniBatchHRP(random_state=0).partial_fit(X[:1234])
    kept = copy.copy(model)
    model.partial_fit(X[1234:])
    kept.partial_fit(X[1234:])
    assert_array_equal(kept.components_, model.components_)
