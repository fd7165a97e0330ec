"""The README, the examples and the benchmarks do what they say."""

import ast
import importlib
import os
import re
import runpy
import sys
import tomllib
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
SHARED = {"cases", "common", "denoising_folder", "live_channel", "results", "size_tables"}  # what benchmarks import
BENCHMARKS = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if path.stem not in SHARED)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_readme_gives_the_two_commands_that_ci_runs():
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("pip install")]
    assert commands[:2] == ['pip install ".[all]" && hrpursuit demo', 'pip install ".[test]" && pytest']


def test_readme_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    printed = (r"^exact: The samples are exactly sparse", r"^\d+ 2\.0$", r"^25\.\d [67]\.\d$")
    for example, expected in zip(blocks("python"), printed, strict=True):
        assert len([line for line in example.splitlines() if line.strip()]) <= 10
        exec(compile(example, "README.md", "exec"), {})
        assert re.search(expected, capsys.readouterr().out, flags=re.MULTILINE)


def test_readme_names_commands_and_pictures_that_exist():
    text = README.read_text()
    for name in re.findall(r"`python (benchmarks/\w+\.py)", text):
        assert (ROOT / name).exists()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target


PUBLIC = {"", "datasets", "metrics", "baselines", "compression", "images", "live", "rows", "plots"}
PUBLIC |= {"compression.zarr", "compression.numcodecs"}


@pytest.mark.parametrize(
    "path", [*EXAMPLES, README, *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name
)
def test_what_users_read_imports_public_modules_only(path):
    text = path.read_text()
    code = [text] if path.suffix == ".py" else re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    for block in code:
        for node in ast.walk(ast.parse(block)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                package, _, module = name.partition(".")
                assert package != "hrpursuit" or module in PUBLIC, name


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_draws_one_picture(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with plt.rc_context():
        plt.switch_backend("agg")
        plt.close("all")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
            runpy.run_path(str(path), run_name="__main__")
        assert len(plt.get_fignums()) == 1
        plt.close("all")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_a_question(path):
    title, line = ast.get_docstring(ast.parse(path.read_text())).splitlines()[:2]
    assert title.endswith("?")
    assert line == "=" * len(title)


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_benchmark_loads_and_says_how_to_run_it(path, monkeypatch):
    monkeypatch.syspath_prepend(str(path.parent))
    loaded = runpy.run_path(str(path), run_name="benchmark")
    assert callable(loaded["main"])
    assert f"python benchmarks/{path.name}" in loaded["__doc__"]


def test_the_plain_scheme_of_the_benchmarks_is_the_papers(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    plain_paper = importlib.import_module("common").plain_paper

    X = make_sparse_coded(1000, 10, sparsity=0.2, random_state=0)[0]
    start = np.linalg.qr(np.random.default_rng(3).standard_normal((10, 10)))[0]
    ours = HRP(scheme="paper", dict_init=start).fit(X).components_
    assert dictionary_error(plain_paper(X, 3), ours) < 1e-9


def test_extras_hold_what_they_should():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "hrpursuit[all]" in extras["test"]
    assert not any(
        "peers" in requirement for name, wanted in extras.items() for requirement in wanted if name != "peers"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no execute bits")
def test_ci_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
