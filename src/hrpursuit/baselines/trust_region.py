"""A Riemannian trust region method on the sphere, for one atom at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hrpursuit.core.objectives import LogCosh
from hrpursuit.core.protocols import Array

LARGEST_RADIUS = np.pi / 2
ACCEPT = 0.1  # share of the predicted decrease that a step must reach

Product = Callable[[Array], Array]


@dataclass(frozen=True)
class MeanLogCosh:
    """Mean over the samples of mu log cosh(x.q / mu) as a function of q."""

    X: Array
    mu: float

    def value(self, q: Array) -> float:
        return LogCosh(self.mu).value(self.X @ q) / len(self.X)

    def derivatives(self, q: Array) -> tuple[Array, Product]:
        """Riemannian gradient at q of unit norm, and the product of the Riemannian Hessian with tangent vectors."""
        X = self.X
        slopes = LogCosh(self.mu).score(X @ q)
        G = X.T @ slopes / len(X)
        radial = float(G @ q)
        curvatures = (1.0 - slopes**2) / (self.mu * len(X))

        def hessian(v: Array) -> Array:
            Hv = X.T @ (curvatures * (X @ v)) - radial * v
            return Hv - (q @ Hv) * q

        tangent = G - radial * q
        # once more: what rounding leaves along q, where the function falls, would grow into a step once G is tiny
        return tangent - (tangent @ q) * q, hessian


@dataclass(frozen=True)
class AtomResult:
    """Where one run on the sphere ended; `stopped` says that the watcher asked for it."""

    q: Array
    n_iter: int
    gradient_norm: float
    stopped: bool = False


def exponential(q: Array, v: Array) -> Array:
    """The point that the great circle from q along the tangent vector v reaches."""
    length = float(np.linalg.norm(v))
    moved = np.cos(length) * q + np.sinc(length / np.pi) * v
    return np.asarray(moved / np.linalg.norm(moved))


def truncated_cg(gradient: Array, hessian: Product, radius: float) -> tuple[Array, float]:
    """Steihaug's conjugate gradients: a step in the ball that lowers the quadratic model, and by how much it does."""
    v, residual, direction = np.zeros_like(gradient), gradient, -gradient
    first = size = float(np.linalg.norm(gradient))
    Hv = np.zeros_like(gradient)
    for _ in range(len(gradient)):
        Hd = hessian(direction)
        curvature = float(direction @ Hd)
        alpha = size**2 / curvature if curvature > 0 else np.inf
        if curvature <= 0 or np.linalg.norm(v + alpha * direction) >= radius:
            a, b = float(direction @ direction), float(v @ direction)
            alpha = (np.sqrt(b**2 + a * (radius**2 - float(v @ v))) - b) / a  # to the boundary
            v, Hv = v + alpha * direction, Hv + alpha * Hd
            break
        v, Hv = v + alpha * direction, Hv + alpha * Hd
        residual = residual + alpha * Hd
        last, size = size, float(np.linalg.norm(residual))
        if size <= first * np.clip(first, 1e-8, 0.1):  # quadratic convergence in the end, but not into rounding
            break
        direction = -residual + (size / last) ** 2 * direction
    return v, -float(gradient @ v + 0.5 * (v @ Hv))


def trust_region(
    f: MeanLogCosh,
    q: Array,
    *,
    max_iter: int,
    tol: float,
    watch: Callable[[int, Array, float, float], bool | None] | None = None,
) -> AtomResult:
    """Minimise f over the unit sphere from q until the Riemannian gradient has a norm of at most `tol`.

    `watch` is called with the iteration, the point, its value and the norm of its gradient; True ends the run.
    """
    radius = LARGEST_RADIUS / 8
    value = f.value(q)
    gradient, hessian = f.derivatives(q)
    for n_iter in range(1, max_iter + 1):
        size = float(np.linalg.norm(gradient))
        stopped = bool(watch is not None and watch(n_iter, q, value, size))
        if size <= tol or stopped:
            return AtomResult(q, n_iter, size, stopped)
        step, predicted = truncated_cg(gradient, hessian, radius)
        candidate = exponential(q, step)
        value_there = f.value(candidate)
        slack = (
            1e3 * np.finfo(np.float64).eps * max(1e-300, abs(value))
        )  # differences below rounding count as agreement
        ratio = (value - value_there + slack) / (predicted + slack)
        if ratio < 0.25:
            radius /= 4
        elif ratio > 0.75 and np.linalg.norm(step) >= 0.99 * radius:
            radius = min(2 * radius, LARGEST_RADIUS)
        if ratio > ACCEPT:
            q, value = candidate, value_there
            gradient, hessian = f.derivatives(q)
    return AtomResult(q, max_iter, float(np.linalg.norm(gradient)))
