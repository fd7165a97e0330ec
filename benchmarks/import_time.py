"""Time to import the package, and of a first fit with an empty and with a filled kernel cache.

python benchmarks/import_time.py
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
from common import describe_machine, seconds, table, verdict

FIRST_FIT = """
import time, numpy as np
from hrpursuit import HRP
X = np.random.default_rng(0).standard_normal((60, 6))
start = time.perf_counter(); HRP(random_state=0).fit(X); print(time.perf_counter() - start)
"""


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ | environment
    )


def import_rows():
    base, ours = [], []
    python("import hrpursuit")
    for _ in range(7):
        base.append(seconds(lambda: python("import sklearn.base, scipy.linalg, numba")))
        ours.append(seconds(lambda: python("import hrpursuit")))
    ratio = np.median(ours) / np.median(base)
    yield f"{np.median(base):.2f}", f"{np.median(ours):.2f}", f"{ratio:.2f}", verdict(ratio <= 1.3)


def compile_rows():
    with tempfile.TemporaryDirectory() as cache:
        for state in ("empty", "filled"):
            run = python(FIRST_FIT, NUMBA_CACHE_DIR=cache)
            said = "compiling" in run.stderr
            ok = float(run.stdout) <= 15 and said == (state == "empty")
            yield state, f"{float(run.stdout):.2f}", said, verdict(ok)


def main():
    describe_machine()
    print("\nmedian of 7 processes. Asked: at most 1.3 times `import sklearn.base, scipy.linalg, numba`")
    table(["theirs, s", "ours, s", "ratio", "reached"], import_rows())
    print("\nfirst fit of a process. Asked: with an empty cache at most 15 s, and it says so")
    table(["kernel cache", "seconds", "said so", "reached"], compile_rows())


if __name__ == "__main__":
    main()
