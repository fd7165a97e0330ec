"""How often the dictionary is recovered from so many samples."""

import pandas as pd
import pytest

from hrpursuit.experiments.catalogue import sample_complexity
from hrpursuit.experiments.experiment import Settings
from hrpursuit.experiments.published import GROUP, MANIFOLDS, SPHERE
from hrpursuit.experiments.style import figure_style

QUICK = Settings()


def trial(where=GROUP, n_features=20, theta=0.2, exponent=2.0, trial=0, seed=0, quirks=()):
    return {
        row["scheme"]: row for row in sample_complexity.run(where, n_features, theta, exponent, trial, seed, quirks)
    }


@pytest.mark.parametrize("where", MANIFOLDS)
def test_both_schemes_succeed_with_many_samples(where):
    found = trial(where)
    assert all(row["success"] and row["n_samples"] == 4000 for row in found.values())
    assert found["ours"]["error"] < 1e-13 < found["paper"]["error"] < 1e-3


def test_few_samples_are_enough_for_ours_alone():
    found = trial(exponent=1.0, theta=0.5)
    assert found["ours"]["success"]
    assert found["paper"]["error"] > 0.1


def test_fewer_samples_than_features_are_no_success_and_no_error():
    found = trial(n_features=120, exponent=0.5)
    assert [row["success"] for row in found.values()] == [False, False]
    assert found["ours"]["n_samples"] < 120


def test_trials_differ_and_can_be_repeated():
    first, again, other = trial(SPHERE), trial(SPHERE), trial(SPHERE, trial=1)
    assert first["paper"]["error"] == again["paper"]["error"] != other["paper"]["error"]


def test_plans():
    paper = sample_complexity.plan(Settings(scale="paper"))
    assert len(paper) == 4 * 2 * 5 * 10 * 2
    assert len({tuple(map(str, config.values())) for config in paper}) == len(paper)
    assert max(config["exponent"] for config in sample_complexity.plan(QUICK)) == 2


def made_up(first):
    """Records in which a scheme succeeds from a given exponent on."""
    rows = []
    for config in sample_complexity.plan(QUICK):
        for scheme, exponent in first.items():
            rows.append(config | {"scheme": scheme, "n_samples": 1, "success": config["exponent"] >= exponent})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("paper", "ours", "agree"),
    [(2.0, 1.0, [True, True]), (2.5, 1.0, [False, True]), (1.5, 2.0, [True, False]), (1.5, 3.0, [True, False])],
)
def test_verdicts_follow_the_records(paper, ours, agree):
    with figure_style():
        findings = sample_complexity.conclude(made_up({"paper": paper, "ours": ours}), QUICK)
    assert [verdict.agrees for verdict in findings.verdicts] == [*agree, None]
    assert ("never" in findings.verdicts[0].text) == (paper > 2)


def test_one_failure_above_moves_the_exponent_up():
    records = made_up({"paper": 1.0, "ours": 1.0})
    at = (records["where"] == GROUP) & (records.theta == 0.5) & (records.scheme == "ours") & (records.exponent == 1.5)
    records.loc[records[at].index[0], "success"] = False
    assert sample_complexity.first_certain(records, GROUP, 0.5, "ours") == 2
    assert sample_complexity.first_certain(records, GROUP, 0.5, "paper") == 1
    rates = sample_complexity.success_rates(records, GROUP, 0.5, "ours", 30)
    assert rates[1.5] == 0.75
    assert rates[0.5] == 0


def test_figure_is_labelled():
    with figure_style():
        figure = sample_complexity.conclude(made_up({"paper": 2.0, "ours": 1.0}), QUICK).figures[""]
        figure.draw_without_rendering()
    labels = [(axis.get_xlabel(), axis.get_ylabel()) for axis in figure.axes]
    assert all(labels[i][0] for i in (2, 3))
    assert all(labels[i][1] for i in (0, 2))
    assert len(figure.legends[0].get_texts()) == 4
