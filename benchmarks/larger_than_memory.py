"""A file of 10 million rows of 64 features (float32, 2.4 GiB): memory of a whole fit, and a pass against one in memory.

Run `python benchmarks/larger_than_memory.py [--rows 10000000] [--folder DIR]`, or with --quick for a million rows; DIR
needs room for the file.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import command_line, peak_memory, seconds
from results import Results
from threadpoolctl import threadpool_limits

from hrpursuit import HRP
from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import LpNorm
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows, open_rows

N_ROWS, N_FEATURES, SPARSITY = 10_000_000, 64, 0.2
MEMORY_MB, RATIO = 700, 1.3
NOISE = 0.02


def true_components() -> np.ndarray:
    return random_orthogonal(N_FEATURES, np.random.default_rng(0))


def write(path: Path, n_rows: int, noise: float) -> None:
    """Block by block, so that writing needs no memory either."""
    rng, components = np.random.default_rng(1), true_components()
    array = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, N_FEATURES))
    for start in range(0, n_rows, 100_000):
        n = min(100_000, n_rows - start)
        codes = rng.standard_normal((n, N_FEATURES), dtype=np.float32) * (rng.random((n, N_FEATURES)) < SPARSITY)
        X = codes @ components.astype(np.float32)
        array[start : start + n] = X + noise * rng.standard_normal(X.shape, dtype=np.float32)


def fit(path: str) -> None:
    """In a process of its own: what a whole fit takes."""
    start = time.perf_counter()
    rows = open_rows(path)
    model = HRP(random_state=0).fit(rows)
    peak = peak_memory()
    error = dictionary_error(model.components_, true_components())
    print(bool(model.certificate_), error, rows.n_passes, time.perf_counter() - start, peak)


def stream(path: str) -> None:
    """In a process of its own: the memory of streaming codes to another file and back."""
    model = HRP(random_state=0).fit(np.load(path, mmap_mode="r")[:10_000].copy())
    codes, again = Path(path).with_suffix(".codes.npy"), Path(path).with_suffix(".again.npy")
    start = time.perf_counter()
    model.inverse_transform(model.transform(path, out=codes), out=again)
    taken = time.perf_counter() - start
    peak = peak_memory()
    first, last = (np.load(name, mmap_mode="r")[-1000:] for name in (path, again))
    print(float(np.abs(first - last).max()), taken, peak)
    codes.unlink()
    again.unlink()


def in_process(what: str, path: Path) -> list[str]:
    command = [sys.executable, __file__, "--only", what, "--path", str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout.split()


def compare_passes(results: Results, path: Path) -> None:
    W = random_orthogonal(N_FEATURES, np.random.default_rng(2))

    def cells():
        in_memory, on_disk = ArrayRows(np.load(path)), open_rows(path)
        for n_threads in sorted({1, os.cpu_count() or 1}):
            with threadpool_limits(n_threads):
                times = [
                    [seconds(lambda rows=rows: value_and_grad(rows, W, LpNorm(3))) for rows in (in_memory, on_disk)]
                    for _ in range(3)
                ]
            memory, disk = np.min(times, axis=0)
            reached = results.bar(
                f"{n_threads} threads: a pass over the file over memory", disk / memory, at_most=RATIO
            )
            yield n_threads, memory, disk, disk / memory, len(in_memory.X) / disk / 1e6, reached

    results.figures(
        "a Stage One pass over the file (cached by the system) against one over the same rows in memory",
        ["threads", "memory, s", "file, s", "ratio", "million rows per second", "reached"],
        cells(),
    )


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=["fit", "stream"])
    parser.add_argument("--path")
    options = parser.parse_args()
    if options.only:
        {"fit": fit, "stream": stream}[options.only](options.path)
        return
    n_rows = N_ROWS // 10 if options.quick else options.rows
    with (
        Results(__file__, partial=n_rows != N_ROWS) as results,
        tempfile.TemporaryDirectory(dir=options.folder) as folder,
    ):

        def cells():
            for name, noise in (("noiseless", 0.0), ("noisy", NOISE)):
                path = Path(folder) / f"{name}.npy"
                write(path, n_rows, noise)
                certified, error, passes, taken, peak = in_process("fit", path)
                reached = results.bar(f"{name}: peak memory of a fit, MB", float(peak), at_most=MEMORY_MB)
                yield name, certified == "True", float(error), int(passes), float(taken), float(peak), reached

        path = Path(folder) / "noiseless.npy"
        results.figures(
            f"{n_rows} rows of {N_FEATURES} features, float32: a whole fit from disk",
            ["data", "certified", "error", "passes", "seconds", "peak, MB", "reached"],
            cells(),
        )
        error, taken, peak = map(float, in_process("stream", path))
        reached = results.bar("codes to a file and back: peak memory, MB", peak, at_most=MEMORY_MB)
        results.figures(
            "codes to a file and back",
            ["seconds", "largest difference", "peak, MB", "reached"],
            [(taken, error, peak, reached)],
        )
        compare_passes(results, path)


if __name__ == "__main__":
    main()
