"""The figures that explain: facts that they rest on, from trials run here."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import FancyBboxPatch

from hrpursuit.core.gpm import STAGE_ONE
from hrpursuit.core.sphere import in_good_subset, random_on_sphere
from hrpursuit.core.tangent import STAGE_TWO
from hrpursuit.experiments.catalogue import flow, good_subset, landscape, two_stage
from hrpursuit.experiments.experiment import Settings
from hrpursuit.experiments.population import moment
from hrpursuit.experiments.style import figure_style

QUICK = Settings()


def records_of(module, configs):
    rows = []
    for config in configs:
        found = module.run(**config)
        rows += [config | row for row in ([found] if isinstance(found, dict) else found)]
    return pd.DataFrame(rows)


def drawn(module, records, tmp_path):
    """Findings, after the figure has been laid out and written: warnings are errors here."""
    with figure_style():
        findings = module.conclude(records, QUICK)
        findings.figures[""].savefig(tmp_path / "figure.svg")
    return findings


def texts(figure):
    return " ".join(text.get_text() for axis in figure.axes for text in axis.texts)


@pytest.fixture(scope="module")
def two_stage_records():
    return records_of(two_stage, two_stage.plan(QUICK))


def points(records, stage, atom):
    chosen = records[(records.stage == stage) & (records.atom == atom)].sort_values("iteration")
    return chosen[["x", "y"]].to_numpy()


@pytest.mark.parametrize("atom", [1, 2])
def test_stage_one_goes_along_the_circle_and_stage_two_along_the_tangent(two_stage_records, atom):
    one, two, end = (points(two_stage_records, stage, atom) for stage in (STAGE_ONE, STAGE_TWO, two_stage.PROJECTION))
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1, atol=1e-12)
    anchor, target = one[-1], np.eye(2)[atom - 1]
    np.testing.assert_allclose((two - anchor) @ anchor, 0, atol=1e-12)
    assert np.linalg.norm(two - anchor, axis=1).max() > 0.05
    assert np.linalg.norm(end[0] - target) < 1e-6 < np.linalg.norm(anchor - target)
    assert np.linalg.norm(two[-1]) > 1 + 1e-4  # a scaled atom, before the projection


@pytest.mark.parametrize("seed", [1, 2])
def test_the_example_starts_and_ends_as_its_docstring_says(seed):
    records = records_of(two_stage, two_stage.plan(Settings(seed=seed)))
    degrees = np.degrees(np.arccos(points(records, STAGE_ONE, 1)[[0, -1], 0]))
    assert degrees[0] >= 25
    assert 4 <= degrees[1] <= 10


def test_two_stage_figure(two_stage_records, tmp_path):
    findings = drawn(two_stage, two_stage_records, tmp_path)
    assert findings.verdicts[0].agrees
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in findings.figures[""].axes[:2])
    spoilt = two_stage_records.copy()
    spoilt.loc[spoilt.stage == two_stage.PROJECTION, ["x", "y"]] = points(two_stage_records, STAGE_ONE, 1)[-1]
    with figure_style():
        assert not two_stage.conclude(spoilt, QUICK).verdicts[0].agrees


def test_the_subset_takes_a_sixth_of_the_sphere():
    found = good_subset.run(zeta=0.0, n_points=200_000, seed=0)
    assert found["share"] == pytest.approx(1 / 6, abs=1e-2)
    assert found["exact"] == pytest.approx(1 / 6, abs=1e-12)


@pytest.mark.parametrize("zeta", good_subset.ZETAS)
def test_the_outline_separates_the_subset_from_the_rest(zeta):
    edge = good_subset.outline(zeta)
    for factor, is_inside in ((0.999, True), (1.001, False)):
        flat = factor * edge
        d = np.column_stack([flat, np.sqrt(1 - np.sum(flat**2, axis=1))])
        is_around = np.abs(d).argmax(axis=1) == 2
        assert ((in_good_subset(d, zeta) & is_around) == is_inside).all()


def test_expected_objective_is_what_samples_show(rng):
    d = random_on_sphere(4, 3, rng)
    codes = rng.standard_normal((400_000, 3)) * (rng.random((400_000, 3)) < 0.2)
    np.testing.assert_allclose(moment(d, 0.2, 3), np.mean(np.abs(codes @ d.T) ** 3, axis=0), rtol=0.03)


def test_good_subset_figure(tmp_path):
    configs = [config | {"n_points": 50_000} for config in good_subset.plan(QUICK)]
    records = records_of(good_subset, configs)
    findings = drawn(good_subset, records, tmp_path)
    assert findings.verdicts[0].agrees
    axis = findings.figures[""].axes[0]
    assert axis.get_xlabel()
    assert axis.get_ylabel()
    with figure_style():
        assert not good_subset.conclude(records.assign(share=0.15), QUICK).verdicts[0].agrees


@pytest.fixture(scope="module")
def landscape_records():
    configs = [config | {"spacing": 10.0, "n_starts": 60} for config in landscape.plan(QUICK)]
    return records_of(landscape, [config | {"n_samples": min(config["n_samples"], 20_000)} for config in configs])


def test_value_at_an_atom_is_the_third_moment_of_its_codes(rng):
    X = rng.standard_normal((500, 3)) * (rng.random((500, 3)) < 0.2)
    np.testing.assert_allclose(landscape.objective(X, np.eye(3), 500), -np.mean(np.abs(X) ** 3, axis=0))


def test_minima_are_lower_than_everything_around_them(landscape_records):
    found = landscape_records[landscape_records.n_samples == 20_000]
    surface, minima = (found[found.kind == kind] for kind in (landscape.SURFACE, landscape.MINIMUM))
    d = landscape.on_sphere(surface.longitude.to_numpy(), surface.latitude.to_numpy())
    for at in minima.itertuples():
        cosines = d @ landscape.on_sphere(np.array([at.longitude]), np.array([at.latitude]))[0]
        around = (np.abs(cosines) > np.cos(np.radians(30))) & (np.abs(cosines) < np.cos(np.radians(1)))
        assert around.sum() > 5
        assert (surface.value[around] > at.value).all()


def test_angles_of_minima_are_those_to_the_nearest_atom(landscape_records):
    minima = landscape_records[landscape_records.kind == landscape.MINIMUM]
    d = landscape.on_sphere(minima.longitude.to_numpy(), minima.latitude.to_numpy())
    np.testing.assert_allclose(np.cos(np.radians(minima.degrees_off)), np.abs(d).max(axis=1), atol=1e-9)


def test_starts_are_spread_over_the_sphere():
    d = landscape.spread_points(200)
    np.testing.assert_allclose(np.linalg.norm(d, axis=1), 1)
    np.testing.assert_allclose(d.mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(d.T @ d / 200, np.eye(3) / 3, atol=0.01)


def test_landscape_figure(landscape_records, tmp_path):
    findings = drawn(landscape, landscape_records, tmp_path)
    assert findings.verdicts[0].agrees
    assert "6 minima" in findings.verdicts[0].text
    assert (tmp_path / "figure.svg").stat().st_size < 3_000_000
    spurious = landscape_records.iloc[[-1]].assign(degrees_off=40.0)
    with figure_style():
        spoilt = landscape.conclude(pd.concat([landscape_records, spurious]), QUICK)
    assert not spoilt.verdicts[0].agrees


def test_flow_tells_what_the_stages_did(tmp_path):
    records = records_of(flow, flow.plan(QUICK))
    assert list(records[records.scheme == "paper"].stage) == [STAGE_ONE, STAGE_TWO]
    errors = records.groupby("scheme").error.max()
    l1 = records.groupby("scheme").l1_of_all_samples.first()
    assert l1["exact"] < l1["paper"]
    assert errors["exact"] < 1e-12 < errors["paper"] < 0.05
    findings = drawn(flow, records, tmp_path)
    assert [verdict.word for verdict in findings.verdicts] == ["note", "holds"]
    for word in ("Stage One", "Stage Two", "Projection", "Search", "Exact polish", "Certificate", "T_0"):
        assert word in texts(findings.figures[""])
    with figure_style():
        assert not flow.conclude(records.assign(l1_after=records.l1_before), QUICK).verdicts[0].agrees


def test_boxes_of_the_flow_hold_their_text(tmp_path):
    findings = drawn(flow, records_of(flow, flow.plan(QUICK)), tmp_path)
    figure = findings.figures[""]
    figure.canvas.draw()
    axis = figure.axes[0]
    boxes = [patch.get_window_extent() for patch in axis.patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == 11
    for text in axis.texts:
        extent = text.get_window_extent()
        if text.get_text():
            touched = [box for box in boxes if box.overlaps(extent)]
            assert all(box.x0 < extent.x0 and extent.x1 < box.x1 and box.y0 < extent.y0 and extent.y1 < box.y1
                       for box in touched), text.get_text()  # fmt: skip
