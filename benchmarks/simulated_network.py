"""Do methods rank on simulated readings as they do on real ones? Errors of dictionaries and bytes of codecs.

python benchmarks/simulated_network.py            (readings: ../shared/data or HRPURSUIT_DATA)
python benchmarks/simulated_network.py --quick    # one simulated month, fewer targets
The other codecs come with pip install ".[rivals]".
"""

from itertools import chain

import numpy as np
from common import command_line, for_compress, installed, october, row_means_in_gaps
from results import Results
from scipy.fft import dct
from scipy.stats import kendalltau, spearmanr

from hrpursuit import HRP
from hrpursuit.baselines import KSVD
from hrpursuit.compression import compress
from hrpursuit.core.coding import keep_largest
from hrpursuit.datasets import make_sensor_network
from hrpursuit.metrics import masked_rmse
from hrpursuit.rivals import RIVALS

SEEDS = (100, 101, 102)  # the defaults of the simulation were chosen on others
T0 = (5, 11, 28)
TARGETS = {
    "lossless": {"lossless": True},
    "rmse 9.4%": {"rmse": 0.094},
    "rmse 6.2%": {"rmse": 0.062},
    "rmse 4.1%": {"rmse": 0.041},
    "rmse 2.1%": {"rmse": 0.021},
    "max_error 2": {"max_error": 2},
}
ASKED = 0.9  # Spearman, mean over the seeds, of every block
NEEDS = {"zstd": "zstandard", "brotli": "brotli", "SZ3": "pysz", "zfp": "zfpy"}


def statistics(X):
    """What a codec or a dictionary feels of a table."""
    live = X[~np.isnan(X).all(axis=1)][:, ~np.isnan(X).all(axis=0)]
    steps = np.diff(live, axis=0)
    filled = row_means_in_gaps(live)
    observed = ~np.isnan(X)

    def lagged(lag):
        pairs = [(now[lag:], now[:-lag]) for now in live.T]
        pairs = [(a[ok], b[ok]) for a, b in pairs if (ok := ~np.isnan(a) & ~np.isnan(b)).sum() > 100]
        return np.median([np.corrcoef(a, b)[0, 1] for a, b in pairs])

    def shares(A):
        values = np.linalg.svd(A, compute_uv=False) ** 2
        return 100 * values / values.sum()

    level, change = shares(filled), shares(np.diff(filled, axis=0))
    return {
        "mean": np.nanmean(X),
        "standard deviation": np.nanstd(X),
        "10% are below": np.nanpercentile(X, 10),
        "half are below": np.nanpercentile(X, 50),
        "90% are below": np.nanpercentile(X, 90),
        "99% are below": np.nanpercentile(X, 99),
        "mean hourly change": np.nanmean(np.abs(steps)),
        "hours without change, %": 100 * np.mean(steps[~np.isnan(steps)] == 0),
        "99% of the changes are below": np.nanpercentile(np.abs(steps), 99),
        "autocorrelation, 1 hour": lagged(1),
        "autocorrelation, 24 hours": lagged(24),
        "share of component 1, %": level[0],
        "share of component 2, %": level[1],
        "share of component 10, %": level[9],
        "of changes: component 1, %": change[0],
        "of changes: component 2, %": change[1],
        "of changes: component 10, %": change[9],
        "of changes: component 30, %": change[29],
        "gaps, %": 100 * (1 - observed.mean()),
        "sensors that never report": int((~observed.any(axis=0)).sum()),
        "changes of the gaps": int((observed[1:] != observed[:-1]).sum()),
    }


def coding_error(X, filled, components, n_nonzero):
    """Of orthogonal atoms, over the readings that there are."""
    return masked_rmse(X, keep_largest(filled @ components.T, n_nonzero) @ components)


