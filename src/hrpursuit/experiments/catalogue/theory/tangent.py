"""The tangent-space lemma: X'Z + Z'X = 2I if and only if Z - X is X times a skew matrix."""

import numpy as np
import pandas as pd

from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.protocols import Array
from hrpursuit.experiments.experiment import Config, Findings, Settings, Table, Verdict


def plan(settings: Settings) -> list[Config]:
    sizes = (2, 5, 10, 16) if settings.is_quick else (2, 3, 5, 10, 16, 24)
    return [{"n_features": n, "n_repeats": 4 if n > 10 else 20, "seed": settings.seed} for n in sizes]


def run(n_features: int, n_repeats: int, seed: int) -> list[dict[str, float]]:
    rng = np.random.default_rng([seed, n_features])
    rows = []
    for _ in range(n_repeats):
        X = random_orthogonal(n_features, rng)
        A, S, start = rng.standard_normal((3, n_features, n_features))
        symmetric = (S + S.T) / 2
        size = 10 ** rng.uniform(-6, 0)
        Z, rank = nearest_solution(X, start)
        # any Z that is off the set by a symmetric part must show it, or the check would pass everything
        off = X + X @ (A - A.T + size * symmetric)
        rows.append({
            "forward": defect(X, X + X @ (A - A.T)),
            "backward": float(np.linalg.norm(symmetric_part(X, Z))),
            "rank": rank,
            "ratio": defect(X, off) / (2 * size * float(np.linalg.norm(symmetric))),
        })  # fmt: skip
    return rows


def defect(X: Array, Z: Array) -> float:
    """Norm of X'Z + Z'X - 2I."""
    return float(np.linalg.norm(X.T @ Z + Z.T @ X - 2 * np.eye(len(X))))


def symmetric_part(X: Array, Z: Array) -> Array:
    """Of X'(Z - X), which is zero if that is skew."""
    Omega = X.T @ (Z - X)
    return (Omega + Omega.T) / 2


def nearest_solution(X: Array, start: Array) -> tuple[Array, int]:
    """The Z nearest to `start` that satisfies the constraint, and the number of independent equations.

    The constraint is solved as linear equations in the entries of Z, with no use of the lemma.
    """
    n = len(X)
    basis = np.eye(n * n).reshape(n * n, n, n)  # Z is a sum of these
    products = X.T @ basis
    equations = (products + products.transpose(0, 2, 1)).reshape(n * n, n * n).T
    missing = 2 * np.eye(n).ravel() - equations @ start.ravel()
    move, _, rank, _ = np.linalg.lstsq(equations, missing, rcond=1e-10)
    return start + move.reshape(n, n), int(rank)


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    rows = [
        [f"{n:g}", f"{some.forward.max():.1e}", f"{some.backward.max():.1e}", f"{some.ratio.min():.9f}",
         f"{some.ratio.max():.9f}", f"{n * n - some['rank'].iloc[0]:g}"]
        for n, some in records.groupby("n_features")
    ]  # fmt: skip
    table = Table(
        "Tangent-space lemma, both directions",
        ["N", "skew: defect", "solved: symmetric part", "others: least", "others: largest", "dimension"],
        rows,
        "Norm of X'Z + Z'X - 2I for Z = X + X Omega, Omega skew; symmetric part of X'(Z - X) for Z solved from the "
        "constraint; the defect over twice the symmetric part where there is one; dimension of the set of solutions.",
    )
    n = records.n_features
    agrees = bool(
        records.forward.max() < 1e-11
        and records.backward.max() < 1e-11
        and abs(records.ratio - 1).max() < 1e-6
        and (records["rank"] == n * (n + 1) / 2).all()
    )
    text = (
        f"Tangent-space lemma: the constraint holds to {records.forward.max():.0e} for every skew Omega, every "
        f"solution is of that form to {records.backward.max():.0e}, the solutions have N(N-1)/2 dimensions, and a "
        f"symmetric part shows as a defect twice its size (to {abs(records.ratio - 1).max():.0e})."
    )
    return Findings(tables=[table], verdicts=[Verdict(agrees, text)])
