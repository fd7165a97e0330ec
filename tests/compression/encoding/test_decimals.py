"""Decimals are found, in no more places than there are; what is odd stands aside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.compression.encoding.decimals import take_all_apart, take_apart


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=80), st.integers(0, 6))
def test_decimals_are_found(numbers, decimals):
    column = np.array(numbers) / 10.0**decimals
    found = take_apart(column, lossless=True)
    assert found.decimals is not None
    assert found.decimals <= decimals
    back = found.whole / 10.0**found.decimals
    np.testing.assert_array_equal(back[found.seen], column[found.seen])
    np.testing.assert_array_equal(np.flatnonzero(~found.seen), found.exceptions)
    assert len(found.exceptions) <= len(column) // 50


@given(st.integers(0, 2**32), st.integers(0, 3))
def test_single_precision_has_decimals_too(seed, decimals):
    column = np.round(np.random.default_rng(seed).normal(20, 5, 60), decimals).astype(np.float32)
    found = take_apart(column, lossless=True)
    assert found.decimals <= decimals
    np.testing.assert_array_equal((found.whole / 10.0**found.decimals).astype(np.float32), column)


def test_the_few_with_more_decimals_are_exceptions():
    column = np.round(np.linspace(3, 40, 100), 1)
    column[[20, 70]] = 50 / 3, 70 / 3
    found = take_apart(column, lossless=True)
    assert found.decimals == 1
    assert found.exceptions.tolist() == [20, 70]
    assert not found.seen[[20, 70]].any()
    column[50] = 100 / 3  # one more than a fiftieth
    assert take_apart(column, lossless=True).decimals is None


def test_two_more_decimals_beat_exceptions():
    column = np.round(np.linspace(3, 40, 100), 1)
    column[10] = 7.125
    found = take_apart(column, lossless=True)
    assert (found.decimals, len(found.exceptions)) == (3, 0)


def test_with_loss_only_infinities_are_exceptions():
    column = np.array([1.0, np.inf, -0.0, np.nan, -np.inf, 2.5])
    found = take_apart(column, lossless=False)
    assert found.exceptions.tolist() == [1, 4]
    assert found.seen.tolist() == [True, False, True, False, False, True]
    assert found.decimals == 1


def test_without_loss_odd_zeros_and_nans_are_exceptions():
    odd = np.array([0x7FF8000000000000, 0x7FF8000000000007, 0xFFF8000000000000], np.uint64).view(np.float64)
    column = np.concatenate([[1.0, -0.0, 0.0], odd])
    found = take_apart(column, lossless=True)
    assert found.exceptions.tolist() == [1, 4, 5]
    assert found.seen.tolist() == [True, False, True, False, False, False]


def test_integers_are_themselves_unless_they_are_too_wide():
    for dtype in ("i1", "u1", "i8", "u8", "?"):
        found = take_apart(np.array([0, 1, 1], dtype), lossless=True)
        assert (found.decimals, found.whole.tolist()) == (0, [0, 1, 1])
    for column in (np.array([2**63], np.uint64), np.array([-(2**63)]), np.array([2**62 + 1])):
        assert take_apart(column, lossless=True).whole is None


def test_values_beyond_exact_whole_numbers_have_no_decimals():
    assert take_apart(np.array([2.0**53, 1e300]), lossless=True).decimals is None
    assert take_apart(np.array([2.0**53, 3.0]), lossless=True).decimals == 0


@pytest.mark.parametrize("lossless", [True, False])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_columns_taken_apart_together_are_as_one_by_one(rng, lossless, dtype):
    X = rng.integers(-50, 50, (40, 9)).astype(dtype)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[3, 1], X[4, 2], X[5, 3], X[6, 4] = 0.5, np.inf, -0.0, 1e30
    X[7:9, 5].view(f"u{X.itemsize}")[:] |= 1  # an unusual NaN, or another number
    X[:, 6] = np.nan
    columns = [np.ascontiguousarray(column) for column in X.T]
    for one, other in zip(take_all_apart(columns, lossless), [take_apart(c, lossless) for c in columns], strict=True):
        assert one.decimals == other.decimals
        for name in ("seen", "exceptions", "whole"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
