"""Error against iteration, and the settings of the published curves."""

import numpy as np
import pandas as pd
import pytest

from hrpursuit.core.evaluate import value
from hrpursuit.core.gpm import STAGE_ONE, gpm
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.objectives import L1Norm
from hrpursuit.core.tangent import STAGE_TWO
from hrpursuit.experiments.catalogue import convergence
from hrpursuit.experiments.errors import atom_error, recovery_error
from hrpursuit.experiments.experiment import Settings
from hrpursuit.experiments.published import GROUP, MANIFOLDS, SPHERE, adaptive_stage_two
from hrpursuit.experiments.quirks import MATCHING, SHRINK
from hrpursuit.experiments.style import figure_style
from hrpursuit.experiments.synthetic import bernoulli_gaussian
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows

QUICK = Settings()


def test_two_estimates_of_one_atom_count_once_unless_asked_for(rng):
    truth = random_orthogonal(6, rng)
    doubled = truth.copy()
    doubled[5] = truth[0]  # the last atom is not there
    assert recovery_error(doubled, truth) == dictionary_error(doubled, truth) > 0.5
    shared = np.vstack([truth[0] + truth[1], truth[2:], truth[5]])  # the first is as near to two true atoms
    assert recovery_error(shared, truth, [MATCHING]) == pytest.approx(np.sqrt(2 * (2 - np.sqrt(2)) / 6))
    assert recovery_error(shared, truth) > 1.2 * recovery_error(shared, truth, [MATCHING])
    shuffled = -truth[::-1]
    for quirks in ((), (MATCHING,)):
        assert recovery_error(shuffled, truth, quirks) < 1e-15


def test_atom_error_is_the_distance_to_the_nearest_atom(rng):
    truth = random_orthogonal(5, rng)
    w = -truth[3] + 0.1 * truth[1]
    expected = min(np.linalg.norm(s * w / np.linalg.norm(w) - atom) for atom in truth for s in (1, -1))
    assert atom_error(w[None], truth) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("where", MANIFOLDS)
def test_accepted_steps_fall_and_stay_in_the_tangent_space(where, rng):
    truth = random_orthogonal(8, rng)
    rows = ArrayRows(bernoulli_gaussian(3000, 8, 0.2, rng, truth))
    make, shrink = MANIFOLDS[where]
    manifold = make()
    start = random_orthogonal(8, rng)[: 8 if where == GROUP else 1]
    R = gpm(rows, start, manifold=manifold).components
    last = value(rows, R, L1Norm()) / 3000
    seen = list(adaptive_stage_two(rows, R, manifold, shrink))
    assert 20 < len(seen) <= 50
    for W, l1 in seen:
        assert l1 < last
        last = l1
        assert l1 == pytest.approx(value(rows, W, L1Norm()) / 3000, rel=1e-12)
        np.testing.assert_allclose(manifold.tangent(R, W - R), W - R, atol=1e-12)
    error = recovery_error if where == GROUP else atom_error
    assert error(manifold.project(seen[-1][0]), truth) < 0.05 * error(R, truth)


def test_a_step_that_always_shrinks_is_shorter(rng):
    """The published rule on the sphere."""
    X = bernoulli_gaussian(3000, 8, 0.2, rng)
    make, shrink = MANIFOLDS[SPHERE]
    R = gpm(ArrayRows(X), np.eye(8)[:1] + 0.2 * rng.standard_normal((1, 8)), manifold=make()).components
    steps = {}
    for always in (False, True):
        points = [R, *(W for W, _ in adaptive_stage_two(ArrayRows(X), R, make(), shrink, always=always))]
        steps[always] = np.linalg.norm(np.diff(points, axis=0), axis=(1, 2))
    assert steps[True][-1] < 0.1 * steps[False][-1]
    assert len(steps[True]) <= len(steps[False]) == 50


def test_stage_two_ends_where_nothing_lowers_the_objective():
    rows = ArrayRows(np.eye(3))
    make, shrink = MANIFOLDS[GROUP]
    assert list(adaptive_stage_two(rows, np.eye(3), make(), shrink)) == []


def test_samples_made_in_blocks_are_sparse_in_their_dictionary(rng):
    W = random_orthogonal(7, rng)
    X = bernoulli_gaussian(20_000, 7, 0.3, rng, W)
    codes = X @ W.T
    used = np.abs(codes) > 1e-12
    assert used.mean() == pytest.approx(0.3, abs=0.01)
    assert codes[used].std() == pytest.approx(1, abs=0.02)


@pytest.fixture(scope="module")
def records():
    rows = []
    for config in convergence.plan(QUICK):
        config = config | {"n_features": 10, "n_samples": 4000}
        rows += [config | row for row in convergence.run(**config)]
    return pd.DataFrame(rows)


def test_a_trial_gives_the_error_of_every_iterate(records):
    assert set(records["where"]) == {GROUP, SPHERE}
    shrinks = records.quirks.map(lambda quirks: SHRINK in quirks)
    assert set(records["where"][shrinks]) == {SPHERE}
    for _, curve in (
        records[records.stage != convergence.DEFAULT].assign(shrinks=shrinks).groupby(["where", "shrinks", "trial"])
    ):
        assert list(curve.iteration) == list(range(len(curve)))
        one, two = (curve[curve.stage == stage] for stage in (STAGE_ONE, STAGE_TWO))
        assert len(one) == 31
        assert two.error.iloc[-1] < 0.1 * one.error.iloc[-1] < 0.1 * one.error.iloc[0]
    ours = records[records.stage == convergence.DEFAULT].groupby("where").error.max()
    assert ours[GROUP] < 1e-13
    assert ours[SPHERE] < 1e-7


def test_settled_after():
    assert convergence.settled_after([1, 0.5, 0.1, 0.012, 0.01, 0.01]) == 3
    assert convergence.settled_after([0.1, 0.1]) == 0


def test_figure_and_verdicts_follow_the_records(records):
    with figure_style():
        findings = convergence.conclude(records, QUICK)
        findings.figures[""].draw_without_rendering()
    axes = findings.figures[""].axes
    assert axes[0].get_ylabel()
    assert all(axis.get_xlabel() and axis.get_yscale() == "log" for axis in axes)
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert [verdict.agrees for verdict in findings.verdicts] == [True, True, None]
    spoilt = records.copy()
    spoilt.loc[spoilt.stage == STAGE_TWO, "error"] = 0.5
    spoilt.loc[spoilt.stage == convergence.DEFAULT, "error"] = 0.6
    with figure_style():
        assert [verdict.agrees for verdict in convergence.conclude(spoilt, QUICK).verdicts] == [False, False, None]


def test_paper_scale_is_the_papers():
    configs = convergence.plan(Settings(scale="paper"))
    assert {(c["n_features"], c["n_samples"], c["theta"]) for c in configs} == {(50, 100_000, 0.1)}
    assert len(configs) == 30  # the sphere twice: with the step that always shrinks, and without
    assert sum(c["quirks"] == [SHRINK] for c in configs) == 10
    assert convergence.plan(Settings(quirks=frozenset([MATCHING])))[0]["quirks"] == [MATCHING]
