"""Proposition 1: over the orthogonal group, the polar factor of C has the largest inner product with C."""

import numpy as np
import pandas as pd
from scipy.linalg import expm

from hrpursuit.core.manifolds import polar, random_orthogonal
from hrpursuit.core.protocols import Array
from hrpursuit.experiments.experiment import Config, Findings, Settings, Table, Verdict

KINDS = {"well": "condition 10", "ill": "condition 1e10", "rank": "half the rank"}


def plan(settings: Settings) -> list[Config]:
    sizes = (2, 5, 10, 20) if settings.is_quick else (2, 3, 5, 10, 20, 50, 100)
    n_rivals = 300 if settings.is_quick else 2000
    return [
        {"n_features": n, "kind": kind, "n_rivals": n_rivals, "n_matrices": 4, "seed": settings.seed}
        for n in sizes
        for kind in KINDS
    ]


def run(n_features: int, kind: str, n_rivals: int, n_matrices: int, seed: int) -> list[dict[str, float]]:
    rng = np.random.default_rng([seed, n_features, list(KINDS).index(kind)])
    rows = []
    for _ in range(n_matrices):
        C = random_matrix(n_features, kind, rng)
        rows.append(compare(polar(C), C, n_rivals, rng))
    return rows


def random_matrix(n: int, kind: str, rng: np.random.Generator) -> Array:
    values = np.geomspace(1, 0.1 if kind == "well" else 1e-10, n)
    if kind == "rank":
        values = np.where(np.arange(n) < (n + 1) // 2, rng.uniform(0.1, 1, n), 0)
    return np.asarray(random_orthogonal(n, rng) * values @ random_orthogonal(n, rng))


def compare(P: Array, C: Array, n_rivals: int, rng: np.random.Generator) -> dict[str, float]:
    """How far <P, C> is from the sum of singular values, and by how much the best rival exceeds it, relative to that
    sum. Rivals are random orthogonal matrices, which are far away, and small rotations of P, which are near.
    """
    n = len(C)
    total = float(np.linalg.svd(C, compute_uv=False).sum())
    far = max(float(np.vdot(random_orthogonal(n, rng), C)) for _ in range(n_rivals))
    near = -np.inf
    for size in np.repeat(np.geomspace(1e-6, 1, 13), 8):
        A = rng.standard_normal((n, n))
        near = max(near, float(np.vdot(P @ expm(size * (A - A.T) / np.linalg.norm(A - A.T)), C)))
    reached = float(np.vdot(P, C))
    return {
        "gap": abs(reached - total) / total,
        "excess_far": (far - reached) / total,
        "excess_near": (near - reached) / total,
        "defect": float(np.linalg.norm(P.T @ P - np.eye(n))),
    }


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    rows = []
    for (n, kind), found in records.groupby(["n_features", "kind"], sort=False):
        rows.append([
            f"{n:g}", KINDS[str(kind)], f"{found.gap.max():.1e}", f"{found.excess_far.max():+.0e}",
            f"{found.excess_near.max():+.0e}", f"{found.defect.max():.1e}",
        ])  # fmt: skip
    table = Table(
        "Proposition 1: the polar factor among all orthogonal matrices",
        ["N", "C", "relative gap", "best far rival", "best near rival", "orthogonality"],
        rows,
        "Gap between <Polar(C), C> and the sum of singular values; by how much the best of the rivals exceeds it "
        "(random orthogonal matrices, small rotations of the polar factor); all relative to that sum.",
    )
    gap, excess = records.gap.max(), records[["excess_far", "excess_near"]].max(axis=None)
    agrees = bool(gap < 1e-12 and excess < 1e-12 and records.defect.max() < 1e-10)
    text = (
        f"Proposition 1: <Polar(C), C> is the sum of the singular values of C to {gap:.0e} (relative), and none of "
        f"{records.n_rivals.sum() + 104 * len(records):,.0f} other orthogonal matrices exceeds it"
        f"{f' by more than {excess:.0e}' if excess > 0 else ''}."
    )
    return Findings(tables=[table], verdicts=[Verdict(agrees, text)])
