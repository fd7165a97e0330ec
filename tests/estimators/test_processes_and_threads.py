"""Fits in several threads of one process, in forked children and in worker processes."""

import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import psutil
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info, threadpool_limits

from hrpursuit import HRP
from hrpursuit.core.team import Team
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators.learning import n_workers

N_FEATURES = 160  # enough for the threads of the sweeps over pairs


DATA = [make_sparse_coded(4 * N_FEATURES, N_FEATURES, sparsity=0.1, random_state=seed)[0] for seed in range(2)]


def fit(seed):
    return HRP(n_jobs=2, random_state=seed).fit(DATA[seed]).components_


@pytest.fixture(scope="module")
def expected():
    return [fit(seed) for seed in range(2)]


def test_two_fits_in_two_threads(expected):
    with ThreadPoolExecutor(2) as pool:
        for found, alone in zip(pool.map(fit, range(2)), expected, strict=True):
            assert_allclose(
                found, alone, atol=1e-13
            )  # matrix products may differ in the last bit with where arrays lie


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fit_in_a_forked_child(expected):
    """The parent has used its threads; a child that inherits their locks must not hang."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        assert_allclose(pool.submit(fit, 0).result(timeout=120), expected[0], atol=1e-13)


def test_no_threads_in_a_worker_process():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(n_workers, 2).result(timeout=120) == 1


def test_threads_only_when_asked_and_worth_it(monkeypatch):
    sizes = []

    class Counted(Team):
        def __init__(self, n_threads):
            sizes.append(n_threads)
            super().__init__(n_threads)

    monkeypatch.setattr("hrpursuit.estimators.learning.Team", Counted)
    HRP(random_state=0).fit(DATA[0])
    HRP(n_jobs=2, random_state=0).fit(DATA[0])
    HRP(n_jobs=2, random_state=0).fit(DATA[0][:, :50])
    HRP(n_jobs=4, n_init=2, random_state=0).fit(DATA[0])
    assert sizes in ([1, 2, 1, 2], [1, 2, 1, 2, 2])  # the second run may have been given up before it began


def test_import_compiles_nothing_and_loads_nothing_optional():
    code = """
import sys
import numba, scipy.linalg, scipy.optimize, sklearn.base
theirs = set(sys.modules)
from hrpursuit import HRP
from hrpursuit.core.team import Team
from hrpursuit.core import descent_kernels
assert not descent_kernels._descend.signatures
packages = {name.split(".")[0] for name in set(sys.modules) - theirs if not name.startswith("_")}
optional = {"matplotlib", "pandas", "click", "rich", "pyarrow", "dask", "polars", "skimage"}
assert not packages & optional, packages & optional
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_beyond_the_data_is_small():
    X = np.random.default_rng(0).laplace(size=(200_000, 20)).astype(np.float32)
    HRP(random_state=0).fit(X[:1000])
    before = psutil.Process().memory_info().rss
    peak = []
    HRP(random_state=0, callback=lambda it: peak.append(psutil.Process().memory_info().rss) and None).fit(X)
    assert max(peak) - before < 100e6


#: Those of numpy and scipy: what other packages bring along, in the tests of other codecs, takes no part in a fit.
OURS = {library["filepath"] for library in threadpool_info() if library["user_api"] == "blas"}


def blas_limits():
    return [library["num_threads"] for library in threadpool_info() if library["filepath"] in OURS]


def test_threads_of_matrix_products_are_limited_in_the_search_and_restored():
    X = make_sparse_coded(300, 10, sparsity=0.2, random_state=0)[0]
    during = []
    with threadpool_limits(2, user_api="blas"):
        HRP(random_state=0, callback=lambda it: during.append(blas_limits()) and None).fit(X)
        assert all(limit == 1 for limits in during for limit in limits)
        assert set(blas_limits()) == {2}
        with pytest.raises(ZeroDivisionError):
            HRP(random_state=0, callback=lambda it: 1 / 0).fit(X)
        assert set(blas_limits()) == {2}
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: HRP(random_state=seed).fit(X), range(20)))
        assert set(blas_limits()) == {2}
