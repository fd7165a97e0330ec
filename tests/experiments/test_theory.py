"""Checks of the paper's statements: their ingredients are right, and they fail where a statement does not hold."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

from hrpursuit.core.manifolds import polar as polar_factor
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.sphere import in_good_subset, random_on_sphere
from hrpursuit.experiments import population
from hrpursuit.experiments.catalogue import theory
from hrpursuit.experiments.catalogue.theory import (
    concentration,
    gradient_inequality,
    growth,
    iterates,
    moments,
    optima,
    polar,
    stationary,
    step_ratio,
    tangent,
    theorem_1,
    theorem_2,
    theorem_3,
)
from hrpursuit.experiments.catalogue.theory.points import (
    THETA,
    gradient,
    nearest_atoms,
    on_sphere,
    slope,
    starts_in_good_subsets,
)
from hrpursuit.experiments.experiment import Settings
from hrpursuit.experiments.registry import find
from hrpursuit.experiments.synthetic import bernoulli_gaussian

QUICK, PAPER = Settings(), Settings("paper")


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):  # as in the processes of trials
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def frame(run, *configs):
    """Rows of these trials with their configurations, as the runner gives them to `conclude`."""
    rows = []
    for config in configs:
        found = run(**config)
        rows += [config | row for row in ([found] if isinstance(found, dict) else found)]
    return pd.DataFrame(rows)


def verdicts(part, records):
    return part.conclude(records, QUICK).verdicts


def test_population_objective_is_the_mean_of_samples(rng):
    D = random_on_sphere(3, 4, rng)
    X = bernoulli_gaussian(400_000, 4, 0.3, rng)
    for p in (1, 3):
        powers = np.abs(X @ D.T) ** p
        errors = (powers.mean(axis=0) - population.moment(D, 0.3, p)) / (powers.std(axis=0) / np.sqrt(len(X)))
        assert np.abs(errors).max() < 4.5
    assert_allclose(gradient(X, D), population.population_gradient(D, 0.3), atol=0.03)


def test_population_gradient_is_that_of_the_objective(rng):
    d, theta, h = rng.standard_normal(5), 0.2, 1e-6
    around = np.concatenate([d + h * np.eye(5), d - h * np.eye(5)])
    values = -population.moment(around, theta, 3)
    assert_allclose(population.population_gradient(d[None], theta)[0], (values[:5] - values[5:]) / (2 * h), rtol=1e-7)


def test_gradient_of_samples_is_that_of_the_objective(rng):
    X, d, h = bernoulli_gaussian(500, 4, 0.4, rng), rng.standard_normal(4), 1e-6
    values = [-np.mean(np.abs(X @ (d + move)) ** 3) for move in (*h * np.eye(4), *-h * np.eye(4))]
    assert_allclose(gradient(X, d[None])[0], (np.array(values[:4]) - values[4:]) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("theta", [0.05, 0.5])
def test_the_integral_is_the_sum_over_supports(theta, rng):
    D = random_on_sphere(20, 9, rng)
    D[0], D[1, 3:] = np.eye(9)[0], 0
    D[2] *= [1e-4, 1, 1, 1, 1, 1, 1, 1, 1]
    exact = population._mean_norms_by_supports(D, theta)
    assert_allclose(population._mean_norms_by_integral(D, theta), exact, rtol=1e-10, atol=1e-13)


def test_starts_lie_in_good_subsets_and_know_their_atom(rng):
    D = starts_in_good_subsets(40, 6, 0.3, rng)
    assert len(D) == 40
    assert in_good_subset(D, 0.3).all()
    assert_allclose(np.sum(D * nearest_atoms(D), axis=1), np.abs(D).max(axis=1))


def test_slope_of_a_power():
    x = pd.Series([1e2, 1e3, 1e4])
    assert slope(x, 7 * x**-0.5) == pytest.approx(-0.5)


@pytest.mark.parametrize("kind", polar.KINDS)
def test_polar_factor_wins_and_another_matrix_does_not(kind, rng):
    C = polar.random_matrix(4, kind, rng)
    good, bad = (polar.compare(P, C, 100, rng) for P in (polar_factor(C), random_orthogonal(4, rng)))
    assert max(good["gap"], good["excess_far"], good["excess_near"]) < 1e-12
    assert bad["gap"] > 1e-2
    assert max(bad["excess_far"], bad["excess_near"]) > 1e-3
    config = {"n_features": 4, "kind": kind, "n_rivals": 100}
    assert verdicts(polar, pd.DataFrame([config | good]))[0].agrees
    assert not verdicts(polar, pd.DataFrame([config | bad]))[0].agrees


def test_rank_of_the_matrices_for_the_polar_factor(rng):
    assert np.linalg.matrix_rank(polar.random_matrix(6, "rank", rng)) == 3
    assert np.linalg.cond(polar.random_matrix(6, "well", rng)) == pytest.approx(10)


def test_tangent_lemma_both_ways(rng):
    X = random_orthogonal(4, rng)
    Z, rank = tangent.nearest_solution(X, rng.standard_normal((4, 4)))
    assert rank == 10
    assert tangent.defect(X, Z) < 1e-13
    assert np.abs(tangent.symmetric_part(X, Z)).max() < 1e-13
    assert tangent.defect(X, X + X @ np.eye(4)) == pytest.approx(4)
    records = frame(tangent.run, {"n_features": 4, "n_repeats": 3, "seed": 0})
    assert verdicts(tangent, records)[0].agrees
    for spoiled in ({"forward": 1e-3}, {"backward": 1e-3}, {"ratio": 0.0}, {"rank": 9}):
        assert not verdicts(tangent, records.assign(**spoiled))[0].agrees


def test_moments_agree_but_for_the_bound_with_p_below_two():
    config = {"n_features": 4, "theta": 0.2, "n_samples": 20_000, "n_points": 5, "seed": 0}
    records = frame(moments.run, config)
    assert [verdict.agrees for verdict in verdicts(moments, records)] == [True, True, False]
    ratios = records.groupby("p").over_bound
    assert ratios.min()[1] > 1 > ratios.max()[3]
    assert_allclose(records[records.p == 2].over_bound, 1)
    assert not verdicts(moments, records.assign(z=6.0))[0].agrees
    assert not verdicts(moments, records.assign(over_bound=1.1))[1].agrees


def test_deviation_falls_with_the_samples():
    shared = {"n_features": 4, "theta": 0.3, "n_points": 40, "seed": 0}
    records = frame(
        concentration.run,
        *(shared | {"n_samples": n, "trial": t} for n in (300, 3000, 30_000) for t in range(4)),
    )
    assert verdicts(concentration, records)[0].agrees
    assert not verdicts(concentration, records.assign(gradient=1.0))[0].agrees


def test_climbing_finds_larger_deviations_than_random_points(rng):
    X = bernoulli_gaussian(1000, 5, 0.25, np.random.default_rng([0, 5, 1000, 0]))
    found = concentration.run(5, 1000, 0.25, 20, 0, 0)
    value, slant = concentration.deviations(X, random_on_sphere(2000, 5, rng), 0.25)
    assert found["value"] > 0.95 * np.abs(value).max()
    assert found["gradient"] > 0.6 * slant.max()


def test_stationary_points_and_no_others(rng):
    D = random_on_sphere(5, 4, rng)
    assert stationary.gradient_norms(D, 0.3).min() > 1e-3
    for k in range(1, 5):
        points = stationary.random_stationary(6, 4, k, rng)
        assert_allclose(np.count_nonzero(points, axis=1), k)
        assert stationary.gradient_norms(points, 0.3).max() < 1e-14
        assert stationary.nearest_stationary(points[0]) == (k, pytest.approx(0, abs=1e-15))
    d = D[0]
    k, distance = stationary.nearest_stationary(d)
    every = np.concatenate([stationary.random_stationary(3000, 4, k, rng) for k in range(1, 5)])
    assert distance == pytest.approx(np.linalg.norm(every - d, axis=1).min())
    records = frame(stationary.run, {"n_features": 3, "theta": 0.4, "n_starts": 8, "seed": 0})
    assert all(verdict.agrees for verdict in verdicts(stationary, records))
    assert not any(verdict.agrees for verdict in verdicts(stationary, records.assign(gradient=1e-10, distance=0.1)))


def test_left_side_is_the_inner_product_of_the_lemma(rng):
    D = gradient_inequality.points_of_subset(3, 4, 0.2, rng)[:3]
    slopes = -on_sphere(D, population.population_gradient(D, 0.3))
    for j in range(3):
        direct = slopes[:, 3] / D[:, 3] - slopes[:, j] / D[:, j]
        assert_allclose(gradient_inequality.left_sides(D, 0.3)[:, j], direct, rtol=1e-9)


def test_points_of_the_good_subset(rng):
    for D in (
        gradient_inequality.points_of_subset(30, 6, 0.3, rng),
        gradient_inequality.points_at(0.9, 10, 6, 0.3, rng),
    ):
        assert_allclose(np.linalg.norm(D, axis=1), 1)
        assert in_good_subset(D, 0.3 - 1e-9).all()
        assert (np.argmax(D, axis=1) == 5).all()
    assert_allclose(np.linalg.norm(D - np.eye(6)[5], axis=1), 0.9)


def test_gradient_inequality_holds_with_the_proved_constant_only():
    config = {"kind": "population", "n_features": 6, "zeta": 0.05, "n_points": 20, "seed": 0}
    records = frame(gradient_inequality.run, config | {"theta": 0.2}, config | {"theta": 0.45})
    assert [verdict.agrees for verdict in verdicts(gradient_inequality, records)] == [True, False]
    assert [verdict.agrees for verdict in verdicts(gradient_inequality, records.assign(over_printed=1.1))] == [
        True,
        True,
    ]
    assert not verdicts(gradient_inequality, records.assign(over_proved=0.9))[0].agrees


def test_region_of_failure_shrinks():
    config = {"kind": "empirical", "n_features": 4, "theta": 0.3, "zeta": 0.1, "n_points": 30, "seed": 0}
    trials = [config | {"n_samples": n, "trial": t} for n in (1000, 10_000, 100_000) for t in range(5)]
    records = frame(gradient_inequality.run, *trials)
    share = records.groupby("n_samples").positive.mean()
    assert share.is_monotonic_increasing
    distances = np.geomspace(1e-3, 0.5, 9)
    share = pd.Series(1 / (1 + (0.02 / distances) ** 1.5), index=distances)
    assert gradient_inequality.crossing(share) == pytest.approx(0.02)
    assert np.isnan(gradient_inequality.crossing(share / 9))
    assert verdicts(gradient_inequality, records)[0].agrees
    assert not verdicts(gradient_inequality, records.assign(positive=0.3))[0].agrees


def test_iterates_stay_and_converge(rng):
    D = starts_in_good_subsets(4, 5, 0.1, rng)
    assert iterates.is_still_inside(D, D, 0.1).all()
    assert not iterates.is_still_inside(-D, D, 0.1).any()
    assert not iterates.is_still_inside(np.full((4, 5), 5**-0.5), D, 0.1).any()
    config = {"n_features": 10, "theta": THETA, "n_starts": 10, "trial": 0, "seed": 0}
    records = frame(iterates.run, *(config | {"n_samples": n} for n in (300, 50_000)))
    assert all(verdict.agrees for verdict in verdicts(iterates, records))
    assert not any(verdict.agrees for verdict in verdicts(iterates, records.assign(stay=0.5, gradient_largest=1.0)))


def test_stage_one_error_falls_with_the_samples():
    config = {"n_features": 10, "theta": THETA, "n_starts": 8, "trial": 0, "seed": 0}
    records = frame(theorem_1.run, *(config | {"n_samples": n} for n in (5000, 20_000, 80_000)))
    assert verdicts(theorem_1, records)[0].agrees
    assert not verdicts(theorem_1, records.assign(error=0.05))[0].agrees
    assert not verdicts(theorem_1, records.assign(error=1.4 / records.n_samples**0.01))[0].agrees


def test_stage_two_is_exact_with_the_steps_of_the_theorem():
    config = {"n_features": 10, "theta": THETA, "n_starts": 2, "trial": 0, "seed": 0, "distance": 0.1}
    records = frame(
        theorem_2.run,
        config | {"rule": "theorem", "c4": 1.0, "c5": 10.0},
        config | {"rule": "theorem", "c4": 1.0, "c5": 0.0},
        config | {"rule": "practical", "c4": 0.0, "c5": 0.0},
        config | {"rule": "practical", "c4": 0.0, "c5": 0.0, "distance": 0.01},
    )
    first = records[records.iteration == 0]
    assert (first.error <= first.distance).all()
    assert [verdict.agrees for verdict in verdicts(theorem_2, records)] == [True, False, None]
    assert not any(verdict.agrees for verdict in verdicts(theorem_2, records.assign(error=1e-3)))


def test_restarts():
    start = {"kind": "start", "n_points": 500, "seed": 0}
    starts = frame(theorem_3.run, *(start | {"n_features": n} for n in (2, 30)))
    # at N = 2 the share is known: angles whose squared tangent or cotangent is at least 1 + zeta
    exact = 2 - 4 / np.pi * np.arctan(np.sqrt(1 + 1 / (5 * np.log(2))))
    assert abs(starts.share[0] - exact) < 4 * starts.standard_error[0]
    restarts = frame(
        theorem_3.run,
        *({"kind": "restarts", "n_features": 6, "n_samples": 3000, "trial": t, "seed": 0} for t in range(5)),
    )
    assert (restarts.until_one <= restarts.until_all).all()
    assert (restarts.until_all >= 6).all()
    records = pd.concat([starts, restarts])
    assert all(verdict.agrees for verdict in verdicts(theorem_3, records))
    spoiled = records.assign(share=0.4, until_one=100.0, until_all=0.0)
    assert not any(verdict.agrees for verdict in verdicts(theorem_3, spoiled))
    assert theorem_3.coupons(3) == pytest.approx(5.5)


def test_experiment_gathers_its_parts():
    experiment = find("theory")
    assert experiment.run is theory.run
    for settings in (QUICK, PAPER):
        plan = experiment.plan(settings)
        assert {config["part"] for config in plan} == set(theory.PARTS)
    chosen = [
        {"part": "polar", "n_features": 3, "kind": "well", "n_rivals": 20, "n_matrices": 1, "seed": 0},
        {"part": "stationary", "n_features": 3, "theta": 0.4, "n_starts": 3, "seed": 0},
    ]
    findings = experiment.conclude(frame(experiment.run, *chosen), QUICK)
    assert list(findings.figures) == ["stationary"]
    assert len(findings.tables) == 1
    assert [verdict.agrees for verdict in findings.verdicts] == [True, True, True]


OPTIMA = {"n_features": 4, "theta": 0.3, "n_starts": 30, "seed": 0}


class TestOptima:
    def test_unit_vectors_are_the_optimum_and_climbs_reach_them(self):
        found = optima.run(**OPTIMA)
        assert found["atoms"] < 1e-12
        assert found["largest"] == pytest.approx(1, abs=1e-12)
        assert found["at_atom"] > 0.9
        assert 0.5 < found["others"] < 1

    def test_the_sentence_follows_the_numbers(self):
        row = OPTIMA | optima.run(**OPTIMA)
        assert optima.conclude(pd.DataFrame([row]), Settings()).verdicts[0].agrees
        for better in ({"largest": 1.001}, {"others": 1.0}):
            assert not optima.conclude(pd.DataFrame([row | better]), Settings()).verdicts[0].agrees


class TestStepRatio:
    def test_is_what_the_lemma_simplifies_it_to(self, rng):
        """-d_n over the n-th entry of the gradient."""
        D = random_on_sphere(5, 6, rng)
        G = population.population_gradient(D, 0.1)
        assert_allclose(step_ratio.ratios(D, G), -D / G, rtol=1e-10)

    def test_holds_within_the_range_of_theta_and_not_far_outside(self):
        shared = {"n_features": 12, "n_samples": 40_000, "n_points": 30, "seed": 0}
        rows = [shared | {"theta": theta} | step_ratio.run(theta=theta, **shared) for theta in (0.1, 0.9)]
        assert rows[0]["population"] > 2
        assert rows[0]["held"] > 0.9
        assert rows[1]["population"] < 1
        inside = step_ratio.conclude(pd.DataFrame([rows[0] | {"held": 1.0}, rows[1]]), Settings()).verdicts[0]
        assert inside.agrees
        assert not step_ratio.conclude(pd.DataFrame([rows[0] | {"held": 0.5}, rows[1]]), Settings()).verdicts[0].agrees


class TestGrowth:
    def records(self, of_n, of_theta):
        rows = []
        for config in growth.plan(Settings()):
            measured = config["n_features"] ** of_n * config["theta"] ** of_theta
            rows.append(config | {"measured": measured})
        return pd.DataFrame(rows)

    def test_powers_are_found_and_bounds_are_upper_bounds(self):
        def words(records):
            return [verdict.word for verdict in growth.conclude(records, Settings()).verdicts]

        assert words(self.records(0.5, 0.4)) == ["agrees"] * 4
        assert words(self.records(1.5, 0.4)) == ["differs", "agrees", "differs", "agrees"]
        assert words(self.records(0.5, -2.5)) == ["agrees", "differs", "differs", "agrees"]
        table = growth.conclude(self.records(1.5, 0.4), Settings()).tables[0]
        assert table.rows[0][2] == "1.50"
        assert table.rows[0][4] == "0.40"

    def test_fewest_samples_are_fewer_near_an_atom(self, rng):
        X = bernoulli_gaussian(4096, 12, 0.1, rng)
        near, anywhere = (growth.fewest(X, name, np.random.default_rng(0)) for name in ("theorem-2", "theorem-3"))
        assert 12 < near <= anywhere
