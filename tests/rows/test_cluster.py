"""A real cluster of processes: where data and tasks are, what happens when a worker dies, and the command line."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import dask
import dask.array as da
import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from distributed import Client, LocalCluster
from numpy.testing import assert_array_equal

from hrpursuit import HRP
from hrpursuit.core.evaluate import gram
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import BlockError, DaskRows, open_rows
from hrpursuit.rows.on_cluster import open_on_cluster

X, _, W = make_sparse_coded(5000, 10, sparsity=0.3, random_state=0)
NAMES = [f"s{i}" for i in range(10)]


@pytest.fixture
def client(request):
    """Two workers; given False, an idle one takes no tasks from the other."""
    with (
        dask.config.set({"distributed.scheduler.work-stealing": getattr(request, "param", True)}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def counted(X, folder):
    """An array of ten chunks that leave a mark each time they are computed."""

    def mark(block, block_info=None):
        number = block_info[0]["chunk-location"][0]
        with open(folder / f"chunk-{number}", "a") as file:  # noqa: PTH123 - runs in a worker
            file.write("x")
        return block

    chunks = (len(X) // 10, -1)
    return da.from_array(X, chunks=chunks).map_blocks(mark, dtype=X.dtype, meta=np.empty((0, 0)))


def marks(folder):
    return [len((folder / f"chunk-{i}").read_text()) for i in range(10)]


@pytest.mark.long
def test_chunks_are_loaded_once_and_stay_where_they_are(client, tmp_path):
    rows = DaskRows(counted(X, tmp_path))
    expected = X.T @ X
    for _ in range(5):
        np.testing.assert_allclose(gram(rows), expected, rtol=1e-12)
    assert marks(tmp_path) == [1] * 10
    held = client.has_what()
    keys = {chunk.key for chunk in rows._engine.chunks}
    assert sorted(key for found in held.values() for key in found if key in keys) == sorted(keys)  # one copy each
    del rows
    deadline = time.time() + 10
    while any(client.has_what().values()) and time.time() < deadline:
        time.sleep(0.05)
    assert not any(client.has_what().values())  # and are let go in the end


@pytest.mark.long
def test_chunks_are_shared_evenly(client, tmp_path):
    """Whoever is the faster one at loading: a worker with more chunks than the others would hold up every pass."""

    def slow_at_first(block, block_info=None):
        time.sleep(0.3 if block_info[0]["chunk-location"][0] < 2 else 0)
        return block

    rows = DaskRows(da.from_array(X, chunks=(500, -1)).map_blocks(slow_at_first, dtype=float, meta=np.empty((0, 0))))
    gram(rows)
    keys = {chunk.key for chunk in rows._engine.chunks}
    assert [len(keys & set(found)) for found in client.has_what().values()] == [5, 5]


@pytest.mark.parametrize(
    "client", [False], indirect=True
)  # an idle worker that takes tasks gets copies of their chunks
def test_chunks_that_are_loaded_already_stay(client):
    array = da.from_array(X, chunks=(500, -1)).persist(workers=[min(client.nthreads())])
    rows = DaskRows(array)
    np.testing.assert_allclose(gram(rows), X.T @ X, rtol=1e-12)
    keys = {chunk.key for chunk in rows._engine.chunks}  # not what is left of the sums for a moment
    assert sorted(len(keys & set(found)) for found in client.has_what().values()) == [0, 10]


@pytest.mark.long
def test_tasks_have_names(client):
    HRP(scheme="paper", max_iter=2, random_state=0).fit(da.from_array(X, chunks=(500, -1)))
    prefixes = set(client.cluster.scheduler.task_prefixes)
    assert {"hrp-survey", "hrp-sample", "hrp-value-and-grad", "hrp-value-and-grad-add"} <= prefixes


def test_solvers_inside_tasks_have_one_thread(client):
    def blas_threads(X):  # inside, so that it is sent by value: workers cannot import this file
        from threadpoolctl import threadpool_info  # noqa: PLC0415

        return (max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"),)

    rows = DaskRows(da.from_array(X, chunks=(500, -1)))
    assert rows.sum(blas_threads)[0] == 10  # ten chunks, one thread each


@pytest.mark.long
def test_a_worker_killed_in_the_middle_of_a_pass_costs_time_not_the_result(client, tmp_path):
    data = make_sparse_coded(600_000, 20, sparsity=0.2, random_state=1)[0]
    np.save(tmp_path / "x.npy", data)

    def load(block_info=None):
        (start, stop), _ = block_info[None]["array-location"]
        return np.load(tmp_path / "x.npy", mmap_mode="r")[start:stop].copy()

    array = da.map_blocks(load, chunks=((60_000,) * 10, (20,)), dtype=float, meta=np.empty((0, 0)))

    def stop(iterate):
        return iterate.n_iter == 12

    undisturbed = HRP(scheme="paper", random_state=0, callback=stop).fit(data)
    victim, pid = sorted(client.run(os.getpid).items())[0]
    busy = []

    def kill():
        while not busy:
            busy.extend(key for key in client.processing()[victim] if "value-and-grad" in key)
        os.kill(pid, signal.SIGKILL)

    def stop_and_kill(iterate):
        if iterate.n_iter == 3:
            killer.start()
        return stop(iterate)

    killer = threading.Thread(target=kill, daemon=True)
    model = HRP(scheme="paper", random_state=0, callback=stop_and_kill).fit(array)
    killer.join(10)
    assert busy
    assert model.stages_[0].n_iter == 12
    assert dictionary_error(model.components_, undisturbed.components_) < 1e-9


@pytest.mark.long
def test_a_chunk_that_fails_on_its_worker_is_named(client):
    def fail(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 2:
            raise KeyError("sensor 7")
        return block

    array = da.from_array(X, chunks=(500, -1)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(BlockError, match="chunk 3 of the Dask collection could not be computed: KeyError"):
        HRP().fit(array)


def test_workers_that_lack_the_package_are_named(client, monkeypatch):
    def absent(name):
        return None

    monkeypatch.setattr("importlib.util.find_spec", absent)
    with pytest.raises(BlockError, match=r"hrpursuit is not installed on 2 of 2 workers \(tcp://"):
        gram(DaskRows(da.from_array(X, chunks=(500, -1))))


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet", ".h5", ".zarr"])
@pytest.mark.long
def test_the_command_line_on_a_cluster(client, suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    if suffix == ".npy":
        np.save(path, np.asfortranarray(X))
    elif suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["X"] = X
    elif suffix == ".zarr":
        zarr.create_array(str(path), data=X, chunks=(700, 10))
    elif suffix == ".csv":
        pd.DataFrame(X, columns=NAMES).to_csv(path, index=False, sep=";", decimal=",")
    else:
        pd.DataFrame(X, columns=NAMES).to_parquet(path)
    command = [sys.executable, "-c", "from hrpursuit.cli import main; main()", "fit", path.name, "-o", "m.npz"]
    command += ["--scheduler", client.scheduler.address, "--seed", "0", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_samples"] == 5000
    model = HRP.load(tmp_path / "m.npz")
    assert_array_equal(model.components_, HRP(random_state=0).fit(open_rows(path)).components_)
    assert dictionary_error(model.components_, W) < 1e-12


def test_files_of_the_same_name_are_not_confused(client, tmp_path):
    for folder, data in (("a", X), ("b", 2 * X)):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "x.npy", data)
    first, second = (open_on_cluster(tmp_path / folder / "x.npy") for folder in "ab")
    np.testing.assert_allclose(gram(first), X.T @ X, rtol=1e-12)
    np.testing.assert_allclose(gram(second), 4 * X.T @ X, rtol=1e-12)


def test_an_adaptive_cluster_starts_its_workers():
    options = {"n_workers": 0, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster):
        cluster.adapt(minimum=0, maximum=2)
        np.testing.assert_allclose(gram(DaskRows(da.from_array(X, chunks=(500, -1)))), X.T @ X, rtol=1e-12)


def test_no_scheduler_there(tmp_path):
    np.save(tmp_path / "x.npy", X)
    command = [sys.executable, "-c", "from hrpursuit.cli import main; main()", "fit", "x.npy", "-o", "m.npz"]
    command += ["--scheduler", "nonsense://127.0.0.1:1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no Dask scheduler answers at nonsense://127.0.0.1:1" in done.stderr
    assert not (tmp_path / "m.npz").exists()
