"""Worker processes of a Dask cluster: two against one per pass, and a worker that is killed in the middle of one.

Run `python benchmarks/workers.py [--rows 4000000]`, or with --quick for a quarter of the rows.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dask.array as da
import numpy as np
from common import command_line, seconds
from distributed import Client, LocalCluster
from results import Results

from hrpursuit import HRP
from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import LpNorm
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows, DaskRows, open_rows

N_ROWS, N_FEATURES, SPARSITY, CHUNK = 4_000_000, 64, 0.2, 125_000
SPEEDUP, SAME = 1.6, 1e-9
EXACT, N_PASSES = 1e-12, 6


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


def compare_workers(results: Results, n_rows: int) -> None:
    W = random_orthogonal(N_FEATURES, np.random.default_rng(2))

    def cells():
        one_chunk = make_chunk({None: {"chunk-location": (0,)}})
        plain = seconds(lambda: value_and_grad(ArrayRows(one_chunk), W, LpNorm(3)), repeats=5) * n_rows / CHUNK
        yield "this process, no Dask", plain, None, None
        first = np.inf
        for n_workers in (1, 2):
            with workers(n_workers):
                rows = DaskRows(make_rows(n_rows))
                value_and_grad(rows, W, LpNorm(3))  # loads the chunks
                taken = seconds(lambda rows=rows: value_and_grad(rows, W, LpNorm(3)), repeats=5)
            if n_workers == 1:
                yield "1 worker", taken, None, None
            else:
                reached = results.bar(f"{n_workers} workers against one: speed-up", first / taken, at_least=SPEEDUP)
                yield f"{n_workers} workers", taken, first / taken, reached
            first = min(first, taken)

    results.figures(
        f"a Stage One pass over {n_rows} rows of {N_FEATURES} features, float64, one thread per worker",
        ["where                ", "seconds", "speed-up", "reached"],
        cells(),
    )


def kill_a_worker(results: Results, n_rows: int) -> None:
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
    reached = results.bar("a worker is killed: difference of the dictionaries", difference, at_most=SAME)
    results.figures(
        "a worker is killed in the middle of a pass, scheme='paper'",
        ["rows", "its tasks", "difference", "reached"],
        [(n_rows, killed[0], difference, reached)],
    )


def few_passes(results: Results) -> None:
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
            reached = results.bar(f"{kind}: error", error, at_most=EXACT)
            reached &= results.bar(f"{kind}: passes", rows.n_passes, at_most=N_PASSES)
            yield kind, bool(model.certificate_), error, rows.n_passes, reached

    results.figures(
        "fits of noiseless data, 10^6 rows of 50 features in 40 chunks",
        ["dictionary", "certified", "error", "passes", "reached"],
        cells(),
    )


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    options = parser.parse_args()
    n_rows = N_ROWS // 4 if options.quick else options.rows
    with Results(__file__, partial=n_rows != N_ROWS) as results:
        few_passes(results)
        compare_workers(results, n_rows)
        kill_a_worker(results, n_rows // 4)


if __name__ == "__main__":
    main()
