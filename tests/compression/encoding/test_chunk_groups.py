"""What an encoded group is measured by."""

from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.bases import Basis
from hrpursuit.compression.encoding.chunk_groups import ChunkGroup, Encoded, error_of, is_same, is_within
from hrpursuit.compression.encoding.decimals import on_decimals


def encoded_as(given, got, **changes):
    columns = [replace(on_decimals(column, 0), **changes) for column in given]
    return Encoded(b"", got), ChunkGroup(columns, Basis())


def test_columns_are_judged_one_by_one():
    given = [np.array([1.0, 2.0, np.nan]), np.array([5.0, 6.0, 7.0])]
    got = [np.array([1.0, 2.0, np.nan]), np.array([5.0, 6.0, 7.25])]
    encoded, group = encoded_as(given, got)
    assert is_same(encoded, group) == [True, False]
    assert is_within(encoded, group, 0.25) == [True, True]
    assert is_within(encoded, group, 0.24) == [True, False]
    assert encoded.squared_error(group, 0.5) == 0.25
    assert (group.n_readings, group.squares(2.0)) == (5, (1 + 4 + 25 + 36 + 49) / 4)


def test_whole_numbers_of_64_bits_are_compared_as_such():
    given = np.array([2**61 + 1, 5, -(2**61)])
    column = on_decimals(given, 0)
    assert error_of(given - 1, column).tolist() == [1, 1, 1]
    assert error_of(given.astype(np.uint64) + np.uint64(1), on_decimals(given.astype(np.uint64), 0)).tolist()[1] == 1
    hidden = replace(column, is_odd=np.array([True, False, True]))
    assert error_of(np.zeros(3, np.int64), hidden).tolist() == [5]


def test_errors_are_those_after_rounding_and_clipping():
    column = replace(on_decimals(np.array([1.0, 4.0, 9.0]), 0), limits=(0.0, 9.0))
    assert error_of(np.array([1.4, 4.6, 11.0]), column).tolist() == [0, 1, 0]
