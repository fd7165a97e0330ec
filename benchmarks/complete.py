"""Complete dictionaries: error, and time against an orthogonal fit of that size by the plain paper scheme.

python benchmarks/complete.py            # or --quick: 2 trials
"""

import numpy as np
from common import command_line, plain_paper, seconds, warm_up
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

N_FEATURES, N_SAMPLES, SPARSITY, N_TRIALS = 50, 2500, 0.2, 10
FIRST_SEED = 78_000


def rows(results, n_trials):
    for condition in (2, 10, 100):
        ours, paper, ratios = [], [], []
        for seed in range(FIRST_SEED, FIRST_SEED + n_trials):
            kind = {"sparsity": SPARSITY, "random_state": seed}
            X, _, A = make_sparse_coded(N_SAMPLES, N_FEATURES, dictionary="complete", condition=condition, **kind)
            X_orthogonal = make_sparse_coded(N_SAMPLES, N_FEATURES, **kind)[0]
            model = HRP(dictionary="complete", random_state=seed)
            time = seconds(lambda model=model, X=X: model.fit(X))
            ratios.append(time / seconds(lambda X=X_orthogonal, seed=seed: plain_paper(X, seed)))
            ours.append(dictionary_error(model.components_, A))
            remark = HRP(dictionary="complete", scheme="paper", random_state=seed).fit(X)
            paper.append(dictionary_error(remark.components_, A))
        reached = results.bar(f"condition {condition}: largest error", max(ours), at_most=1e-12)
        reached &= results.bar(f"condition {condition}: largest time ratio", max(ratios), at_most=5)
        yield condition, np.median(ours), max(ours), np.median(paper), np.median(ratios), max(ratios), reached


def main():
    quick = command_line(__doc__).parse_args().quick
    n_trials = 2 if quick else N_TRIALS
    with Results(__file__, partial=quick) as results:
        warm_up(dictionary="complete")
        print(f"\n{N_FEATURES} features, {N_SAMPLES} samples, sparsity {SPARSITY}, {n_trials} trials")
        results.figures(
            "errors, and time over that of the plain paper scheme; asked: every error <= 1e-12, every ratio <= 5",
            ["condition", "median", "largest", "paper's remark", "time ratio", "largest ratio", "reached"],
            rows(results, n_trials),
        )


if __name__ == "__main__":
    main()
