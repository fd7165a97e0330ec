"""How many passes over a file a fit makes, for each kind of data.

Run `python benchmarks/passes.py`: two minutes. Only counts are reported, so other load on the machine does not matter.
docs/explanation/scale.md says what the passes are for.
"""

import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import command_line
from results import Results
from sklearn.exceptions import ConvergenceWarning

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.rows import open_rows

N_FEATURES, N_SAMPLES, SEED = 64, 100_000, 4711
KINDS = {"survey": "survey", "histogram": "histograms", "newton": "Newton steps", "em": "EM steps"}
KINDS |= {"gram": "second moments", "value": "l1 norm", "tangent": "Stage Two"}


class PassNames(list):
    """Notes the name of each pass over the whole file."""

    def begin(self, name: str, n_rows: int | None) -> None:
        self.append(name)

    def advance(self, n_rows: int) -> None:
        pass

    def end(self) -> None:
        pass


def cases(n_samples: int) -> Iterator[tuple[str, dict[str, Any], np.ndarray]]:
    """Kind of data, settings of the fit, samples."""
    sparse = {"sparsity": 0.2, "random_state": SEED}
    complete = {"dictionary": "complete"}
    shape = n_samples, N_FEATURES
    rng = np.random.default_rng(SEED)
    components = make_sparse_coded(1, N_FEATURES, sparsity=1, random_state=SEED)[2]
    laplace = rng.laplace(size=shape)
    yield "exactly sparse", {}, make_sparse_coded(*shape, **sparse)[0]
    yield "exactly sparse, complete dictionary", complete, make_sparse_coded(*shape, **complete, **sparse)[0]
    yield "exactly sparse with an offset", {"fit_intercept": True}, make_sparse_coded(*shape, **sparse)[0] + 3
    yield "sparse plus noise", {}, make_sparse_coded(*shape, snr_db=27, **sparse)[0]
    yield "dense", {}, laplace @ components
    yield "noise, complete dictionary", complete, make_sparse_coded(*shape, **complete, snr_db=27, **sparse)[0]
    yield "dependent codes", {}, laplace * np.exp(rng.standard_normal((n_samples, 1))) @ components


def passes(path: Path, settings: dict[str, Any]) -> tuple[int, int, int, str]:
    """Of a fit: all passes, samples of up to 30 and of more rows per feature, and the passes over all rows by kind."""
    rows = open_rows(path)
    rows.watcher, sizes, draw = PassNames(), [], rows.sample

    def sample(n: int, *args: Any, **options: Any) -> np.ndarray:
        sizes.append(n)
        return draw(n, *args, **options)

    rows.sample = sample
    HRP(random_state=0, **settings).fit(rows)
    n_large = sum(n > 30 * N_FEATURES for n in sizes)
    kinds = Counter(KINDS.get(name, name) for name in rows.watcher if name != "sample")
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return rows.n_passes, len(sizes) - n_large, n_large, named


def main() -> None:
    quick = command_line(__doc__).parse_args().quick
    with Results(__file__, partial=quick) as results, tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", ConvergenceWarning)

        def cells():
            path = Path(folder) / "samples.npy"
            for name, settings, X in cases(N_SAMPLES // 10 if quick else N_SAMPLES):
                np.save(path, X.astype(np.float32))
                yield name, *passes(path, settings)

        header = ["data".ljust(36), "passes", "small samples", "large samples", "passes over all rows, by kind"]
        results.figures(f"fits of {N_FEATURES} features in float32 from a .npy file", header, cells())


if __name__ == "__main__":
    main()
