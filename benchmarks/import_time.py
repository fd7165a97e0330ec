"""What starting costs: importing the package, the command line without a command, and a first fit.

python benchmarks/import_time.py            # --quick: 3 processes each
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
from common import command_line, seconds
from results import Results

FIRST_FIT = """
import time, numpy as np
from hrpursuit import HRP
X = np.random.default_rng(0).standard_normal((60, 6))
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
    with tempfile.TemporaryDirectory() as cache:
        for state, asked in (("empty", 6), ("filled", 1)):
            run = python(FIRST_FIT, NUMBA_CACHE_DIR=cache)
            said = "compiling" in run.stderr
            reached = results.bar(f"first fit, {state} cache: seconds", float(run.stdout), at_most=asked)
            reached &= results.bar(f"first fit, {state} cache: says that it compiles", said, at_most=state == "empty")
            yield state, float(run.stdout), asked, said, reached


def main():
    quick = command_line(__doc__).parse_args().quick
    with Results(__file__, partial=quick) as results:
        results.figures(
            "seconds of a process, median",
            [f"{'ours':<25}", f"{'theirs':<34}", "ours, s", "theirs, s", "ratio", "asked", "reached"],
            start_rows(results, 3 if quick else 11),
        )
        results.figures(
            "first fit of a process, compiled or read from the cache of kernels",
            ["kernel cache", "seconds", "asked", "said so", "reached"],
            first_fit_rows(results),
        )


if __name__ == "__main__":
    main()
