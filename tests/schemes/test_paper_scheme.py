"""scheme="paper" against Algorithm 1 written plainly in the paper's orientation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit import HRP
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error


def polar(C):
    U, _, Vt = np.linalg.svd(C)
    return U @ Vt


def algorithm_1(Y, D):
    N, L = Y.shape
    for _ in range(50):
        S = D.T @ Y
        D_next = polar(Y @ (np.abs(S) * S).T / L)
        stop = np.linalg.norm(D_next - D) / N <= 1e-4
        D = D_next
        if stop:
            break
    R, tau = D, 0.1
    for _ in range(49):
        A = Y @ np.sign(D.T @ Y).T / L
        D = D - tau * 0.5 * (A - R @ A.T @ R)
        tau = 0.8 * tau
    return polar(D)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_algorithm_1_step_for_step(seed):
    X, _, _ = make_sparse_coded(2000, 12, sparsity=0.2, random_state=seed)
    D0 = random_orthogonal(12, np.random.default_rng(seed))
    found = HRP(scheme="paper", dict_init=D0.T).fit(X)
    assert dictionary_error(found.components_, algorithm_1(X.T, D0).T) < 1e-9
    assert [stage.name for stage in found.stages_] == ["Stage One", "Stage Two"]
    assert found.stages_[1].n_iter == 49
    assert not found.certificate_


def test_error_is_that_of_the_paper():
    X, _, W = make_sparse_coded(10_000, 20, sparsity=0.3, random_state=5)
    error = dictionary_error(HRP(scheme="paper", random_state=0).fit(X).components_, W)
    assert 1e-6 < error < 1e-3


def test_remark_on_complete_dictionaries():
    """D = Y Xbar^T (Xbar Xbar^T)^-1 with the preconditioned orthogonal solution."""
    X, _, _ = make_sparse_coded(2000, 8, sparsity=0.2, dictionary="complete", condition=5, random_state=1)
    found = HRP(scheme="paper", dictionary="complete", random_state=0).fit(X)
    Y = X.T
    values, V = np.linalg.eigh(Y @ Y.T / Y.shape[1])
    Y_bar = (V / np.sqrt(values)) @ V.T @ Y
    X_bar = found.encoder_.T @ Y  # codes in the found dictionary, which differ from those of the remark by scale alone
    orthogonal = X_bar @ Y_bar.T
    D_bar = (orthogonal / np.linalg.norm(orthogonal, axis=1, keepdims=True)).T
    assert_allclose(D_bar.T @ D_bar, np.eye(8), atol=1e-8)
    codes = D_bar.T @ Y_bar
    D = Y @ codes.T @ np.linalg.inv(codes @ codes.T)
    assert dictionary_error(found.components_, D.T) < 1e-8


def test_n_nonzero_only_thresholds():
    X = make_sparse_coded(500, 10, sparsity=0.3, random_state=0)[0]
    plain, sparse = (HRP(n_nonzero_coefs=n, scheme="paper", random_state=0).fit(X) for n in (None, 2))
    assert_allclose(plain.components_, sparse.components_)
    assert np.count_nonzero(sparse.transform(X), axis=1).max() == 2
