import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.datasets import make_sensor_network

QUIET = {"noise": 0, "events": 0, "silent": 0, "outages": 0, "network_outages": 0}


def lagged(table, lag):
    """Median over the sensors of the autocorrelation."""
    found = []
    for column in table.T[~np.isnan(table).all(axis=0)]:
        now, then = column[lag:], column[:-lag]
        both = ~np.isnan(now) & ~np.isnan(then)
        found.append(np.corrcoef(now[both], then[both])[0, 1] if both.sum() > 100 else np.nan)
    return np.nanmedian(found)


def spectrum(table):
    """Shares of the variance of hourly changes that principal components over the sensors have."""
    live = table[~np.isnan(table).all(axis=1)][:, ~np.isnan(table).all(axis=0)]
    filled = np.where(np.isnan(live), np.nanmean(live, axis=1, keepdims=True), live)
    values = np.linalg.svd(np.diff(filled, axis=0), compute_uv=False) ** 2
    return values / values.sum()


def october(tables):
    """Statistics that a codec or a dictionary feels: of several months, their mean."""
    return {
        "mean": np.mean([np.nanmean(table) for table in tables]),
        "deviation": np.mean([np.nanstd(table) for table in tables]),
        "change": np.mean([np.nanmean(np.abs(np.diff(table, axis=0))) for table in tables]),
        "lag 1": np.mean([lagged(table, 1) for table in tables]),
        "lag 24": np.mean([lagged(table, 24) for table in tables]),
        "first component": np.mean([spectrum(table)[0] for table in tables]),
        "tenth component": np.mean([spectrum(table)[9] for table in tables]),
        "gaps": np.mean([np.isnan(table).mean() for table in tables]),
    }


def test_readings_are_whole_numbers_and_not_negative():
    table = make_sensor_network(random_state=0)
    values = table[~np.isnan(table)]
    assert table.shape == (744, 56)
    assert values.min() >= 0
    assert not np.signbit(values).any()
    assert_array_equal(values, np.round(values))
    assert np.isnan(table).all(axis=0).sum() == 9


def test_same_seed_same_table_and_another_seed_another():
    first, second, other = (make_sensor_network(50, 8, random_state=seed) for seed in (3, 3, 4))
    assert_array_equal(first, second)
    assert (first != other).any()


def test_decimals_round_the_same_readings():
    exact, tenths = (make_sensor_network(40, 6, decimals=decimals, random_state=1) for decimals in (None, 1))
    assert_array_equal(np.round(exact, 1), tenths)
    assert (exact != tenths).any()


def test_a_frame_has_hours_and_names():
    frame = make_sensor_network(30, 120, start="2023-12-31T20", as_frame=True, random_state=0)
    assert frame.index.equals(pd.date_range("2023-12-31 20:00", periods=30, freq="h"))
    assert list(frame.columns[[0, 99, 119]]) == ["s001", "s100", "s120"]
    assert_array_equal(frame.to_numpy(), make_sensor_network(30, 120, start="2023-12-31T20", random_state=0))


def test_cycles_follow_the_calendar():
    table = make_sensor_network(24 * 365 * 3, 4, **QUIET, random_state=0).mean(axis=1)
    hours = pd.date_range("2024-10-01", periods=len(table), freq="h")
    assert table[hours.hour == 20].mean() > 1.5 * table[hours.hour == 12].mean()
    assert table[hours.month == 1].mean() > table[hours.month == 7].mean() + 3
    shifted = make_sensor_network(24 * 365, 4, **QUIET, start="2024-10-01T12", random_state=0).mean(axis=1)
    assert shifted[8::24].mean() > 1.5 * shifted[::24].mean()


def test_outages_are_what_was_asked_for():
    none = make_sensor_network(2000, 20, silent=0, outages=0, network_outages=0, random_state=0)
    assert not np.isnan(none).any()
    network = np.isnan(make_sensor_network(20_000, 5, silent=0, outages=0, network_outages=2, random_state=0))
    assert_array_equal(network.all(axis=1), network.any(axis=1))
    assert_allclose(network.mean(), 2 * 3 / 1000, rtol=0.5)
    single = np.isnan(make_sensor_network(20_000, 20, silent=0, outages=2, network_outages=0, random_state=0))
    assert not single.all(axis=1).any()
    lengths = np.diff(np.flatnonzero(np.diff(single.T.ravel().astype(int))))[::2]
    assert np.median(lengths) <= 4 < 100 < lengths.max()
    assert make_sensor_network(10, 3, silent=1, random_state=0)[0].tolist() == [pytest.approx(np.nan, nan_ok=True)] * 3


def test_neighbours_are_alike():
    """Sensors have no places in the table, but nearest ones correlate more than the rest do beyond the city's mean."""
    table = make_sensor_network(4000, 40, **QUIET, decimals=None, random_state=0)
    rest = np.sqrt(table) - np.sqrt(table).mean(axis=1, keepdims=True)
    correlations = np.corrcoef(rest.T) - np.eye(40)
    assert np.median(correlations.max(axis=1)) > 0.3
    assert abs(np.median(correlations)) < 0.1


def test_events_lift_a_few_sensors_for_a_while():
    calm, busy = (make_sensor_network(3000, 30, **QUIET | {"events": rate}, random_state=2) for rate in (0, 3))
    lift = np.sort(busy - np.median(busy, axis=1, keepdims=True), axis=1)
    without = np.sort(calm - np.median(calm, axis=1, keepdims=True), axis=1)
    assert np.percentile(lift[:, -1], 99) > 1.3 * np.percentile(without[:, -1], 99)
    assert_allclose(np.percentile(lift[:, 0], 1), np.percentile(without[:, 0], 1), rtol=0.3)


def test_a_long_table_is_made_in_seconds():
    began = time.process_time()
    table = make_sensor_network(100_000, random_state=0)
    assert table.shape == (100_000, 56)
    assert time.process_time() - began < 30  # 2.4 s on one core


def test_statistics_are_near_those_of_the_october_readings(raw_readings):
    asked = october([raw_readings])
    found = october([make_sensor_network(random_state=seed) for seed in range(5)])
    for name, rtol in [("mean", 0.2), ("deviation", 0.2), ("change", 0.1), ("lag 1", 0.02), ("lag 24", 0.2)]:
        assert_allclose(found[name], asked[name], rtol=rtol, err_msg=name)
    for name, rtol in [("first component", 0.2), ("tenth component", 0.4), ("gaps", 0.2)]:
        assert_allclose(found[name], asked[name], rtol=rtol, err_msg=name)


@pytest.mark.parametrize(
    "wrong", [{"n_hours": 0}, {"n_sensors": 0}, {"silent": 1.5}, {"outages": -1}, {"decimals": -1}, {"start": "soon"}]
)
def test_bad_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make_sensor_network(**wrong)
