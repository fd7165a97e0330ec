"""Noisy data: mean error of the exact scheme as a ratio to the paper's.

python benchmarks/noise.py            # or --quick: 3 trials
"""

import numpy as np
from common import command_line
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

CELLS = [(20, 300, 0.3), (20, 10_000, 0.3), (50, 2000, 0.3)]
N_TRIALS = 20
FIRST_SEED = 79_000


def rows(results, n_trials):
    for n_features, n_samples, sparsity in CELLS:
        for snr_db in (10, 20, 30):
            errors = {"exact": [], "paper": []}
            for seed in range(FIRST_SEED, FIRST_SEED + n_trials):
                X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, snr_db=snr_db, random_state=seed)
                for scheme, found in errors.items():
                    found.append(dictionary_error(HRP(scheme=scheme, random_state=seed).fit(X).components_, W))
            exact, paper = np.mean(errors["exact"]), np.mean(errors["paper"])
            cell = f"{n_features}, {n_samples}, {sparsity}"
            reached = results.bar(f"{cell} at {snr_db} dB: error over the paper's", exact / paper, at_most=0.75)
            yield cell, snr_db, exact, paper, exact / paper, reached


def main():
    quick = command_line(__doc__).parse_args().quick
    n_trials = 3 if quick else N_TRIALS
    with Results(__file__, partial=quick) as results:
        results.figures(
            f"mean error over {n_trials} trials; asked: at most 0.75 times that of the paper's scheme",
            ["features, samples, sparsity", "SNR dB", "exact", "paper", "ratio", "reached"],
            rows(results, n_trials),
        )


if __name__ == "__main__":
    main()
