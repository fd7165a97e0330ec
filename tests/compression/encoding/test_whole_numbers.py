"""Readings as whole numbers: in steps that keep the bound, with room for the coder, and back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.compression.chunks.apart import Apart, Numbers
from hrpursuit.compression.chunks.handover import hand_over
from hrpursuit.compression.chunks.settings import BY_FACTOR, MOST_STEP
from hrpursuit.compression.encoding.decimals import on_decimals
from hrpursuit.compression.encoding.whole_numbers import (
    as_samples,
    fits_bound,
    fits_unit,
    fits_whole,
    for_rmse,
    on_grid,
    unit_of,
    within,
    without_loss,
)
from hrpursuit.compression.kernels.compiled import integers
from hrpursuit.compression.kernels.samples import LIMIT


def columns_of(table, bound=np.inf):
    return [on_decimals(column, bound) for column in np.asarray(table).T]


def handed_over(settings, numbers, whole=None):
    """What a decoder would make of the numbers, or of these whole ones."""
    numbers = numbers if whole is None else Numbers(whole, numbers.low)
    apart = Apart(integers(numbers.whole.shape, 1))
    return np.column_stack(hand_over(settings, apart, numbers, [np.dtype("f8")] * numbers.whole.shape[1]))


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.integers(1, 30)), draw(st.integers(1, 5))
    X = rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 5, shape[1]) + draw(st.sampled_from([0, 1013, -1e6]))
    return np.round(X, draw(st.integers(0, 3))) + 0.0  # no negative zeros


@given(tables())
def test_without_loss_nothing_is_lost(X):
    columns = [replace(column, bound=0) for column in columns_of(X)]
    assert all(map(fits_whole, columns))
    settings, numbers = without_loss(columns)
    np.testing.assert_array_equal(handed_over(settings, numbers), X)
    assert np.abs(numbers.whole).max() <= LIMIT


@given(tables(), st.sampled_from([1e-3, 0.05, 0.3, 1, 12.5, 1000]), st.integers(0, 2**32))
def test_half_a_step_is_within_the_bound(X, max_error, seed):
    columns = columns_of(X)
    assert all(fits_bound(column, max_error) for column in columns)
    settings, numbers = within(columns, max_error)
    assert np.abs(numbers.whole).max() <= LIMIT
    half = np.broadcast_to(np.array(settings.steps) >> settings.fraction, X.shape) // 2
    moved = np.random.default_rng(seed).choice([-1, 0, 1], X.shape) * half << settings.fraction
    assert np.abs(handed_over(settings, numbers, numbers.whole + moved) - X).max() <= max_error * (1 + 1e-9)


def test_steps_of_decimals_are_as_wide_as_the_bound_allows():
    X = np.round(np.random.default_rng(0).normal(20, 5, (40, 2)), 1)
    settings, _ = within(columns_of(X), 0.3)
    assert np.array(settings.steps) >> settings.fraction == 2 * 3 + 1
    assert settings.decimals == (1,)


def test_readings_that_are_no_decimals_count_in_sixteenths_of_the_bound(rng):
    settings, _ = within(columns_of(rng.standard_normal((40, 2))), 0.3)
    assert settings.decimals == (BY_FACTOR,)
    assert settings.factor == 0.3 / 16
    assert settings.steps[0] >> settings.fraction == 31


@pytest.mark.parametrize(("size", "max_error"), [(1e300, 1e-300), (1.7e308, 5e-324), (1.0, 5e-324), (1e-310, 1e-322)])
def test_bounds_that_are_out_of_reach(size, max_error, rng):
    assert not fits_bound(on_decimals(size * rng.random(9), max_error), max_error)


def test_bounds_beyond_all_numbers():
    column = on_decimals(np.array([0.5, 1.5, 2.0]), 1.7e308)
    assert fits_bound(column, 1.7e308)
    assert within([column], 1.7e308)[0].steps[0] <= MOST_STEP


def test_large_numbers_have_offsets_and_noisy_ones_low_bits(rng):
    X = np.column_stack([10**9 + rng.integers(0, 20, 50), rng.integers(0, 60000, 50), rng.integers(0, 50, 50)])
    settings, _ = without_loss(columns_of(X, 0))
    assert [bool(offset) for offset in settings.offsets] == [True, False, False]
    assert settings.widths[0] == settings.widths[2] == 0 < settings.widths[1] < 12


def test_an_offset_is_in_the_middle():
    settings, numbers = without_loss(columns_of(np.array([[10**9 + 7], [10**9 + 27]]), 0))
    assert (numbers.whole >> settings.fraction).tolist() == [[-10], [10]]


def test_noise_of_more_than_forty_bits_is_not_coded(rng):
    assert not fits_whole(on_decimals(rng.integers(-(2**60), 2**60, 50), 0))
    assert fits_whole(on_decimals(rng.integers(-(2**40), 2**40, 50), 0))


@given(tables())
def test_for_rmse_units_are_fine(X):
    settings, numbers = for_rmse(columns_of(X))
    unit = unit_of(settings)
    assert np.abs(numbers.whole).max() <= LIMIT
    np.testing.assert_allclose(numbers.whole * unit, X, atol=0.51 * unit)
    np.testing.assert_allclose(handed_over(settings, numbers), X, atol=0.51 * unit)


@pytest.mark.parametrize("size", [5e-324, 1e-322, 1e-318, 1e-310, 1e308])
def test_for_rmse_sizes_at_the_ends(size):
    settings, numbers = for_rmse(columns_of(np.array([[size, 0.0], [0.3 * size, size]])))
    assert 0 < unit_of(settings) < np.inf
    assert np.abs(numbers.whole).max() <= LIMIT


@given(tables(), st.floats(0.01, 10))
def test_multiples_of_a_unit_are_the_nearest(X, unit):
    columns = columns_of(X)
    if fits_unit(columns, unit):
        np.testing.assert_allclose(handed_over(*on_grid(columns, unit)), X, atol=0.5 * unit * (1 + 1e-9))


def test_units_finer_than_decimals_are_refused():
    columns = columns_of(np.array([[1.5], [2.5]]))
    assert fits_unit(columns, 0.2)
    assert not fits_unit(columns, 0.1)
    assert not fits_unit(columns_of(np.array([[np.pi * 1e16], [1.0]])), 1e-3)


@pytest.mark.parametrize("season", [7, 12, 24, 48])
def test_a_season_is_found(rng, season):
    X = np.tile(rng.integers(0, 1000, (season, 3)), (160 // season, 1))
    columns = columns_of(X)
    found = as_samples(columns, *for_rmse(columns)).season
    assert found == (24 if season == 12 else season)  # 24 is as good, and the first


def test_scales_follow_the_changes_of_columns(rng):
    alike, apart = rng.standard_normal((100, 3)), rng.standard_normal((100, 3)) * [1, 30, 900]
    alike, apart = columns_of(alike), columns_of(apart)
    assert len(as_samples(alike, *for_rmse(alike)).scales) == 1
    scales = as_samples(apart, *for_rmse(apart)).scales
    assert scales[0] < scales[1] < scales[2]
