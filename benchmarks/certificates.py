"""How often is a dictionary certified, and how often wrongly, when samples are few?

python benchmarks/certificates.py            # or --quick: 4 fits per cell
"""

from common import command_line
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

N_TRIALS, FIRST_SEED = 40, 86_000


def rows(n_trials):
    for n_features in (10, 20):
        for samples_per_feature in (2, 3, 4, 5, 10):
            for sparsity in (0.1, 0.2, 0.4, 0.6):
                right = certified = wrong = 0
                for seed in range(FIRST_SEED, FIRST_SEED + n_trials):
                    n_samples = samples_per_feature * n_features
                    X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
                    model = HRP(random_state=seed).fit(X)
                    found = dictionary_error(model.components_, W) < 1e-8
                    right += found
                    certified += bool(model.certificate_)
                    wrong += bool(model.certificate_) and not found
                yield n_features, samples_per_feature, sparsity, right, certified, wrong


def main():
    quick = command_line(__doc__).parse_args().quick
    n_trials = 4 if quick else N_TRIALS
    with Results(__file__, partial=quick) as results:
        results.figures(
            f"of {n_trials} fits each: right (error below 1e-8), certified, and certified although wrong",
            ["features", "samples per feature", "sparsity", "right", "certified", "wrongly"],
            rows(n_trials),
        )


if __name__ == "__main__":
    main()
