"""Imports go down only: each folder may use those that stand before it, as CONTRIBUTING says."""

import ast
import re
import sys
from pathlib import Path

import pytest

import hrpursuit

ROOT = Path(hrpursuit.__file__).parent
#: Lowest first; names on one line do not know each other.
LAYERS = [
    ["compiled", "validation"],
    ["core", "files", "blas"],
    ["rows"],
    ["schemes", "metrics", "progress"],
    ["datasets"],
    ["estimators"],
    ["baselines"],
    ["compression", "denoising", "rivals"],
    ["live", "reports"],
    ["versions", "plots"],
    ["experiments"],
    ["cli"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def room(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_room_has_a_place():
    assert {room(path) for path in MODULES} == set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_only(path):
    here = room(path)
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "hrpursuit" and len(parts) > 1:
            assert parts[1] == here or RANK[parts[1]] < RANK[here], f"{here} imports {name}"
        elif parts[0] == "hrpursuit":
            assert here == "cli", f"{here} imports the package itself"


@pytest.mark.parametrize("path", [p for p in MODULES if room(p) == "core"], ids=lambda path: path.name)
def test_core_stands_on_numpy_scipy_and_numba(path):
    packages = {name.split(".")[0] for name in imported(path)} - set(sys.stdlib_module_names)
    assert packages <= {"numpy", "scipy", "numba", "hrpursuit"}
    assert "print(" not in path.read_text()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_short(path):
    assert len(path.read_text().splitlines()) <= 400


def test_private_modules_of_scikit_learn_are_imported_in_one_file():
    private = re.compile(r"^\s*(from sklearn(\.\w+)*\.(_\w+)|from sklearn\S* import .*\b_\w+)", re.M)
    assert {room(path) for path in MODULES if private.search(path.read_text())} == {"validation"}
