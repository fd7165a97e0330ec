"""Files are small on tables of many kinds: odd values cost little, grids are found, nothing is larger than need be."""

import lzma

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrpursuit.compression import compress, decompress, describe
from hrpursuit.datasets import make_sensor_network

N_ROWS = 4000
EFFORTS = ["fast", "default", "best"]


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def size(table, effort="default"):
    data = compress(table, lossless=True, effort=effort)
    assert same_bits(decompress(data), np.ascontiguousarray(table))
    return len(data)


@pytest.fixture(scope="module")
def walk():
    return np.round(20 + np.cumsum(np.random.default_rng(3).normal(0, 0.3, (N_ROWS, 4)), axis=0))


@pytest.fixture(scope="module")
def counts():
    return (512 + np.cumsum(np.random.default_rng(4).integers(-2, 3, (N_ROWS, 4)), axis=0)).astype(float)


class TestOddValues:
    @pytest.mark.parametrize("effort", EFFORTS)
    @pytest.mark.parametrize("value", [12.3, -9999.0, 1e9, np.inf, -0.0, 1e-300])
    def test_one_costs_at_most_20_bytes(self, walk, value, effort):
        spoiled = walk.copy()
        spoiled[2000, 2] = value
        assert size(spoiled, effort) <= size(walk, effort) + 20

    def test_a_sentinel_that_comes_often_costs_little_more_than_its_places(self, walk):
        spoiled = walk.copy()
        places = np.random.default_rng(0).random(N_ROWS) < 0.1
        spoiled[places, 1] = -9999
        entropy = N_ROWS * (-0.1 * np.log2(0.1) - 0.9 * np.log2(0.9)) / 8
        assert size(spoiled) <= size(walk) + 1.15 * entropy + 30

    def test_another_payload_of_all_gaps_costs_at_most_12_bytes(self, walk):
        gaps = np.random.default_rng(1).random(walk.shape) < 0.05
        plain = np.where(gaps, np.nan, walk)
        odd = plain.copy()
        odd.view("u8")[gaps] = 0xFFF8000000000000  # MATLAB's, and 0 / 0 on x86
        assert size(odd) <= size(plain) + 12

    def test_gaps_of_several_payloads_come_back(self, walk):
        table = walk.copy()
        table.view("u8")[5:40, 1] = 0xFFF8000000000000
        table.view("u8")[7, 1] = 0x7FF8000000000123
        table[9, 2] = np.nan
        size(table)


class TestGrids:
    @pytest.mark.parametrize(
        "scale",
        [
            lambda q: q * 10 / 1024,
            lambda q: q / 16,
            lambda q: q * 0.1,
            lambda q: (q / 1000).astype("f4").astype("f8"),
            lambda q: (q * np.float32(0.1)).astype("f4").astype("f8"),
            lambda q: 273.15 + q * 0.0625,
            lambda q: q / 3,
            lambda q: q * 5 / 4095,
            lambda q: (q * 3.3 / 4096).astype("f4"),
        ],
    )
    def test_a_grid_costs_at_most_3_percent_and_the_grid(self, counts, scale):
        assert size(scale(counts)) <= 1.03 * size(counts) + 400

    def test_multiples_of_a_number_take_the_room_of_the_number(self, counts):
        whole = counts.astype(np.int64)
        assert size(whole * 86_400 + 17) <= size(whole) + 60

    def test_few_values_of_any_kind_take_the_room_of_their_ranks(self):
        rng = np.random.default_rng(5)
        values, ranks = np.sort(rng.normal(size=40)), rng.integers(0, 40, (N_ROWS, 2))
        assert size(values[ranks]) <= 1.05 * size(ranks) + 40 * 8 + 60

    @pytest.mark.parametrize(("bound", "step"), [(0.1, 3), (0.2, 5), (0.05, 1)])
    def test_a_bound_equal_to_the_step_of_the_readings_is_made_use_of(self, walk, bound, step):
        """A bound of .1 on tenths once bought nothing, since the difference of two tenths is more in binary."""
        tenths = np.round(walk / 10, 1)
        data = compress(tenths, max_error=bound)
        error = np.abs(decompress(data) - tenths).max()
        assert error <= bound * (1 + 1e-9) + 1e-12
        assert abs(len(data) - len(compress(tenths, max_error=bound * (1 + 1e-9)))) <= 8  # the bound is in the header
        assert error == 0 if step == 1 else len(data) < 0.8 * size(tenths)


