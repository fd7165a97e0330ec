"""Data, seeds and settings that tests share."""

import doctest
import importlib.util
import os
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from hrpursuit.datasets import make_sparse_coded

settings.register_profile("hrpursuit", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("hrpursuit")

READINGS = "krakow_pm25_2017_10.csv"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run the long tests, too")


def pytest_configure():
    """Signals have their usual effect, also in processes that tests start: `nohup` and `&` in a script ignore them."""
    for name, usual in {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}.items():
        if signal.getsignal(getattr(signal, name, signal.SIGTERM)) == signal.SIG_IGN:
            signal.signal(getattr(signal, name), usual)


def pytest_collection_modifyitems(config, items):
    """Long tests run with --all, as in .ci/run, and where a test is named."""
    if config.getoption("--all") or any("::" in arg for arg in config.args):
        return
    long = [item for item in items if "long" in item.keywords]
    items[:] = [item for item in items if "long" not in item.keywords]
    config.hook.pytest_deselected(items=long)


@pytest.fixture
def rng():
    return np.random.default_rng(20211)


@pytest.fixture
def run_page(tmp_path, monkeypatch, capsys):
    """Run the Python code of a page of docs/, block after block in one namespace and an empty folder.

    A block of text right below a block of code is what it prints; `...` in it is anything. Returns the namespace, and
    all that was printed.
    """

    def run(page, namespace=None, change=lambda code: code):
        path = Path(__file__).parents[1] / "docs" / page
        text, names, printed = path.read_text(), dict(namespace or {}), ""
        capsys.readouterr()
        for block in re.finditer(
            r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", text, flags=re.DOTALL | re.MULTILINE
        ):
            exec(compile(change(block[1]), path.name, "exec"), names)
            out = capsys.readouterr().out
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            line = text.count("\n", 0, block.start()) + 1
            expected = block[2]
            assert expected is None or doctest.OutputChecker().check_output(expected, out, flags), (
                f"{path.name}, code from line {line} on: expected\n{expected}\ncame\n{out}"
            )
            printed += out
        return names, printed

    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture(scope="session")
def sparse_data():
    """300 samples of 12 features, 30% of the codes not zero: X, codes, components."""
    return make_sparse_coded(300, 12, sparsity=0.3, random_state=1)


@pytest.fixture(scope="session")
def october():
    """Path of the October readings."""
    folder = Path(os.environ.get("HRPURSUIT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    path = folder / READINGS
    if not path.exists():
        pytest.skip(f"the readings are not at {path}; set HRPURSUIT_DATA to the folder that has {READINGS}")
    return path


@pytest.fixture(scope="session")
def raw_readings(october):
    """Hours x sensors of the October readings; NaN is a gap."""
    return np.genfromtxt(october, delimiter=",", skip_header=1)[:, 1:]


@pytest.fixture(scope="session")
def readings(raw_readings):
    """The October readings, gaps filled with the mean of the hour, scaled by the largest reading."""
    X = raw_readings
    return np.where(np.isnan(X), np.nanmean(X, axis=1, keepdims=True), X) / np.nanmax(X)


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by Playwright; skipped where one of them is not there."""
    lacks = "Playwright: pip install playwright" if importlib.util.find_spec("playwright") is None else None
    lacks = lacks or ("a browser: apt-get install chromium" if CHROMIUM is None else None)
    if lacks and os.environ.get("HRPURSUIT_BROWSER") == "required":  # as .ci/run has it
        pytest.fail(f"needs {lacks}")
    if lacks:
        pytest.skip(f"needs {lacks}")
    from playwright import sync_api as playwright  # noqa: PLC0415 - may not be there

    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
