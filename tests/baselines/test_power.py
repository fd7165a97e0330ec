"""MSP and Stage One alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit.baselines import MSP, L3Stage1
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error


@pytest.mark.parametrize(("kind", "p"), [(MSP, 4), (L3Stage1, 3)])
class TestPowerMethods:
    def test_recovers_an_easy_dictionary(self, kind, p):
        X, _, W = make_sparse_coded(20_000, 10, sparsity=0.1, random_state=3)
        model = kind(random_state=0).fit(X)
        assert dictionary_error(model.components_, W) < 0.02
        assert_allclose(model.components_ @ model.components_.T, np.eye(10), atol=1e-12)

    def test_follows_the_published_iteration(self, kind, p, rng):
        """Y of the paper has a sample a column: D <- Polar(Y (|D^T Y|^(p-2) * D^T Y)^T)."""
        X, _, _ = make_sparse_coded(200, 8, sparsity=0.3, random_state=5)
        start = random_orthogonal(8, rng)
        Y, D = X.T, start.T
        for _ in range(7):
            codes = D.T @ Y
            U, _, Vt = np.linalg.svd(Y @ (np.abs(codes) ** (p - 2) * codes).T)
            D = U @ Vt
        with pytest.warns(match="increase max_iter"):
            model = kind(max_iter=7, tol=0, dict_init=start).fit(X)
        assert model.n_iter_ == 7
        assert dictionary_error(model.components_, D.T) < 1e-10

    def test_maximises_its_own_norm_locally(self, kind, p, rng):
        X, _, _ = make_sparse_coded(3000, 6, sparsity=0.2, random_state=7)
        W = kind(max_iter=2000, tol=1e-12, random_state=0).fit(X).components_
        best = np.sum(np.abs(X @ W.T) ** p)
        for _ in range(20):
            skew = rng.standard_normal((6, 6))
            turned = np.linalg.qr(np.eye(6) + 0.02 * (skew - skew.T))[0] @ W
            assert np.sum(np.abs(X @ turned.T) ** p) < best
