"""Plane search with two threads against one, and the largest cell on two cores. Wants an idle machine.

python benchmarks/threads.py
"""

import numpy as np
from common import describe_machine, seconds, table, verdict

from hrpursuit import HRP
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.planes import Planes
from hrpursuit.core.team import Team
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

N_SWEEPS = 8


def sweep_rows():
    temperatures = np.full(N_SWEEPS, 0.1 * 10)
    with Team(2) as team:
        for n_features in (150, 200, 300):
            X = make_sparse_coded(10 * n_features, n_features, sparsity=0.2, random_state=82_000)[0]
            W = random_orthogonal(n_features, np.random.default_rng(0))
            spacings = np.full(N_SWEEPS, 3.5 * 0.1 * np.sqrt(len(X)) / n_features)

            def search(planes, spacings=spacings):
                planes.heat(temperatures, spacings, 0, N_SWEEPS, key=1)
                return planes

            one, two = np.inf, np.inf
            for _ in range(3):
                alone, shared = Planes(X, W), Planes(X, W, team)
                one = min(one, seconds(lambda alone=alone: search(alone)))
                two = min(two, seconds(lambda shared=shared: search(shared)))
            same = np.array_equal(alone.Z, shared.Z)
            speedup = one / two
            ok = same and (speedup >= 1.5 or n_features != 200)
            yield n_features, f"{one:.3f}", f"{two:.3f}", f"{speedup:.2f}", same, verdict(ok)


def fit_rows():
    X, _, W = make_sparse_coded(5000, 500, sparsity=0.1, random_state=82_001)
    model = HRP(n_jobs=2, random_state=0)
    time = seconds(lambda: model.fit(X))
    error = dictionary_error(model.components_, W)
    yield "500, 5000, 0.1", f"{time:.1f}", f"{error:.0e}", bool(model.certified_), verdict(time < 60 and error < 1e-11)


def main():
    describe_machine()
    print(
        f"\n{N_SWEEPS} heat-bath sweeps. Asked: two threads at least 1.5 times as fast at 200 features, the same result"
    )
    table(["features", "1 thread, s", "2 threads, s", "speed-up", "same result", "reached"], sweep_rows())
    print("\nHRP(n_jobs=2).fit. Asked: under 60 s on two cores")
    table(["features, samples, sparsity", "seconds", "error", "certified", "reached"], fit_rows())


if __name__ == "__main__":
    main()
