"""
Where does the time go when worker processes share a fit?
=========================================================
"""

# %%
# A fit to 100,000 noisy samples of 64 features in 10 chunks. Each chunk is made by the worker that keeps it, so the
# samples are never sent: a task goes to each chunk, and a sum of 64 x 64 numbers comes back.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster, get_task_stream

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

N_CHUNKS, CHUNK, N_FEATURES = 10, 10_000, 64


def true_components():
    return make_sparse_coded(1, N_FEATURES, sparsity=1, random_state=0)[2]


def make_chunk(block_info=None):
    """A chunk by its number, so that another worker can make it again if its worker is lost."""
    seed = 1 + block_info[None]["chunk-location"][0]
    settings = {"sparsity": 0.2, "components": true_components(), "snr_db": 27}
    return make_sparse_coded(CHUNK, N_FEATURES, **settings, random_state=seed)[0]


def make_samples():
    chunks = ((CHUNK,) * N_CHUNKS, (N_FEATURES,))
    return da.map_blocks(make_chunk, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))


# %%
# `fit` takes the Dask array and uses the active client. Dask records when and where each task ran.


def fit_on_workers():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        get_task_stream(client) as stream,
    ):
        model = HRP(scheme="exact", random_state=0).fit(make_samples())
    return model, stream.data


# %%
# There is one line per worker, and a colour for each kind of task, which is recognised by its name, the same as on
# Dask's dashboard. After the survey, a sample of the rows is fetched; this process loads its compiled kernels,
# searches, and takes the first Newton steps on this sample.

KINDS = {
    "make-chunk": ("chunks are made", "#bdbdbd"),
    "hrp-survey": ("survey", "#92c5de"),
    "hrp-histogram": ("histograms of the codes", "#f4a582"),
    "hrp-newton": ("Newton steps", "#2166ac"),
    "hrp-value": ("l1 norm", "#1b7837"),
}


def kind_of(key):
    """Samples and the sums of sums are left out: they take a millisecond each."""
    key = str(key).replace("_", "-").strip("('")
    if "-add-" in key:
        return None
    return next((kind for kind in KINDS if key.startswith(kind)), None)


def draw(tasks):
    workers = sorted({task["worker"] for task in tasks})
    runs = [
        (kind_of(task["key"]), workers.index(task["worker"]), step["start"], step["stop"])
        for task in tasks
        for step in task["startstops"]
        if step["action"] == "compute"
    ]
    begin, end = min(run[2] for run in runs), max(run[3] for run in runs)
    made = max(stop for kind, _, _, stop in runs if kind == "make-chunk")
    search = max(stop for kind, *_, stop in runs if kind == "hrp-survey")
    search_end = min(start for kind, _, start, _ in runs if kind == "hrp-histogram")
    computing = sum(stop - start for kind, _, start, stop in runs if kind != "make-chunk")
    busy, searching = computing / len(workers) / (end - made), (search_end - search) / (end - made)

    figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
    for kind, (label, colour) in KINDS.items():
        for line in range(len(workers)):
            bars = [(start - begin, stop - start) for found, at, start, stop in runs if (found, at) == (kind, line)]
            label_once = label if line == 0 else None
            axis.broken_barh(bars, (line - 0.36, 0.72), facecolor=colour, edgecolor="white", lw=0.4, label=label_once)
    here = [(search - begin, search_end - search)]
    axis.broken_barh(here, (len(workers) - 0.36, 0.72), facecolor="#762a83", label="search and first steps on samples")
    axis.set(xlabel="seconds", xlim=(0, end - begin), ylim=(len(workers) + 0.5, -0.5))
    axis.set_yticks(range(len(workers) + 1), [*(f"worker {i + 1}" for i in range(len(workers))), "this process"])
    rest = 1 - busy - searching
    axis.set_title(
        f"Once the chunks are made, a worker computes {busy:.0%} of the time; {searching:.0%} it waits for the\n"
        f"search and first steps in this process, and {rest:.0%} for the scheduler and the other worker",
        loc="left",
        fontsize=11,
    )
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, handlelength=1, columnspacing=1.2)
    plt.show()


if __name__ == "__main__":  # worker processes load this file too
    model, tasks = fit_on_workers()
    print(f"error {dictionary_error(model.components_, true_components()):.1e} after {len(tasks)} tasks")
    draw(tasks)
