"""Noisy data: mean error of the exact scheme as a ratio to the paper's.

python benchmarks/noise.py
"""

import numpy as np
from common import describe_machine, table, verdict

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

CELLS = [(20, 300, 0.3), (20, 10_000, 0.3), (50, 2000, 0.3)]
N_TRIALS = 20
FIRST_SEED = 79_000


def rows():
    for n_features, n_samples, sparsity in CELLS:
        for snr_db in (10, 20, 30):
            errors = {"exact": [], "paper": []}
            for seed in range(FIRST_SEED, FIRST_SEED + N_TRIALS):
                X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, snr_db=snr_db, random_state=seed)
                for scheme, found in errors.items():
                    found.append(dictionary_error(HRP(scheme=scheme, random_state=seed).fit(X).components_, W))
            exact, paper = np.mean(errors["exact"]), np.mean(errors["paper"])
            cell = f"{n_features}, {n_samples}, {sparsity}"
            yield cell, snr_db, f"{exact:.4f}", f"{paper:.4f}", f"{exact / paper:.2f}", verdict(exact <= 0.75 * paper)


def main():
    describe_machine()
    print(f"\nmean error over {N_TRIALS} trials. Asked: at most 0.75 times that of the paper's scheme in every cell")
    table(["features, samples, sparsity", "SNR dB", "exact", "paper", "ratio", "reached"], rows())


if __name__ == "__main__":
    main()
