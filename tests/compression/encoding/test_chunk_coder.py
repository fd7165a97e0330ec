"""Targets are kept whatever the types of the columns and whatever chunks come one after the other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrpursuit.compression import Encoder, compress, decompress, describe
from hrpursuit.datasets import make_sensor_network

BASES = ["adaptive", "hrp", "pca", "dct"]
TARGETS = [{"lossless": True}, {"max_error": 0.6}, {"max_error": 1.7}, {"max_error": 20.9}, {"relative_rmse": 0.03}]
KINDS = [
    "bool", "uint8", "int16", "int64", "uint64", "float16", "float32", "float64",
    "boolean", "Int8", "Int64", "UInt16", "Float32", "Float64",
]  # fmt: skip


def as_floats(frame):
    return frame.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)


def check(frame, back, target):
    pd.testing.assert_index_equal(back.index, frame.index)
    assert back.dtypes.tolist() == frame.dtypes.tolist()
    X, Y = as_floats(frame), as_floats(back)
    np.testing.assert_array_equal(np.isnan(Y), np.isnan(X))
    if "lossless" in target:
        np.testing.assert_array_equal(X, Y)
    if "max_error" in target:
        assert np.nanmax(np.abs(X - Y), initial=0.0) <= 1.001 * target["max_error"]  # float32 of decimals
    if "relative_rmse" in target:
        assert np.nansum((X - Y) ** 2) <= target["relative_rmse"] ** 2 * np.nansum(X**2) * (1 + 1e-9)


@st.composite
def frames(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, columns = draw(st.integers(1, 30)), {}
    for place, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))):
        values = rng.normal(20, 8, n_rows).cumsum() / 3 + draw(st.sampled_from([0, 0, 65000, 10**6]))
        if kind.lower().startswith("float"):
            values = np.round(np.minimum(values, 60000), draw(st.integers(0, 2)))
        elif kind.startswith("bool"):
            values = values > values.mean()
        else:
            limits = np.iinfo(kind.lower())
            values = np.clip(np.rint(values), max(limits.min, -(2**53)), min(limits.max, 2**53))
        column = pd.Series(values).astype(kind)
        if kind[0].isupper() or kind in ("float64", "boolean"):
            column[rng.random(n_rows) < 0.2] = pd.NA if kind != "float64" else np.nan
        columns[f"c{place}"] = column
    return pd.DataFrame(columns)


@pytest.mark.filterwarnings("ignore:relative_rmse counts")  # columns may be of any size
@settings(max_examples=100)
@given(frames(), st.sampled_from(TARGETS), st.sampled_from(BASES))
@pytest.mark.long
def test_types_side_by_side(frame, target, basis):
    check(frame, decompress(compress(frame, basis=basis, effort="fast", **target)), target)


@pytest.mark.parametrize("kind", ["Int64", "UInt32", "boolean"])
@pytest.mark.parametrize("rmse", [0.003, 0.01, 0.1])
def test_an_rmse_is_that_of_the_whole_numbers_handed_over(rng, kind, rmse):
    values = rng.integers(0, 9, (200, 4)).cumsum(axis=0) // 3
    frame = pd.DataFrame(values % 2 if kind == "boolean" else values, columns=list("abcd")).astype(kind)
    check(frame, decompress(compress(frame, relative_rmse=rmse)), {"relative_rmse": rmse})


@pytest.mark.parametrize("max_error", [0.6, 1.6, 1.9, 2.9, 20.9])
def test_a_bound_holds_for_the_whole_numbers_handed_over(rng, max_error):
    frame = pd.DataFrame({"a": pd.array(rng.integers(65000, 65600, 200), dtype="Int64")})
    data = compress(frame, max_error=max_error)
    check(frame, decompress(data), {"max_error": max_error})
    assert max_error < 1 or "verbatim" not in describe(data).parts


@pytest.mark.parametrize("target", [{"max_error": 3}, {"relative_rmse": 0.02}])
def test_values_at_the_ends_of_their_type_stay_there(target):
    table = np.tile(np.array([0, 255, 1, 254, 128], np.uint8), (12, 3)).T
    check(pd.DataFrame(table), pd.DataFrame(decompress(compress(table, **target))), target)


@pytest.mark.parametrize("max_error", [0.3, 1e-3, 3e-6])
def test_single_precision_is_within_the_bound(rng, max_error):
    X = (rng.standard_normal((60, 4)).cumsum(axis=0) * 100).astype(np.float32)
    Y = decompress(compress(X, max_error=max_error))
    assert Y.dtype == np.float32
    assert np.abs(X.astype(float) - Y.astype(float)).max() <= max_error


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize(
    "target", [{"max_error": 1}, {"relative_rmse": 0.1}, {"n_nonzero_coefs": 2}, {"lossless": True}]
)
def test_whole_numbers_too_wide_for_the_coder_are_kept_beside_the_others(rng, basis, target):
    X = rng.integers(0, 100, (50, 4))
    X[3, 1] = 2**63 - 5
    Y = decompress(compress(X, basis=basis, **target))
    np.testing.assert_array_equal(Y[:, 1], X[:, 1])
    assert np.abs(X - Y)[:, [0, 2, 3]].max() <= target.get("max_error", 100)


def streamed(parts, **settings):
    encoder = Encoder(**settings)
    return b"".join([*map(encoder.append, parts), encoder.finish()])


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize(
    "target", [{"max_error": 0.5}, {"relative_rmse": 0.05}, {"n_nonzero_coefs": 2}, {"lossless": True}]
)
@pytest.mark.parametrize("decimals", [1, None])
def test_chunks_that_differ(basis, target, decimals):
    """A column that is dead at first, a chunk of nothing, one with few readings, a last one of a single row."""
    X = make_sensor_network(81, 5, silent=0, outages=20, decimals=decimals, random_state=2)
    X[:20, 2] = np.nan
    X[20:40] = np.nan
    X[40:60][np.random.default_rng(0).random((20, 5)) < 0.8] = np.nan
    X[80] = [3.5, np.nan, 7.25, 8.0, np.nan]
    Y = decompress(streamed([X], chunk_rows=20, basis=basis, effort="fast", **target))
    np.testing.assert_array_equal(np.isnan(X), np.isnan(Y))
    if "lossless" in target:
        np.testing.assert_array_equal(X, Y)
    if "max_error" in target:
        assert np.nanmax(np.abs(X - Y)) <= 0.5 + 1e-12  # decimals are judged as such
    if "relative_rmse" in target:
        for start in range(0, 81, 20):
            x, y = X[start : start + 20], Y[start : start + 20]
            assert np.nansum((x - y) ** 2) <= 0.05**2 * np.nansum(x**2) * (1 + 1e-9)
    if "n_nonzero_coefs" in target:
        np.testing.assert_array_equal(X[40:, 2], Y[40:, 2])  # no part of the dictionary, so it is kept
        assert np.nansum((X - Y) ** 2) < 0.2 * np.nansum(X**2)


def test_a_stream_meets_its_rmse_in_each_chunk():
    X = make_sensor_network(600, 12, silent=0, random_state=5)
    X[200:400] *= 10  # another error is wanted here
    Y = decompress(streamed([X[:350], X[350:]], chunk_rows=200, relative_rmse=0.06))
    for start in (0, 200, 400):
        x, y = X[start : start + 200], Y[start : start + 200]
        assert 0.9 * 0.06 <= np.sqrt(np.nansum((x - y) ** 2) / np.nansum(x**2)) <= 0.06


def test_a_stream_may_begin_with_nothing(rng):
    X = np.round(rng.normal(20, 5, (60, 3)), 1)
    X[:25] = np.nan
    for target in ({"lossless": True}, {"max_error": 2}, {"relative_rmse": 0.05}, {"n_nonzero_coefs": 1}):
        for basis in BASES:
            Y = decompress(streamed([X], chunk_rows=20, basis=basis, effort="fast", **target))
            np.testing.assert_array_equal(np.isnan(X), np.isnan(Y))
            assert np.nanmax(np.abs(X - Y)) <= target.get("max_error", 50)


def test_exceptions_of_several_columns_come_back():
    X = np.round(np.arange(240.0).reshape(60, 4) / 7, 1)
    X[[50, 3, 7, 7], [0, 1, 1, 2]] = np.inf, -np.inf, -0.0, 100 / 3
    Y = decompress(compress(X, lossless=True))
    assert Y.tobytes() == X.tobytes()
    assert "exceptions" in describe(compress(X, lossless=True)).parts
    assert "verbatim" not in describe(compress(X, lossless=True)).parts


def test_an_rmse_is_kept_where_most_chunks_are_not_tried(rng):
    """The step is sought on some chunks; others have more to lose."""
    X = np.round(rng.standard_normal((6000, 3)).cumsum(axis=0), 1)
    X[::7] += np.round(rng.standard_normal((len(X[::7]), 3)) * np.linspace(0, 40, len(X[::7]))[:, None] ** 1.5, 1)
    for rmse in (0.02, 0.1):
        Y = decompress(compress(X, relative_rmse=rmse, chunk_rows=250, effort="fast"))
        assert 0.9 * rmse < np.linalg.norm(X - Y) / np.linalg.norm(X) <= rmse


def test_a_stream_that_begins_with_gaps_finds_its_way_later():
    """The first chunk has nothing to choose by; once it chose samples for all that follow."""
    readings = make_sensor_network(600, 20, random_state=0)
    X = np.vstack([np.full((300, 20), np.nan), readings])
    encoder = Encoder(max_error=8, chunk_rows=300)
    data = encoder.append(X) + encoder.finish()
    assert [chunk.mode for chunk in describe(data).chunks][1:] == ["transform + correction"] * 2
    assert np.nanmax(np.abs(decompress(data) - X)) <= 8


def test_whole_numbers_under_a_bound_that_is_none_are_not_kept_as_they_are(rng):
    X = (rng.standard_normal((200, 3)).cumsum(axis=0) * 40000).astype(np.int32)
    data = compress(X, max_error=700.5)
    assert [chunk.mode for chunk in describe(data).chunks] != ["verbatim"]
    assert np.abs(decompress(data).astype(np.int64) - X).max() <= 700.5
