"""Real data, ours against the paper's scheme: readings of a sensor network, 8 x 8 patches of scikit-image's camera.

python benchmarks/real_data.py     (readings: ../shared/data or HRPURSUIT_DATA)
"""

import numpy as np
from common import describe_machine, october, row_means_in_gaps, seconds, table, verdict

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded

SEEDS = range(84_000, 84_005)
T0 = (5, 7, 11, 18, 28)


def readings():
    """Hours x sensors, each gap filled with the mean of its hour, scaled by the largest reading as the paper does."""
    X = october()
    return None if X is None else row_means_in_gaps(X) / np.nanmax(X)


def patches():
    try:
        from skimage.data import camera  # noqa: PLC0415 - an optional data set
    except ImportError:
        print("patches: scikit-image is not installed; skipped")
        return None
    image = camera()[::2, ::2] / 255.0
    X = np.lib.stride_tricks.sliding_window_view(image, (8, 8))[::2, ::2].reshape(-1, 64)
    return X - X.mean(axis=1, keepdims=True)


def fits(X, scheme, t0):
    """Mean over the seeds of l1 norm, relative error at T0 and seconds."""
    found = []
    for seed in SEEDS:
        model = HRP(t0, scheme=scheme, random_state=seed)
        spent = seconds(lambda model=model: model.fit(X))
        l1 = np.abs(X @ model.components_.T).sum() / len(X)
        found.append((l1, -model.score(X), spent))
    return np.mean(found, axis=0)


def rows(name, X):
    for t0 in (None, *T0):
        l1, error, spent = fits(X, "exact", t0)
        l1_paper, error_paper, spent_paper = fits(X, "paper", t0)
        ratio = spent / spent_paper
        if t0 is None:
            ok = l1 <= l1_paper and ratio <= 3
            yield name, "-", f"{l1:.4f}", f"{l1_paper:.4f}", "-", "-", f"{ratio:.2f}", verdict(ok)
        else:
            ok = error < error_paper and ratio <= 3
            yield name, t0, "-", "-", f"{100 * error:.2f}%", f"{100 * error_paper:.2f}%", f"{ratio:.2f}", verdict(ok)


def main():
    describe_machine()
    HRP(random_state=0).fit(make_sparse_coded(200, 5, sparsity=0.2, random_state=0)[0])
    print(f"\nmeans over {len(SEEDS)} starts. Asked: l1 norm no higher, error lower, at most 3 times the paper's time")
    heads = ["data", "T0", "l1", "paper's l1", "error", "paper's error", "time ratio", "reached"]
    sources = [(name, X) for name, X in (("readings", readings()), ("patches", patches())) if X is not None]
    table(heads, (row for name, X in sources for row in rows(name, X)))


if __name__ == "__main__":
    main()
