"""What a type checker says of a user's file: the package has its own types, whatever it is built on."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hrpursuit

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason='needs mypy: pip install ".[dev]"; .ci/run does'
)
PACKAGE = Path(hrpursuit.__file__).parent

RIGHT = """
from pathlib import Path
from typing import Any, Literal, assert_type

import numpy as np

from hrpursuit import HRP, Certificate, HRPOptions, Iterate, MiniBatchHRP, Verdict, recover_atom, sparse_code
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import RecoveredAtom
from hrpursuit.metrics import dictionary_error, masked_rmse, match_atoms

Kind = Literal["exact", "noisy", "compressible", "not sparse", "undetermined", "misspecified"]


def stop(iterate: Iterate) -> bool:
    assert_type(iterate.n_iter, int)
    return iterate.value < 1


X, codes, atoms = make_sparse_coded(100, 5, sparsity=0.2, components=np.eye(5), random_state=0)
assert_type(X, np.ndarray)
model = HRP(
    n_nonzero_coefs=3,
    scheme="exact",
    dictionary="complete",
    dict_init=[[1.0, 0.0], [0.0, 1.0]],
    options=HRPOptions(rows_per_feature=(10, 20), look_every=None),
    random_state=np.random.RandomState(0),
    callback=stop,
)
assert_type(model.fit(X), HRP)
assert_type(model.fit(X).components_, np.ndarray)
assert_type(model.encoder_, np.ndarray)
assert_type(model.intercept_, np.ndarray)
assert_type(model.n_features_in_, int)
assert_type(model.n_iter_, int)
assert_type(model.objective_, float)
assert_type(model.stages_[0].seconds, float)
assert_type(model.certificate_, Certificate)
assert_type(bool(model.certificate_), bool)
assert_type(model.certificate_.n_rows, int)
assert_type(model.verdict_, Verdict)
assert_type(model.verdict_.kind, Kind)
assert_type(model.verdict_.snr_db, float | None)
assert_type(model.certify(X), Certificate)
assert_type(model.score(X), float)
assert_type(model.score_samples(X), np.ndarray)
assert_type(model.reconstruction_error(X), float)
assert_type(model.transform("x.npy", out="codes.zarr"), Path)
assert_type(model.inverse_transform("codes.zarr", out=Path("x.npy")), Path)
assert_type(HRP.load("model.npz"), HRP)
some: np.ndarray = model.transform(X)  # an array, a DataFrame after set_output, an iterator for a file

online = MiniBatchHRP(window=500, random_state=0)
assert_type(online.partial_fit(X), MiniBatchHRP)
assert_type(online.fit(X).components_, np.ndarray)
assert_type(online.certificate_, Certificate)
assert_type(online.drift_, float)
assert_type(online.n_samples_seen_, int)
assert_type(MiniBatchHRP.load("state.npz"), MiniBatchHRP)

assert_type(recover_atom(X, n_init=3), RecoveredAtom)
assert_type(recover_atom(X).n_agreed, int)
assert_type(sparse_code(X, atoms, n_nonzero_coefs=3), np.ndarray)
assert_type(dictionary_error(model.components_, atoms), float)
assert_type(match_atoms(atoms, atoms), tuple[np.ndarray, np.ndarray])
assert_type(masked_rmse(X, X, mask=None), float)
"""

#: Each line with the code of its error.
WRONG = {
    "HRP(10)": "call-arg",
    'HRP(scheme="x")': "arg-type",
    'HRP(dictionary="square")': "arg-type",
    "HRP(n_components=3)": "call-arg",
    'HRP(n_nonzero_coefs="3")': "arg-type",
    "HRP(callback=print_progress)": "arg-type",
    "HRP(options={})": "arg-type",
    "MiniBatchHRP(10)": "call-arg",
    'MiniBatchHRP(dictionary="x")': "arg-type",
    "HRPOptions(steps=3)": "call-arg",
    "recover_atom([[1.0]], 3)": "call-arg",
    "sparse_code([[1.0]])": "call-arg",
    "make_sparse_coded(10, 5)": "call-arg",
    "make_sparse_coded(10, 5, 0.2)": "call-arg",
    'dictionary_error("x")': "call-arg",
    "HRP().fit([[1.0]]).verdict_.sort": "attr-defined",
    'HRP().fit([[1.0]]).verdict_.kind == "sparse"': "comparison-overlap",
    "int(HRP().fit([[1.0]]).certificate_.mixed)": "attr-defined",
}
IMPORTS = """
from hrpursuit import HRP, HRPOptions, MiniBatchHRP, recover_atom, sparse_code
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
def print_progress(n_iter: int) -> None: ...
"""


def check(code, folder):
    """What mypy prints of a user's file, which is checked strictly, in a folder that has no settings."""
    (folder / "user.py").write_text(code)
    environment = dict(os.environ)
    if "site-packages" not in PACKAGE.parts:
        environment["MYPYPATH"] = str(PACKAGE.parent)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", "user.py"]
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    return done.stdout + done.stderr


def test_right_use_has_the_types_that_the_docstrings_say(tmp_path):
    assert check(RIGHT, tmp_path) == "Success: no issues found in 1 source file\n"


def test_wrong_use_is_an_error(tmp_path):
    first = len(IMPORTS.splitlines()) + 1
    printed = check(IMPORTS + "\n".join(WRONG) + "\n", tmp_path)
    found = {int(line): code for line, code in re.findall(r"^user\.py:(\d+): error: .*\[([\w-]+)\]$", printed, re.M)}
    assert found == {first + k: code for k, code in enumerate(WRONG.values())}, printed


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").exists()
