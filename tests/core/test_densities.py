import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit.core.densities import column_units, fit_densities, histogram, score_sums, shrunk_units
from hrpursuit.core.density_kernels import EDGES, N_BINS

COLUMNS = {
    "Gaussian": lambda rng, n: rng.standard_normal(n),
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "Student": lambda rng, n: rng.standard_t(3, n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "two points": lambda rng, n: rng.choice([-1.0, 1.0], n) + 0.1 * rng.standard_normal(n),
    "sparse": lambda rng, n: rng.standard_normal(n) * (rng.random(n) < 0.2) + 0.01 * rng.standard_normal(n),
}


def fitted(S):
    units = column_units(S)
    Y = (S / np.where(units > 0, units, 1)).astype(np.float32)
    return fit_densities(histogram(Y), units, len(S)), Y


def codes(rng, n=8000):
    return np.stack([make(rng, n) for make in COLUMNS.values()], axis=1)


def test_histogram_counts_every_code_and_keeps_its_mean_size(rng):
    Y = (rng.standard_normal((1000, 3)) * [1e-3, 1, 100]).astype(np.float32)
    counts = histogram(Y)
    assert_allclose(counts.sum(axis=1), 1000)
    assert_allclose(counts @ EDGES / 1000, np.abs(Y).mean(axis=0), rtol=2e-3)


def test_codes_beyond_the_edges_are_counted_at_the_ends():
    Y = np.array([[0.0, 1e30, -np.inf]], np.float32)
    counts = histogram(Y)
    assert counts[0, 0] == 1
    assert counts[1, N_BINS] == counts[2, N_BINS] == 1


def test_score_is_minus_the_derivative_of_the_log_density(rng):
    S = codes(rng)
    densities, _ = fitted(S)
    points = np.linspace(0.05, 2.5, 60)[:, None] * densities.units
    h = 1e-5 * densities.units
    slope = (densities.log_density(points + h) - densities.log_density(points - h)) / (2 * h)
    Y = (points / densities.units).astype(np.float32)
    # the diagonal of E psi_i y_j for a single row is psi_i y_i
    scores = np.array([np.diag(score_sums(y[None].copy(), *densities.tables)[0]) / y for y in Y]) / densities.units
    assert (np.abs(scores + slope).max(axis=0) < 0.04 * np.abs(slope).max(axis=0)).all()


def test_derivative_of_the_score_agrees_with_finite_differences(rng):
    densities, Y = fitted(rng.laplace(size=(8000, 2)))

    def scores(y):
        return np.diag(score_sums(y[None].copy(), *densities.tables)[0]) / y

    part, h = Y[:300], np.float32(1e-3)
    finite = sum((scores(y + h) - scores(y - h)) / (2 * h) for y in part)
    _, derivatives, squares, _ = score_sums(part.copy(), *densities.tables)
    assert_allclose(derivatives, finite, rtol=0.02)
    assert_allclose(squares, np.sum(part.astype(float) ** 2, axis=0), rtol=1e-5)


def test_fisher_information_of_a_gaussian_is_one(rng):
    densities, Y = fitted(rng.standard_normal((50_000, 2)))
    products, derivatives, _, _ = score_sums(Y, *densities.tables)
    assert_allclose(np.diag(products) / 50_000, 1, rtol=0.02)
    assert_allclose(derivatives / 50_000 * densities.units**2, densities.units**2, rtol=0.03)


def test_the_likelier_family_is_in_force(rng):
    densities, _ = fitted(codes(rng))
    chosen = dict(zip(COLUMNS, densities.is_sub_gaussian, strict=True))
    assert chosen["uniform"]
    assert chosen["two points"]
    assert not chosen["Laplace"]
    assert not chosen["Student"]
    assert not chosen["sparse"]


def test_log_likelihood_is_close_to_that_of_the_true_density(rng):
    n = 50_000
    S = np.stack([rng.laplace(size=n), rng.standard_normal(n), rng.uniform(-1, 1, n)], axis=1)
    densities, _ = fitted(S)
    entropy = [1 + np.log(2), 0.5 * np.log(2 * np.pi * np.e), np.log(2)]
    assert (np.abs(densities.log_likelihood + entropy) < [0.02, 0.02, 0.06]).all()
    assert_allclose(densities.log_density(S).mean(axis=0), densities.log_likelihood, atol=0.01)


def test_refitting_the_same_codes_does_not_lower_the_likelihood(rng):
    densities, Y = fitted(codes(rng))
    again = densities.refitted(histogram(Y), len(Y))
    assert (again.log_likelihood > densities.log_likelihood - 2e-3).all()


def test_columns_that_agree_share_their_histograms(rng):
    few = rng.laplace(size=(60, 30))
    densities, _ = fitted(few)
    alone = np.array([fitted(few[:, [j]])[0].weights[0][:, 0] for j in range(30)]).T
    assert np.std(densities.weights[0], axis=1).sum() < 0.5 * np.std(alone, axis=1).sum()


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_the_codes_only_shift_the_likelihood(rng, factor):
    S = codes(rng)
    densities, _ = fitted(S)
    scaled, _ = fitted(S * factor)
    assert_allclose(scaled.log_likelihood, densities.log_likelihood - np.log(factor), atol=1e-3)


def test_a_column_of_zeros_has_no_score_and_a_constant_one_is_finite():
    S = np.stack([np.zeros(100), np.full(100, 3.0)], axis=1)
    densities, Y = fitted(S)
    products, derivatives, _, _ = score_sums(Y, *densities.tables)
    assert densities.is_dead.tolist() == [True, False]
    assert not products[0].any()
    assert derivatives[0] == 0
    assert np.isfinite(densities.log_likelihood).all()
    assert np.isfinite(products).all()


def test_units_ignore_a_few_outliers(rng):
    S = rng.standard_normal((1000, 1))
    clean = column_units(S)
    S[:3] = 1e9
    assert_allclose(column_units(S), clean, rtol=0.1)


def test_the_smooth_density_has_the_score_tanh(rng):
    """But for columns that are sub-Gaussian, which keep theirs."""
    S = codes(rng)
    densities, Y = fitted(S)
    smooth = densities.smoothed(histogram(Y))
    ratios, _ = smooth.tables
    inside = (EDGES[:-1] > 0.01) & (EDGES[:-1] < 8)
    for j, name in enumerate(COLUMNS):
        score = ratios[j, inside] * EDGES[:-1][inside]
        if densities.is_sub_gaussian[j]:
            assert name in ("uniform", "two points")
            assert_allclose(score, densities.tables[0][j, inside] * EDGES[:-1][inside])
        else:
            assert_allclose(score, np.tanh(EDGES[:-1][inside]), atol=0.02)
    log_cosh = np.mean(np.log(np.cosh(S[:, 1] / smooth.units[1])))
    assert smooth.log_likelihood[1] == pytest.approx(-np.log(np.pi * smooth.units[1]) - log_cosh, abs=0.01)


def test_units_shrink_to_their_mean_where_they_differ_by_chance(rng):
    for n, most in ((100, 0.5), (10_000, 0.5)):
        units = column_units(rng.laplace(size=(n, 30)))
        shrunk = shrunk_units(units, n)
        assert np.std(np.log(shrunk)) < most * np.std(np.log(units))
    different = column_units(rng.laplace(size=(100, 30)) * np.geomspace(1, 100, 30))
    assert_allclose(shrunk_units(different, 100), different, rtol=0.05)
    different[3] = 0
    assert shrunk_units(different, 100)[3] == 0
