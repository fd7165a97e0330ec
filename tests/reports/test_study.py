"""What a report computes, against the same computed another way."""

import base64
import json
import re
import zlib

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.compression import compress, decompress
from hrpursuit.reports import read_targets, study_table, write_page
from hrpursuit.reports.methods import choose, known
from hrpursuit.reports.packing import GAP, pack
from hrpursuit.reports.picture import MOST_CELLS, MOST_STEPS, choose_cells, ticks
from hrpursuit.reports.readings import plain_sizes, take_apart
from hrpursuit.reports.targets import suitable


def asked_for(target):
    """Parameters of compress."""
    return {"lossless": True} if target.kind == "lossless" else {target.kind: target.amount}


def cells_of(packed):
    return np.frombuffer(zlib.decompress(base64.b64decode(packed.cells)), dtype="<i2").astype(int)


def test_settings_are_what_the_files_give(small_study, network):
    values = network.to_numpy()
    for one in small_study.settings:
        data = compress(network, **asked_for(one.target))
        restored = decompress(data).to_numpy()
        errors = (values - restored)[~np.isnan(values)]
        assert one.n_bytes == len(data)
        assert_allclose(one.rmse, np.sqrt(np.sum(errors**2) / np.nansum(values**2)))
        assert_allclose(one.max_error, np.abs(errors).max())
        assert_allclose(one.sensor_max[:6], np.nanmax(np.abs(values - restored)[:, :6], axis=0))
        assert_array_equal(one.picture, restored)
    sizes = [one.n_bytes for one in small_study.settings]
    assert sizes == sorted(sizes, reverse=True)


def test_worst_hours_are_the_worst(small_study, network):
    values = network.to_numpy()
    one = min(small_study.settings, key=lambda one: one.n_bytes)
    errors = values - decompress(compress(network, **asked_for(one.target))).to_numpy()
    rms = np.sqrt(np.nanmean(errors**2, axis=1))
    assert one.hours
    assert_allclose([hour.rms for hour in one.hours], np.sort(rms)[::-1][: len(one.hours)])
    for hour in one.hours:
        assert_allclose(abs(errors[hour.row, hour.column]), np.nanmax(np.abs(errors[hour.row])))
        assert hour.around[0, hour.row - hour.first] == values[hour.row, hour.column]


def test_other_methods_are_compared(small_study):
    curves = {curve.method: curve for curve in small_study.curves}
    assert set(curves) == {"adaptive", "pca", "n_nonzero", "quantise-delta-xz"}
    for point in curves["quantise-delta-xz"].points:
        assert 0 < point.rmse <= 0.1501
    assert_allclose(sum(atom.share for atom in small_study.atoms.shown), 1)
    assert len(small_study.atoms.shown) == 9


def test_page_holds_readings_and_residuals(small_study, network):
    packed = pack(small_study, "")
    cells = cells_of(packed)
    values = network.to_numpy()
    size = values.size
    readings = cells[:size].reshape(values.shape)
    assert_array_equal(readings == GAP, np.isnan(values))
    step = packed.figures["step"]
    assert step == 0.1  # whole numbers, and what lies between them
    assert_array_equal(readings[~np.isnan(values)], np.round(values[~np.isnan(values)] / step))
    for i, one in enumerate(small_study.settings):
        lost = cells[(i + 1) * size : (i + 2) * size].reshape(values.shape)
        restored = step * (readings - lost)[~np.isnan(values)]
        assert_allclose(restored, one.picture[~np.isnan(values)], atol=0.51 * step)


def test_page_needs_nothing_else_and_escapes_names(page_file):
    text = page_file.read_text()
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert "Nine sensors &amp; a &lt;week&gt;" in text
    assert "</script><b>" not in text
    figures = json.loads(re.search(r'id="study">(.*?)</script>', text, flags=re.DOTALL)[1])
    assert figures["names"][-1] == "</script><b>s9"
    assert [path.name for path in page_file.parent.iterdir()] == ["report.html"]  # no temporary file is left


def constant():
    return np.full((30, 3), 7.0)


def zeros():
    return np.zeros((30, 3))


def nothing():
    return np.full((30, 3), np.nan)


def one_sensor():
    return np.round(np.cumsum(np.random.default_rng(0).normal(size=(60, 1)), axis=0), 1)


def one_row():
    return np.arange(5.0)[None]


def wide():
    return np.random.default_rng(0).normal(size=(4, 30))


def numbered():
    return pd.DataFrame(one_sensor(), columns=["a"], index=np.arange(100, 160))


@pytest.mark.parametrize("make", [constant, zeros, nothing, one_sensor, one_row, wide, numbered])
def test_odd_tables_have_a_page(make, tmp_path):
    table = make()
    found = study_table(table, None, ["dct", "n_nonzero", "quantise-delta-xz"])
    write_page(found, tmp_path / "x.html", "odd")
    values = np.asarray(table, dtype=float)
    assert (tmp_path / "x.html").stat().st_size > 10_000
    exact = next(one for one in found.settings if one.target.kind == "lossless")
    assert exact.max_error == 0
    assert_array_equal(exact.picture, values)
    assert exact.hours == ()


