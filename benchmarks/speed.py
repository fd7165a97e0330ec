"""Time of a whole fit against the paper's scheme in plain numpy, Picard-O and FastICA, one thread each.

python benchmarks/speed.py        (peers: pip install ".[peers]")
"""

import warnings

import numpy as np
from common import describe_machine, installed, plain_paper, seconds, table, verdict
from sklearn.decomposition import FastICA

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

CELLS = [
    (20, 1000, 0.3, 0.4, 20),
    (50, 1000, 0.2, 0.35, 10),
    (50, 10_000, 0.2, 0.05, 5),
    (100, 100_000, 0.2, 0.02, 1),
    (100, 1000, 0.5, 3.5, 5),
]
FIRST_SEED = 80_000


def unit_variance(X):
    """What both peers expect of data that they are not to whiten; without it they are slower or wrong."""
    return X / np.sqrt(np.mean(X**2))


def picard_o(X, seed):
    from picard import picard  # noqa: PLC0415 - an optional peer

    _, W, _ = picard(unit_variance(X).T, ortho=True, whiten=False, centering=False, random_state=seed)
    return W


def fast_ica(X, seed):
    return FastICA(whiten=False, fun="logcosh", random_state=seed).fit(unit_variance(X)).components_


def rows(peers):
    for n_features, n_samples, sparsity, asked, n_trials in CELLS:
        times = {name: [] for name in ("ours", "plain paper", *peers)}
        errors = {name: [] for name in times}
        for seed in range(FIRST_SEED, FIRST_SEED + n_trials):
            X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
            methods = {
                "ours": lambda X=X, seed=seed: HRP(random_state=seed).fit(X).components_,
                "plain paper": lambda X=X, seed=seed: plain_paper(X, seed),
                **{name: lambda X=X, seed=seed, run=run: run(X, seed) for name, run in peers.items()},
            }
            for name, run in methods.items():
                found = []
                times[name].append(seconds(lambda run=run, found=found: found.append(run())))
                errors[name].append(dictionary_error(found[-1], W))
        mean = {name: np.mean(spent) for name, spent in times.items()}
        ratio = mean["ours"] / mean["plain paper"]
        faster = all(mean["ours"] < mean[name] for name in peers)
        yield (
            f"{n_features}, {n_samples}, {sparsity}",
            f"{1e3 * mean['ours']:.2f}",
            f"{max(errors['ours']):.0e}",
            f"{ratio:.3f}",
            asked,
            *[f"{mean['ours'] / mean[name]:.3f} ({np.median(errors[name]):.0e})" for name in peers],
            verdict(ratio <= asked and faster and max(errors["ours"]) < 1e-11),
        )


def float32_rows():
    for n_features, n_samples, sparsity in [(20, 1000, 0.3), (50, 1000, 0.2), (100, 1000, 0.2), (50, 100_000, 0.2)]:
        times, errors, certified = {"f8": [], "f4": []}, [], 0
        for seed in range(FIRST_SEED, FIRST_SEED + 10):
            X, _, W = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)
            for kind, spent in times.items():
                model, data = HRP(random_state=seed), X.astype(kind)
                spent.append(seconds(lambda model=model, data=data: model.fit(data)))
            errors.append(dictionary_error(model.components_, W))
            certified += bool(model.certified_)
        ratio = np.mean(times["f4"]) / np.mean(times["f8"])
        ok = ratio <= 2 and max(errors) <= 1e-6 and certified == 10
        cell = f"{n_features}, {n_samples}, {sparsity}"
        yield cell, f"{certified} of 10", f"{max(errors):.0e}", f"{ratio:.2f}", verdict(ok)


def main():
    describe_machine()
    warnings.simplefilter("ignore")
    peers = {"FastICA": fast_ica}
    if installed("python-picard"):
        peers["Picard-O"] = picard_o
    else:
        print('Picard-O is not installed; to compare with it: pip install ".[peers]"')
    HRP(random_state=0).fit(make_sparse_coded(200, 5, sparsity=0.2, random_state=0)[0])  # kernels from the cache
    print("\nratio: time of HRP().fit over that of the other method; in brackets the other method's median error")
    heads = ["features, samples, sparsity", "ours, ms", "ours, largest error", "to plain paper", "asked"]
    table([*heads, *[f"to {name} (error)" for name in peers], "reached"], rows(peers))
    print("\nnoiseless float32 data. Asked: certified, within 1e-6, at most twice the time of float64")
    table(["features, samples, sparsity", "certified", "largest error", "time ratio", "reached"], float32_rows())


if __name__ == "__main__":
    main()
