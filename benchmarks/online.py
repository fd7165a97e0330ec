"""The online estimator: how soon it is right again after a sudden change, what an interruption changes (nothing), and
what a batch costs.

python benchmarks/online.py            # --quick: 3 changes, one stream
"""

import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
from common import command_line, seconds
from results import Results
from sklearn.utils.validation import validate_data

from hrpursuit import MiniBatchHRP
from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import polar, random_orthogonal
from hrpursuit.core.objectives import LpNorm
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows

N_SEEDS = 20
N_BATCHES, BATCH, N_FEATURES = 200, 1000, 50


def batches_until_right(dictionary, seed):
    """Batches of 100 after a change at a random row, until the error is below 0.01 and stays there."""
    kind = {"n_features": 20, "sparsity": 0.2, "dictionary": dictionary}
    n_before = 2000 + 100 * int(np.random.default_rng(seed).integers(10))
    before, _, _ = make_sparse_coded(n_before, random_state=seed, **kind)
    after, _, truth = make_sparse_coded(4000, random_state=1000 + seed, **kind)
    model = MiniBatchHRP(dictionary=dictionary, random_state=seed)
    for batch in np.split(before, len(before) // 100):
        model.partial_fit(batch)
    wrong = [
        dictionary_error(model.partial_fit(batch).components_, truth) >= 0.01
        for batch in np.split(after, len(after) // 100)
    ]
    return 1 + max(np.flatnonzero(wrong), default=-1) + 1, model.n_changes_


def change_rows(results, n_seeds):
    for dictionary in ("orthogonal", "complete"):
        found = [batches_until_right(dictionary, seed) for seed in range(n_seeds)]
        needed = [n for n, _ in found]
        once = sum(n_changes == 1 for _, n_changes in found)
        reached = results.bar(f"{dictionary}: batches until right after a change, most", max(needed), at_most=20)
        yield dictionary, np.median(needed), max(needed), once, n_seeds, reached


def streams():
    """What the learner treats differently, each with its rows and settings."""
    n_rows, rng = N_BATCHES * BATCH, np.random.default_rng(0)
    kind = {"sparsity": 0.2, "random_state": 0}
    sparse = make_sparse_coded(n_rows, N_FEATURES, **kind)[0]
    noisy = make_sparse_coded(n_rows, N_FEATURES, snr_db=20, **kind)[0]
    laplace = rng.laplace(size=(n_rows, N_FEATURES)) @ random_orthogonal(N_FEATURES, rng)
    yield "exactly sparse", sparse, {}
    yield "20 dB of noise", noisy, {}
    yield "Laplace, not sparse", laplace, {}
    yield "exactly sparse", sparse, {"dictionary": "complete"}
    yield "20 dB of noise", noisy, {"dictionary": "complete"}
    yield "Laplace, not sparse", laplace, {"dictionary": "complete"}
    yield "20 dB, T0 = 5", noisy, {"n_nonzero_coefs": 5}


def cost(X, settings):
    """Seconds for all batches: one Stage One pass with its polar, our step, and the validation within it."""
    MiniBatchHRP(random_state=0, **settings).fit(X[: 20 * N_FEATURES])  # compiles
    model = MiniBatchHRP(random_state=0, **settings)
    W = random_orthogonal(N_FEATURES, np.random.default_rng(1))
    plain = ours = checks = 0.0
    for batch in np.split(X, N_BATCHES):  # in turn, so that both see the same machine
        rows = ArrayRows(batch)
        plain += seconds(lambda rows=rows: polar(value_and_grad(rows, W, LpNorm(3))[1]), repeats=3)
        ours += seconds(lambda batch=batch: model.partial_fit(batch))
        checks += seconds(lambda batch=batch: validate_data(model, batch, dtype=[np.float64, np.float32], reset=False))
    return plain, ours - checks, checks


def cost_rows(results, n_streams):
    for name, X, settings in islice(streams(), n_streams):
        plain, ours, checks = cost(X, settings)
        dictionary = settings.get("dictionary", "orthogonal")
        reached = results.bar(f"{name}, {dictionary}: a batch over a pass", ours / plain, at_most=3)
        yield name, dictionary, *(1e3 * t / N_BATCHES for t in (plain, ours, checks)), ours / plain, reached


def resume_rows(results, n_streams):
    """A stream that is saved, forgotten and loaded again after every few batches, against one that is not."""
    with tempfile.TemporaryDirectory() as folder:
        for name, X, settings in islice(streams(), n_streams):
            batches = np.split(X[:30_000], 60)
            whole, parts = (MiniBatchHRP(random_state=0, **settings) for _ in range(2))
            for i, batch in enumerate(batches):
                whole.partial_fit(batch)
                parts.partial_fit(batch[:123]).partial_fit(batch[123:])
                if i % 7 == 0:
                    parts.save(Path(folder) / "state")
                    parts = MiniBatchHRP.load(Path(folder) / "state")
            same = np.array_equal(whole.components_, parts.components_) and whole.drift_ == parts.drift_
            difference = float(np.abs(whole.components_ - parts.components_).max())
            dictionary = settings.get("dictionary", "orthogonal")
            results.bar(f"{name}, {dictionary}: bit for bit the same when resumed", int(same), at_least=1)
            yield name, dictionary, difference, bool(same)


def main():
    quick = command_line(__doc__).parse_args().quick
    n_streams = 1 if quick else None
    first = f"{'rows':<19}"
    with Results(__file__, partial=quick) as results:
        results.figures(
            "batches of 100 until the error is below 0.01 after a sudden change; asked: 20; 20 features, sparsity 0.2",
            ["dictionary", "median", "most", "one change seen", "of", "reached"],
            change_rows(results, 3 if quick else N_SEEDS),
        )
        results.figures(
            "saved and loaded again nine times in 60 batches, and cut otherwise, against a run that was not",
            [first, "dictionary", "largest difference", "bit for bit"],
            resume_rows(results, n_streams),
        )
        results.figures(
            f"ms for a batch of {BATCH} x {N_FEATURES}, mean of {N_BATCHES} with all searches, validation aside; "
            "asked: at most 3 times one Stage One pass over it with its polar factor",
            [first, "dictionary", "pass + polar", "batch", "validation", "ratio", "reached"],
            cost_rows(results, n_streams),
        )


if __name__ == "__main__":
    main()
