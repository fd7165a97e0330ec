"""Speed of the codec on one core and on two, its memory, and what its first use compiles.

python benchmarks/compression_speed.py            # readings: ../shared/data or HRPURSUIT_DATA
python benchmarks/compression_speed.py --quick    # tables of 10,000 rows, none of 1,000 columns
Speeds are of processor time, so that other work on the machine changes them little, in MB of doubles per second.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import command_line, data_folder, october
from results import Results

from hrpursuit.compression import compress, decompress
from hrpursuit.datasets import make_sensor_network

N_ROWS = 100_000
#: MB per second asked for, both ways; half of it where there are 1,000 columns.
SPEEDS = {"fast": 15.0, "default": 4.0, "best": 1.0}
MORE_BYTES = 1.05  # default against best
TWO_THREADS = 1.7  # times as fast
FIRST_COMPRESS, FIRST_DECOMPRESS = 20.0, 8.0  # seconds on an empty cache
MOST_MEMORY, PER_CHUNK = 100.0, 10.0  # MB, and times the doubles of a chunk
WIDE = (20_000, 1000)
CHUNK_MB = 2**20 * 8 / 1e6  # of doubles, in chunks as they are unless told


def tables(n_rows):
    """Name, table, bound: sensors that see the same, sensors that do not, and ETTh1 forwards and backwards in time, its
    columns turned round each time, so that no row comes twice.
    """
    rng = np.random.default_rng(0)
    yield "network, 56 columns", make_sensor_network(n_rows, random_state=0), 1
    walks = np.cumsum(rng.normal(0, 0.3, (n_rows, 16)), axis=0) + rng.normal(0, 1, (n_rows, 16))
    yield "walks in noise, 16 columns", np.round(walks, 2), 0.1
    path = data_folder() / "ett_h1.csv"
    if path.exists():
        X = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(1, 8))
        copies = [np.roll(X[:: (-1) ** i], i, axis=1) for i in range(-(-n_rows // len(X)))]
        yield "ETTh1 both ways, 7 columns", np.concatenate(copies)[:n_rows], 0.1


def processor(run, *args, **settings):
    began = time.process_time()
    result = run(*args, **settings)
    return result, time.process_time() - began


def speed_rows(results, name, X, bound, share=1.0):
    for target in ({"lossless": True}, {"max_error": bound}):
        label = f"{name}, lossless" if "lossless" in target else f"{name}, max_error {bound:g}"
        sizes = {}
        for effort, asked in SPEEDS.items():
            decompress(compress(X[:300], **target, effort=effort))  # compiles
            data, there = processor(compress, X, **target, effort=effort, n_jobs=1)
            decoded, back = processor(decompress, data, n_jobs=1)
            assert np.nanmax(np.abs(decoded - X)) <= target.get("max_error", 0) * (1 + 1e-9)
            sizes[effort] = len(data)
            speeds = X.nbytes / 1e6 / there, X.nbytes / 1e6 / back
            reached = results.bar(f"{label}, {effort}: MB/s, the slower way", min(speeds), at_least=share * asked)
            yield label, effort, *speeds, share * asked, len(data), reached
        results.bar(f"{label}: bytes, default over best", sizes["default"] / sizes["best"], at_most=MORE_BYTES)


def thread_rows(results, X):
    data = compress(X, lossless=True)
    ways = {
        "compress": lambda n: compress(X, lossless=True, n_jobs=n),
        "decompress": lambda n: decompress(data, n_jobs=n),
    }
    for name, run in ways.items():
        seconds = []
        for n_jobs in (1, 2):
            began = time.perf_counter()
            run(n_jobs)
            seconds.append(time.perf_counter() - began)
        ratio = seconds[0] / seconds[1]
        yield name, *seconds, ratio, results.bar(f"{name}: two threads against one", ratio, at_least=TWO_THREADS)


def in_child(code, **variables):
    """Numbers that a piece of code prints in a new process."""
    here = Path(__file__).parent
    path = os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH")]))
    run = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path} | variables, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if run.returncode:
        sys.exit(f"a child process failed:\n{run.stderr}")
    return [float(word) for word in run.stdout.split()]


FIRST = """
import sys, time, numpy as np
from pathlib import Path
from hrpursuit.compression import compress, decompress
began = time.process_time()
file = Path({file!r})
if {decoding}:
    decompress(file.read_bytes())
