"""Compile the kernels once, ahead of the first fit."""

from functools import lru_cache

import numpy as np

from hrpursuit.compiled import announced
from hrpursuit.core.certificate import certify_codes
from hrpursuit.core.coding import keep_largest
from hrpursuit.core.free_atoms import update_atoms
from hrpursuit.core.masked import GapTable, masked_codes
from hrpursuit.core.plane_kernels import unmix_pairs
from hrpursuit.core.polish import polish_orthogonal
from hrpursuit.core.search import Descent


def _run_all_kernels() -> None:
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((12, 3)), np.eye(3)
    Descent(X, W, rng).quench()
    unmix_pairs(X.copy(), W.copy(), np.array([[0, 1]]))
    polish_orthogonal(X, W, 0.0)
    zeros = X * (rng.random(X.shape) < 0.5)
    certify_codes(zeros, np.full(12, 1e-9), np.ones(3), orthogonal=True)
    for dtype in (np.float64, np.float32):
        keep_largest(X.astype(dtype), 1)


@lru_cache(maxsize=1)
def compile_kernels() -> None:
    """Run the kernels that every fit needs once on a tiny problem; later processes read the cache on disk."""
    with announced("kernels", "some ten seconds"):
        _run_all_kernels()


@lru_cache(maxsize=1)
def compile_gap_kernels() -> None:
    """The same for rows with gaps and for free atoms, which most fits do without."""
    with announced("the kernels for codes by exchange", "some ten seconds"):
        masked_codes(np.array([[1.0, np.nan]]), np.eye(2), 1)
        update_atoms(GapTable(np.ones((1, 2))), np.ones((1, 2)), np.eye(2))