class TestNeverLarger:
    @settings(max_examples=60)
    @given(st.data())
    def test_than_the_bytes_as_they_are(self, data):
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        shape = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 5))
        dtype = data.draw(st.sampled_from(["f8", "f4", "f2", "i8", "u8", "i2", "u1", "?"]))
        table = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
        table = (table & 1).view("?")[..., 0] if dtype == "?" else table.view(dtype)[..., 0]
        for effort in EFFORTS:
            assert size(table, effort) <= table.nbytes + 100

    @pytest.mark.parametrize("effort", ["default", "best"])
    @pytest.mark.parametrize("kind", ["periodic", "doubled", "noise", "sorted"])
    @pytest.mark.long
    def test_than_a_general_packer(self, kind, effort):
        rng = np.random.default_rng(6)
        table = {
            "periodic": lambda: np.tile(rng.normal(size=(500, 4)), (8, 1)),
            "doubled": lambda: np.tile(np.round(rng.normal(0, 50, (2000, 4)), 2), (2, 1)),
            "noise": lambda: rng.normal(size=(N_ROWS, 4)).astype(np.float32),
            "sorted": lambda: np.sort(rng.normal(size=(N_ROWS, 4)), axis=0),
        }[kind]()
        plain = np.ascontiguousarray(table.T)
        shuffled = plain.view(np.uint8).reshape(-1, plain.itemsize).T.tobytes()
        packed = min(len(lzma.compress(part)) for part in (plain.tobytes(), table.tobytes(), shuffled))
        assert size(table, effort) <= packed + 100

    def test_unrelated_columns_cost_no_more_together(self):
        rng = np.random.default_rng(7)
        columns = [
            np.round(np.cumsum(rng.normal(0, 0.3, N_ROWS)), 1),
            rng.integers(0, 4, N_ROWS).astype(float),
            np.round(1013 + np.cumsum(rng.normal(0, 0.02, N_ROWS)), 2),
            np.cumsum(rng.poisson(30, N_ROWS)).astype(float),
        ]
        apart = sum(size(column.reshape(-1, 1), "best") for column in columns)
        assert size(np.column_stack(columns), "best") <= 1.01 * apart


