"""Decimals are found, in no more places than there are; what is odd stands aside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.compression.encoding.decimals import on_decimals


def is_apart(column):
    return np.any([column.is_gap, column.is_odd, *column.sentinels], axis=0)


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=80), st.integers(0, 6))
def test_decimals_are_found(numbers, decimals):
    column = np.array(numbers) / 10.0**decimals
    found = on_decimals(column, bound=0)
    assert found.decimals is not None
    assert found.decimals <= decimals
    back = found.whole / 10.0**found.decimals
    np.testing.assert_array_equal(back[found.is_coded], column[found.is_coded])
    np.testing.assert_array_equal(~found.is_coded, is_apart(found))
    assert np.count_nonzero(found.is_odd) <= max(4, len(column) // 50)


@given(st.integers(0, 2**32), st.integers(0, 3))
def test_single_precision_has_decimals_too(seed, decimals):
    column = np.round(np.random.default_rng(seed).normal(20, 5, 60), decimals).astype(np.float32)
    found = on_decimals(column, bound=0)
    assert found.decimals <= decimals
    np.testing.assert_array_equal((found.whole / 10.0**found.decimals).astype(np.float32), column)


def test_the_few_with_more_decimals_are_exceptions():
    column = np.round(np.linspace(3, 40, 100), 1)
    column[[20, 70]] = 50 / 3, 70 / 3
    found = on_decimals(column, bound=0)
    assert found.decimals == 1
    assert np.flatnonzero(found.is_odd).tolist() == [20, 70]
    assert not found.is_coded[[20, 70]].any()
    column[50] = 100 / 3  # one more than a fiftieth
    assert on_decimals(column, bound=0).decimals is None


def test_two_more_decimals_beat_more_than_a_few_exceptions():
    column = np.round(np.linspace(3, 40, 400), 1)
    column[[10, 20, 30]] = 7.125
    found = on_decimals(column, bound=0)
    assert (found.decimals, np.flatnonzero(found.is_odd).tolist()) == (1, [10, 20, 30])
    column[40] = 7.125
    found = on_decimals(column, bound=0)
    assert (found.decimals, np.count_nonzero(found.is_odd)) == (3, 0)


def test_where_only_the_rmse_counts_infinities_are_exceptions():
    column = np.array([1.0, np.inf, -0.0, np.nan, -np.inf, 2.5])
    found = on_decimals(column, bound=np.inf)
    assert np.flatnonzero(found.is_odd).tolist() == [1, 4]
    assert found.is_coded.tolist() == [True, False, True, False, False, True]
    assert found.decimals == 1


def test_without_loss_negative_zeros_are_exceptions_and_every_nan_is_a_gap():
    odd = np.array([0x7FF8000000000000, 0x7FF8000000000007, 0xFFF8000000000000], np.uint64).view(np.float64)
    found = on_decimals(np.concatenate([[1.0, -0.0, 0.0], odd]), bound=0)
    assert np.flatnonzero(found.is_odd).tolist() == [1]
    assert np.flatnonzero(found.is_gap).tolist() == [3, 4, 5]
    assert found.is_coded.tolist() == [True, False, True, False, False, False]


@pytest.mark.parametrize("bound", [0, 0.5])
def test_values_far_from_all_others_are_exceptions_unless_only_the_rmse_counts(bound):
    column = np.round(np.linspace(3, 40, 300), 1)
    column[[7, 9]] = 1e9, -9999
    assert np.flatnonzero(on_decimals(column, bound).is_odd).tolist() == [7, 9]
    assert on_decimals(column, np.inf).is_coded.all()


def test_a_value_that_comes_often_is_a_sentinel():
    column = np.round(np.linspace(3, 40, 300), 1)
    column[::20] = -9999
    found = on_decimals(column, bound=0)
    (places,) = found.sentinels
    np.testing.assert_array_equal(places, column == -9999)
    np.testing.assert_array_equal(found.is_coded, column != -9999)


def test_integers_are_themselves_unless_they_are_too_wide():
    for dtype in ("i1", "u1", "i8", "u8", "?"):
        found = on_decimals(np.array([0, 1, 1], dtype), bound=0)
        assert (found.decimals, found.whole.tolist()) == (0, [0, 1, 1])
    for column in (np.array([2**63], np.uint64), np.array([-(2**63)]), np.array([2**62 + 1])):
        assert on_decimals(column, bound=0).whole is None


def test_values_beyond_exact_whole_numbers_have_no_decimals():
    assert on_decimals(np.array([2.0**53, 1e300]), bound=0).decimals is None
    assert on_decimals(np.array([2.0**53, 3.0]), bound=0).decimals == 0
