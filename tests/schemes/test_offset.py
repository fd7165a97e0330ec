import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit import HRP
from hrpursuit.core.evaluate import clipped_mean
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.offset import frequent_row, offset_of


def atoms(n_features, rng):
    return normalize_rows(rng.standard_normal((n_features, n_features)))


def test_clipped_mean_is_a_step_of_hubers_estimate(rng):
    X, encoder = rng.standard_t(2, (500, 3)), rng.standard_normal((3, 3))
    S = X @ encoder
    centre, limits = np.median(S, axis=0), np.array([0.5, 1.0, 2.0])
    expected = [
        c + np.mean(np.clip(column - c, -limit, limit)) / np.mean(np.abs(column - c) < limit)
        for column, c, limit in zip(S.T, centre, limits, strict=True)
    ]
    assert_allclose(clipped_mean(ArrayRows(X), encoder, centre, limits), expected)


def test_offset_of_ordinary_rows_is_their_mean(rng):
    X = rng.laplace(size=(1000, 4)) + np.arange(4)
    assert_allclose(offset_of(ArrayRows(X), X, np.eye(4), np.eye(4)), X.mean(axis=0))


def test_huge_codes_do_not_move_the_offset(rng):
    components = atoms(4, rng)
    X = rng.standard_cauchy((4000, 4)) @ components + [1, 2, 3, 4]
    assert np.abs(X.mean(axis=0) - [1, 2, 3, 4]).max() > 0.5
    found = offset_of(ArrayRows(X), X[:1000], components, np.linalg.inv(components))
    assert np.abs(found - [1, 2, 3, 4]).max() < 0.15


def test_frequent_row(rng):
    X = rng.standard_normal((200, 3))
    assert frequent_row(X) is None
    X[rng.permutation(200)[:10]] = 7.0
    assert_allclose(frequent_row(X), 7.0)


@pytest.mark.parametrize("seed", range(4))
def test_codes_of_zero_and_one_around_an_offset(seed):
    """Rows without any code are the offset itself; of so few different rows the differences do not tell enough."""
    rng = np.random.default_rng([seed, 10, 2000, 7])
    codes, components = (rng.random((2000, 10)) < 0.05) * 1.0, atoms(10, rng)
    model = HRP(dictionary="complete", fit_intercept=True, random_state=0).fit(codes @ components + 0.3)
    assert model.verdict_.kind in ("exact", "undetermined")  # of so few different rows not all are certified
    assert dictionary_error(model.components_, components) < 1e-11
    assert_allclose(model.intercept_, 0.3, atol=1e-11)