class TestLabels:
    def test_irregular_times_take_the_room_of_their_differences(self):
        rng = np.random.default_rng(8)
        steps = rng.gamma(2, 500, N_ROWS).astype(np.int64)
        times = pd.to_datetime("2024-03-30") + pd.to_timedelta(np.cumsum(steps), unit="ms")
        frame = pd.DataFrame({"a": np.zeros(N_ROWS)}, index=times.insert(0, times[0])[:N_ROWS])
        data = compress(frame, lossless=True)
        back = decompress(data)
        pd.testing.assert_frame_equal(back, frame)
        counts = np.unique(steps // 16, return_counts=True)[1] / N_ROWS
        entropy = N_ROWS * (4 - np.sum(counts * np.log2(counts))) / 8  # of sixteenths, and four bits below
        assert len(data) <= 1.05 * entropy + 100


@pytest.mark.long
def test_efforts_are_in_order_of_size():
    rng = np.random.default_rng(9)
    table = np.round(np.sin(np.arange(N_ROWS) / 50)[:, None] * 30 + rng.normal(0, 1, (N_ROWS, 5)).cumsum(axis=0), 1)
    fast, default, best = (size(table, effort) for effort in EFFORTS)
    assert best <= default * 1.005
    assert default < fast
    assert default <= 1.05 * best
    assert {chunk.mode for chunk in describe(compress(table, lossless=True, effort="best")).chunks} == {"table"}


@pytest.mark.long
def test_more_effort_is_not_longer(walk):
    """Choices are made on some of the rows, and may be wrong for all."""
    rng = np.random.default_rng(8)
    tables = [walk, walk[:50], np.round(walk / 7, 3), rng.integers(0, 3, (900, 2)), rng.normal(size=(700, 3)), walk % 5]
    for table in tables:
        for target in ({"lossless": True}, {"max_error": 1}):
            sizes = [len(compress(table, effort=effort, **target)) for effort in EFFORTS]
            assert sizes == sorted(sizes, reverse=True)


def test_the_odd_values_of_a_network_cost_as_little():
    network = np.asarray(make_sensor_network(1000, 8, silent=0, random_state=5))
    for value, limit in ((12.3, 20), (-9999.0, 20), (1e9, 20)):
        spoiled = network.copy()
        spoiled[500, 3] = value
        assert size(spoiled, "best") <= size(network, "best") + limit
    spoiled = network.copy()
    spoiled[np.isnan(network)] = np.copysign(np.nan, -1)
    assert size(spoiled, "best") <= size(network, "best") + 12


@pytest.mark.parametrize("change", [2, 200])
def test_decimals_with_a_common_divisor_take_the_room_of_the_counts(change):
    """With large changes, q * 10 / 1024 once took 1.46 times the bytes of q."""
    q = np.round(2000 + np.cumsum(np.random.default_rng(9).normal(0, change, (3000, 4)), axis=0))
    for grid in (q * 10 / 1024, q / 16, q * 5 / 4096 + 0.5):
        assert size(grid) <= 1.03 * size(q) + 64


@pytest.mark.parametrize("target", [{"lossless": True}, {"max_error": 0.5}], ids=["lossless", "bound"])
@pytest.mark.parametrize("n_columns", [1, 5])
def test_sentinels_that_floats_do_not_tell_apart(rng, target, n_columns):
    """A warning (an error in tests) said that such rows were stored as they are."""
    X = rng.integers(0, 50, (600, n_columns), dtype=np.uint64)
    X[::5] = 2**64 - 1
    X[::7] = 2**64 - 2
    data = compress(X, **target)
    assert np.array_equal(decompress(data), X)
    assert len(data) < 0.3 * X.nbytes


def test_sentinels_of_the_largest_floats_give_no_warning(rng):
    X = np.round(rng.normal(0, 1, (200, 4)), 1)
    X[::2] *= 1e307
    X[::9] = -1.7e308
    assert np.array_equal(decompress(compress(X, lossless=True)), X)


def test_seasons_are_sought_among_a_few_readings_a_season_apart(rng):
    """No two readings were half a season apart, which gave a warning from numpy."""
    X = np.full((400, 1), np.nan)
    X[::24] = np.round(rng.normal(0, 1, (17, 1)), 2)
    np.testing.assert_array_equal(decompress(compress(X, lossless=True)), X)


@pytest.mark.filterwarnings("ignore:relative_rmse counts")
def test_an_rmse_of_columns_that_are_hundreds_of_powers_of_ten_apart(rng):
    X = rng.normal(0, 1, (300, 2)) * [1e300, 1e-300]
    Y = decompress(compress(X, relative_rmse=0.1))
    assert np.linalg.norm((X - Y) / 1e300) <= 0.1 * np.linalg.norm(X / 1e300)


@pytest.mark.parametrize("target", [{"lossless": True}, {"max_error": 3}], ids=["lossless", "bound"])
def test_two_values_far_apart(target):
    """Their distance was a step larger than a file may have; a warning said that the rows were stored as they are."""
    X = np.zeros((12, 1), np.int64)
    X[6:] = 3409885384533481121
    data = compress(X, **target)
    assert np.array_equal(decompress(data), X)
    assert len(data) < 90
