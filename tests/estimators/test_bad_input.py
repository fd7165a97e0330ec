"""Bad input gets an error that names what was expected and what came."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from hrpursuit import HRP, MiniBatchHRP, recover_atom, sparse_code
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import HRPOptions
from hrpursuit.metrics import dictionary_error

X = make_sparse_coded(60, 6, sparsity=0.3, random_state=0)[0]


def with_entry(value):
    spoiled = X.copy()
    spoiled[3, 2] = value
    return spoiled


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (with_entry(np.inf), "X: 1 value is infinite, the first in row 4, column 3"),
        (X[0], "2D array"),
        (X[None], "dim 3"),
        (X[:4], "4 samples and 6 features.*at least 6 samples"),
        (X.astype(complex), "[Cc]omplex"),
        (np.full((20, 3), "word"), "could not convert string"),
        (np.empty((0, 6)), "X is empty: it has no rows"),
        (np.empty((6, 0)), "0 feature"),
        (X[:1], "1 sample"),
    ],
)
def test_data_that_cannot_be_used(data, message):
    with pytest.raises(ValueError, match=message):
        HRP().fit(data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_nonzero_coefs": 0}, "'n_nonzero_coefs' parameter.*Got 0"),
        ({"n_nonzero_coefs": 7}, "from 1 to 6.*got 7"),
        ({"n_nonzero_coefs": True}, "from 1 to 6.*got True"),
        ({"n_nonzero_coefs": 2.5}, "n_nonzero_coefs.*2.5"),
        ({"scheme": "fast"}, "scheme.*'exact'.*'fast'"),
        ({"dictionary": "overcomplete"}, "dictionary.*'complete'.*'overcomplete'"),
        ({"n_init": 0}, "n_init.*Got 0"),
        ({"max_iter": 0}, "max_iter.*Got 0"),
        ({"tol": -1}, "tol.*Got -1"),
        ({"options": {"look_every": 2}}, "options.*HRPOptions"),
        ({"callback": 3}, "callback.*Got 3"),
        ({"n_jobs": 0}, "n_jobs.*Got 0"),
        ({"dict_init": np.eye(5)}, r"\(6, 6\) to match X with 6 features; got \(5, 5\)"),
        ({"dict_init": np.ones((6, 6))}, "orthonormal"),
        ({"dict_init": np.full((6, 6), np.nan)}, "dict_init contains NaN"),
        ({"dict_init": np.ones((6, 6)), "dictionary": "complete"}, "invertible.*rank 1"),
    ],
)
def test_settings_that_cannot_be_used(settings, message):
    with pytest.raises(ValueError, match=message):
        HRP(**settings).fit(X)


class TestRankOfACompleteDictionary:
    def refuses(self, data, message):
        with pytest.raises(ValueError, match=message):
            HRP(dictionary="complete").fit(data)

    def test_zero_features(self):
        self.refuses(X * [1, 0, 1, 1, 0, 1], "Columns always zero: 2, 5.*orthogonal")

    def test_names_are_used(self):
        self.refuses(pd.DataFrame(X * [1, 0, 1, 1, 1, 1], columns=list("abcdef")), "always zero: 'b'")

    def test_constant_features(self):
        self.refuses(np.c_[X[:, :4], np.ones((60, 2))], r"dependent on one another: 5, 6 \(constant: 5, 6\)")

    def test_dependent_features(self):
        self.refuses(np.c_[X[:, :5], X[:, 0] + 2 * X[:, 3]], "dependent on one another: 1, 4, 6")

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_small_features_are_not_taken_for_dependent(self, dtype):
        data, _, A = make_sparse_coded(600, 6, sparsity=0.3, dictionary="complete", random_state=0)
        widths = np.geomspace(1, 1e-3, 6)
        found = HRP(dictionary="complete", random_state=0).fit((data * widths).astype(dtype))
        assert dictionary_error(found.components_, A * widths) < 1e-3


def test_methods_need_a_fit():
    for call in (HRP().transform, HRP().inverse_transform, HRP().score, HRP().certify, HRP().save):
        with pytest.raises(NotFittedError):
            call(X)


def test_other_widths_are_refused():
    found = HRP(random_state=0).fit(X)
    with pytest.raises(ValueError, match="5 features"):
        found.transform(X[:, :5])
    with pytest.raises(ValueError, match="6 columns, one code for each atom; got 5"):
        found.inverse_transform(X[:, :5])


@pytest.mark.parametrize(
    ("components", "settings", "message"),
    [
        (np.eye(5), {}, r"\(6, 6\) to match X with 6 features; got \(5, 5\)"),
        (np.ones((6, 6)), {}, "invertible"),
        (np.eye(6), {"n_nonzero_coefs": 9}, "from 1 to 6.*got 9"),
        (np.eye(6), {"threshold": -1}, "threshold"),
    ],
)
def test_sparse_code_checks_its_input(components, settings, message):
    with pytest.raises(ValueError, match=message):
        sparse_code(X, components, **settings)


def test_sparse_code(rng):
    W = random_orthogonal(6, rng)
    codes = X @ W.T
    np.testing.assert_allclose(sparse_code(X, W), codes, atol=1e-12)
    assert np.count_nonzero(sparse_code(X, W, n_nonzero_coefs=2), axis=1).max() == 2
    kept = sparse_code(X, W, threshold=0.5)
    np.testing.assert_allclose(kept, np.where(np.abs(codes) >= 0.5, codes, 0), atol=1e-12)
    A = W + 0.3 * rng.standard_normal((6, 6))
    np.testing.assert_allclose(sparse_code(X, A) @ A, X, atol=1e-10)
    assert sparse_code(X.astype("f4"), W).dtype == np.float32


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (1e200 * X, "X: .* values are 1e[+]90 or larger in magnitude.*float64; use another unit"),
        (1e-200 * X, "X: no value is larger than 1e-90 .*float64; use another unit"),
        ((1e15 * X).astype("f4"), "1e[+]10 or larger in magnitude.*float32"),
        ((1e-15 * X).astype("f4"), "1e-10 in magnitude.*float32"),
    ],
)
def test_units_that_would_overflow(data, message):
    for use in (HRP().fit, HRP(scheme="paper").fit, recover_atom):
        with pytest.raises(ValueError, match=message):
            use(data)


@pytest.mark.parametrize(
    "wrong",
    [
        {"look_every": 0},
        {"patience": (100, 120, 50)},
        {"patience": (0, None, None)},
        {"alternations": 0},
        {"rows_per_feature": (0, 0)},
        {"rows_per_feature": (30, 10)},
        {"free_rounds": 0},
        {"free_rounds": 2.5},
        {"look_every": "often"},
        {"look_every": float("nan")},
        {"patience": 150},
        {"patience": (150, None)},
        {"patience": (None, 200, 300)},
        {"rows_per_feature": 10},
        {"rows_per_feature": (10, None)},
        {"rows_per_feature": "ab"},
    ],
)
def test_expert_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be .*; got"):
        HRPOptions(**wrong)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.date_range("2020", periods=40, freq="h"), "holds datetime64"),
        (pd.to_timedelta(np.arange(40), unit="s"), "holds timedelta64"),
        (["1"] * 3 + ["n/a"] * 37, "holds 'n/a' in row 4, not a number; leave it out, or correct it"),
        (pd.Categorical(["north", "south"] * 20), "holds 'north' in row 1, not a number"),
        (np.arange(40) * 1j, "holds complex128, not numbers"),
    ],
)
def test_columns_of_a_frame_that_hold_no_numbers_are_named(rng, column, words):
    table = pd.DataFrame(rng.laplace(size=(40, 3)), columns=list("abc"))
    table.insert(1, "when", column)
    for use in (HRP().fit, MiniBatchHRP().partial_fit, lambda X: sparse_code(X, np.eye(4), n_nonzero_coefs=2)):
        with pytest.raises(ValueError, match=f"column 'when' {words}"):
            use(table)


def test_other_errors_on_frames_stay(rng):
    table = pd.DataFrame(rng.laplace(size=(40, 3)), columns=["a", "b", 3])
    with pytest.raises(TypeError, match="string names"):
        HRP().fit(table)
    table = pd.DataFrame(rng.laplace(size=(40, 2)).astype(object), columns=["a", "b"])
    assert HRP(random_state=0).fit(table).n_features_in_ == 2


def test_expert_settings_that_are_allowed_work():
    for options in (HRPOptions(patience=(500, None, None)), HRPOptions(patience=(1, 1, 1)), HRPOptions(look_every=300)):
        assert HRP(options=options, random_state=0).fit(np.random.default_rng(0).laplace(size=(80, 4))).n_iter_ > 0
