"""Block kernels, written once for memory, disk and cluster, and the passes that use them."""

import threading
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array, Objective, Rows

_scratch = threading.local()


def _buffers(n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Two arrays for one block, kept for the next: a fresh one for every block costs more than its arithmetic (page
    faults).
    """
    held = getattr(_scratch, "held", None)
    if held is None or held.dtype != dtype or held.shape[2] != n_columns or held.shape[1] < n_rows:
        held = _scratch.held = np.empty((2, n_rows, n_columns), dtype)
    return held[0, :n_rows], held[1, :n_rows]


def value_and_grad_block(X: Array, W: Array, objective: Objective) -> tuple[float, Array]:
    codes, scores = _buffers(len(X), len(W), X.dtype)
    S = np.matmul(X, W.T, out=codes)
    G = objective.score(S, out=scores).T @ X
    if objective.degree is None:
        return objective.value(S), G
    return float(np.vdot(G, W)) / objective.degree, G  # Euler's theorem: no pass over the codes for the value


def value_block(X: Array, W: Array, objective: Objective) -> tuple[float]:
    return (objective.value(X @ W.T),)


def gram_block(X: Array) -> tuple[Array]:
    X = X.astype(np.float64, copy=False)  # small eigenvalues decide on rank and whitening
    return (X.T @ X,)


def sum_block(X: Array) -> tuple[Array, int]:
    return X.sum(axis=0, dtype=np.float64), len(X)


def value_and_grad(rows: Rows, W: Array, objective: Objective) -> tuple[float, Array]:
    """Objective of the codes X W^T and its gradient with respect to W, summed over all rows; one pass."""
    value, grad = rows.sum(value_and_grad_block, W.astype(rows.dtype, copy=False), objective)
    return float(value), grad


def value(rows: Rows, W: Array, objective: Objective) -> float:
    """Objective of the codes X W^T, summed over all rows; one pass."""
    return float(rows.sum(value_block, W.astype(rows.dtype, copy=False), objective)[0])


def gram(rows: Rows) -> Array:
    """X^T X; one pass."""
    return np.asarray(rows.sum(gram_block)[0])


def clipped_block(X: Array, encoder: Array, centre: Array, limits: Array) -> tuple[Array, Array]:
    S = X @ encoder - centre
    return np.clip(S, -limits, limits).sum(axis=0), np.count_nonzero(np.abs(S) < limits, axis=0)


def clipped_mean(rows: Rows, encoder: Array, centre: Array, limits: Array) -> Array:
    """Location of each column of the codes X @ encoder: a step from `centre` towards Huber's M-estimate, in which a
    code counts by at most its limit; one pass.
    """
    total, n_within = rows.sum(clipped_block, encoder, centre, limits)
    return np.asarray(centre + total / np.maximum(n_within, 1))


def mean(rows: Rows) -> Array:
    """Mean of the rows; one pass."""
    total, n = rows.sum(sum_block)
    return np.asarray(total / n)
