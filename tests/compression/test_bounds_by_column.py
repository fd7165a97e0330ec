"""Each column keeps to its own bound, lossless ones to the last bit; columns are read by name; lost ones are named."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from hrpursuit.compression import Decoder, Encoder, compress, decompress
from hrpursuit.datasets import make_sensor_network


def plant(n_rows=400, seed=0):
    """A table of mixed units: °C, hPa, m³/s, counts, a state, and one reading that is no short decimal."""
    rng = np.random.default_rng(seed)

    def walk(step, decimals, start=0.0):
        return np.round(start + rng.normal(0, step, n_rows).cumsum(), decimals)

    table = pd.DataFrame(
        {
            "temp_in": walk(0.2, 1, 20),
            "temp_out": walk(0.3, 1, 8),
            "pressure": walk(0.4, 2, 1013),
            "flow": walk(2e-7, 9, 5e-5),
            "count": rng.poisson(3, n_rows).cumsum(),
            "state": rng.integers(0, 4, n_rows).astype(np.int8),
            "noise": rng.standard_normal(n_rows),
        }
    )
    table.loc[rng.random(n_rows) < 0.1, "temp_out"] = np.nan
    table.loc[7, "noise"] = -0.0
    table.loc[9, "noise"] = np.inf
    return table


def same_bits(one, other):
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def errors_of(table, back):
    finite = np.isfinite(table.to_numpy(float))
    one, other = (np.where(finite, values.to_numpy(float), 0.0) for values in (table, back))
    return np.abs(one - other).max(axis=0)


def streamed(table, **target):
    encoder = Encoder(chunk_rows=150, **target)
    return b"".join([*(encoder.append(table[i : i + 70]) for i in range(0, len(table), 70)), encoder.finish()])


@pytest.mark.parametrize("write", [compress, streamed])
def test_every_column_keeps_to_its_bound(write):
    table = plant()
    bounds = {"flow": 1e-6, "temp*": 0.25, "pressure": 1, "state": "lossless", None: 0.01}
    data = write(table, max_error=bounds)
    back = decompress(data)
    errors = errors_of(table, back)
    assert_array_equal(Decoder(data).target.bounds(7), [0.25, 0.25, 1, 1e-6, 0.01, 0, 0.01])
    assert (errors <= Decoder(data).target.bounds(7) * (1 + 1e-9)).all()  # decimals are judged as such
    assert errors[2] > 0.25  # and makes use of it
    assert errors[3] > 1e-7
    assert same_bits(back["state"], table["state"])
    assert (back.dtypes == table.dtypes).all()
    assert_array_equal(back.isna(), table.isna())
    assert len(data) < 0.8 * len(write(table, max_error=1e-6))  # the one bound that would do for all


@pytest.mark.parametrize("write", [compress, streamed])
@pytest.mark.parametrize(
    "target", [{"max_error": 0.5}, {"relative_error": 0.05}, {"relative_rmse": 0.01}, {"n_nonzero_coefs": 2}]
)
@pytest.mark.filterwarnings("ignore:relative_rmse counts")
def test_lossless_columns_beside_any_target(write, target):
    table = plant()
    lossless = ["state", "noise", "flow"]
    back = decompress(write(table, lossless=lossless, **target))
    for name in lossless:
        assert same_bits(back[name], table[name])
    rest, kept = table.drop(columns=lossless), back.drop(columns=lossless)
    assert not rest.equals(kept)
    assert_array_equal(kept.isna(), rest.isna())
    if "max_error" in target:
        assert errors_of(rest, kept).max() <= 0.5 + 1e-12  # decimals are judged as such
    if "relative_rmse" in target:  # over the others
        error = np.nansum((kept - rest).to_numpy() ** 2) / np.nansum(rest.to_numpy() ** 2)
        assert 0.5 * 0.01 < np.sqrt(error) <= 0.01


@pytest.mark.parametrize("basis", ["hrp", "pca", "dct"])
def test_bases_are_sent_for_the_columns_with_loss(basis):
    table = make_sensor_network(200, 8, random_state=0)
    back = decompress(compress(table, relative_rmse=0.05, lossless=[0, 5], basis=basis))
    assert same_bits(back[:, [0, 5]], table[:, [0, 5]])
    rest = np.delete(np.arange(8), [0, 5])
    error, size = np.nansum((back - table)[:, rest] ** 2), np.nansum(table[:, rest] ** 2)
    assert 0 < error <= 0.05**2 * size


@st.composite
def tables_with_bounds(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    scales = np.array(draw(st.lists(st.sampled_from([1e-9, 1e-3, 1.0, 50.0, 1e6]), min_size=n, max_size=n)))
    X = rng.normal(20, 8, (n_rows, n)).cumsum(axis=0) / 3
    if draw(st.booleans()):
        X = np.round(X, 1)
    X = X * scales
    X[rng.random(X.shape) < 0.1] = draw(st.sampled_from([np.nan, np.inf, -0.0]))
    shares = draw(st.lists(st.sampled_from([0, 1e-3, 0.1, 1, 7]), min_size=n, max_size=n))
    return X.astype(draw(st.sampled_from(["float64", "float32"]))), scales * shares


@settings(max_examples=200)
@given(tables_with_bounds(), st.booleans())
def test_bounds_of_any_size_are_never_exceeded(table_and_bounds, in_chunks):
    X, bounds = table_and_bounds
    Y = decompress(compress(X, max_error=bounds, effort="fast", chunk_rows=7 if in_chunks else 1000))
    finite = np.isfinite(X)
    assert_array_equal(Y[~finite], X[~finite])
    errors = np.abs(np.where(finite, Y, 0).astype(float) - np.where(finite, X, 0).astype(float)).max(axis=0)
    assert (errors <= bounds * (1.001 if X.dtype == np.float32 else 1 + 1e-6)).all()  # decimals are judged as such
    for place in np.flatnonzero(bounds == 0):
        assert same_bits(Y[:, place], X[:, place])


def test_hundreds_of_columns_with_bounds_of_their_own(rng):
    X = np.round(rng.normal(0, 1, (12, 300)).cumsum(axis=0) * rng.uniform(1, 1000, 300), 2)
    data = compress(X, relative_error=0.02, effort="fast")
    bounds = Decoder(data).target.bounds(300)
    assert (np.abs(decompress(data) - X).max(axis=0) <= bounds * (1 + 1e-9)).all()  # decimals are judged as such
    assert len(set(bounds)) > 250
    assert len(Decoder(data).target.to_bytes()) <= 3.2 * 300 + 300


class TestReadColumns:
    @pytest.fixture
    def table(self):
        hours = pd.date_range("2024-01-01", periods=400, freq="h")
        return plant().set_index(hours)

    @pytest.fixture
    def decoder(self, table):
        return Decoder(compress(table, lossless=True, chunk_rows=100))

    @pytest.mark.parametrize("names", [["flow"], ["state", "temp_in"], ["count", "noise", "count"], []])
    def test_in_the_order_asked_for(self, table, decoder, names):
        assert_frame_equal(decoder.read(columns=names), table[names], check_column_type=False)
        days = decoder.read("2024-01-03", "2024-01-06", columns=names)
        assert_frame_equal(days, table.loc["2024-01-03":"2024-01-06", names], check_column_type=False)

    def test_no_rows(self, table, decoder):
        assert_frame_equal(
            decoder.read("2030", columns=["state", "flow"]), table.loc["2030":, ["state", "flow"]], check_freq=False,
            check_column_type=False,
        )  # fmt: skip

    def test_arrays_by_number(self):
        X = np.arange(40.0).reshape(10, 4)
        decoder = Decoder(compress(X, lossless=True, chunk_rows=3))
        assert_array_equal(decoder.read(columns=[3, 0]), X[:, [3, 0]])
        assert_array_equal(decoder.read(4, 7, columns=np.array([1])), X[4:8, [1]])
        assert decoder.read(columns=[]).shape == (10, 0)

    def test_names_that_are_numbers(self):
        table = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=range(10, 18, 2))
        back = Decoder(compress(table, lossless=True)).read(columns=[16, 10])
        assert_frame_equal(back, table[[16, 10]])

    @pytest.mark.parametrize(
        ("columns", "said"),
        [
            (["flw"], "columns: there is no column 'flw'; the table has the columns 'temp_in'"),
            ([0], "there is no column 0"),
            (["flow", True], "there is no column True"),
            (["temp*"], "the pattern"),  # patterns are for bounds
            ("flow", r"a list of columns; got 'flow': give \['flow'\]"),
        ],
    )
    def test_what_is_not_there(self, decoder, columns, said):
        with pytest.raises(ValueError, match=said):
            decoder.read(columns=columns)


class TestLostColumns:
    """A relative RMSE over the whole table may leave single columns in error: they are named."""

    def glitch(self, seed=0):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(np.round(20 + rng.normal(0, 0.2, (1000, 4)).cumsum(axis=0), 1), columns=list("abcd"))
        table.loc[500, "c"] = 65535
        return table

    @pytest.mark.parametrize("rmse", [0.01, 0.05])
    def test_one_glitch(self, rmse):
        table = self.glitch()
        with pytest.warns(UserWarning, match=r"large relative error of their own: .*relative_error=0\.01.*max_error=\{"
                          ) as caught:  # fmt: skip
            back = decompress(compress(table, relative_rmse=rmse))
        own = np.sqrt(((back - table) ** 2).drop(500).sum() / (table**2).drop(500).sum())
        assert own.max() > 0.2
        named = str(caught[0].message)
        for name in table.columns[own > max(0.2, 5 * rmse)]:
            assert repr(name) in named
        assert f"({own.max():.0%})" in named

    def test_the_glitch_is_in_the_only_column(self):
        with pytest.warns(UserWarning, match="'c'"):
            compress(self.glitch()[["c"]], relative_rmse=0.01)

    def test_mixed_units(self):
        table = plant().drop(columns="noise")
        with pytest.warns(UserWarning, match=r"'flow' \(over 999%\)") as caught:
            compress(table, relative_rmse=0.01)
        assert "pressure" not in str(caught[0].message)

    def test_what_it_says_to_do_helps(self):
        table = self.glitch()
        back = decompress(compress(table, relative_error=1e-5, lossless=["c"]))
        assert errors_of(table, back).max() < 0.01

    def test_a_stream_names_each_column_once(self):
        table = self.glitch()
        encoder = Encoder(relative_rmse=0.05, chunk_rows=250)
        encoder.append(table[:500])
        with pytest.warns(UserWarning, match="large relative error") as caught:
            encoder.append(table[500:])
        assert len(caught) == 1
        assert caught[0].filename == __file__
        encoder.append(table[400:650])  # an error if it warned again

    def test_the_warning_points_to_the_caller(self):
        with pytest.warns(UserWarning, match="large relative error") as caught:
            compress(self.glitch(), relative_rmse=0.05)
        assert caught[0].filename == __file__

    @pytest.mark.parametrize("rmse", [0.02, 0.05, 0.1])
    def test_a_network_is_not_warned_of(self, rmse):
        table = make_sensor_network(300, 12, random_state=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compress(table, relative_rmse=rmse, effort="fast")

    def test_the_largest_floats_give_no_other_warning(self):
        table = np.column_stack([[1.7e308, -1.6e308] * 30, np.arange(60.0)])
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            with pytest.warns(UserWarning, match="own: 1 "):
                compress(table, relative_rmse=0.01)

    def test_columns_of_zeros_and_gaps_are_not_warned_of(self):
        table = np.column_stack([np.round(np.sin(np.arange(300)) * 50), np.zeros(300), np.full(300, np.nan)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compress(table, relative_rmse=0.05)

    def test_many_names_are_cut_short(self):
        rng = np.random.default_rng(0)
        table = np.round(rng.normal(0, 1, (100, 20)), 2)
        table[50, 0] = 1e6
        with pytest.warns(UserWarning, match="and 12 more"):
            compress(table, relative_rmse=0.05)
