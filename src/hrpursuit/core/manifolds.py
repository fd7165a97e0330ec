"""The orthogonal group and the sphere: nearest points, tangent spaces, random points."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrpursuit.core.protocols import Array


def polar(G: NDArray[Any]) -> Array:
    """Nearest orthogonal matrix: U V^T of the singular value decomposition of G.

    By the eigenvectors of G^T G where that is accurate (condition below 100), which takes 0.6 times as long; else by
    the decomposition itself, which is accurate whatever the condition and completes the basis where G lacks rank.
    """
    G = np.asarray(G, dtype=np.float64)
    scale = float(np.abs(G).max(initial=0.0))
    if not np.isfinite(scale):
        raise FloatingPointError("the matrix has infinite or undefined entries; rescale the data.")
    if scale > 0:
        G = G / scale  # or the squares of very small or large entries leave the range of double
    values, V = np.linalg.eigh(G.T @ G)
    if values[0] > 1e-4 * values[-1]:
        return _newton_schulz_step(((G @ V) / np.sqrt(values)) @ V.T)
    U, _, Vt = np.linalg.svd(G)
    return np.asarray(U @ Vt)


def polar_near(G: NDArray[Any]) -> Array:
    """`polar` of a matrix that is nearly orthogonal already: a few matrix products."""
    P = np.asarray(G, dtype=np.float64)
    n = len(P)
    for _ in range(12):
        defect = np.eye(n) - P.T @ P
        size = np.abs(defect).max()
        if not size < 0.5 / np.sqrt(n) + 0.1:
            return polar(G)
        P = P + 0.5 * (P @ defect)
        if size < 1e-8:  # the step is quadratic: what is left is below rounding
            return P
    return polar(G)


def _newton_schulz_step(P: Array) -> Array:
    return P + 0.5 * (P @ (np.eye(len(P)) - P.T @ P))


def normalize_rows(A: NDArray[Any]) -> NDArray[Any]:
    """Rows of unit l2 norm; a zero row stays zero."""
    norms = np.linalg.norm(A, axis=1, keepdims=True)
    return np.divide(A, norms, out=np.zeros_like(A), where=norms > 0)


class OrthogonalGroup:
    """Square matrices whose rows are orthonormal."""

    def project(self, A: Array) -> Array:
        return polar(A)

    def tangent(self, R: Array, A: Array) -> Array:
        """(A - R A^T R) / 2, eq. (alg:proj) of the paper."""
        return 0.5 * (A - R @ A.T @ R)


class Sphere:
    """Each row a point of the unit sphere by itself: many starts for one atom run as one matrix."""

    def project(self, A: Array) -> Array:
        return normalize_rows(A)

    def tangent(self, R: Array, A: Array) -> Array:
        return A - np.sum(A * R, axis=1, keepdims=True) * R


def random_orthogonal(n: int, rng: np.random.Generator | np.random.RandomState) -> Array:
    """Uniform (Haar) on the orthogonal group: the Q of a Gaussian matrix, with signs that make it unique."""
    Q, R = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))
