"""What holds for every baseline: scikit-learn's checks, saving, files, and bad input."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from hrpursuit.baselines import KSVD, L1RGD, MSP, SPAMS, L3Stage1, LogCoshRTR, TransformLearning
from hrpursuit.datasets import make_sparse_coded

#: One of each kind, cheap enough for scikit-learn's checks.
ESTIMATORS = [
    MSP(random_state=0),
    L3Stage1(random_state=0),
    L3Stage1(n_nonzero_coefs=1, random_state=0),
    KSVD(max_iter=10, random_state=0),
    KSVD(n_components=3, error_tol=0.1, max_iter=10, random_state=0),
    TransformLearning(max_iter=5, random_state=0),
    LogCoshRTR(max_iter=30, random_state=0),
    L1RGD(max_iter=50, random_state=0),
    L1RGD(recovery="deflation", n_runs=3, max_iter=50, random_state=0),
]
if find_spec("spams"):  # the peers come by hand, and in CI
    ESTIMATORS += [SPAMS(max_iter=5, random_state=0), SPAMS(n_nonzero_coefs=1, max_iter=5, random_state=0)]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: str(model).replace("random_state=0", "").strip())
class TestEveryBaseline:
    def test_a_saved_model_codes_as_before(self, model, tmp_path):
        X = make_sparse_coded(200, 6, sparsity=0.3, random_state=0)[0]
        model.fit(X).save(tmp_path / "model.npz")
        again = type(model).load(tmp_path / "model.npz")
        assert_array_equal(again.transform(X), model.transform(X))
        assert again.get_params() == model.get_params()
        assert (again.n_iter_, again.objective_) == (model.n_iter_, model.objective_)

    def test_learns_from_a_file_as_from_memory(self, model, tmp_path):
        X = make_sparse_coded(300, 6, sparsity=0.3, random_state=1)[0]
        np.save(tmp_path / "X.npy", X)
        from_file = type(model)(**model.get_params()).fit(tmp_path / "X.npy")
        assert_allclose(from_file.components_, model.fit(X).components_, atol=1e-10)
        codes = np.concatenate(list(from_file.transform(tmp_path / "X.npy")))
        assert_allclose(codes, model.transform(X), atol=1e-9)

    def test_score_is_the_reconstruction_error(self, model):
        X = make_sparse_coded(200, 6, sparsity=0.3, random_state=2)[0]
        residual = X - model.fit(X).inverse_transform(model.transform(X))
        assert_allclose(
            model.reconstruction_error(X), np.linalg.norm(residual) / np.linalg.norm(X), rtol=1e-9, atol=1e-12
        )

    def test_too_many_codes_are_refused(self, model):
        X = make_sparse_coded(200, 6, sparsity=0.3, random_state=2)[0]
        with pytest.raises(ValueError, match="n_nonzero_coefs must be from 1 to 6"):
            type(model)(**model.get_params() | {"n_nonzero_coefs": 7}).fit(X)

    def test_a_callback_that_stops_nothing_does_not_hide_that_the_tolerance_was_missed(self, model):
        X = make_sparse_coded(200, 6, sparsity=0.3, random_state=3)[0]
        if not hasattr(model, "tol"):
            pytest.skip("it has no tolerance")
        short = type(model)(**model.get_params() | {"max_iter": 1, "tol": 1e-30})
        with pytest.warns(match="did not reach tol"):
            short.fit(X)
        with pytest.warns(match="did not reach tol"):
            short.set_params(callback=lambda iterate: None).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            short.set_params(callback=lambda iterate: True).fit(X)


@pytest.mark.parametrize(
    "model", [MSP(random_state=0), L3Stage1(random_state=0), KSVD(n_nonzero_coefs=2, random_state=0)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_methods_without_a_unit_give_the_same_in_any(model, dtype):
    X = make_sparse_coded(300, 6, sparsity=0.3, random_state=4)[0].astype(dtype)
    plain = clone(model).fit(X).components_
    for unit in (2.0**25, 2.0**-25) if dtype == np.float32 else (2.0**280, 2.0**-280):
        assert_allclose(
            clone(model).fit(X * dtype(unit)).components_, plain, atol=1e-5 if dtype == np.float32 else 1e-9
        )