def coding_errors(X, n_nonzero):
    """Error of T0 coding by dictionaries over the sensors, in percent."""
    scale = np.nanmax(X)
    X = X / scale
    filled = row_means_in_gaps(X)
    n = X.shape[1]
    ksvd = KSVD(n_nonzero_coefs=n_nonzero, n_components=n, max_iter=30, random_state=0).fit(filled)
    errors = {
        "PCA": coding_error(X, filled, np.linalg.svd(filled, full_matrices=True)[2], n_nonzero),
        "DCT over sensors": coding_error(X, filled, dct(np.eye(n), norm="ortho", axis=0), n_nonzero),
        "paper's scheme": coding_error(
            X, filled, HRP(scheme="paper", random_state=0).fit(filled).components_, n_nonzero
        ),
        "HRP": coding_error(
            X, filled, HRP(n_nonzero_coefs=n_nonzero, random_state=0).fit(filled).components_, n_nonzero
        ),
        "K-SVD": masked_rmse(X, ksvd.transform(filled) @ ksvd.components_),
    }
    return {name: round(100 * error, 2) for name, error in errors.items()}


def sizes(X, target):
    """Bytes of every codec whose package is installed."""
    found = {}
    for name, rival in RIVALS.items():
        if all(installed(package) for part, package in NEEDS.items() if part in name):
            stored = rival(X, **target)
            found |= {} if stored is None else {name: stored.n_bytes}
    found["hrpursuit"] = len(compress(X, **for_compress(target)))
    return found


def rank(title, results, agreement):
    """How well the order of the methods in each simulated month agrees with that in October."""
    real, *others = [list(result.values()) for result in results]
    spearman = [spearmanr(real, other).statistic for other in others]
    kendall = [kendalltau(real, other).statistic for other in others]
    agreement.append((title, len(real), np.mean(spearman), min(spearman), np.mean(kendall), real, others))


def compare(judged, title, measure, months, agreement):
    """One block: a line a method, a column a month; then how well the ranks of each simulated month agree."""
    results = [measure(X) for X in months]
    heads = ["method                   ", "october", *(f"seed {seed}" for seed in SEEDS[: len(months) - 1])]
    judged.figures(title, heads, ([name, *(result[name] for result in results)] for name in results[0]))
    rank(title, results, agreement)
    if "K-SVD" in results[0]:
        apart = [{name: value for name, value in result.items() if name != "K-SVD"} for result in results]
        rank(f"{title}, K-SVD apart", apart, agreement)


def is_asked(title):
    return not title.startswith("relative RMSE") or title.endswith("apart")


def main():
    quick = command_line(__doc__).parse_args().quick
    X = october()
    if X is None:
        return
    partial = quick or not all(installed(package) for package in NEEDS.values())
    with Results(__file__, partial=partial) as judged:
        judge(judged, X, quick)


def judge(judged, X, quick):
    months = [X, *(make_sensor_network(random_state=seed) for seed in (SEEDS[:1] if quick else SEEDS))]
    found = [statistics(month) for month in months]
    heads = ["statistic                   ", "october", *(f"seed {seed}" for seed in SEEDS[: len(months) - 1])]
    rows = ([name, *(one[name] for one in found)] for name in found[0])
    judged.figures("statistics of a month, whole numbers of 56 sensors", heads, rows)

    agreement = []
    for t0 in T0[:1] if quick else T0:
        title = f"relative RMSE of the readings, %, coded with T0 = {t0}"
        compare(judged, title, lambda month, t0=t0: coding_errors(month, t0), months, agreement)
    for name, target in list(TARGETS.items())[: 2 if quick else None]:
        compare(judged, f"bytes, {name}", lambda month, target=target: sizes(month, target), months, agreement)

    # files of all targets, and errors of all T0, in one order each: is what is smaller there smaller here?
    for title, word in (("all errors together, K-SVD apart", "apart"), ("all files together", "bytes")):
        chosen = [one for one in agreement if word in one[0]]
        real = [value for one in chosen for value in one[5]]
        others = [list(chain(*parts)) for parts in zip(*(one[6] for one in chosen), strict=True)]
        spearman = [spearmanr(real, other).statistic for other in others]
        kendall = [kendalltau(real, other).statistic for other in others]
        agreement.append((title, len(real), np.mean(spearman), min(spearman), np.mean(kendall), real, others))

    def cells():
        for title, n, mean, least, kendall, *_ in agreement:
            reached = judged.bar(f"{title}: Spearman", mean, at_least=ASKED) if is_asked(title) else None
            yield title, n, mean, least, kendall, reached

    judged.figures(
        "agreement of the ranks with October, mean over the seeds",  # K-SVD ranks higher on October: not asked for
        [f"{'order':<52}", "methods", "Spearman", "least", "Kendall", "reached"],
        cells(),
    )


if __name__ == "__main__":
    main()
