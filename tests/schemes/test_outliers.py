import numpy as np
import pytest

from hrpursuit import HRP
from hrpursuit.core.manifolds import normalize_rows, random_orthogonal
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.outliers import usual_sample, without_outliers

N_FEATURES, N_SAMPLES = 16, 2000


def glitches(X, n, size, rng):
    X = X.copy()
    X[rng.permutation(len(X))[:n]] = size * rng.standard_normal((n, X.shape[1]))
    return X


def dictionary(kind, rng):
    if kind == "orthogonal":
        return random_orthogonal(N_FEATURES, rng)
    return normalize_rows(rng.standard_normal((N_FEATURES, N_FEATURES)) + 3 * np.eye(N_FEATURES))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("n", "size"), [(1, 1e6), (20, 1e3), (100, 30)])
@pytest.mark.parametrize("kind", ["orthogonal", "complete"])
def test_glitches_do_not_decide_what_is_learned(kind, n, size, fit_intercept):
    """The error with one huge sample of 2,000 was .4 to 1 where it is .06 to .09 without."""
    rng = np.random.default_rng([n, fit_intercept])
    components = dictionary(kind, rng)
    X = rng.laplace(size=(N_SAMPLES, N_FEATURES)) @ components
    clean, disturbed = (
        HRP(dictionary=kind, fit_intercept=fit_intercept, random_state=0).fit(data)
        for data in (X, glitches(X, n, size, rng))
    )
    error = dictionary_error(disturbed.components_, components)
    assert error < 1.25 * dictionary_error(clean.components_, components)
    assert "outliers" in disturbed.verdict_.finding
    assert "outliers" not in clean.verdict_.finding
    assert disturbed.verdict_.kind == clean.verdict_.kind


def test_rows_with_one_huge_code_are_evidence(rng):
    components = random_orthogonal(N_FEATURES, rng)
    codes = rng.laplace(size=(N_SAMPLES, N_FEATURES))
    codes[np.arange(50), rng.integers(N_FEATURES, size=50)] = 1e4
    rows = ArrayRows(codes @ components)
    assert without_outliers(rows, rows.X, components.T) is rows
    assert without_outliers(rows, rows.X, components.T, one_code=2.0).n_samples == N_SAMPLES - 50


def test_what_is_common_is_no_outlier(rng):
    X = glitches(rng.standard_normal((N_SAMPLES, N_FEATURES)), N_SAMPLES // 5, 1e3, rng)
    assert without_outliers(ArrayRows(X), X, np.eye(N_FEATURES)).n_samples == N_SAMPLES
    assert usual_sample(X, np.eye(N_FEATURES))[1] == 0
