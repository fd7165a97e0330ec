"""Columns are predicted from others in their row and in rows before."""

import numpy as np
import pytest

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.chunks.tabular import MOST_LAG, TableSettings
from hrpursuit.compression.encoding.columns import Column
from hrpursuit.compression.encoding.neighbours import neighbourhoods
from hrpursuit.compression.encoding.table_columns import on_grids
from hrpursuit.compression.encoding.tabular import _choose

N_ROWS = 3000


def walk(rng):
    return np.round(20 + np.cumsum(rng.normal(0, 0.2, N_ROWS)), 2)


def size(table, effort):
    data = compress(table, lossless=True, effort=effort)
    np.testing.assert_array_equal(decompress(data), table)
    return len(data)


@pytest.mark.parametrize(("lag", "effort"), [(1, "default"), (1, "best"), (7, "default"), (7, "best"), (700, "best")])
def test_a_column_that_repeats_another_some_rows_later_takes_little(rng, lag, effort):
    """Also where the other one is further right, whose number in this row is not decoded yet."""
    later, column = np.roll(walk(rng), lag), walk(rng)
    later[lag:] = column[:-lag]
    alone = size(column[:, None], effort) * (1 + lag / N_ROWS)  # the first rows repeat nothing
    assert size(np.column_stack([later, column]), effort) < 1.25 * alone
    assert size(np.column_stack([column, later]), effort) < 1.25 * alone


def test_prices_that_open_as_the_last_ones_closed(rng):
    close = walk(rng)
    opened = np.round(np.concatenate([close[:1], close[:-1]]) + rng.choice([0, 0.01], N_ROWS), 2)
    apart = size(close[:, None], "best") + N_ROWS / 8  # one bit for each choice
    assert size(np.column_stack([opened, close]), "best") < 1.1 * apart


def settings_of(table) -> tuple[TableSettings, np.ndarray]:
    columns: list[Column] = [on_grids(np.ascontiguousarray(column), 0.0) for column in table.T]
    return _choose(columns, "default")


def test_unrelated_columns_have_no_neighbours(rng):
    settings, whole = settings_of(np.column_stack([walk(rng), walk(rng)]))
    assert all(not column.neighbours for column in settings.columns)
    for found in neighbourhoods(settings, whole, "best"):
        for column in found.columns:
            assert len(column.neighbours) <= 1  # by chance, before it was tried


def test_smooth_columns_are_predicted_from_changes_of_two_rows(rng):
    """A course changes as the second differences of a place do, in a ratio that changes slowly."""
    course = np.cumsum(rng.normal(0, 0.03, N_ROWS))
    place = np.cumsum(1e4 * np.column_stack([np.cos(course), np.sin(course)]), axis=0)
    table = np.rint(np.column_stack([place, np.degrees(course) * 100]))
    settings, whole = settings_of(table)
    (found,) = neighbourhoods(settings, whole, "default")[-1:]
    assert {0, 3, 1, 4} <= set(found.columns[2].neighbours)
    assert size(table, "best") < 0.9 * sum(size(column[:, None], "best") for column in table.T)


def test_lags_are_within_what_a_decoder_takes(rng):
    table = np.column_stack([walk(rng), walk(rng)])
    settings, whole = settings_of(table)
    for found in neighbourhoods(settings, whole, "best"):
        assert all(q < 2 * (MOST_LAG + 1) for column in found.columns for q in column.neighbours)
