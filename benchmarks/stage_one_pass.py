"""One Stage One pass against its own two matrix products done plainly, one BLAS thread.

python benchmarks/stage_one_pass.py            # or --quick: a tenth of the rows
"""

import numpy as np
from common import command_line, seconds
from results import Results

from hrpursuit.core.evaluate import value_and_grad
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import LpNorm
from hrpursuit.rows import ArrayRows

RATIO = 1.1  # the most that a pass may take, in times of its products


def rows(results, n_rows):
    rng = np.random.default_rng(81_000)
    for n_features in (50, 100):
        for dtype in (np.float64, np.float32):
            X = rng.standard_normal((n_rows, n_features)).astype(dtype)
            W = random_orthogonal(n_features, rng).astype(dtype)
            source = ArrayRows(X)

            def products(X=X, W=W):
                return (X @ W.T).T @ X

            def stage_one(source=source, W=W):
                return value_and_grad(source, W, LpNorm(3))

            plain = ours = np.inf
            for _ in range(15):  # in turn, so that both see the same machine
                plain, ours = min(plain, seconds(products)), min(ours, seconds(stage_one))
            cell, name = f"{n_rows} x {n_features}", np.dtype(dtype).name
            reached = results.bar(f"{cell}, {name}: pass over its products", ours / plain, at_most=RATIO)
            yield cell, name, 1e3 * plain, 1e3 * ours, ours / plain, reached


def main():
    quick = command_line(__doc__).parse_args().quick
    with Results(__file__, partial=quick) as results:
        results.figures(
            "a Stage One pass against its two matrix products",
            ["rows", "dtype", "products, ms", "pass, ms", "ratio", "reached"],
            rows(results, 10_000 if quick else 100_000),
        )


if __name__ == "__main__":
    main()
