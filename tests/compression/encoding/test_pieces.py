"""What a coded piece is measured by."""

from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.bases import Basis
from hrpursuit.compression.encoding.decimals import take_apart
from hrpursuit.compression.encoding.pieces import Coded, Piece, error_of, is_same, is_within


def coded_as(given, got, **changes):
    columns = [replace(take_apart(column, 0), **changes) for column in given]
    return Coded(b"", got), Piece(columns, Basis())


def test_columns_are_judged_one_by_one():
    given = [np.array([1.0, 2.0, np.nan]), np.array([5.0, 6.0, 7.0])]
    got = [np.array([1.0, 2.0, np.nan]), np.array([5.0, 6.0, 7.25])]
    coded, piece = coded_as(given, got)
    assert is_same(coded, piece) == [True, False]
    assert is_within(coded, piece, 0.25) == [True, True]
    assert is_within(coded, piece, 0.24) == [True, False]
    assert coded.squared_error(piece, 0.5) == 0.25
    assert (piece.n_readings, piece.squares(2.0)) == (5, (1 + 4 + 25 + 36 + 49) / 4)


def test_whole_numbers_of_64_bits_are_compared_as_such():
    given = np.array([2**61 + 1, 5, -(2**61)])
    column = take_apart(given, 0)
    assert error_of(given - 1, column).tolist() == [1, 1, 1]
    assert error_of(given.astype(np.uint64) + np.uint64(1), take_apart(given.astype(np.uint64), 0)).tolist()[1] == 1
    hidden = replace(column, seen=np.array([False, True, False]))
    assert error_of(np.zeros(3, np.int64), hidden).tolist() == [5]


def test_errors_are_those_after_rounding_and_clipping():
    column = replace(take_apart(np.array([1.0, 4.0, 9.0]), 0), limits=(0.0, 9.0))
    assert error_of(np.array([1.4, 4.6, 11.0]), column).tolist() == [0, 1, 0]
