"""Time and memory as the samples grow: 10^4, 10^5, 10^6 samples of 50 features.

python benchmarks/scaling.py
"""

import resource
import threading
import time

import numpy as np
import psutil
from common import describe_machine, seconds, table, verdict

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded


class PeakMemory:
    """Peak resident memory of this process while a block runs, in MB above that at its start."""

    def __enter__(self):
        self._process = psutil.Process()
        self._start = self.peak = self._process.memory_info().rss
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._done.is_set():
            self.peak = max(self.peak, self._process.memory_info().rss)
            time.sleep(0.002)

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()
        self.megabytes = (self.peak - self._start) / 1e6


def rows():
    HRP(random_state=0).fit(make_sparse_coded(200, 5, sparsity=0.2, random_state=0)[0])
    for kind, snr_db in (("noiseless", None), ("20 dB", 20)):
        for scheme in ("exact", "paper"):
            last = None
            for n_samples in (10_000, 100_000, 1_000_000):
                X = make_sparse_coded(n_samples, 50, sparsity=0.2, snr_db=snr_db, random_state=83_000)[0]
                with PeakMemory() as memory:
                    spent = seconds(lambda X=X, scheme=scheme: HRP(scheme=scheme, random_state=0).fit(X))
                growth = np.nan if last is None else spent / last
                # ten times the samples: at most ten times the time, with room for the timer
                ok = (last is None or growth <= 11) and memory.megabytes < 200
                figures = (f"{spent:.3f}", "" if last is None else f"{growth:.1f}", f"{memory.megabytes:.0f}")
                yield kind, scheme, n_samples, *figures, verdict(ok)
                last = spent


def main():
    describe_machine()
    print("\n50 features. Asked: no more than linear growth (10 for ten times the samples), extra memory below 200 MB")
    table(["data", "scheme", "samples", "seconds", "growth", "extra MB", "reached"], rows())
    print(
        f"peak of the whole process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB, data included"
    )


if __name__ == "__main__":
    main()
