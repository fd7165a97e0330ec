"""Riemannian subgradient descent for the l1 norm on the sphere, many runs as one matrix."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hrpursuit.core.evaluate import value_and_grad_block
from hrpursuit.core.manifolds import Sphere
from hrpursuit.core.objectives import L1Norm
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.rows.array import cache_sized

LOOK = 50  # iterations from one look at what has moved or met to the next
MET = 0.99  # |cosine| from which two runs are taken to go to the same point


@dataclass(frozen=True)
class Runs:
    """Where the runs ended: one unit vector a row, with the l1 norm of its codes per sample.

    `moved` is how far each went between the last two looks, infinite before there were two.
    """

    points: Array
    values: Array
    moved: Array
    n_iter: int
    stopped: bool


def subgradient_block(X: Array, Q: Array) -> tuple[Array]:
    """Sum of the subgradients of the codes' l1 norm, for each row of Q; in parts whose codes stay in cache, however
    many the runs.
    """
    part = cache_sized(len(Q), X.dtype)
    G = np.zeros_like(Q)
    for start in range(0, len(X), part):
        G += value_and_grad_block(X[start : start + part], Q, L1Norm())[1]
    return (G,)


def values_and_subgradients(rows: Rows, Q: Array) -> tuple[Array, Array]:
    """The l1 norm of the codes of each row of Q and its subgradient, both per sample; one pass."""
    (G,) = rows.sum(subgradient_block, Q.astype(rows.dtype, copy=False))
    G = G / (rows.n_samples or 1)
    return np.sum(G * Q, axis=1), G  # Euler's theorem


def distinct(Q: Array, values: Array, cosine: float, at_most: int | None = None) -> Array:
    """Indices of rows by increasing value, without those whose |cosine| with one before them exceeds `cosine`."""
    left = np.argsort(values, kind="stable")
    chosen: list[int] = []
    while len(left) and (at_most is None or len(chosen) < at_most):
        chosen.append(int(left[0]))
        left = left[1:][np.abs(Q[left[1:]] @ Q[left[0]]) <= cosine]
    return np.array(chosen)


def subgradient_descent(
    rows: Rows,
    Q: Array,
    *,
    step_size: float,
    max_iter: int,
    tol: float,
    watch: Callable[[int, Array, float, float], bool | None] | None = None,
) -> Runs:
    """Minimise the l1 norm of the codes per sample over the sphere, from each row of Q: q <- q - step_size / sqrt(t)
    times the Riemannian subgradient, scaled to unit norm.

    Of runs that have met only the one with the lower value goes on. Stops when no run has moved by more than `tol` from
    one look to the next. `watch` is called with the iteration, the points, the sum of their values and the largest
    step; True ends the descent.
    """
    sphere = Sphere()
    before, moved, stopped, n_iter = Q, np.full(len(Q), np.inf), False, 0
    while n_iter < max_iter and moved.max() > tol and not stopped:
        n_iter += 1
        values, G = values_and_subgradients(rows, Q)
        move = step_size / np.sqrt(n_iter) * sphere.tangent(Q, G)
        if watch is not None:
            step = float(np.linalg.norm(move, axis=1).max())
            stopped = bool(watch(n_iter, Q, float(values.sum()), step))
        Q = sphere.project(Q - move)
        if n_iter % LOOK == 0:
            kept = distinct(Q, values, MET)
            moved = np.linalg.norm(Q - before, axis=1)[kept]
            before = Q = Q[kept]
    return Runs(Q, values_and_subgradients(rows, Q)[0], moved, n_iter, stopped)


def atoms_of(runs: Runs, cosine: float, tol: float, at_most: int) -> Array:
    """Indices of ends that stand for different atoms, by increasing value; runs that still move only where none has
    come to rest.
    """
    at_rest = np.flatnonzero(runs.moved <= tol)
    if len(at_rest) == 0:
        at_rest = np.arange(len(runs.points))
    return at_rest[distinct(runs.points[at_rest], runs.values[at_rest], cosine, at_most)]
