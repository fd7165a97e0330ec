"""A column: its cells are coded or stand apart, and its whole numbers say what the cells are."""

import warnings

import numpy as np
import pytest

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.chunks.grids import VALUES
from hrpursuit.compression.encoding.decimals import on_decimals
from hrpursuit.compression.encoding.table_columns import on_grids

GIVEN = np.round(np.linspace(3, 40, 300), 1)
GIVEN[[5, 6, 100]] = np.nan
GIVEN[::20] = -9999
GIVEN[[7, 250]] = 50 / 3, np.inf


@pytest.fixture(params=[on_decimals, on_grids])
def column(request):
    return request.param(GIVEN, 0.0)


def test_each_cell_is_coded_or_stands_apart_for_one_reason(column):
    reasons = [column.is_coded, column.is_gap, column.is_odd, *column.sentinels]
    assert np.sum(reasons, axis=0).tolist() == [1] * len(GIVEN)
    assert np.flatnonzero(column.is_odd).tolist() == [7, 250]


def test_whole_numbers_are_the_cells_that_are_coded(column):
    (way,) = column.ways
    assert column.decimals == 1
    assert way.fits.all()
    np.testing.assert_array_equal(way.grid.to_values(way.numbers, GIVEN.dtype), GIVEN[column.is_coded])
    assert column.whole[~column.is_coded].tolist() == [0] * (len(GIVEN) - len(way.numbers))
    np.testing.assert_array_equal(column.whole[column.is_coded], way.numbers)
    assert column.numbers(0)[[4, 5, 6, 7]].tolist() == [way.numbers[3]] * 4


def test_the_first_rows_are_those_of_a_shorter_column(column):
    few = column.first_rows(130)
    for name in ("given", "is_gap", "is_odd", "is_coded", "whole", "values"):
        np.testing.assert_array_equal(getattr(few, name), getattr(column, name)[:130])
    assert [places.tolist() for places in few.sentinels] == [places[:130].tolist() for places in column.sentinels]
    np.testing.assert_array_equal(few.numbers(0), column.numbers(0)[:130])


def test_a_column_as_gaps_has_nothing_that_is_coded(column):
    gaps = column.as_gaps()
    assert not gaps.is_coded.any()
    assert (gaps.whole.tolist(), gaps.decimals, gaps.bound) == ([0] * len(GIVEN), 0, np.inf)
    assert (gaps.given.dtype, gaps.whole_range, gaps.largest) == (GIVEN.dtype, (0, 0), 0.0)


@pytest.mark.parametrize(("bound", "is_empty"), [(0.0, False), (0.5, True)])
def test_gaps_of_unusual_bits_are_something_without_loss(bound, is_empty):
    odd = np.full(9, np.nan)
    odd[4] = -odd[4]
    assert on_grids(odd, bound).is_empty == is_empty
    assert on_grids(np.abs(odd), bound).is_empty


def test_values_of_a_few_significant_digits_are_a_list(rng):
    """Each decimal more makes exceptions of fewer, but all numbers longer."""
    values = np.array([float(f"{x:.3g}") for x in np.exp(rng.normal(0, 1.5, 5000))])
    column = on_grids(values, 0.0)
    assert column.ways[0].grid.kind == VALUES
    assert not column.is_odd.any()
    assert len(compress(values[:, None], lossless=True, effort="fast")) < 5000 * 12 / 8 + 800


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ends_of_a_range_among_floats_are_sentinels(rng, dtype):
    """As of a valve that is often closed: noise takes all its bits each time, and so did a zero."""
    values = np.clip(40 + np.cumsum(rng.normal(0, 3, 5000)), 0, 100).astype(dtype)
    column = on_grids(values, 0.0)
    assert np.sum(column.sentinels) == np.count_nonzero((values == 0) | (values == 100)) > 1000
    inside = values[(values > 0) & (values < 100)]
    data = compress(values[:, None], lossless=True)
    assert len(data) < len(compress(inside[:, None], lossless=True)) + 500
    assert np.array_equal(decompress(data)[:, 0], values)


@pytest.mark.parametrize("effort", ["fast", "default", "best"])
def test_whole_numbers_beyond_those_of_floats_are_no_list_of_decimals(rng, effort):
    """A list of them in ones was written, and could not be read."""
    values = 2**60 + np.cumsum(rng.integers(-5, 9, 8000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = compress(values[:, None], lossless=True, effort=effort)
    assert np.array_equal(decompress(data)[:, 0], values)
    assert len(data) < 4500