def test_infinities_and_what_is_no_table_are_refused():
    with pytest.raises(ValueError, match="1 of the readings are infinite"):
        take_apart(np.array([[1.0, np.inf]]))
    with pytest.raises(ValueError, match=r"got shape \(0, 3\)"):
        take_apart(np.empty((0, 3)))


def mixed():
    rng = np.random.default_rng(1)
    walks = rng.normal(size=(60, 3)).cumsum(axis=0) * [1e-6, 0.1, 1] + [5e-5, 20, 1000]
    return pd.DataFrame(np.column_stack([np.round(walks, 8), rng.integers(0, 3, 60)]), columns=["flow", "t", "p", "on"])


def test_bounds_by_column_are_on_the_page(tmp_path):
    (asked,) = read_targets("flow=1e-6, on=lossless, *=.5")
    found = study_table(mixed(), [asked, {"relative_rmse": 0.05, "lossless": ["on"]}], [])
    by_text = {one["text"]: one for one in pack(found, "").figures["settings"]}
    by_column = by_text["±1e-06 to ±0.5 by column, 1 column lossless"]
    by_rmse = by_text["relative RMSE 5%, 1 column lossless"]
    assert by_column["bounds"] == [1e-6, 0.5, 0.5, 0]
    assert by_rmse["bounds"] == [None, None, None, 0]
    assert by_rmse["short"] == "RMSE 5%, 1 column lossless"
    assert all(largest <= bound for largest, bound in zip(by_column["sensorMax"], by_column["bounds"], strict=True))
    (note,) = found.notes
    assert note.startswith("relative RMSE 5%, 1 column lossless: relative_rmse counts all readings")
    assert "'flow' (" in note
    with pytest.raises(ValueError, match="there is no column 'flo'"):
        study_table(mixed(), [{"lossless": True}, {"max_error": {"flo": 1, None: 1}}], [])


def test_targets_are_read():
    by_column = {"max_error": {"flow": 1e-6, "state": "lossless", "*": 1.0}}
    assert read_targets("flow=1e-6,state=lossless,*=1") == [by_column]
    assert read_targets("2%; flow=1e-6,state=lossless,*=1;lossless") == [
        {"relative_rmse": 0.02},
        by_column,
        {"lossless": True},
    ]
    assert read_targets("2%, 1.5,lossless,2%") == [{"relative_rmse": 0.02}, {"max_error": 1.5}, {"lossless": True}]
    for wrong in ("5 %%", "-1", "0%", "nan", "loss", "100%", "a=-1", "a=1,2", "a=1,5%"):
        with pytest.raises(ValueError, match="target"):
            read_targets(wrong)
    with pytest.raises(ValueError, match="names none"):
        read_targets(",")


def test_targets_suit_the_data(network):
    bounds = [target["max_error"] for target in suitable(take_apart(network)) if "max_error" in target]
    assert bounds == [1, 2, 5]  # readings of about 40, in whole numbers
    targets = suitable(take_apart(network.to_numpy() / 1000))
    small = [target["max_error"] for target in targets if "max_error" in target]
    assert_allclose(small, [0.001, 0.002, 0.005])
    assert suitable(take_apart(nothing())) == [{"lossless": True}]


def test_methods_are_chosen_by_name():
    assert choose("pca,dct,pca") == ["pca", "dct"]
    assert choose("none") == []
    assert choose("all") == known()
    assert choose("all", rivals=False) == ["hrp", "pca", "dct", "n_nonzero"]
    with pytest.raises(ValueError, match="unknown method 'gif'"):
        choose("gif")


@pytest.mark.parametrize("shape", [(744, 56), (100_000, 56), (5000, 3000), (1, 1)])
def test_large_tables_are_thinned_for_pictures(shape):
    cells = choose_cells(*shape, 9)
    assert len(cells.rows) <= MOST_STEPS
    assert len(cells.rows) * len(cells.columns) * 9 <= MOST_CELLS
    assert cells.rows[-1] < shape[0] <= cells.rows[-1] + cells.every_row
    if shape == (744, 56):
        assert cells.every_row == cells.every_column == 1


def test_ticks_are_round_times(network):
    readings = take_apart(network)
    found = ticks(readings, np.arange(168))
    assert found[0] == (0.0, "03-01")
    assert found[1] == (24.0, "03-02")
    assert [label for _, label in ticks(take_apart(network.to_numpy()), np.arange(168))] == [
        "0", "50", "100", "150"]  # fmt: skip


def test_plain_sizes_are_those_of_the_text(network):
    readings = take_apart(network.iloc[:2, :3])
    rows = [
        "time,s1,s2,s3",
        *(f"2024-03-01 0{i}:00," + ",".join(f"{v:.0f}" for v in readings.values[i]) for i in (0, 1)),
    ]
    assert plain_sizes(readings).csv == len("\n".join(rows)) + 1
