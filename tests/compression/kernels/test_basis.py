"""Integer sweeps find eigenvectors and lose no length on the way."""

import numpy as np
import pytest

from hrpursuit.compression.kernels.atoms import UNIT, cosine_atoms
from hrpursuit.compression.kernels.basis import refresh_basis
from hrpursuit.compression.kernels.compiled import integers


def swept(covariance, n_calls, n_sweeps=1):
    n = len(covariance)
    moments = np.tril(np.rint(covariance)).astype(np.int64)  # the upper half is for the kernel to fill
    basis = cosine_atoms(n).copy()
    for _ in range(n_calls):
        refresh_basis(moments, basis, integers((n, n)), integers((n, n)), n_sweeps)
    return basis / UNIT


@pytest.mark.parametrize("n", [2, 7, 24])
@pytest.mark.parametrize("size", [1e4, 1e8, 1e13])
def test_eigenvectors_are_found_largest_first(rng, n, size):
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    covariance = (turn * (size * 0.6 ** np.arange(n))) @ turn.T
    basis = swept(covariance, 8)
    values, vectors = np.linalg.eigh(covariance)
    leading = min(n, 6)  # below, rounding of the moments takes over
    overlap = np.abs(np.sum(basis[:leading] * vectors[:, ::-1].T[:leading], axis=1))
    np.testing.assert_allclose(overlap, 1, atol=2e-3)
    energies = np.einsum("ij,jk,ik->i", basis, covariance, basis)
    np.testing.assert_allclose(energies[:leading], values[::-1][:leading], rtol=5e-3)


def test_a_basis_stays_orthonormal_for_long(rng):
    rows = rng.standard_normal((200, 16)) @ rng.standard_normal((16, 16)) * 1000
    basis = swept(rows.T @ rows, 300)
    np.testing.assert_allclose(basis @ basis.T, np.eye(16), atol=1e-4)


def test_nothing_seen_leaves_the_basis_alone():
    np.testing.assert_array_equal(swept(np.zeros((5, 5)), 3), cosine_atoms(5) / UNIT)
