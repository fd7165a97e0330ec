"""Regressions and long filters of the coder of tables find what is there, in integers."""

import numpy as np
import pytest

from hrpursuit.compression.chunks.tabular import QUICK, ColumnSettings, TableSettings
from hrpursuit.compression.kernels.compiled import as_table
from hrpursuit.compression.kernels.regression import WEIGHT_BITS, learn_change, new_regression, padded
from hrpursuit.compression.kernels.table_features import filtered, learn_filter
from hrpursuit.compression.kernels.table_state import LIMIT, new_table
from hrpursuit.compression.layout import Cursor


def features(*numbers):
    """Filled up with zeros, as the regression takes them."""
    return as_table(np.pad(np.array(numbers), (0, padded(len(numbers)) - len(numbers))), "i4")


def test_a_large_feature_does_not_spoil_the_others():
    """All features once had one scale, so that small ones beside a large one were rounded to nothing."""
    rng = np.random.default_rng(0)
    regression = new_regression(1, 3)
    for _ in range(400):
        small, large = int(rng.normal(0, 4096)), int(rng.normal(0, 2**21))
        target = small // 2 + large // 512
        learn_change(regression, 0, features(4096, small, large), target, 3)
    weights = np.asarray(regression.weights[0, :2, :3], dtype=float) / 2**WEIGHT_BITS
    np.testing.assert_allclose(weights[:, 1], 0.5, atol=0.01)
    np.testing.assert_allclose(weights[:, 2], 1 / 512, rtol=0.01)


def test_a_long_filter_predicts_a_tone_in_noise():
    rng = np.random.default_rng(1)
    t = np.arange(6000)
    values = np.rint(4096 * (np.sin(t / 7) + rng.normal(0, 0.3, len(t)))).astype(int)
    one = np.zeros(1, np.int64)
    state = new_table(one + 16, one, one, np.array([[-LIMIT, LIMIT]]), 6000, 2, 0, 0, n_taps=32)
    parts = state.columns[0], state.taps[0], state.past[0]
    errors = []
    for value in values.tolist():
        errors.append(value - int(filtered(*parts)))
        learn_filter(*parts, value)
    noise = 0.3 * 4096
    assert np.std(errors[3000:]) < 1.25 * noise < 0.6 * np.std(values)


@pytest.mark.long
def test_more_columns_than_regressions_have_room_for_are_coded_quickly():
    """Settings of the quick pace were once refused above 671,088 columns, where sums that it has not would be many."""
    n = 671_089
    settings = TableSettings((ColumnSettings(),) * n, pace=QUICK)
    read = TableSettings.from_cursor(Cursor(settings.to_bytes()), [np.dtype("f8")] * n)
    assert (read.pace, len(read.columns)) == (QUICK, n)


def test_sums_forget(rng):
    """Once the relation has changed, weights follow it: at first over 256 values, in the end over 2,048."""
    regression = new_regression(1, 1)
    found = []
    for t in range(12_000):
        feature = int(rng.normal(0, 4096))
        target = feature if t < 4000 else -feature
        learn_change(regression, 0, features(feature), target, 1)
        if t in (3999, 5500, 11_999):
            found.append(np.asarray(regression.weights[0, :2, 0], dtype=float) / 2**WEIGHT_BITS)
    before, soon, late = found
    np.testing.assert_allclose(before, 1, atol=0.02)
    assert soon[0] < -0.95
    assert abs(soon[1]) < 0.9  # still between both
    np.testing.assert_allclose(late, -1, atol=0.1)
