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
    ["tables"],
    ["schemes", "metrics", "progress"],
    ["datasets"],
    ["estimators"],
    ["baselines"],
    ["compression", "images", "rivals"],
    ["live", "reports"],
    ["versions", "plots"],
    ["experiments"],
    ["cli"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
#: The same inside rooms that have many files, or rooms of their own. The `__init__` of a room stands above all of it.
INSIDE = {
    "schemes": [
        ["dependence", "evidence", "finished", "outliers", "span", "stages"],
        ["offset"],
        ["code_evidence", "finish_l1", "fixed_sparsity", "gaps", "paper", "working_sample"],
        ["finish", "setup", "verdict"],
        ["diagnosis", "online"],
        ["exact"],
        ["free"],
    ],
    "compression": [
        ["errors", "jobs", "kernels"],
        ["layout"],
        ["targets"],
        ["chunks"],
        ["encoding"],
        ["tables"],
        ["files"],
        ["column_errors", "parameters", "waiting"],
        ["decoding"],
        ["appending", "checking"],
        ["reader", "stream"],
        ["codec", "description"],
        ["numcodecs"],
        ["zarr"],
    ],
    "tables": [
        ["arrow_frames", "choosing", "csv_style", "numpy_files", "reading"],
        ["arrow_files", "csv_writer", "long_format"],
        ["csv_check", "csv_reader"],
        ["files"],
    ],
    "images": [
        ["channels", "counting", "options", "patches", "poisson", "spectrum", "stack", "tiles"],
        ["directions", "learning", "masked_groups", "noise", "paper", "patch_hrp"],
        ["assumed", "matching"],
        ["filling", "grouped", "noise_options", "suspicions"],
        ["tasks"],
        ["denoise"],
        ["inpainting"],
    ],
    "live": [
        ["broker", "figures", "lock", "messages", "slot_coder", "slots", "wire"],
        ["journal", "mqtt", "page", "plan", "readings", "record", "t0"],
        ["keyframe", "planning", "plant", "role"],
        ["decoder", "encoder"],
        ["archive"],
        ["gateway"],
        ["controller"],
        ["processes"],
        ["demo"],
    ],
    "experiments": [
        ["experiment", "machine", "peers", "population", "published", "quirks", "style"],
        ["as_published", "cache", "earlier", "errors", "photographs", "readings", "registry", "synthetic", "workers"],
        ["methods", "patch_denoisers", "runner"],
        ["comparison", "denoisers", "output", "timing", "trials"],
        ["catalogue", "report"],
    ],
    "reports": [
        ["readings"],
        ["atoms", "hours", "picture", "targets"],
        ["methods"],
        ["study"],
        ["packing"],
        ["page"],
    ],
    "cli": [
        ["agreement", "choice", "image_formats", "interrupt", "report"],
        ["demo_readings", "images"],
        ["options"],
        ["data"],
        ["airly", "compare", "compress", "decode", "decompress", "demo", "denoise", "encode", "fit", "inspect", "live",
         "report_page", "reproduce", "verify"],
        ["main"],
    ],
}  # fmt: skip
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def room(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """The modules that a file imports; of `from package import name` the module, where the name is one."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            place = ROOT.parent.joinpath(*node.module.split("."))
            for alias in node.names:
                inner = place / alias.name
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield f"{node.module}.{alias.name}" if is_module else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def entries(folder):
    """Files and folders of a folder by name, each with the files that it is made of."""
    paths = [path for path in folder.iterdir() if path.name not in ("__init__.py", "__pycache__")]
    files = {path.stem: [path] for path in paths if path.suffix == ".py"}
    folders = {path.name: sorted(path.rglob("*.py")) for path in paths if path.is_dir()}
    return files | {name: inside for name, inside in folders.items() if inside}


def imports_inside(folder):
    """For each entry of a folder the names of the others that it imports; "" is the folder itself."""
    prefix = ["hrpursuit", *folder.relative_to(ROOT).parts]
    found = {}
    for name, paths in entries(folder).items():
        parts = [other.split(".") for path in paths for other in imported(path)]
        inside = {([*other, ""])[len(prefix)] for other in parts if other[: len(prefix)] == prefix}
        found[name] = inside - {name}
    return found


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


@pytest.mark.parametrize("name", INSIDE)
def test_imports_inside_a_room_go_down_only(name):
    rank = {entry: place for place, names in enumerate(INSIDE[name]) for entry in names}
    found = imports_inside(ROOT / name)
    assert set(found) == set(rank), f"give every file and folder of {name} its place in INSIDE"
    up = [(one, other) for one, others in found.items() for other in others if not rank.get(other, 99) < rank[one]]
    assert not up, f"imports inside {name} that do not go down"


FOLDERS = sorted({path.parent for path in MODULES} - {ROOT})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_folder_has_imports_in_a_circle(folder):
    left = imports_inside(folder)
    while free := [name for name, others in left.items() if not others & set(left)]:
        for name in free:
            del left[name]
    assert not left, "these files import each other in a circle, or stand above one that does"


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
