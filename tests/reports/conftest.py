"""A small network of sensors, and its page."""

import numpy as np
import pandas as pd
import pytest

from hrpursuit.reports import study_table, write_page

TARGETS = [{"lossless": True}, {"max_error": 2.0}, {"relative_rmse": 0.05}, {"relative_rmse": 0.15}]


def small_network():
    """A week of 9 sensors with whole numbers, an outage of one sensor, and one that never reports."""
    rng = np.random.default_rng(7)
    hours = np.arange(168)
    field = 40 + 15 * np.sin(hours / 24 * 2 * np.pi)[:, None] * rng.uniform(0.5, 1.2, 9) + rng.normal(0, 2, (168, 9))
    field[100, 4] += 60
    field = np.round(np.maximum(field, 0))
    field[20:50, 2] = np.nan
    field[:, 6] = np.nan
    index = pd.date_range("2024-03-01", periods=168, freq="h")
    return pd.DataFrame(field, index=index, columns=[f"s{i}" for i in range(1, 9)] + ["</script><b>s9"])


@pytest.fixture(scope="session")
def network():
    return small_network()


@pytest.fixture(scope="session")
def small_study(network):
    return study_table(network, TARGETS, ["pca", "n_nonzero", "quantise-delta-xz"])


@pytest.fixture(scope="session")
def page_file(small_study, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(small_study, path, "Nine sensors & a <week>")
    return path
