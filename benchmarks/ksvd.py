"""Time and error of K-SVD against the approximate K-SVD of the package dictlearn: same start, samples and iterations.

python benchmarks/ksvd.py            (peer: pip install ".[peers]")
python benchmarks/ksvd.py --quick    # the small cells, one seed
"""

import time

import numpy as np
from common import command_line, installed
from results import Results

from hrpursuit.baselines import KSVD
from hrpursuit.datasets import make_sparse_coded

#: features, atoms, samples, nonzeros, iterations
CELLS = [
    (20, 20, 1000, 4, 50),
    (20, 40, 2000, 3, 50),
    (64, 64, 2000, 6, 30),
    (64, 128, 10_000, 6, 10),
    (64, 256, 20_000, 8, 5),
    (256, 256, 5000, 10, 5),
]
ASKED = 5  # times as fast
CLOSE = 1.05  # our error may be at most this many times the other
N_SEEDS = 3
FIRST_SEED = 90_000


def samples_and_start(n_features, n_atoms, n_samples, n_nonzero, seed):
    """Noisy sparse samples of a random dictionary, and samples of unit norm to start from."""
    rng = np.random.default_rng(seed)
    if n_atoms == n_features:
        sparsity = n_nonzero / n_features
        X = make_sparse_coded(n_samples, n_features, sparsity=sparsity, snr_db=30, random_state=seed)[0]
    else:
        W = rng.standard_normal((n_atoms, n_features))
        chosen = np.argsort(rng.random((n_samples, n_atoms)), axis=1)[:, :n_nonzero]
        codes = np.zeros((n_samples, n_atoms))
        np.put_along_axis(codes, chosen, rng.standard_normal(chosen.shape), axis=1)
        X = codes @ W
        X += 10**-1.5 * np.std(X) * rng.standard_normal(X.shape)
    start = X[rng.choice(n_samples, n_atoms, replace=False)]
    return X, start / np.linalg.norm(start, axis=1, keepdims=True)


def ours(X, start, n_nonzero, n_iter):
    return KSVD(
        n_nonzero_coefs=n_nonzero, n_components=len(start), max_iter=n_iter, tol=0, dict_init=start, random_state=0
    ).fit(X)


def theirs(X, start, n_nonzero, n_iter):
    from dictlearn import DictionaryLearning  # noqa: PLC0415 - an optional peer

    model = DictionaryLearning(
        len(start),
        fit_algorithm="aksvd",
        n_nonzero_coefs=n_nonzero,
        max_iter=n_iter,
        replace_unused_atoms="worst",
        dict_init=start,
        random_state=0,
    )
    return model.fit(X)


def error_of(components, X, n_nonzero):
    """Of both by the same coder, so that only the dictionaries differ."""
    coder = KSVD(n_nonzero_coefs=n_nonzero, n_components=len(components), max_iter=1)
    coder.components_, coder.n_features_in_ = components, X.shape[1]
    return coder.reconstruction_error(X)


def rows(results, cells, n_seeds, peer):
    for n_features, n_atoms, n_samples, n_nonzero, n_iter in cells:
        times, errors = {"ours": [], "peer": []}, {"ours": [], "peer": []}
        for seed in range(FIRST_SEED, FIRST_SEED + n_seeds):
            X, start = samples_and_start(n_features, n_atoms, n_samples, n_nonzero, seed)
            for name, fit in (("ours", ours), ("peer", theirs)) if peer else (("ours", ours),):
                began = time.perf_counter()
                model = fit(X, start, n_nonzero, n_iter)
                times[name].append(time.perf_counter() - began)
                errors[name].append(error_of(model.components_, X, n_nonzero))
        mean = {name: float(np.mean(spent)) for name, spent in times.items() if spent}
        cell = f"{n_features}, {n_atoms}, {n_samples}, {n_nonzero}, {n_iter}"
        ours_error = np.mean(errors["ours"])
        if not peer:
            yield cell, 1e3 * mean["ours"], ours_error, None, None, None, None, None
            continue
        ratios = np.array(times["peer"]) / np.array(times["ours"])
        peer_error, ratio = np.mean(errors["peer"]), mean["peer"] / mean["ours"]
        reached = results.bar(f"{cell}: times as fast", ratio, at_least=ASKED)
        reached &= results.bar(f"{cell}: error over the other's", ours_error / peer_error, at_most=CLOSE)
        yield cell, 1e3 * mean["ours"], ours_error, 1e3 * mean["peer"], peer_error, ratio, ratios.min(), reached


def main():
    quick = command_line(__doc__).parse_args().quick
    peer = installed("dictlearn")
    if not peer:
        print('dictlearn is not installed; to compare with it: pip install ".[peers]"')
    X, start = samples_and_start(5, 5, 200, 2, 0)
    ours(X, start, 2, 2)  # compiles the kernels, or reads them from their cache
    if peer:
        theirs(X, start, 2, 2)
    heads = ["features, atoms, samples, nonzeros, iterations", "ours, ms", "error", "dictlearn, ms", "its error"]
    with Results(__file__, partial=quick or not peer) as results:
        results.figures(
            f"K-SVD; asked: {ASKED} times as fast over all seeds, at an error at most {CLOSE} times the other's",
            [*heads, "times as fast", "at least, of a seed", "reached"],
            rows(results, CELLS[:3] if quick else CELLS, 1 if quick else N_SEEDS, peer),
        )


if __name__ == "__main__":
    main()
