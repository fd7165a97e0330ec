"""Speed of the codec on one core, its memory on streams, and what its first use compiles.

python benchmarks/compression_speed.py            (readings: ../shared/data or HRPURSUIT_DATA)
python benchmarks/compression_speed.py --quick    # tables of 10,000 rows
Exits with 1 when a limit is missed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import describe_machine, october, table, verdict

from hrpursuit.compression import Encoder, compress, decompress
from hrpursuit.datasets import make_sensor_network

N_ROWS = 100_000
#: target, million readings a second asked for: compress, decompress
SPEEDS = [({"max_error": 5}, 0.3, 1.2), ({"lossless": True}, 0.4, 0.4)]
FAST, MORE_BYTES = 0.8, 1.08  # effort="fast": million readings a second, bytes against the default
MONTH_SECONDS = 4.0
COMPILE_SECONDS = 40.0
MONTH = [
    {"relative_rmse": 0.094},
    {"relative_rmse": 0.081},
    {"relative_rmse": 0.062},
    {"relative_rmse": 0.041},
    {"relative_rmse": 0.021},
    {"lossless": True},
    {"max_error": 1},
    {"max_error": 2},
    {"max_error": 5},
]
CHUNK_ROWS = 1000


def on_one_core():
    """This process and those it starts, so that no thread helps."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"


def timed(run, *args, **settings):
    began = time.perf_counter()
    result = run(*args, **settings)
    return result, time.perf_counter() - began


def label(target):
    (name, amount), *_ = target.items()
    texts = {"relative_rmse": f"rmse {100 * amount:.1f}%", "lossless": "lossless", "max_error": f"max_error {amount}"}
    return texts[name]


def speed_rows(tables, missed):
    """Compress and decompress, default and fast effort."""
    for name, X in tables:
        n_readings = int(np.isfinite(X).sum())
        for target, asked, asked_back in SPEEDS:
            sizes = {}
            for effort in ("default", "fast"):
                data, spent = timed(compress, X, **target, effort=effort)
                decoded, spent_back = timed(decompress, data)
                assert np.nanmax(np.abs(decoded - X)) <= target.get("max_error", 0)
                sizes[effort] = len(data)
                speed, speed_back = n_readings / spent / 1e6, n_readings / spent_back / 1e6
                more = sizes[effort] / sizes["default"]
                if effort == "fast":
                    ok = speed >= FAST and more <= MORE_BYTES
                else:
                    ok = speed >= asked and speed_back >= asked_back
                if not ok:
                    missed.append(f"{name}, {label(target)}, {effort}")
                yield (
                    name,
                    label(target),
                    effort,
                    f"{speed:.2f} ({X.size / spent / 1e6:.2f})",
                    FAST if effort == "fast" else asked,
                    f"{speed_back:.2f} ({X.size / spent_back / 1e6:.2f})",
                    "-" if effort == "fast" else asked_back,
                    len(data),
                    f"{more:.3f}",
                    verdict(ok),
                )


def month_rows(months, missed):
    for name, X in months:
        for target in MONTH:
            data, spent = timed(compress, X, **target)
            spent_back = timed(decompress, data)[1]
            if spent > MONTH_SECONDS:
                missed.append(f"{name}, {label(target)}: {spent:.1f} s")
            yield name, label(target), len(data), f"{spent:.2f}", f"{spent_back:.3f}", verdict(spent <= MONTH_SECONDS)


def peak_memory():
    """The most that this process had in memory so far, in MB; None where the system does not say."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def stream(n_rows):
    """Run in a child process: a stream of chunks, printing the peak after the first chunks and at the end."""
    block = make_sensor_network(CHUNK_ROWS, silent=0, random_state=0)
    encoder, written = Encoder(max_error=5, chunk_rows=CHUNK_ROWS), 0
    for i in range(n_rows // CHUNK_ROWS):
        written += len(encoder.append(block))
        if i == 4:
            early = peak_memory()
    written += len(encoder.finish())
    print(written, early, peak_memory())


def use_everything():
    """Every target once, on a table so small that only compilation takes time."""
    X = make_sensor_network(60, 8, random_state=0)
    for effort in ("default", "fast"):
        for target in ({"relative_rmse": 0.05}, {"max_error": 5}, {"lossless": True}):
            decompress(compress(X, **target, effort=effort))


def first_use():
    """Run in a child process: seconds of the first use of every target, then of the second."""
    print(timed(use_everything)[1], timed(use_everything)[1])


def in_child(call, **variables):
    """What a function of this file prints in a new process."""
    command = [sys.executable, "-c", f"import compression_speed as c; c.{call}"]
    here = Path(__file__).parent
    path = os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH")]))
    run = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path} | variables, capture_output=True, text=True, check=False
    )
    if run.returncode:
        sys.exit(f"{call} failed:\n{run.stderr}")
    return [None if word == "None" else float(word) for word in run.stdout.split()]


def compilation(missed):
    with tempfile.TemporaryDirectory() as folder:
        first, warm = in_child("first_use()", NUMBA_CACHE_DIR=folder)
        cached, _ = in_child("first_use()", NUMBA_CACHE_DIR=folder)
    ok = first - warm <= COMPILE_SECONDS
    if not ok:
        missed.append("compilation")
    print(f"\nfirst use of every target with nothing compiled: {first:.1f} s, compiled: {warm:.2f} s,", end=" ")
    print(f"in a new process from the cache: {cached:.2f} s; at most {COMPILE_SECONDS:g} s to compile: {verdict(ok)}")


def memory(n_rows, missed):
    written, early, late = in_child(f"stream({n_rows})")
    if late is None:
        print("\nmemory of a stream: this system does not say")
        return
    chunk = CHUNK_ROWS * 56 * 8 / 2**20
    ok = late - early <= 4 * chunk
    if not ok:
        missed.append("memory of a stream")
    print(
        f"\nmemory of a stream of {n_rows} rows in chunks of {CHUNK_ROWS} ({chunk:.1f} MB each), {written:.0f} bytes:"
    )
    print(f"peak {early:.0f} MB after 5 chunks, {late:.0f} MB at the end; grows by at most 4 chunks: {verdict(ok)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    n_rows = 10_000 if parser.parse_args().quick else N_ROWS
    on_one_core()
    describe_machine()
    missed = []
    compilation(missed)
    use_everything()
    simulated, X = make_sensor_network(n_rows, random_state=0), october()
    tables, months = [("simulated", simulated)], [("simulated", make_sensor_network(random_state=0))]
    if X is not None:
        tables.append(("october, repeated", np.tile(X, (-(-n_rows // len(X)), 1))[:n_rows]))
        months.insert(0, ("october", X))
    print(f"\ntables of {n_rows} x 56, one core: million readings a second (cells, gaps included); asked for")
    heads = ["data             ", "target     ", "effort", "compress   ", "asked", "decompress ", "asked", "bytes"]
    table([*heads, "to default", "reached"], speed_rows(tables, missed))
    print(f"\na month, default effort; at most {MONTH_SECONDS:g} s asked")
    heads = ["data", "target     ", "bytes", "compress, s", "decompress, s", "reached"]
    table(heads, month_rows(months, missed))
    memory(n_rows, missed)
    if missed:
        sys.exit(f"missed: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
