"""Is the dictionary recovered exactly, from how few samples, and is a certificate ever false? Paper's scheme beside it.

python benchmarks/recovery.py            # several minutes
python benchmarks/recovery.py --quick    # 5 trials per cell, up to 50 features
"""

import numpy as np
from common import command_line
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

#: features, samples, sparsity, trials, and how many must be exact
CELLS = [
    (20, 100, 0.3, 20, 20),
    (20, 100, 0.5, 20, 20),
    (20, 100, 0.6, 20, 19),
    (20, 200, 0.6, 20, 20),
    (20, 300, 0.7, 20, 20),
    (50, 250, 0.5, 20, 20),
    (50, 400, 0.6, 5, 4),
    (50, 500, 0.2, 20, 20),
    (50, 500, 0.5, 20, 20),
    (50, 1000, 0.5, 20, 20),
    (100, 700, 0.5, 5, 5),
    (100, 1000, 0.2, 20, 20),
    (100, 1000, 0.5, 20, 20),
    (200, 2000, 0.2, 5, 5),
    (500, 5000, 0.1, 1, 1),
    (1000, 10_000, 0.05, 1, 1),
]
#: Cheap fits, some with too few samples to be recovered: only their certificates are judged.
MORE_CELLS = [(20, 200, 0.3), (10, 100, 0.3), (20, 60, 0.1), (20, 80, 0.1), (20, 100, 0.1)]
N_MORE = 160
PAPER_CELLS = [(20, 10_000, sparsity) for sparsity in (0.1, 0.2, 0.3, 0.4, 0.5)]
FIRST_SEED = 77_000  # no test uses these
EXACT, FOUND = 1e-11, 1e-3
FALSE = 1e-8  # error above which a certificate is false: far above rounding, and below any other minimum


def fits(scheme, n_features, n_samples, sparsity, n_trials):
    """Errors, and whether each fit is certified."""
    errors, certified = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + n_trials):
        X, _, components = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
        model = HRP(scheme=scheme, random_state=seed, n_jobs=2 if n_features >= 200 else None).fit(X)
        errors.append(dictionary_error(model.components_, components))
        certified.append(bool(model.certificate_))
    return np.array(errors), np.array(certified)


class Certificates:
    """Counts over all cells."""

    fits = false = 0

    def add(self, errors, certified):
        false = int(np.sum(certified & (errors > FALSE)))
        self.fits, self.false = self.fits + len(errors), self.false + false
        return false


def exact_rows(results, cells, certificates):
    for *cell, n_trials, needed in cells:
        name = ", ".join(map(str, cell))
        errors, certified = fits("exact", *cell, n_trials)
        paper, _ = fits("paper", *cell, min(n_trials, 5 if cell[0] < 500 else 1))
        exact = int(np.sum(errors <= EXACT))
        reached = results.bar(f"{name}: exact of {n_trials}", exact, at_least=needed)
        reached &= results.bar(f"{name}: median error", np.median(errors), at_most=1e-14)
        false = certificates.add(errors, certified)
        figures = (n_trials, exact, needed, np.median(errors), errors.max(), certified.sum(), false)
        yield name, *figures, np.mean(paper < FOUND), np.median(paper), reached


def more_rows(n_trials, certificates):
    for cell in MORE_CELLS:
        errors, certified = fits("exact", *cell, n_trials)
        false = certificates.add(errors, certified)
        yield ", ".join(map(str, cell)), n_trials, np.sum(errors <= EXACT), certified.sum(), false


def paper_rows(n_trials):
    for cell in PAPER_CELLS:
        paper, _ = fits("paper", *cell, n_trials)
        yield ", ".join(map(str, cell)), n_trials, np.sum(paper < FOUND), np.median(paper), paper.max()


def main():
    quick = command_line(__doc__).parse_args().quick
    cells, certificates = CELLS, Certificates()
    if quick:
        cells = [(*cell, min(trials, 5), needed * min(trials, 5) // trials) for *cell, trials, needed in CELLS]
        cells = [cell for cell in cells if cell[0] <= 50]
    with Results(__file__, partial=quick) as results:
        print(f"\nexact: an error of at most {EXACT:g}; false: certified with an error above {FALSE:g}")
        counts, heads = ["exact", "certified", "false"], ["features, samples, sparsity", "trials"]
        results.figures(
            "scheme='exact'; asked: so many exact, and a median of at most 1e-14; paper: share below 1e-3, and median",
            [*heads, "exact", "asked", "median", "largest", *counts[1:], "paper", "its median", "reached"],
            exact_rows(results, cells, certificates),
        )
        results.figures("further fits", [*heads, *counts], more_rows(5 if quick else N_MORE, certificates))
        heads += ["below 1e-3", "median", "largest"]
        results.figures("scheme='paper'; about 1e-4 to 1e-3 in the paper", heads, paper_rows(5 if quick else 20))
        results.bar("false certificates", certificates.false, at_most=0)
        if not quick:
            results.bar("fits in all", certificates.fits, at_least=1000)


if __name__ == "__main__":
    main()
