"""The same rows in memory, in files of all kinds and on a Dask cluster: the dictionaries, and the time of each fit.

Run `python benchmarks/places.py [--rows 200000]`, or with --quick for 20,000 rows.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask.array as da
import numpy as np
from common import command_line, seconds
from distributed import Client, LocalCluster
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import open_rows, write_blocks

N_ROWS, N_FEATURES, SPARSITY, SAME = 200_000, 30, 0.2, 1e-9
TASKS = {
    "exact, orthogonal": {},
    "exact, complete": {"dictionary": "complete"},
    "noisy, orthogonal": {},
    "paper's scheme": {"scheme": "paper"},
}


def make_data(task: str, n_rows: int) -> np.ndarray:
    kind = "complete" if "complete" in task else "orthogonal"
    snr_db = 20 if "noisy" in task else None
    return make_sparse_coded(n_rows, N_FEATURES, sparsity=SPARSITY, dictionary=kind, snr_db=snr_db, random_state=0)[0]


@contextmanager
def two_processes() -> Iterator[None]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        yield


def load_chunk(path: str, block_info=None) -> np.ndarray:
    (start, stop), _ = block_info[None]["array-location"]
    return open_rows(path).source.span(start, stop)


def places(X: np.ndarray, folder: Path) -> Iterator[tuple[str, object]]:
    """Where the rows are, and what is given to the estimator."""
    yield "memory", X
    yield "blocks of 997 rows", lambda: (X[start : start + 997] for start in range(0, len(X), 997))
    for suffix in (".npy", ".h5", ".zarr", ".parquet", ".csv"):
        path = folder / f"x{suffix}"
        write_blocks(path, iter([X]), [f"x{i}" for i in range(N_FEATURES)], X.dtype)
        yield suffix, path
    chunks = tuple(len(part) for part in np.array_split(X, 16))
    lazy = da.map_blocks(
        load_chunk, str(folder / "x.npy"), chunks=(chunks, (N_FEATURES,)), dtype=X.dtype, meta=np.empty((0, 0))
    )
    yield "Dask, threads", lazy
    with two_processes():
        yield "Dask, two processes", lazy


def cells(results: Results, task: str, n_rows: int) -> Iterator[tuple[object, ...]]:
    X = make_data(task, n_rows)
    expected, first = None, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for place, data in places(X, Path(folder)):
            rows = open_rows(data)
            model = HRP(random_state=0, **TASKS[task])
            taken = seconds(lambda model=model, rows=rows: model.fit(rows))
            if expected is None:
                model.fit(X)
                taken = seconds(lambda model=model: model.fit(X))
                expected, first = model.components_, taken
            difference = dictionary_error(model.components_, expected)
            n_passes = getattr(rows, "n_passes", None)
            reached = results.bar(f"{task}, {place}: difference from memory", difference, at_most=SAME)
            yield place, bool(model.certificate_), difference, n_passes, taken / first, reached


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    options = parser.parse_args()
    n_rows = 20_000 if options.quick else options.rows
    with Results(__file__, partial=n_rows != N_ROWS) as results:
        for task in TASKS:
            results.figures(
                f"{task}: {n_rows} rows of {N_FEATURES} features",
                ["where              ", "certified", "difference", "passes", "time, memory = 1", "reached"],
                cells(results, task, n_rows),
            )


if __name__ == "__main__":
    main()
