import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from hrpursuit import HRP
from hrpursuit.core.code_density import FixedSupport
from hrpursuit.datasets import make_sparse_coded


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.long
def test_grid_search_finds_the_number_of_codes(seed):
    """T0 = 3 of 20 at 30 dB, judged on samples that were not learned from."""
    rng = np.random.default_rng(seed)
    _, _, components = make_sparse_coded(1, 20, sparsity=1, random_state=seed)
    support = rng.random((600, 20)).argsort(axis=1).argsort(axis=1) < 3
    X = (rng.standard_normal((600, 20)) * support) @ components
    X += np.sqrt(np.mean(X**2)) * 10 ** (-30 / 20) * rng.standard_normal(X.shape)
    for dictionary in ("orthogonal", "complete"):
        model = HRP(dictionary=dictionary, random_state=0)
        search = GridSearchCV(model, {"n_nonzero_coefs": [1, 2, 3, 4, 5, 8]}, cv=3).fit(X)
        assert search.best_params_ == {"n_nonzero_coefs": 3}


@pytest.mark.parametrize("snr_db", [25, 6])
@pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
def test_density_of_samples_integrates_to_one(dictionary, snr_db):
    X = make_sparse_coded(2000, 2, sparsity=0.4, snr_db=snr_db, dictionary=dictionary, random_state=0)[0]
    model = HRP(dictionary=dictionary, random_state=0).fit(X)
    grid = np.linspace(-1, 1, 801) * 2 * np.abs(X).max()
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    total = np.exp(model.score_samples(points)).sum() * (grid[1] - grid[0]) ** 2
    assert_allclose(total, 1, atol=0.02)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the paper's scheme
def test_right_dictionary_is_likelier_than_another():
    X = make_sparse_coded(1000, 12, sparsity=0.25, snr_db=20, random_state=0)[0]
    model = HRP(random_state=0).fit(X[:500])
    assert_allclose(model.score(X[500:]), model.score_samples(X[500:]).mean())
    assert model.score(X[500:]) > PCA().fit(X[:500]).score(X[500:]) + 1
    paper = HRP(scheme="paper", max_iter=1, random_state=1).fit(X[:500])
    assert model.score(X[500:]) > paper.score(X[500:])


def test_score_of_a_fixed_support_is_the_gaussian_log_density(rng):
    """Against scipy's, entry by entry, with gaps."""
    W = rng.standard_normal((6, 6))
    model = FixedSupport(2, 0.3, rng.uniform(0.5, 2, 6))
    X = rng.standard_normal((5, 6))
    X[0, 3] = X[2, [0, 5]] = np.nan
    S = np.zeros((5, 6))
    expected = []
    for x, s in zip(X, S, strict=True):
        support, seen = rng.permutation(6)[:2], ~np.isnan(x)
        A = W[support][:, seen]
        s[support] = np.linalg.lstsq(A.T, x[seen], rcond=None)[0]
        covariance = 0.3 * np.eye(seen.sum()) + A.T @ np.diag(model.variances[support]) @ A
        expected.append(multivariate_normal(cov=covariance).logpdf(x[seen]) - np.log(15))
    assert_allclose(model.log_density(X, S, W), expected, rtol=1e-6)


def test_gaps_files_and_units(tmp_path):
    X = make_sparse_coded(600, 10, sparsity=0.2, snr_db=20, random_state=0)[0]
    gappy = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for settings in ({}, {"n_nonzero_coefs": 2}, {"n_nonzero_coefs": 2, "dictionary": "complete"}):
        model = HRP(random_state=0, **settings).fit(X)
        assert np.isfinite(model.score_samples(gappy)).all()
        np.save(tmp_path / "x.npy", X)
        assert_allclose(model.score_samples(tmp_path / "x.npy"), model.score_samples(X))
        assert_allclose(model.score(tmp_path / "x.npy"), model.score(X))
        scaled = HRP(random_state=0, **settings).fit(1e6 * X)
        assert_allclose(scaled.score(1e6 * X), model.score(X) - 10 * np.log(1e6), rtol=1e-3)


def test_exact_samples_have_a_finite_score():
    X = make_sparse_coded(400, 10, sparsity=0.2, random_state=0)[0]
    for settings in ({}, {"dictionary": "complete"}, {"n_nonzero_coefs": 10}):
        model = HRP(random_state=0, **settings).fit(X[:200])
        assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(HRP(random_state=0).fit(np.zeros((30, 4))).score(np.ones((3, 4))))


@pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
@pytest.mark.parametrize("snr_db", [None, 20])
def test_an_offset_changes_neither_score_nor_verdict(dictionary, snr_db):
    X = make_sparse_coded(600, 10, sparsity=0.2, snr_db=snr_db, dictionary=dictionary, random_state=0)[0]
    X = (X + 5) - 5  # the score of exact samples goes with their rounding
    plain = HRP(dictionary=dictionary, random_state=0).fit(X)
    shifted = HRP(dictionary=dictionary, fit_intercept=True, random_state=0).fit(X + 5)
    assert_allclose(shifted.score(X + 5), plain.score(X), rtol=0.05)
    found, expected = shifted.verdict_, plain.verdict_
    if snr_db is None:
        assert found.finding == expected.finding
    else:  # the offset itself is an estimate
        assert found.kind == expected.kind
        assert abs(found.snr_db - expected.snr_db) < 0.5
