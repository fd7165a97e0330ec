"""From a dictionary that is nearly right to a certified one: polish, check, turn the pairs of atoms that fail, check
again.
"""

import numpy as np

from hrpursuit.core.certificate import Certificate, certify
from hrpursuit.core.manifolds import polar_near
from hrpursuit.core.plane_kernels import unmix_pairs
from hrpursuit.core.polish import has_small_codes, polish_free, polish_orthogonal
from hrpursuit.core.protocols import Array, Rows


def settle_orthogonal(
    X: Array, rows: Rows, W: Array, zero_level: float, n_repairs: int = 20
) -> tuple[Array, Certificate]:
    """Polish W on the working sample X (the same rows as `rows`), then repair the pairs that fail the certificate, up
    to `n_repairs` times.
    """
    if has_small_codes(X @ W.T):
        W = polish_orthogonal(X, W, zero_level)
    l1 = np.inf
    for repair in range(n_repairs):
        certificate = certify(rows, W, zero_level)
        if not certificate.has_zeros:
            return W, certificate
        if certificate:
            if repair > 0:
                W = polish_orthogonal(X, polar_near(W), zero_level, start=1e-6)
            return W, certificate
        S = X @ W.T
        l1_now = float(np.abs(S).sum())
        if len(certificate.unstationary) == 0 and l1_now > l1 * (1 - 1e-6):
            return W, certificate  # turning the entangled pairs does not help: their zeros may really be common
        l1 = l1_now
        W = W.copy()
        unmix_pairs(S, W, certificate.failing_pairs)
        if repair % 4 == 3:
            W = polish_orthogonal(X, polar_near(W), zero_level, start=0.03)
    W = polar_near(W)
    return W, certify(rows, W, zero_level)


def settle_complete(X: Array, rows: Rows, B: Array, zero_level: float) -> tuple[Array, Certificate]:
    """Polish the rows of the encoding matrix B (codes X B^T), each by itself, and check the certificate of a complete
    dictionary.
    """
    if has_small_codes(X @ B.T, share=0.17):
        B = polish_free(X, B, zero_level)
    return B, certify(rows, B, zero_level, orthogonal=False)
