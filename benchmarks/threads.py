"""Fits with two threads against one: the same dictionary bit for bit, and no slower. Wants an idle machine.

python benchmarks/threads.py            # or --quick: 200 features only
"""

import numpy as np
from common import command_line, seconds, warm_up
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded

CELLS = [(200, 2000, 0.2, 3), (500, 5000, 0.1, 2)]  # features, samples, sparsity, repeats
SEED = 82_000


def rows(results, cells):
    for *cell, repeats in cells:
        n_features, n_samples, sparsity = cell
        name = ", ".join(map(str, cell))
        X = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=SEED)[0]
        models = {n_jobs: HRP(n_jobs=n_jobs, random_state=SEED) for n_jobs in (1, 2)}
        times = dict.fromkeys(models, np.inf)
        for _ in range(repeats):  # in turns, so that both see the same machine
            for n_jobs, model in models.items():
                times[n_jobs] = min(times[n_jobs], seconds(lambda model=model, X=X: model.fit(X)))
        same = np.array_equal(models[1].components_, models[2].components_)
        reached = results.bar(f"{name}: same result", same, at_least=True)
        reached &= results.bar(f"{name}: time of two threads over one", times[2] / times[1], at_most=1.05)
        yield name, times[1], times[2], times[1] / times[2], same, reached


def main():
    quick = command_line(__doc__).parse_args().quick
    with Results(__file__, partial=quick) as results:
        warm_up()
        results.figures(
            "HRP.fit; asked: the same result, and two threads at most 1.05 times the time of one",
            ["features, samples, sparsity", "1 thread, s", "2 threads, s", "speed-up", "same result", "reached"],
            rows(results, CELLS[:1] if quick else CELLS),
        )


if __name__ == "__main__":
    main()
