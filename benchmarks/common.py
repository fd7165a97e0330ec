"""What the benchmarks share: the paper's scheme written plainly, timing, tables, the machine."""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from hrpursuit import HRP, MisspecifiedWarning
from hrpursuit.core.masked import fill_with_row_means
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.experiments.machine import machine, versions
from hrpursuit.experiments.readings import read

threadpool_limits(1)  # one thread each, so that ratios mean something
warnings.simplefilter("ignore", ConvergenceWarning)
warnings.simplefilter("ignore", MisspecifiedWarning)


def describe_machine() -> None:
    """One line on what the figures were measured with."""
    packages = versions("numpy", "scipy", "scikit-learn", "numba")
    print(f"machine: {machine()}, {os.cpu_count()} cores, {packages}; ", end="")
    print(f"threads: {threads()}")


def threads() -> int:
    """Threads of the linear algebra libraries, the most of any."""
    return max(library["num_threads"] for library in threadpool_info())


def installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def for_compress(target: dict[str, float]) -> dict[str, float]:
    """The target of another codec in the words of `compress`."""
    return {"relative_rmse" if name == "rmse" else name: amount for name, amount in target.items()}


def data_folder() -> Path:
    """Where the readings of others are: HRPURSUIT_DATA, or ../shared/data."""
    return Path(os.environ.get("HRPURSUIT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def october() -> np.ndarray | None:
    """Hours x sensors of the October readings, NaN where a sensor did not report; None, and a line, where absent."""
    path = data_folder() / "krakow_pm25_2017_10.csv"
    if not path.exists():
        print(f"readings: {path} is absent (set HRPURSUIT_DATA to its folder); skipped")
        return None
    return read(path).values


def row_means_in_gaps(X: np.ndarray) -> np.ndarray:
    """Each gap the mean of its row; rows without any reading the row before (the first: zero)."""
    filled, empty = fill_with_row_means(X), np.isnan(X).all(axis=1)
    last = np.maximum.accumulate(np.where(empty, 0, np.arange(len(X))))
    filled[empty] = filled[last[empty]].mean(axis=1, keepdims=True)
    return filled


def polar_by_svd(G: np.ndarray) -> np.ndarray:
    U, _, Vt = np.linalg.svd(G)
    return U @ Vt


def plain_paper(X: np.ndarray, seed: int) -> np.ndarray:
    """The paper's Algorithm 1 in plain numpy: unblocked, polar by singular values, nothing else computed."""
    n_samples, n = X.shape
    W = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    for _ in range(50):
        S = X @ W.T
        W_next = polar_by_svd((np.abs(S) * S).T @ X)
        step = np.linalg.norm(W_next - W) / n
        W = W_next
        if step <= 1e-4:
            break
    R, tau = W, 0.1
    for _ in range(49):
        G = np.sign(X @ W.T).T @ X / n_samples
        W = W - tau * 0.5 * (G - R @ G.T @ R)
        tau *= 0.8
    return polar_by_svd(W)


def fast_ica(X: np.ndarray, seed: int, *, whiten: bool = False) -> np.ndarray:
    """Atoms by FastICA of data of unit rms: orthogonal ones, or with whitening any."""
    if whiten:
        return FastICA(whiten="unit-variance", random_state=seed).fit(X).mixing_.T
    return FastICA(whiten=False, random_state=seed).fit(X).components_


def picard(X: np.ndarray, seed: int, *, ortho: bool = True) -> np.ndarray:
    """Atoms of data of unit rms: orthogonal ones by Picard-O without whitening, or any by Picard. Both are told that
    sources may be sub-Gaussian.
    """
    from picard import picard as run  # noqa: PLC0415 - an optional peer

    K, W, _ = run(X.T, ortho=ortho, whiten=not ortho, centering=not ortho, extended=True, random_state=seed)
    return W if ortho else np.linalg.inv(W @ K).T


def command_line(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows the docstring as it is, with --quick."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few trials of small cases; writes no results")
    return parser


def warm_up(**settings: object) -> None:
    """Load or compile the kernels, so that no fit that is timed does."""
    HRP(random_state=0, **settings).fit(make_sparse_coded(200, 5, sparsity=0.2, random_state=0)[0])


def seconds(run: Callable[[], object], repeats: int = 1) -> float:
    """Least wall time of a few runs."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def peak_memory() -> float:
    """MB; the kernel's own figure where it has one, since getrusage reports the parent's peak for a young child."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if "VmHWM" in line)
    import resource  # noqa: PLC0415 - not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print rows as they come, under a header; columns are as wide as their heading, at least 10."""
    header = list(header)
    widths = [max(10, len(name)) for name in header]
    print(" | ".join(f"{name:>{width}}" for name, width in zip(header, widths, strict=True)))
    print("-|-".join("-" * width for width in widths))
    for row in rows:
        print(" | ".join(f"{cell!s:>{width}}" for cell, width in zip(row, widths, strict=True)), flush=True)


def verdict(ok: bool) -> str:
    return "yes" if ok else "NO"
