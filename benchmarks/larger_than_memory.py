"""A file of 10 million rows of 64 features (float32, 2.4 GiB): memory of a whole fit, and a pass against one in memory.

Run `python benchmarks/larger_than_memory.py [--rows 10000000] [--folder DIR]`; DIR needs room for the file.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import describe_machine, peak_memory, seconds, table, verdict
from threadpoolctl import threadpool_limits

from hrpursuit import HRP
from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import LpNorm
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows, open_rows

N_FEATURES, SPARSITY = 64, 0.2
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


def compare_passes(path: Path) -> None:
    W = random_orthogonal(N_FEATURES, np.random.default_rng(2))
    print("\na Stage One pass over the file (cached by the system) against one over the same rows in memory")

    def cells():
        in_memory, on_disk = ArrayRows(np.load(path)), open_rows(path)
        for n_threads in sorted({1, os.cpu_count() or 1}):
            with threadpool_limits(n_threads):
                times = [
                    [seconds(lambda rows=rows: value_and_grad(rows, W, LpNorm(3))) for rows in (in_memory, on_disk)]
                    for _ in range(3)
                ]
            memory, disk = np.min(times, axis=0)
            rate = f"{len(in_memory.X) / disk / 1e6:.1f} million"
            yield (
                n_threads,
                f"{memory:.2f}",
                f"{disk:.2f}",
                f"{disk / memory:.2f}",
                rate,
                verdict(disk <= RATIO * memory),
            )

    table(["threads", "memory, s", "file, s", "ratio", "rows a second", f"at most {RATIO}"], cells())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=["fit", "stream"])
    parser.add_argument("--path")
    options = parser.parse_args()
    if options.only:
        {"fit": fit, "stream": stream}[options.only](options.path)
        return
    describe_machine()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:

        def cells():
            for name, noise in (("noiseless", 0.0), ("noisy", NOISE)):
                path = Path(folder) / f"{name}.npy"
                write(path, options.rows, noise)
                certified, error, passes, taken, peak = in_process("fit", path)
                ok = verdict(float(peak) < MEMORY_MB)
                yield name, certified, f"{float(error):.0e}", passes, f"{float(taken):.1f}", f"{float(peak):.0f}", ok

        path = Path(folder) / "noiseless.npy"
        print(f"\n{options.rows} rows of {N_FEATURES} features, float32: a whole fit from disk")
        header = ["data", "certified", "error", "passes", "seconds", "peak, MB", f"below {MEMORY_MB}"]
        table(header, cells())
        error, taken, peak = in_process("stream", path)
        print(
            f"\ncodes to a file and back: {float(taken):.1f} s, largest difference {float(error):.0e}, "
            f"peak {float(peak):.0f} MB, below {MEMORY_MB}: {verdict(float(peak) < MEMORY_MB)}"
        )
        compare_passes(path)


if __name__ == "__main__":
    main()
