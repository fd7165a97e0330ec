"""Commands that are stopped, or find the disk full: no temporary file stays, and what was there before is whole."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of Unix")
COMMAND = [sys.executable, "-c", "from hrpursuit.cli import main; main()"]
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "its terminal was closed"}
OLD = b"what was there"


@pytest.fixture
def folder(tmp_path):
    """Samples, a model and old outputs; what is written to the temporary folder of the system shows too."""
    X = make_sparse_coded(300, 40, sparsity=0.1, random_state=0)[0]
    HRP(scheme="paper", max_iter=3, random_state=0).fit(X).save(tmp_path / "model.npz")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((60_000, 40)))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def start(folder, *arguments, **more):
    environment = os.environ | {"TMPDIR": str(folder / "tmp")}
    return subprocess.Popen([*COMMAND, *arguments], cwd=folder, env=environment, stderr=subprocess.PIPE, **more)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def until_it_writes(process, folder, out, n_bytes=0):
    """Until a temporary file is there, and has some bytes."""
    while process.poll() is None:
        found = [path for path in [*folder.glob(f".{out}*"), *folder.glob("tmp/*/*")] if size(path) > n_bytes]
        if found:
            return
        time.sleep(0.005)
    raise AssertionError(process.communicate()[1])


def size(path):
    try:
        return sum(one.stat().st_size for one in [path, *path.rglob("*")] if one.is_file())
    except FileNotFoundError:
        return 0


COMMANDS = {
    "codes.csv": ("encode", "x.npy", "-m", "model.npz", "-o", "codes.csv"),
    "codes.zarr": ("encode", "x.npy", "-m", "model.npz", "-o", "codes.zarr"),
    "codes.h5": ("encode", "x.npy", "-m", "model.npz", "-o", "codes.h5"),
    "x.hrp": ("compress", "x.npy", "-o", "x.hrp", "--lossless", "--stream"),
    "output": ("compress", "x.npy", "-o", "-", "--lossless", "--stream"),
}


@pytest.mark.parametrize(("out", "number"), [("codes.csv", number) for number in SIGNALS] + [
    (out, signal.SIGTERM) for out in COMMANDS if out != "codes.csv"])  # fmt: skip
@pytest.mark.long
def test_a_signal_leaves_no_temporary_file(folder, out, number):
    if not out.endswith("zarr"):
        (folder / out).write_bytes(OLD)
    before = names(folder)
    with start(folder, *COMMANDS[out], stdout=subprocess.DEVNULL) as process:
        until_it_writes(process, folder, out)
        process.send_signal(number)
        error = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 128 + number, error
    assert error.strip().endswith(f"hrpursuit: {SIGNALS[number]}")
    assert names(folder) == before
    if not out.endswith("zarr"):
        assert (folder / out).read_bytes() == OLD


def test_signals_that_come_again_and_again(folder):
    (folder / "codes.csv").write_bytes(OLD)
    before = names(folder)
    with start(folder, *COMMANDS["codes.csv"], stdout=subprocess.DEVNULL) as process:
        until_it_writes(process, folder, "codes.csv")
        for _ in range(200):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        error = process.communicate(timeout=120)[1].decode()
    assert process.returncode in (143, -signal.SIGTERM), error  # the last may come when Python itself ends
    assert names(folder) == before


def test_nohup_is_respected(folder):
    command = ["nohup", *COMMAND, "encode", "model.npy", "-m", "model.npz", "-o", "codes.npy"]
    np.save(folder / "model.npy", np.ones((20_000, 40)))
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        until_it_writes(process, folder, "codes.npy", -1)
        process.send_signal(signal.SIGHUP)
        error = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 0, error
    assert len(np.load(folder / "codes.npy")) == 20_000


def test_a_terminal_that_is_closed(folder):
    pty = pytest.importorskip("pty")
    before = names(folder)
    process, leader = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execv(COMMAND[0], [*COMMAND, *COMMANDS["codes.csv"]])
    while not list(folder.glob(".codes.csv*")):
        time.sleep(0.005)
    os.close(leader)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 129
    assert names(folder) == before


@pytest.mark.parametrize("out", ["codes.csv", "codes.npy", "codes.parquet", "codes.zarr"])
@pytest.mark.long
def test_no_room_is_told_with_the_name_of_the_file(folder, out):
    if not out.endswith("zarr"):
        (folder / out).write_bytes(OLD)
    before = names(folder)
    line = 'ulimit -f 512; exec "$@"'  # blocks of 1 KiB
    command = ["bash", "-c", line, "bash", *COMMAND, "encode", "x.npy", "-m", "model.npz", "-o", out]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert f"hrpursuit: error: cannot write {out}: file too large (" in done.stderr
    assert "Traceback" not in done.stderr
    assert names(folder) == before


@pytest.mark.parametrize("out", ["codes.csv", "codes.h5", "codes.zarr", "model.npz"])
@pytest.mark.long
def test_a_full_disk(folder, out):
    small = folder / "small"
    small.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    if subprocess.run(options, capture_output=True, check=False).returncode:
        pytest.skip("no permission to mount a small disk")
    try:
        commands = {"model.npz": ["fit", "y.npy", "--scheme", "paper", "--max-iter", "1"]}
        np.save(folder / "y.npy", np.random.default_rng(0).standard_normal((200, 80)))
        command = [*COMMAND, *commands.get(out, ["encode", "x.npy", "-m", "model.npz"]), "-o", f"small/{out}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        assert f"hrpursuit: error: cannot write small/{out}: no space left on device (" in done.stderr
        assert ("are needed" in done.stderr) == (out == "model.npz")
        assert "Traceback" not in done.stderr
        assert names(small) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_standard_output_that_takes_nothing(folder):
    np.save(folder / "few.npy", np.ones((300, 4)))
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "compress", "few.npy", "-o", "-", "--max-error", "1"], cwd=folder, stdout=full,
            stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "hrpursuit: error: cannot write standard output: no space left on device."


@pytest.mark.parametrize("kind", ["csv", "zarr"])
@pytest.mark.long
def test_two_processes_write_the_same_file(folder, kind):
    np.save(folder / "few.npy", np.ones((3000, 40)))
    arguments = ("encode", "few.npy", "-m", "model.npz", "-o", f"codes.{kind}")
    before = names(folder)
    for process in [start(folder, *arguments, stdout=subprocess.DEVNULL) for _ in range(3)]:
        assert process.wait() == 0, process.stderr.read()
        process.stderr.close()
    again = ("decode", f"codes.{kind}", "-m", "model.npz", "-o", "again.npy")
    subprocess.run([*COMMAND, *again], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    np.testing.assert_allclose(np.load(folder / "again.npy"), 1, atol=1e-12)
    left = [name for name in names(folder) if not name.startswith(f"codes.{kind}")]
    assert left == sorted([*before, "again.npy"])
