"""The SPAMS library behind our interface."""

import doctest
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.baselines import SPAMS
from hrpursuit.baselines.omp import omp_block
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error


@pytest.fixture
def _no_spams(monkeypatch):
    monkeypatch.setitem(sys.modules, "spams", None)


@pytest.mark.usefixtures("_no_spams")
class TestWithoutTheLibrary:
    def test_says_what_to_install(self):
        with pytest.raises(ImportError, match=r'pip install "hrpursuit\[peers\]"'):
            SPAMS().fit(np.eye(5))

    def test_a_learned_dictionary_still_codes_by_pursuit(self, rng):
        model = SPAMS(n_nonzero_coefs=2)
        model.components_, model.n_features_in_ = np.linalg.qr(rng.standard_normal((5, 5)))[0], 5
        X = rng.standard_normal((20, 5))
        W = model.components_
        assert_allclose(model.transform(X), omp_block(X, W, W @ W.T, 2, None))
        with pytest.raises(ImportError, match=r'codes by the lasso of SPAMS need spams.*"hrpursuit\[peers\]"'):
            model.set_params(n_nonzero_coefs=None).transform(X)


class TestWithTheLibrary:
    @pytest.fixture(autouse=True)
    def _spams(self):
        pytest.importorskip("spams", reason='needs SPAMS: pip install ".[peers]"')

    def test_recovers_an_easy_dictionary(self):
        X, _, W = make_sparse_coded(1000, 10, sparsity=0.2, random_state=1)
        model = SPAMS(max_iter=200, random_state=0).fit(X)
        assert dictionary_error(model.components_, W) < 0.05
        assert_allclose(np.linalg.norm(model.components_, axis=1), 1, rtol=1e-9)

    def test_codes_satisfy_the_conditions_of_the_lasso(self):
        X = make_sparse_coded(300, 8, sparsity=0.3, random_state=2)[0]
        model = SPAMS(n_components=12, lambda1=0.2, max_iter=20, random_state=0).fit(X)
        codes = model.transform(X)
        gradient = (X - codes @ model.components_) @ model.components_.T
        assert (np.abs(gradient) <= 0.2 + 1e-9).all()
        used = codes != 0
        assert_allclose(gradient[used], 0.2 * np.sign(codes[used]), atol=1e-9)
        assert_allclose(model.objective_, model.reconstruction_error(X), rtol=1e-9)

    def test_a_seed_decides_the_answer(self):
        X = make_sparse_coded(300, 8, sparsity=0.3, random_state=3)[0]
        once, again, other = (SPAMS(max_iter=20, random_state=seed).fit(X).components_ for seed in (0, 0, 1))
        assert_array_equal(once, again)
        assert np.abs(once - other).max() > 1e-6

    def test_starts_where_it_is_told(self):
        X, _, W = make_sparse_coded(500, 8, sparsity=0.5, random_state=4)
        told = SPAMS(max_iter=1, dict_init=W).fit(X)
        assert dictionary_error(told.components_, W) < 0.1

    def test_the_callback_sees_the_end(self):
        X = make_sparse_coded(100, 6, sparsity=0.3, random_state=5)[0]
        seen = []
        model = SPAMS(max_iter=7, random_state=0, callback=seen.append).fit(X)
        assert [(it.stage, it.n_iter, it.value) for it in seen] == [("SPAMS", 7, model.objective_)]

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_components": 41}, "n_components must be at most 40"),
            ({"dict_init": np.eye(5)}, r"dict_init must have shape \(6, 6\)"),
            ({"lambda1": -0.1}, "'lambda1' parameter of SPAMS must be"),
            ({"batch_size": 0}, "'batch_size' parameter of SPAMS must be"),
        ],
    )
    def test_bad_parameters_are_refused(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            SPAMS(**parameters).fit(np.random.default_rng(0).standard_normal((40, 6)))

    def test_the_example_of_the_docstring_holds(self):
        text = SPAMS.__doc__.replace("# doctest: +SKIP", "")
        example = doctest.DocTestParser().get_doctest(text, {}, "SPAMS", None, 0)
        assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
