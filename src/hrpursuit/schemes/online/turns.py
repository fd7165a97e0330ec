"""How a dictionary is turned from where it is, instead of computed anew.

With G the running sum of score(S)^T R and M = G @ coder, the polar factor of G lies off the present dictionary by
nearly the rotation (M - M^T)_ij / (M_ii + M_jj), and steps that follow each other find what is left. A polar factor at
every step would cost more than all the rest.
"""

import numpy as np

from hrpursuit.core.manifolds import polar_near
from hrpursuit.core.protocols import Array

_THRESHOLD = 2.5  # standard deviations of the noise that a code must exceed to count
_SMALLEST_SHARE = 0.25  # of the rms of its column, that a code must have to count in noise
_SMALL_TURN = 1e-3  # rms entry of a rotation below which alternations on the window have converged
_SECOND_ORDER = 0.05  # largest entry of a rotation whose second order `whiten` makes up for
_SERIES = 0.5  # eigenvalue of a defect up to which `whiten` takes the root by a series: its error is below 0.04
_SAME_WAY = 0.25  # cosine between two turns


def turn_to(G: Array, coder: Array) -> Array:
    """The rotation, as a skew matrix, from the dictionary to the polar factor of G, to first order."""
    M = G @ coder
    h = np.diag(M)
    stiffness = h[:, None] + h
    return np.divide(M - M.T, stiffness, out=np.zeros_like(M), where=stiffness > 1e-9 * max(float(h.max()), 1e-300))


def turned(coder: Array, turn: Array, complete: bool) -> Array:
    if not complete:
        return polar_near(coder.T + turn @ coder.T).T.copy()
    if np.abs(turn).max() < _SECOND_ORDER:
        return coder + coder @ turn.T
    return coder @ polar_near(np.eye(len(turn)) + turn).T


def is_same_way(turn: Array, last: Array) -> bool:
    """Whether two turns go the same way; such that are nothing but noise are at right angles, to one part in the root
    of their number.
    """
    norms = float(np.sqrt(np.vdot(turn, turn) * np.vdot(last, last)))
    n_planes = len(turn) * (len(turn) - 1) / 2
    return norms > 0 and float(np.vdot(turn, last)) > max(_SAME_WAY, 4 / np.sqrt(n_planes)) * norms


def whiten(coder: Array, C: Array) -> Array:
    """The coder of a complete dictionary moved a little, so that its codes have the identity for second moment, where
    that of the rows is C.
    """
    identity = np.eye(len(C))
    for _ in range(4):
        defect = coder.T @ C @ coder - identity
        size, square = float(np.abs(defect).max()), defect @ defect
        if np.vdot(square, square) < _SERIES**4:  # at least the fourth power of the largest eigenvalue of the defect
            root = identity - 0.5 * defect + 0.375 * square  # of (1 + d)^(-1/2)
        else:
            values, V = np.linalg.eigh(defect + identity)
            root = (V / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))) @ V.T
        coder = coder @ root
        if size < 0.05:  # what is left is of third order
            break
    return coder


def threshold(S: Array, size: Array, noise: float) -> Array:
    """Codes above the noise, and above a share of the rms of their column, in place.

    The share is for a dictionary that drifts without noise: what its lag adds to the codes looks like noise with heavy
    tails, and codes that are kept for true hold the dictionary where it is.
    """
    rms = np.sqrt(np.einsum("ij,ij->j", S, S) / len(S))
    return np.multiply(S, size >= np.maximum(_THRESHOLD * noise, _SMALLEST_SHARE * rms), out=S)


def fit_in_noise(X: Array, coder: Array, noise: float, complete: bool, n_alternations: int) -> Array:
    """Hard threshold and Procrustes in turn on rows X, at most so often; returns the coder."""
    for _ in range(n_alternations):
        S = X @ coder
        turn = turn_to(threshold(S, np.abs(S), noise).T @ X, coder)
        coder = turned(coder, turn, complete)
        if np.linalg.norm(turn) < _SMALL_TURN * np.sqrt(len(turn)):
            break
    return coder
