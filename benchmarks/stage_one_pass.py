"""One Stage One pass against its own two matrix products done plainly, one BLAS thread.

python benchmarks/stage_one_pass.py
"""

import numpy as np
from common import describe_machine, seconds, table, verdict

from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import LpNorm
from hrpursuit.rows import ArrayRows


def rows():
    rng = np.random.default_rng(81_000)
    for n_features in (50, 100):
        for dtype in (np.float64, np.float32):
            X = rng.standard_normal((100_000, n_features)).astype(dtype)
            W = random_orthogonal(n_features, rng).astype(dtype)
            source = ArrayRows(X)

            def products(X=X, W=W):
                return (X @ W.T).T @ X

            def stage_one(source=source, W=W):
                return value_and_grad(source, W, LpNorm(3))

            plain = ours = np.inf
            for _ in range(15):  # in turn, so that both see the same machine
                plain, ours = min(plain, seconds(products)), min(ours, seconds(stage_one))
            figures = (f"{1e3 * plain:.1f}", f"{1e3 * ours:.1f}", f"{ours / plain:.2f}")
            yield f"100000 x {n_features}", np.dtype(dtype).name, *figures, verdict(ours <= 1.1 * plain)


def main():
    describe_machine()
    print("\nAsked: a ratio of at most 1.10")
    table(["rows", "dtype", "products, ms", "pass, ms", "ratio", "reached"], rows())


if __name__ == "__main__":
    main()
