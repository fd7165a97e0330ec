"""What starting costs: nothing is loaded or compiled that is not needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hrpursuit
from hrpursuit.cli.main import COMMANDS, commands
from hrpursuit.compiled import _remove_old, digest
from hrpursuit.compression import compress

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


OTHERS = "{'sklearn', 'pandas', 'pyarrow', 'scipy', 'joblib'}"


def test_the_codec_is_imported_without_other_packages():
    """But numba loads the bare package scipy, to look at its version."""
    code = f"""
import sys, hrpursuit.compression
bare = ('scipy', 'scipy.version', 'scipy.__config__')
print([n for n in sys.modules if n.split('.')[0] in {OTHERS} and n not in bare and not n.startswith('scipy._')])
"""
    assert python(code).stdout == "[]\n"


def test_the_codec_of_arrays_needs_no_other_packages():
    code = f"""
import sys
sys.modules.update(dict.fromkeys({OTHERS}))  # whoever imports one of them gets an ImportError
import numpy as np
from hrpursuit.compression import Decoder, Encoder, compress, decompress, describe

table = np.round(np.random.default_rng(0).normal(20, 5, (40, 6)), 1)
for target in (dict(lossless=True), dict(max_error=0.3), dict(relative_rmse=0.05)):
    data = compress(table, **target)
    assert decompress(data).shape == table.shape
encoder = Encoder(max_error=1.0)
data = encoder.append(table) + encoder.finish()
with Decoder(data) as decoder:
    print(decoder.read(3, 9, columns=[1, 2]).shape, describe(data).n_rows)
"""
    done = python(code)
    assert (done.returncode, done.stdout) == (0, "(7, 2) 40\n"), done.stderr


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

    def test_the_digest_follows_what_kernels_import(self, tmp_path):
        copy = tmp_path / "hrpursuit"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
        kernels, options = copy / "core" / "polish.py", copy / "core" / "options.py"
        for line in (
            "from hrpursuit.core.options import HRPOptions",
            "from hrpursuit.core import (\n    protocols,\n    options,\n)",
            "import hrpursuit.core.options",
        ):
            kernels.write_text(f"{line}\n{(ROOT / 'core' / 'polish.py').read_text()}")
            options.write_bytes((ROOT / "core" / "options.py").read_bytes())
            before = digest(copy)
            options.write_bytes(options.read_bytes() + b"\n")
            assert digest(copy) != before, line

    @pytest.mark.parametrize("decorator", ["@kernel()", ""], ids=["of a kernel", "of a module without kernels"])
    def test_a_changed_constant_of_another_file_is_compiled_anew(self, tmp_path, decorator):
        """numba alone would go on with the old code: it looks at the file of the calling kernel only."""
        package = tmp_path / "hrpursuit"
        shutil.copytree(ROOT, package, ignore=shutil.ignore_patterns("__pycache__"))
        inner, outer = package / "core" / "inner.py", package / "core" / "outer_kernels.py"
        head = "from hrpursuit.compiled import kernel\n"
        outer.write_text(
            f"{head}from hrpursuit.core.inner import inner\n\n@kernel()\ndef outer():\n"
            f"    return {'inner()' if decorator else 'inner'}\n"
        )
        answers = []
        for value in (1, 2):
            body = f"{head}\n{decorator}\ndef inner():\n    return {value}\n" if decorator else f"inner = {value}\n"
            inner.write_text(body)
            os.utime(inner, (1, 1))
            code = "from hrpursuit.core.outer_kernels import outer; print(outer())"
            answers.append(python(code, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1").stdout)
        assert answers == ["1\n", "2\n"]

    def test_without_a_folder_to_write_to_there_is_no_cache(self, tmp_path):
        blocked = tmp_path / "file"
        blocked.write_text("")
        done = python(FIT, NUMBA_CACHE_DIR=str(blocked / "below"))
        assert done.returncode == 0, done.stderr
        assert "compiling the kernels of a fit for this machine, in every process" in done.stderr

    @pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
    def test_a_package_that_is_read_only_and_no_home(self, tmp_path):
        package, home = tmp_path / "site" / "hrpursuit", tmp_path / "home"
        shutil.copytree(ROOT, package, ignore=shutil.ignore_patterns("__pycache__"))
        home.mkdir()
        folders = [home, package.parent, *(folder for folder in package.parent.rglob("*") if folder.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        without_rights = []
        if os.geteuid() == 0:  # root may write anywhere, unless it gives its capabilities up
            if shutil.which("setpriv") is None:
                pytest.skip("root without setpriv can write anywhere")
            without_rights = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
        code = f"{FIT}; import hrpursuit.compiled as ours; print(ours.cache_folder(), ours.__file__)"
        env = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
        try:
            done = subprocess.run(
                [*without_rights, sys.executable, "-W", "ignore", "-c", code],
                check=False, capture_output=True, text=True,
                env=env | {"HOME": str(home), "PYTHONPATH": str(package.parent)},
            )  # fmt: skip
        finally:
            for folder in folders:
                folder.chmod(0o755)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"None {package / 'compiled.py'}\n")

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


SPARSE = """
import numpy as np
from hrpursuit import HRP, MiniBatchHRP, sparse_code
from hrpursuit.datasets import make_sparse_coded
X, _, W = make_sparse_coded(400, 8, sparsity=0.3, random_state=0)
"""
FIRST_USES = {
    "fit": "HRP(random_state=0).fit(X)",
    "fit with gaps": "X[0, 0] = np.nan; HRP(n_nonzero_coefs=3, random_state=0).fit(X)",
    "codes with gaps": "X[0, 0] = np.nan; sparse_code(X, W, 3)",
    "MiniBatchHRP": "MiniBatchHRP(random_state=0).partial_fit(X)",
}
NOTICE = "hrpursuit: compiling the kernels of a fit for this machine, once; this takes up to ten seconds ...\n"


class TestNotice:
    """That something is compiled is said when it is, and not when compiled code is read."""

    @pytest.mark.parametrize(
        "use", [use if use == "fit" else pytest.param(use, marks=pytest.mark.long) for use in FIRST_USES]
    )
    def test_in_the_first_process_only(self, tmp_path, use):
        first, second = (python(SPARSE + FIRST_USES[use], NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
        assert first.stderr == NOTICE
        assert second.stderr == ""

    def test_of_the_codec(self, tmp_path):
        """It compiles for half a minute, so that the first process is ended when it has said so."""
        table = "np.arange(64.0).reshape(16, 4)"
        code = f"import numpy as np; from hrpursuit.compression import compress; compress({table}, lossless=True)"
        first = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )
        with first:
            line = first.stderr.readline()
            first.kill()
        assert line.startswith("hrpursuit: compiling the codec for this machine, once; this takes about half a minute")
        compress(np.arange(64.0).reshape(16, 4), lossless=True)  # fills the cache, unless other tests have
        assert python(code).stderr == ""

    def test_nothing_is_said_where_no_kernel_of_ours_is_compiled(self, tmp_path):
        code = f"{SPARSE}HRP(scheme='paper').fit(X); import numba; numba.njit(lambda x: x + 1)(1)"
        assert python(code, NUMBA_CACHE_DIR=str(tmp_path)).stderr == ""


def test_modules_are_there_after_importing_the_package():
    code = "import hrpursuit; print(hrpursuit.datasets.make_sparse_coded.__name__, hrpursuit.metrics.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["make_sparse_coded", "hrpursuit.metrics"]
    assert {"HRP", "datasets", "compression"} <= set(dir(hrpursuit))
    assert not {"Any", "TYPE_CHECKING"} & set(dir(hrpursuit))
