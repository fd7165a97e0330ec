"""How many samples does exact recovery take? Prints a table and draws the picture of the README.

python benchmarks/samples_needed.py [-o docs/pictures/samples_needed.png]    # with --quick 1 trial and no picture
"""

import numpy as np
from common import command_line
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.plots import SCHEME_COLOURS, new_figure, save_figure

N_FEATURES, N_TRIALS, FIRST_SEED = 50, 5, 85_000
SAMPLES = (150, 200, 250, 350, 500, 1000, 2000, 5000, 10_000, 30_000)
SPARSITIES = (0.2, 0.5)


def errors(scheme, n_samples, sparsity, n_trials):
    found = []
    for seed in range(FIRST_SEED, FIRST_SEED + n_trials):
        X, _, W = make_sparse_coded(n_samples, N_FEATURES, sparsity=sparsity, random_state=seed)
        found.append(dictionary_error(HRP(scheme=scheme, random_state=seed).fit(X).components_, W))
    return found


def rows(measured, n_trials):
    for sparsity in SPARSITIES:
        for n_samples in SAMPLES:
            cells = {scheme: errors(scheme, n_samples, sparsity, n_trials) for scheme in SCHEME_COLOURS}
            for scheme, found in cells.items():
                measured[scheme, sparsity, n_samples] = found
            yield sparsity, n_samples, *[np.median(found) for found in cells.values()]


def draw(measured, path):
    figure = new_figure(9.5, 4.2)
    axes = figure.subplots(1, len(SPARSITIES), sharey=True)
    labels = {"paper": "the paper's scheme", "exact": "hrpursuit (default)"}
    for axis, sparsity in zip(axes, SPARSITIES, strict=True):
        for scheme, colour in SCHEME_COLOURS.items():
            found = np.array([measured[scheme, sparsity, n] for n in SAMPLES])
            marker = "o" if scheme == "exact" else "s"
            axis.plot(SAMPLES, np.median(found, axis=1), marker + "-", color=colour, label=labels[scheme], lw=2)
            axis.plot(SAMPLES, found, marker, color=colour, alpha=0.25, ms=4)
        axis.axhline(1e-3, color="0.5", lw=1, ls=":")
        axis.set(xscale="log", yscale="log", ylim=(3e-17, 5), xlabel=f"samples of {N_FEATURES} features")
        axis.set_title(f"{sparsity:.0%} of the codes not zero")
        axis.grid(alpha=0.25)
    axes[0].text(SAMPLES[0], 2.2e-4, "recovered below", fontsize=9, color="0.35")
    axes[0].set_ylabel("relative error of the dictionary")
    axes[1].legend(loc="center right")
    save_figure(figure, path)
    print(f"picture: {path}")


def main():
    parser = command_line(__doc__)
    parser.add_argument("-o", "--out", default="docs/pictures/samples_needed.png")
    options = parser.parse_args()
    n_trials, measured = 1 if options.quick else N_TRIALS, {}
    with Results(__file__, partial=options.quick) as results:
        results.figures(
            f"median relative error, trials: {n_trials}, features: {N_FEATURES}",
            ["sparsity", "samples", "paper", "exact"],
            rows(measured, n_trials),
        )
    if not options.quick:
        draw(measured, options.out)


if __name__ == "__main__":
    main()
