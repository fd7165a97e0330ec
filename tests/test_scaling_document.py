"""The code in docs/how_to/larger_than_memory.md, cluster.md, streams.md and docs/explanation/scale.md runs as it
stands; only the address of the scheduler is put in.
"""

import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
from distributed import LocalCluster

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import write_blocks

DOCS = Path(__file__).parents[1] / "docs"
ADDRESS = "tcp://host:8786"
X, _, W = make_sparse_coded(4000, 8, sparsity=0.3, random_state=0)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that the pages read, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = [f"s{i}" for i in range(8)]
    for suffix in (".npy", ".parquet", ".csv"):
        write_blocks(f"readings{suffix}", iter([X]), names, X.dtype)
    with h5py.File("readings.h5", "w") as file:
        file["site/X"], file["site/Y"] = X, X
    Path("parts").mkdir()
    for i, part in enumerate(np.array_split(X, 3)):
        np.savez(f"parts/{i}.npz", readings=part)
    zarr.create_array("data.zarr", data=X, chunks=(500, 8))


def test_files(files, run_page):
    names, _ = run_page("how_to/larger_than_memory.md")
    np.testing.assert_allclose(np.load("from_csv.npy"), X, rtol=1e-12)
    assert dictionary_error(names["model"].components_, W) < 1e-12


@pytest.mark.long
def test_cluster_and_a_part_of_the_data(files, run_page):
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        names, _ = run_page("how_to/cluster.md", change=lambda code: code.replace(ADDRESS, address))
        (command,) = re.findall(
            r"^```sh\n(.*?)^```", (DOCS / "how_to/cluster.md").read_text(), flags=re.DOTALL | re.MULTILINE
        )
        words = command.replace(ADDRESS, address).split()
        run = [sys.executable, "-c", "from hrpursuit.cli import main; main()", *words[1:], "--seed", "0"]
        subprocess.run(run, check=True, capture_output=True)
    assert dictionary_error(HRP.load("model.npz").components_, W) < 1e-12
    assert dictionary_error(names["model"].components_, W) < 1e-12
    _, printed = run_page("explanation/scale.md", names)
    assert "certified sparse on" in printed


def test_stream(files, run_page):
    names, _ = run_page("how_to/streams.md", {"stream": lambda: iter(X.reshape(40, 100, 8))})
    assert dictionary_error(names["model"].components_, W) < 1e-12