else:
    file.write_bytes(compress(np.round(np.random.default_rng(0).normal(20, 5, (500, {n_columns})), 1), lossless=True))
print(time.process_time() - began)
"""


def first_rows(results):
    for n_columns in (2, 8):
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "file.hrp")
            for decoding, asked in ((False, FIRST_COMPRESS), (True, FIRST_DECOMPRESS)):
                name = "decompress" if decoding else "compress"
                code = FIRST.format(file=file, decoding=decoding, n_columns=n_columns)
                (seconds,) = in_child(code, NUMBA_CACHE_DIR=str(Path(folder) / name))
                reached = results.bar(f"first {name}, {n_columns} columns: processor seconds", seconds, at_most=asked)
                yield name, n_columns, seconds, asked, reached


PEAK = """
def peak():  # of this process alone, in MB: other counts begin with that of the process that started it
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
"""
START = """
import numpy as np
from hrpursuit.compression import compress, decompress
decompress(compress(np.zeros((9, 2)), lossless=True, effort="fast"))
print(peak())
"""
WRITE = """
import numpy as np
from pathlib import Path
from hrpursuit.compression import Encoder
rng, encoder = np.random.default_rng(0), Encoder(lossless=True, effort="fast")
with Path({file!r}).open("wb") as out:
    for _ in range({n_blocks}):
        out.write(encoder.append(np.round(rng.normal(0, 9, {shape}), 1)))
    out.write(encoder.finish())
print(peak())
"""
READ = """
from hrpursuit.compression import Decoder
with Decoder({file!r}) as decoder:
    for _ in decoder:
        pass
print(peak())
"""


def memory_rows(results, n_blocks):
    """Peaks of processes that write and read a file chunk by chunk, beyond that of one that has a table of nothing."""
    if not Path("/proc/self/status").exists():
        return
    (start,) = in_child(PEAK + START)
    most = MOST_MEMORY + PER_CHUNK * CHUNK_MB
    for n_columns in (56, 1000):
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "file.hrp")
            shape = (2**18 // n_columns, n_columns)
            write = WRITE.format(file=file, n_blocks=n_blocks, shape=shape)
            for name, code in (("write", write), ("read", READ.format(file=file))):
                (peak,) = in_child(PEAK + code)
                label = f"{name} {n_blocks / 4:g} chunks of {n_columns} columns"
                yield label, start, peak - start, most, results.bar(f"{label}: MB more", peak - start, at_most=most)


def month_rows():
    """A month of 56 sensors towards every kind of target, with default effort."""
    for name, X in (("october", october()), ("simulated", make_sensor_network(random_state=0))):
        if X is not None:
            for target in ({"relative_rmse": 0.094}, {"relative_rmse": 0.021}, {"lossless": True}, {"max_error": 1}):
                data, there = processor(compress, X, **target)
                yield (
                    name,
                    "{}={}".format(*next(iter(target.items()))),
                    len(data),
                    there,
                    processor(decompress, data)[1],
                )


def main():
    quick = command_line(__doc__).parse_args().quick
    n_rows = 10_000 if quick else N_ROWS
    with Results(__file__, partial=quick or not data_folder().exists()) as results:
        results.figures(
            "first use on an empty cache of kernels, processor seconds, without imports",
            ["way", "columns", "seconds", "asked", "reached"],
            first_rows(results),
        )
        heads = [f"{'table':<44}", "effort", "compress", "decompress", "asked", "bytes", "reached"]
        chosen = list(tables(n_rows))
        results.figures(
            f"MB of doubles per second of one core, {n_rows} rows",
            heads,
            (row for name, X, bound in chosen for row in speed_rows(results, name, X, bound)),
        )
        if not quick:
            X = np.round(make_sensor_network(*WIDE, silent=0, random_state=0), 1)
            name = f"network, {WIDE[1]} columns, {WIDE[0]} rows"
            results.figures(f"{name}: half of these speeds", heads, speed_rows(results, name, X, 1, 0.5))
        results.figures(
            "chunks in two threads, seconds",
            ["way", "one", "two", "ratio", "reached"],
            thread_rows(results, chosen[0][1]),
        )
        results.figures(
            "memory, MB", [f"{'what':<32}", "at the start", "more", "asked", "reached"], memory_rows(results, 16)
        )
        results.figures("a month, processor seconds",
                        ["data", f"{'target':<20}", "bytes", "compress", "decompress"], month_rows())  # fmt: skip


if __name__ == "__main__":
    main()
