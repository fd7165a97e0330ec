"""Worker processes of a Dask cluster: two against one per pass, and a worker that is killed in the middle of one.

Run `python benchmarks/workers.py [--rows 4000000]`.
"""

import argparse
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dask.array as da
import numpy as np
from common import describe_machine, seconds, table, verdict
from distributed import Client, LocalCluster

from hrpursuit import HRP
from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import LpNorm
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows, DaskRows, open_rows

N_FEATURES, SPARSITY, CHUNK = 64, 0.2, 125_000
SPEEDUP, SAME = 1.6, 1e-9


def make_chunk(block_info=None) -> np.ndarray:
    """A chunk by its number, so that a lost one can be made anew anywhere."""
    i = block_info[None]["chunk-location"][0]
    rng = np.random.default_rng([1, i])
    codes = rng.standard_normal((CHUNK, N_FEATURES)) * (rng.random((CHUNK, N_FEATURES)) < SPARSITY)
    return codes @ random_orthogonal(N_FEATURES, np.random.default_rng(0))


def make_rows(n_rows: int) -> da.Array:
    chunks = ((CHUNK,) * (n_rows // CHUNK), (N_FEATURES,))
    return da.map_blocks(make_chunk, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))


@contextmanager
def workers(n_workers: int) -> Iterator[Client]:
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def compare_workers(n_rows: int) -> None:
    W = random_orthogonal(N_FEATURES, np.random.default_rng(2))
    print(f"\na Stage One pass over {n_rows} rows of {N_FEATURES} features, float64, one thread a worker")

    def cells():
        one_chunk = make_chunk({None: {"chunk-location": (0,)}})
        plain = seconds(lambda: value_and_grad(ArrayRows(one_chunk), W, LpNorm(3)), repeats=5) * n_rows / CHUNK
        yield "this process, no Dask", f"{plain:.2f}", "", ""
        first = np.inf
        for n_workers in (1, 2):
            with workers(n_workers):
                rows = DaskRows(make_rows(n_rows))
                value_and_grad(rows, W, LpNorm(3))  # loads the chunks
                taken = seconds(lambda rows=rows: value_and_grad(rows, W, LpNorm(3)), repeats=5)
            ok = "" if n_workers == 1 else verdict(first / taken >= SPEEDUP)
            yield f"{n_workers} workers", f"{taken:.2f}", "" if n_workers == 1 else f"{first / taken:.2f}", ok
            first = min(first, taken)

    table(["where                ", "seconds", "speed-up", f"at least {SPEEDUP}"], cells())


def kill_a_worker(n_rows: int) -> None:
    """During a pass of Stage One, with SIGKILL."""
    data = make_rows(n_rows)
    with workers(2):
        undisturbed = HRP(scheme="paper", max_iter=10, random_state=0).fit(data)
    with workers(2) as client:
        victim, pid = min(client.run(os.getpid).items())
        killed = []

        def kill_when_busy() -> None:
            while not any("value-and-grad" in key for key in client.processing()[victim]):
                pass
            killed.append(len(client.processing()[victim]))
            os.kill(pid, signal.SIGKILL)

        def watch(iterate) -> None:
            if iterate.n_iter == 3 and iterate.stage == "Stage One":
                threading.Thread(target=kill_when_busy, daemon=True).start()

        model = HRP(scheme="paper", max_iter=10, random_state=0, callback=watch).fit(data)
    difference = dictionary_error(model.components_, undisturbed.components_)
    print(f"\na worker killed in the middle of a pass, {killed[0]} tasks waiting on it; {n_rows} rows, scheme='paper'")
    print(f"difference of the two dictionaries: {difference:.1e}, at most {SAME:g}: {verdict(difference <= SAME)}")


def few_passes() -> None:
    print("\nnoiseless data of 10^6 rows of 50 features over 40 chunks")

    def make(block_info=None) -> np.ndarray:
        rng = np.random.default_rng([3, block_info[None]["chunk-location"][0]])
        codes = rng.standard_normal((25_000, 50)) * (rng.random((25_000, 50)) < SPARSITY)
        return codes @ truth

    truth = random_orthogonal(50, np.random.default_rng(4))
    data = da.map_blocks(make, chunks=((25_000,) * 40, (50,)), dtype=np.float64, meta=np.empty((0, 0)))

    def cells():
        for kind in ("orthogonal", "complete"):
            rows = open_rows(data)
            model = HRP(dictionary=kind, random_state=0).fit(rows)
            error = dictionary_error(model.components_, truth)
            ok = error <= 1e-12 and rows.n_passes <= 6
            yield kind, bool(model.certificate_), f"{error:.0e}", rows.n_passes, verdict(ok)

    table(["dictionary", "certified", "error", "passes", "exact to 1e-12 in at most 6 passes"], cells())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    n_rows = parser.parse_args().rows
    describe_machine()
    few_passes()
    compare_workers(n_rows)
    kill_a_worker(n_rows // 4)


if __name__ == "__main__":
    main()
