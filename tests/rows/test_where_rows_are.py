"""The dictionary does not depend on where the rows are."""

import dask.array as da
import dask.dataframe as dd
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
import zarr
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows, open_rows
from hrpursuit.schemes.span import IsAlong

N_SAMPLES, N_FEATURES = 20_000, 12
NAMES = [f"sensor {i}" for i in range(N_FEATURES)]


def exact():
    return make_sparse_coded(N_SAMPLES, N_FEATURES, sparsity=0.3, random_state=3)[0]


def skewed():
    mixing = np.random.default_rng(0).standard_normal((N_FEATURES, N_FEATURES))
    return make_sparse_coded(N_SAMPLES, N_FEATURES, sparsity=0.3, random_state=3)[1] @ mixing


def noisy():
    return exact() + 0.1 * np.random.default_rng(1).standard_normal((N_SAMPLES, N_FEATURES))


def not_sparse():
    return np.random.default_rng(2).laplace(size=(N_SAMPLES, N_FEATURES))


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def memory(X, folder):
    return X


def blocks(X, folder):
    return lambda: (X[start : start + 777] for start in range(0, len(X), 777))


def memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def npy(X, folder):
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def npy_by_columns(X, folder):
    np.save(folder / "X.npy", np.asfortranarray(X))
    return str(folder / "X.npy")


def hdf5(X, folder):
    with h5py.File(folder / "X.h5", "w") as file:
        file.create_dataset("nested/X", data=X, chunks=(999, 5), compression="gzip")
    return folder / "X.h5"


def hdf5_dataset(X, folder):
    return h5py.File(folder / "X.h5", "w").create_dataset("X", data=X)


def zarr_folder(X, folder):
    zarr.save_array(str(folder / "X.zarr"), X)
    return folder / "X.zarr"


def zarr_array(X, folder):
    return zarr.create_array(str(folder / "X.zarr"), data=X, chunks=(1234, 7))


def parquet(X, folder):
    pd.DataFrame(X, columns=NAMES).to_parquet(folder / "X.parquet")
    return folder / "X.parquet"


def parquet_folder(X, folder):
    (folder / "X").mkdir()
    for i, part in enumerate(np.array_split(X, 7)):
        table = pa.table(dict(zip(NAMES, part.T, strict=True)))
        pa.parquet.write_table(table, folder / "X" / f"part-{i}.parquet", row_group_size=500)
    return folder / "X"


def csv(X, folder):
    pd.DataFrame(X, columns=NAMES).to_csv(folder / "X.csv", index=False)
    return folder / "X.csv"


def dask_array(X, folder):
    return da.from_array(X, chunks=(3001, -1))


def dask_frame(X, folder):
    return dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=5)


def lazy_frame(X, folder):
    pl.DataFrame(X, schema=NAMES).write_parquet(folder / "X.parquet", row_group_size=3000)
    return pl.scan_parquet(folder / "X.parquet")


def arrow_table(X, folder):
    return pa.table(dict(zip(NAMES, X.T, strict=True)))


def arrow_dataset(X, folder):
    return pyarrow.dataset.dataset(parquet_folder(X, folder))


def record_batches(X, folder):
    return lambda: arrow_table(X, folder).to_reader(max_chunksize=777)


IN_ONE_PROCESS = [memory, blocks, memmap, npy, npy_by_columns, hdf5, hdf5_dataset, zarr_folder, zarr_array]
IN_ONE_PROCESS += [parquet, parquet_folder, csv, dask_array, dask_frame]
IN_ONE_PROCESS += [lazy_frame, arrow_table, arrow_dataset, record_batches]
TASKS = {
    "exact": (HRP(random_state=0), exact),
    "complete": (HRP(dictionary="complete", random_state=0), skewed),
    "noisy": (HRP(random_state=0), noisy),
    "T0": (HRP(n_nonzero_coefs=4, random_state=0), noisy),
    "complete T0": (HRP(n_nonzero_coefs=4, dictionary="complete", random_state=0), skewed),
    "not sparse": (HRP(random_state=0), not_sparse),
    "paper": (HRP(scheme="paper", random_state=0), exact),
}


@pytest.fixture(scope="module")
def in_memory():
    fits = {}

    def fit(task):
        if task not in fits:
            model, make = TASKS[task]
            X = make()
            fits[task] = X, HRP(**model.get_params()).fit(X)
        return fits[task]

    return fit


def check(task, place, in_memory, folder):
    X, expected = in_memory(task)
    model = HRP(**expected.get_params()).fit(place(X, folder))
    tol = 1e-3 if task == "complete T0" else 1e-9  # greedy codes of free atoms magnify the last bit of a product
    assert dictionary_error(model.components_, expected.components_) < tol
    assert_allclose(model.components_, expected.components_, atol=10 * tol)  # the same order and signs, too
    assert bool(model.certificate_) == bool(expected.certificate_) == (task in ("exact", "complete"))
    assert model.objective_ == pytest.approx(expected.objective_, rel=tol)


@pytest.mark.parametrize("task", ["exact", "complete", "noisy"])
@pytest.mark.parametrize("place", IN_ONE_PROCESS, ids=lambda place: place.__name__)
def test_the_dictionary_does_not_depend_on_where_the_rows_are(task, place, in_memory, tmp_path):
    check(task, place, in_memory, tmp_path)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("place", [npy, dask_array], ids=lambda place: place.__name__)
@pytest.mark.long
def test_nor_on_the_scheme(task, place, in_memory, tmp_path):
    check(task, place, in_memory, tmp_path)


@pytest.mark.parametrize("place", IN_ONE_PROCESS, ids=lambda place: place.__name__)
def test_samples_do_not_depend_on_where_the_rows_are(place, tmp_path):
    X = exact()
    check_samples(X, open_rows(place(X, tmp_path)))


def check_samples(X, rows):
    assert_array_equal(rows.sample(500, seed=4), ArrayRows(X).sample(500, seed=4))
    assert_array_equal(rows.sample(30_000, seed=4), X)
    large = IsAlong(np.eye(N_FEATURES, 1), 1.0)
    found = rows.sample(100, 5, where=large)
    assert_array_equal(found, ArrayRows(X).sample(100, 5, where=large))
    assert len(found) == 100
    assert (np.abs(found[:, 0]) > 1).all()
    assert rows.n_samples == N_SAMPLES
    assert_array_equal(np.concatenate([block.copy() for block in rows.blocks()]), X)


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("place", [dask_array, dask_frame], ids=lambda place: place.__name__)
def test_nor_on_the_processes_of_a_cluster(task, place, in_memory, tmp_path, client):
    check(task, place, in_memory, tmp_path)


def test_samples_do_not_depend_on_the_processes_of_a_cluster(client):
    X = exact()
    check_samples(X, open_rows(dask_array(X, None)))
