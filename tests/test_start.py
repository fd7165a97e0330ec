"""What starting costs: nothing is loaded or compiled that is not needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hrpursuit
from hrpursuit.cli.main import COMMANDS, commands
from hrpursuit.compiled import _remove_old, digest

ROOT = Path(hrpursuit.__file__).parent
FIT = (
    "import numpy as np; from hrpursuit import HRP; print(HRP(random_state=0).fit(np.eye(4)[[0, 1, 2, 3] * 9]).n_iter_)"
)


def python(code, **environment):
    env = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=False, capture_output=True, text=True, env=env
    )


def test_import_loads_no_other_package():
    code = (
        "import sys, hrpursuit; print({n.split('.')[0] for n in sys.modules} & {'numpy', 'numba', 'sklearn', 'scipy'})"
    )
    assert python(code).stdout == "set()\n"


@pytest.mark.parametrize("name", [*hrpursuit.__all__, "__version__"])
def test_public_names(name):
    assert python(f"from hrpursuit import {name}; print({name} is not None)").stdout == "True\n"
    assert name in dir(hrpursuit)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'HPR'"):
        hrpursuit.HPR  # noqa: B018


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_the_command_answers_without_loading_the_mathematics(arguments):
    code = f"""
import sys
from hrpursuit.cli.main import run
run({arguments})
sys.exit(1 if {{"numpy", "numba", "sklearn", "pandas"}} & set(sys.modules) else 0)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert "hrpursuit" in done.stdout or "Commands" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_list_says(name):
    command = commands.get_command(None, name)
    assert command.name == name
    assert command.help


class TestCacheOfKernels:
    def test_the_digest_follows_every_kernel_and_constant(self, tmp_path):
        copy = tmp_path / "hrpursuit"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
        before = digest(copy)
        assert before == digest(ROOT)
        for changed in ("core/polish.py", "compression/kernels/constants.py", "compression/kernels/constants.bin"):
            path = copy / changed
            content = path.read_bytes()
            path.write_bytes(content + b"\n")
            assert digest(copy) != before, changed
            path.write_bytes(content)
        (copy / "estimators" / "hrp.py").write_text("")
        assert digest(copy) == before

    def test_a_changed_constant_of_another_file_is_compiled_anew(self, tmp_path):
        """numba alone would go on with the old code: it looks at the file of the calling kernel only."""
        package = tmp_path / "hrpursuit"
        shutil.copytree(ROOT, package, ignore=shutil.ignore_patterns("__pycache__"))
        inner, outer = package / "core" / "inner_kernels.py", package / "core" / "outer_kernels.py"
        head = "from hrpursuit.compiled import kernel\n"
        outer.write_text(
            head + "from hrpursuit.core.inner_kernels import inner\n\n@kernel()\ndef outer():\n    return inner()\n"
        )
        answers = []
        for value in (1, 2):
            inner.write_text(head + f"\n@kernel()\ndef inner():\n    return {value}\n")
            os.utime(inner, (1, 1))
            code = "from hrpursuit.core.outer_kernels import outer; print(outer())"
            answers.append(python(code, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1").stdout)
        assert answers == ["1\n", "2\n"]

    def test_without_a_folder_to_write_to_there_is_no_cache(self, tmp_path):
        """Such as a package that is read-only, and no home."""
        blocked = tmp_path / "file"
        blocked.write_text("")
        done = python(FIT, NUMBA_CACHE_DIR=str(blocked / "below"))
        assert done.returncode == 0, done.stderr
        assert "compiling" in done.stderr

    def test_a_cache_of_numba_of_the_user_is_left_alone(self, tmp_path):
        code = "import numba; from hrpursuit import HRP; print(numba.config.CACHE_DIR)"
        assert python(code, NUMBA_CACHE_DIR=str(tmp_path)).stdout == f"{tmp_path}\n"

    def test_only_folders_that_are_long_unused_are_removed(self, tmp_path):
        """A process that has just made its folder, or one of the version before, would fail when it writes to it."""
        new, old, other = (tmp_path / name for name in ("hrpursuit-kernels-1", "hrpursuit-kernels-2", "else"))
        for folder in (new, old, other):
            folder.mkdir()
        os.utime(old, (1, 1))
        os.utime(other, (1, 1))
        _remove_old(tmp_path)
        assert [new.exists(), old.exists(), other.exists()] == [True, False, True]
