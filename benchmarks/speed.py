"""Time of a whole fit against the paper's scheme in plain numpy, Picard-O and FastICA, one thread each.

python benchmarks/speed.py            (peers: pip install ".[peers]")
python benchmarks/speed.py --large    # 500 and 1000 features on two threads, for results/speed_large.json
python benchmarks/speed.py --quick
"""

import warnings

import numpy as np
from common import command_line, fast_ica, installed, picard, plain_paper, seconds, warm_up
from results import Results

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

#: features, samples, sparsity, trials, and the largest ratio to the plain paper scheme
CELLS = [
    (20, 1000, 0.3, 20, 0.27),
    (50, 1000, 0.2, 10, 0.25),
    (50, 10_000, 0.2, 5, 0.03),
    (100, 100_000, 0.2, 1, 0.02),
    (100, 1000, 0.5, 5, 0.95),
]
FLOAT32_CELLS = [(20, 1000, 0.3), (50, 1000, 0.2), (100, 1000, 0.2), (50, 100_000, 0.2)]
#: features, samples, sparsity, seconds
LARGE_CELLS = [(500, 5000, 0.1, 8), (1000, 10_000, 0.05, 60)]
FIRST_SEED = 80_000
EXACT = 1e-11


def in_turns(methods, repeats=3):
    """Results of some methods, and the least time of each: in turns, so that all see the same machine."""
    found, times = {}, dict.fromkeys(methods, np.inf)
    for _ in range(repeats):
        for name, run in methods.items():

            def keep(name=name, run=run):
                found[name] = run()

            times[name] = min(times[name], seconds(keep))
    return found, times


def ratios(times, name, other):
    """Of the times of two methods in several trials: the median of their ratios, and the ratio of their sums."""
    ours, theirs = (np.array([trial[method] for trial in times]) for method in (name, other))
    return float(np.median(ours / theirs)), float(ours.sum() / theirs.sum())


def rows(results, cells, peers):
    for *cell, n_trials, asked in cells:
        n_features, n_samples, sparsity = cell
        name, times, errors = ", ".join(map(str, cell)), [], []
        for seed in range(FIRST_SEED, FIRST_SEED + n_trials):
            X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
            unit = X / np.sqrt(np.mean(X**2))  # without it the peers are slower or wrong
            methods = {
                "ours": lambda X=X, seed=seed: HRP(random_state=seed).fit(X).components_,
                "plain paper": lambda X=X, seed=seed: plain_paper(X, seed),
                **{peer: lambda X=unit, seed=seed, run=run: run(X, seed) for peer, run in peers.items()},
            }
            found, spent = in_turns(methods)
            times.append(spent)
            errors.append({method: dictionary_error(components, W) for method, components in found.items()})
        median, total = ratios(times, "ours", "plain paper")
        largest = max(error["ours"] for error in errors)
        to_peers = [ratios(times, "ours", peer)[1] for peer in peers]
        reached = results.bar(f"{name}: median ratio to the plain paper scheme", median, at_most=asked)
        reached &= results.bar(f"{name}: ratio of total times to the plain paper scheme", total, at_most=asked)
        reached &= results.bar(f"{name}: largest error", largest, at_most=EXACT)
        for peer, ratio in zip(peers, to_peers, strict=True):
            reached &= results.bar(f"{name}: ratio of total times to {peer}", ratio, at_most=1)
        ms = 1e3 * np.median([spent["ours"] for spent in times])
        medians = [np.median([error[peer] for error in errors]) for peer in peers]
        yield name, ms, largest, median, total, asked, *to_peers, *medians, reached


def float32_rows(results, cells, n_trials):
    for cell in cells:
        n_features, n_samples, sparsity = cell
        name, times, errors, certified = ", ".join(map(str, cell)), [], [], 0
        for seed in range(FIRST_SEED, FIRST_SEED + n_trials):
            X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
            data = {"float32": X.astype(np.float32), "float64": X}
            methods = {kind: lambda X=X, seed=seed: HRP(random_state=seed).fit(X) for kind, X in data.items()}
            found, spent = in_turns(methods)
            times.append(spent)
            errors.append(dictionary_error(found["float32"].components_, W))
            certified += bool(found["float32"].certificate_)
        ratio = ratios(times, "float32", "float64")[1]
        reached = results.bar(f"float32, {name}: certified", certified, at_least=n_trials)
        reached &= results.bar(f"float32, {name}: largest error", max(errors), at_most=1e-6)
        reached &= results.bar(f"float32, {name}: time over that of float64", ratio, at_most=2)
        yield name, n_trials, certified, max(errors), ratio, reached


def large_rows(results):
    for *cell, asked in LARGE_CELLS:
        n_features, n_samples, sparsity = cell
        name = ", ".join(map(str, cell))
        X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=FIRST_SEED)
        model = HRP(n_jobs=2, random_state=FIRST_SEED)
        spent = seconds(lambda model=model, X=X: model.fit(X))
        error = dictionary_error(model.components_, W)
        reached = results.bar(f"{name}: seconds", spent, at_most=asked)
        reached &= results.bar(f"{name}: error", error, at_most=EXACT)
        yield name, spent, asked, error, bool(model.certificate_), reached


def main():
    parser = command_line(__doc__)
    parser.add_argument("--large", action="store_true", help="500 and 1000 features instead")
    options = parser.parse_args()
    heads = ["features, samples, sparsity"]
    if options.large:
        with Results(__file__, suffix="_large") as results:
            warm_up()
            columns = [*heads, "seconds", "asked", "error", "certified", "reached"]
            results.figures("HRP(n_jobs=2).fit", columns, large_rows(results))
        return
    quick, has_picard = options.quick, installed("python-picard")
    cells = [(*cell, min(trials, 2), asked) for *cell, trials, asked in CELLS[:2]] if quick else CELLS
    peers = {"FastICA": fast_ica} | ({"Picard-O": picard} if has_picard else {})
    warnings.simplefilter("ignore")
    with Results(__file__, partial=quick or not has_picard) as results:
        if not has_picard:
            print('Picard-O is not installed; to compare with it: pip install ".[peers]"')
        warm_up()
        to_peers = [*(f"to {name}" for name in peers), *(f"{name}'s error" for name in peers)]
        results.figures(
            "time of HRP().fit over that of other methods: median of the ratios, and ratio of the totals",
            [*heads, "ours, ms", "largest error", "to plain paper", "totals", "asked", *to_peers, "reached"],
            rows(results, cells, peers),
        )
        results.figures(
            "noiseless float32 data; asked: certified, within 1e-6, at most twice the time of float64",
            [*heads, "fits", "certified", "largest error", "time ratio", "reached"],
            float32_rows(results, FLOAT32_CELLS[:2] if quick else FLOAT32_CELLS, 2 if quick else 10),
        )


if __name__ == "__main__":
    main()
