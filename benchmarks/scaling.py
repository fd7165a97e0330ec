"""Time and memory as the samples grow: 10^4, 10^5, 10^6 samples of 50 features.

python benchmarks/scaling.py            # or --quick: up to 10^5 samples
"""

import threading
import time

import psutil
from common import command_line, seconds
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded

GROWTH = 11  # linear, with room for the timer
EXTRA_MEMORY = 200  # MB


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


def rows(results, sizes):
    HRP(random_state=0).fit(make_sparse_coded(200, 5, sparsity=0.2, random_state=0)[0])
    for kind, snr_db in (("noiseless", None), ("20 dB", 20)):
        for scheme in ("exact", "paper"):
            last = None
            for n_samples in sizes:
                X = make_sparse_coded(n_samples, 50, sparsity=0.2, snr_db=snr_db, random_state=83_000)[0]
                with PeakMemory() as memory:
                    spent = seconds(lambda X=X, scheme=scheme: HRP(scheme=scheme, random_state=0).fit(X))
                growth = None if last is None else spent / last
                cell = f"{kind}, {scheme}, {n_samples}"
                reached = results.bar(f"{cell}: extra memory, MB", memory.megabytes, at_most=EXTRA_MEMORY)
                if growth is not None:
                    reached &= results.bar(f"{cell}: time over that of a tenth", growth, at_most=GROWTH)
                yield kind, scheme, n_samples, spent, growth, memory.megabytes, reached
                last = spent


def main():
    quick = command_line(__doc__).parse_args().quick
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    with Results(__file__, partial=quick) as results:
        results.figures(
            "fits of 50 features; growth: time over that of a tenth of the samples",
            ["data", "scheme", "samples", "seconds", "growth", "extra MB", "reached"],
            rows(results, sizes),
        )


if __name__ == "__main__":
    main()
