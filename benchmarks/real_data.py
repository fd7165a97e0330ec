"""Real data, ours against the paper's scheme: readings of a sensor network, 8 x 8 patches of scikit-image's camera.

python benchmarks/real_data.py            # or --quick: 1 start; readings: ../shared/data or HRPURSUIT_DATA
"""

import numpy as np
from common import command_line, october, row_means_in_gaps, seconds, warm_up
from results import Results

from hrpursuit import HRP

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


def fits(X, scheme, t0, seeds):
    """Mean over the seeds of l1 norm, relative error at T0 and seconds."""
    found = []
    for seed in seeds:
        model = HRP(n_nonzero_coefs=t0, scheme=scheme, random_state=seed)
        spent = seconds(lambda model=model: model.fit(X))
        l1 = np.abs(X @ model.components_.T).sum() / len(X)
        found.append((l1, model.reconstruction_error(X), spent))
    return np.mean(found, axis=0)


def rows(results, name, X, seeds):
    for t0 in (None, *T0):
        l1, error, spent = fits(X, "exact", t0, seeds)
        l1_paper, error_paper, spent_paper = fits(X, "paper", t0, seeds)
        if t0 is None:
            cell, errors = name, (None, None)
            reached = results.bar(f"{cell}: l1 norm over the paper's", l1 / l1_paper, at_most=1)
        else:
            cell, errors = f"{name} at T0 = {t0}", (100 * error, 100 * error_paper)
            l1 = l1_paper = None
            reached = results.bar(f"{cell}: error over the paper's", error / error_paper, at_most=1)
        reached &= results.bar(f"{cell}: time over the paper's", spent / spent_paper, at_most=3)
        yield name, t0, l1, l1_paper, *errors, spent / spent_paper, reached


def main():
    quick = command_line(__doc__).parse_args().quick
    seeds = SEEDS[:1] if quick else SEEDS
    sources = [(name, X) for name, X in (("readings", readings()), ("patches", patches())) if X is not None]
    with Results(__file__, partial=quick or len(sources) < 2) as results:
        warm_up()
        results.figures(
            "means over the starts; asked: l1 norm and error no higher, at most 3 times the paper's time",
            ["data", "T0", "l1", "paper's l1", "error, %", "paper's error, %", "time ratio", "reached"],
            (row for name, X in sources for row in rows(results, name, X, seeds)),
        )


if __name__ == "__main__":
    main()
