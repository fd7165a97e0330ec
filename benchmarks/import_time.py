"""What starting costs: importing the package, the command line without a command, and a first fit.

python benchmarks/import_time.py            # --quick: 3 processes each
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
from common import command_line, seconds
from results import Results

FIRST_FIT = """
import time, numpy as np
from hrpursuit import HRP
rng = np.random.default_rng(0)
X = rng.standard_normal((500, 20))
if {sparse}:
    X = (X * (rng.random(X.shape) < 0.2)) @ np.linalg.qr(rng.standard_normal((20, 20)))[0]
start = time.perf_counter(); HRP(random_state=0).fit(X); print(time.perf_counter() - start)
"""
COMMAND = "import sys; from hrpursuit.cli import main; sys.argv[0] = 'hrpursuit'; main()"
#: what, its code and arguments, that of the other side, and the largest ratio
STARTS = [
    ("import hrpursuit", ("import hrpursuit",), ("import sklearn.decomposition",), 0.3),
    ("from hrpursuit import HRP", ("from hrpursuit import HRP",), ("import sklearn.decomposition, numba",), 1.3),
    ("hrpursuit --version", (COMMAND, "--version"), ("import click",), 2),
    ("hrpursuit --help", (COMMAND, "--help"), ("import click",), 2),
]


def python(code, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def start_rows(results, n_runs):
    for what, ours, theirs, asked in STARTS:
        python(*ours)
        times = np.array([[seconds(lambda side=side: python(*side)) for side in (ours, theirs)] for _ in range(n_runs)])
        own, other = np.median(times, axis=0)
        reached = results.bar(f"{what}: time over `{theirs[0]}`", own / other, at_most=asked)
        yield what, theirs[0], own, other, own / other, asked, reached


def first_fit_rows(results):
    """Of whole processes, imports and all: processor time, which other work on the machine hardly changes, and time."""
    for kind, sparse in (("sparse", True), ("dense", False)):
        with tempfile.TemporaryDirectory() as cache:
            for state in ("empty", "filled"):
                before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                run = python("import warnings; warnings.simplefilter('ignore')" + FIRST_FIT.format(sparse=sparse),
                             NUMBA_CACHE_DIR=cache)  # fmt: skip
                wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                fit, said, name = float(run.stdout), "compiling" in run.stderr, f"first fit, {kind} data, {state} cache"
                if state == "empty":
                    asked = "process: 6"
                    reached = results.bar(f"{name}: processor seconds of the process", cpu, at_most=6)
                    reached &= results.bar(f"{name}: seconds of the process", wall, at_most=6)
                else:
                    asked = "fit: 1"
                    reached = results.bar(f"{name}: seconds of the fit", fit, at_most=1)
                reached &= results.bar(f"{name}: says that it compiles", said, at_most=state == "empty")
                yield kind, state, cpu, wall, fit, asked, said, reached


def main():
    quick = command_line(__doc__).parse_args().quick
    with Results(__file__, partial=quick) as results:
        results.figures(
            "seconds of a process, median",
            [f"{'ours':<25}", f"{'theirs':<34}", "ours, s", "theirs, s", "ratio", "asked", "reached"],
            start_rows(results, 3 if quick else 11),
        )
        results.figures(
            "first fit of a process, compiled or read from the cache of kernels; seconds",
            ["data", "kernel cache", "processor", "process", "fit", f"{'asked':<10}", "said so", "reached"],
            first_fit_rows(results),
        )


if __name__ == "__main__":
    main()
