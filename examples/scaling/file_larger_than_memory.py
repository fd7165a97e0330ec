"""
How much memory does a fit take whose data stays on disk?
=========================================================
"""

# %%
# The file has a million samples of 32 features, and is written block by block: its 128 MB stand for 100 GB that would
# not fit in memory. A fifth of the codes is not zero, and there is noise, so that the fit has to make many passes over
# all samples.

import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import psutil
from threadpoolctl import threadpool_limits

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import open_rows, write_blocks

N_SAMPLES, N_FEATURES, BLOCK = 1_000_000, 32, 20_000
components = make_sparse_coded(1, N_FEATURES, sparsity=1, random_state=0)[2]


def blocks():
    settings = {"sparsity": 0.2, "components": components, "snr_db": 27}
    for seed in range(1, N_SAMPLES // BLOCK + 1):
        yield make_sparse_coded(BLOCK, N_FEATURES, **settings, random_state=seed)[0].astype(np.float32)


# %%
# A thread records the memory of this process 200 times per second.

process = psutil.Process()
curves = {}


@contextmanager
def noting(name):
    start, before, done = time.perf_counter(), process.memory_info().rss, threading.Event()
    curves[name] = [(0.0, 0.0)]

    def note():
        while not done.wait(0.005):
            curves[name].append((time.perf_counter() - start, (process.memory_info().rss - before) / 1e6))

    thread = threading.Thread(target=note)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


# %%
# The same fit is made twice, from the file and after loading it into memory. In addition, the codes of all samples are
# computed from one file to another.

names = [f"sensor {i}" for i in range(N_FEATURES)]
with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
    path = Path(folder) / "readings.npy"
    write_blocks(path, blocks(), names, np.dtype(np.float32))
    size = path.stat().st_size / 1e6
    HRP(random_state=0).fit(np.load(path, mmap_mode="r")[:2_000].copy())  # loads the compiled kernels
    with noting("fit from the file"):
        rows = open_rows(path)
        model = HRP(random_state=0).fit(rows)
    with noting("codes to another file"):
        model.transform(path, out=Path(folder) / "codes.npy")
    with noting("np.load, then fit"):
        in_memory = HRP(random_state=0).fit(np.load(path))

peaks = {name: max(memory for _, memory in curve) for name, curve in curves.items()}
print(f"{size:.0f} MB read in {rows.n_passes} passes; error {dictionary_error(model.components_, components):.1e}")
print(f"difference to the fit in memory: {dictionary_error(model.components_, in_memory.components_):.0e}")
print(", ".join(f"{name}: {peak:.0f} MB" for name, peak in peaks.items()))

# %%
# Whatever the length of the file, only two pieces of 8 MB are in memory at a time.

colours = {"fit from the file": "#2166ac", "codes to another file": "#1b7837"}
colours["np.load, then fit"] = "#b35806"
figure, axis = plt.subplots(figsize=(8, 4.6), layout="constrained")
for name, curve in curves.items():
    seconds, memory = np.transpose(curve)
    axis.plot(seconds, memory, color=colours[name], lw=2)
    axis.fill_between(seconds, memory, color=colours[name], alpha=0.12, lw=0)
    axis.plot(seconds[-1], memory[-1], "o", color=colours[name], ms=4)
    axis.annotate(
        f"{name}: at most {peaks[name]:.0f} MB",
        (seconds[-1], memory[-1]),
        xytext=(8, -10 if name.startswith("np.load") else 0),
        textcoords="offset points",
        va="center",
        color=colours[name],
    )
axis.axhline(size, color="0.4", ls="--", lw=1)
last = max(curve[-1][0] for curve in curves.values())
axis.text(1.5 * last, size + 2, f"size of the file: {size:.0f} MB", ha="right", va="bottom", color="0.3")
axis.set(xlabel="seconds", ylabel="memory above the start, MB", xlim=(0, 1.5 * last), ylim=(0, 1.25 * size))
axis.set_title(
    f"A fit of {rows.n_passes} passes over {size:.0f} MB takes {peaks['fit from the file']:.0f} MB", loc="left"
)
axis.spines[["top", "right"]].set_visible(False)
axis.grid(alpha=0.25)
plt.show()
