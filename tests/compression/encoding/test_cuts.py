"""Chunks are cut where the grids of columns change."""

import numpy as np
import pytest

from hrpursuit.compression import Decoder, Encoder, compress, decompress, describe
from hrpursuit.compression.encoding.cuts import cut_places

COARSE, FINE = 2500, 3000  # rows


@pytest.fixture
def table(rng):
    """Rates with four decimals, then with six; one column has six from the first row on."""
    X = 1 + np.cumsum(rng.normal(0, 3e-3, (COARSE + FINE, 4)), axis=0)
    X[:COARSE, :3] = np.round(X[:COARSE, :3], 4)
    return np.round(X, 6)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_the_row_is_found(table, dtype):
    table = table * 10**6 if dtype == "int64" else table
    (place,) = cut_places(
        [np.rint(column).astype(dtype) if dtype == "int64" else column.astype(dtype) for column in table.T]
    )
    assert place == COARSE


def test_files_are_smaller_and_the_same_table(table):
    data = compress(table, lossless=True, effort="fast")
    np.testing.assert_array_equal(decompress(data), table)
    n_parts = sum(len(compress(part, lossless=True, effort="fast")) for part in np.split(table, [COARSE]))
    assert len(data) < 1.01 * n_parts
    assert [chunk.n_rows for chunk in describe(data).chunks] == [COARSE, FINE]
    with Decoder(data) as decoder:
        np.testing.assert_array_equal(decoder.read(COARSE - 300, COARSE + 299), table[COARSE - 300 : COARSE + 300])


def test_streams_are_cut_too(table):
    encoder = Encoder(lossless=True, effort="fast")
    data = b"".join([encoder.append(table[:3000]), encoder.append(table[3000:]), encoder.finish()])
    assert data == compress(table, lossless=True, effort="fast")


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: np.round(rng.normal(20, 5, (5000, 3)), 2),
        lambda rng: rng.normal(20, 5, (5000, 3)),
        lambda rng: np.repeat(rng.integers(100, 200, (50, 3)), 100, axis=0) / 10,  # long constant stretches
        lambda rng: np.where(np.arange(5000)[:, None] < 2500, np.nan, rng.integers(0, 99, (5000, 3))),
        lambda rng: np.zeros((5000, 3)),
        lambda rng: rng.integers(0, 2, (5000, 3)) * 1e300,
        lambda rng: rng.integers(-(2**62), 2**62, (5000, 3)),
        lambda rng: np.full((5000, 3), np.inf),
        lambda rng: rng.integers(0, 9, (300, 3)),
    ],
)
def test_other_tables_are_not_cut(make, rng):
    assert cut_places(list(make(rng).T)) == []


def test_a_short_change_does_not_pay(rng):
    """As long as a part costs more than it saves."""
    X = rng.integers(0, 10**6, (5000, 20))
    X[1000:1300, :2] //= 10
    X[1000:1300, :2] *= 10
    assert cut_places(list(X.T)) == []


def test_tables_without_columns_or_rows():
    assert cut_places([]) == []
    assert cut_places([np.zeros(0)]) == []


def test_significant_digits_are_no_change_of_grid(rng):
    """Small values have more decimals than large ones, and come at any time."""
    values = [np.array([float(f"{x:.3g}") for x in np.exp(rng.normal(0, 1.5, 8000))]) for _ in range(3)]
    assert cut_places(values) == []
