"""Slow columns within a bound change as seldom as they may."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.encoding.grids import find_grids
from hrpursuit.compression.encoding.steady import steady_path
from hrpursuit.compression.kernels.steady import cheapest_path


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2)), min_size=1, max_size=6), st.integers(0, 2**32))
def test_the_path_is_the_cheapest_of_all(rows, seed):
    least = np.array([low for low, _ in rows])
    most = least + np.array([width for _, width in rows])
    costs = np.random.default_rng(seed).integers(0, 1000, 7)
    out = np.zeros(len(rows), np.int64)
    cheapest_path(least, most, costs, np.zeros((2, 3), np.int64), np.zeros((len(rows), 3), np.int16), out)

    def cost(path):
        return sum(costs[3 + np.clip(b - a, -3, 3)] for a, b in itertools.pairwise(path))

    ways = itertools.product(*(range(low, high + 1) for low, high in zip(least, most, strict=True)))
    assert cost(out) == min(map(cost, ways))


def test_a_path_stays_between_its_ends_and_goes_the_long_way():
    readings = np.rint(40 * np.sin(np.arange(3000) / 300)).astype(np.int64)
    path = steady_path(readings - 3, readings + 3)
    assert np.abs(path - readings).max() <= 3
    assert np.count_nonzero(np.diff(path)) < 0.9 * np.count_nonzero(np.diff((readings + 3) // 7))


def a_slow_walk(decimals):
    rng = np.random.default_rng(12)
    return np.round(20 + np.cumsum(rng.normal(0, 0.02, 4000)) + rng.normal(0, 0.02, 4000), decimals)


@pytest.mark.parametrize("bound", [0.1, 0.3, 1.7])
@pytest.mark.parametrize("decimals", [1, 2, 15])
def test_every_way_is_within_the_bound(decimals, bound):
    values = a_slow_walk(decimals)
    ways = find_grids(values, bound, 0)
    assert ways
    for way in ways:
        assert way.fits.all()
        assert np.abs(way.grid.to_values(way.numbers, values.dtype) - values).max() <= bound * (1 + 1e-9)


@pytest.mark.parametrize(("bound", "limit"), [(0.1, 0.9), (0.5, 0.9)])
def test_files_of_slow_columns_are_smaller_than_those_of_a_quantiser(bound, limit):
    values = a_slow_walk(1)
    step = 2 * round(bound * 10) + 1
    quantised = np.rint(values * 10 / step).astype(np.int64)
    data = compress(values[:, None], max_error=bound, effort="best")
    assert np.abs(decompress(data)[:, 0] - values).max() <= bound * (1 + 1e-9)
    assert len(data) < limit * len(compress(quantised[:, None], lossless=True, effort="best"))
