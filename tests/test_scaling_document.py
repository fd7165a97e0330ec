"""The code in docs/how_to/larger_than_memory.md runs as it stands; only the address of the scheduler is put in."""

import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import zarr
from distributed import LocalCluster

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import write_blocks

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "how_to" / "larger_than_memory.md").read_text()
ADDRESS = "tcp://host:8786"
X, _, W = make_sparse_coded(4000, 8, sparsity=0.3, random_state=0)


def code(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def write_files():
    names = [f"s{i}" for i in range(8)]
    for suffix in (".npy", ".parquet", ".csv"):
        write_blocks(f"readings{suffix}", iter([X]), names, X.dtype)
    with h5py.File("readings.h5", "w") as file:
        file["site/X"], file["site/Y"] = X, X
    Path("parts").mkdir()
    for i, part in enumerate(np.array_split(X, 3)):
        np.savez(f"parts/{i}.npz", readings=part)
    zarr.create_array("data.zarr", data=X, chunks=(500, 8))


def test_document_runs(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    write_files()
    names = {"stream": lambda: iter(X.reshape(40, 100, 8))}
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        for block in code("python"):
            exec(compile(block.replace(ADDRESS, cluster.scheduler_address), "larger_than_memory.md", "exec"), names)
        (command,) = code("sh")
        words = command.replace(ADDRESS, cluster.scheduler_address).split()
        run = [sys.executable, "-c", "from hrpursuit.cli import main; main()", *words[1:], "--seed", "0"]
        subprocess.run(run, check=True, capture_output=True)
    assert dictionary_error(HRP.load("model.npz").components_, W) < 1e-12
    np.testing.assert_allclose(np.load("from_csv.npy"), X, rtol=1e-12)
    assert dictionary_error(names["model"].components_, W) < 1e-12
    assert "certified sparse on" in capfd.readouterr().out


def test_document_names_commands_and_files_that_exist():
    for name in re.findall(r"`(?:python )?((?:benchmarks|examples)/[\w/]+\.py)", TEXT):
        assert (ROOT / name).exists(), name
