"""Complete dictionaries: error, and time against an orthogonal fit of that size by the plain paper scheme.

python benchmarks/complete.py
"""

import numpy as np
from common import describe_machine, plain_paper, seconds, table, verdict

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

N_FEATURES, N_SAMPLES, SPARSITY, N_TRIALS = 50, 2500, 0.2, 10
FIRST_SEED = 78_000


def rows():
    HRP(dictionary="complete", random_state=0).fit(make_sparse_coded(200, 5, sparsity=0.2, random_state=0)[0])
    for condition in (2, 10, 100):
        ours, paper, ratios = [], [], []
        for seed in range(FIRST_SEED, FIRST_SEED + N_TRIALS):
            kind = {"sparsity": SPARSITY, "random_state": seed}
            X, _, A = make_sparse_coded(N_SAMPLES, N_FEATURES, dictionary="complete", condition=condition, **kind)
            X_orthogonal = make_sparse_coded(N_SAMPLES, N_FEATURES, **kind)[0]
            model = HRP(dictionary="complete", random_state=seed)
            time = seconds(lambda model=model, X=X: model.fit(X))
            ratios.append(time / seconds(lambda X=X_orthogonal, seed=seed: plain_paper(X, seed)))
            ours.append(dictionary_error(model.components_, A))
            remark = HRP(dictionary="complete", scheme="paper", random_state=seed).fit(X)
            paper.append(dictionary_error(remark.components_, A))
        ok = max(ours) <= 1e-12 and max(ratios) <= 5
        yield (
            condition,
            f"{np.median(ours):.0e}",
            f"{max(ours):.0e}",
            f"{np.median(paper):.2g}",
            *[f"{value:.2f}" for value in (np.median(ratios), max(ratios))],
            verdict(ok),
        )


def main():
    describe_machine()
    print(f"\n{N_FEATURES} features, {N_SAMPLES} samples, sparsity {SPARSITY}, {N_TRIALS} trials.")
    print("Asked at condition 2 and 10: every error <= 1e-12, every time ratio <= 5")
    table(["condition", "median", "largest", "paper's remark", "time ratio", "largest ratio", "reached"], rows())


if __name__ == "__main__":
    main()
