"""Tables of every kind come back as they were; what cannot be stored is named."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pandas.testing import assert_frame_equal

from hrpursuit.compression import compress, decompress

NUMPY = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
NULLABLE = ["boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def there_and_back(table, **settings):
    return decompress(compress(table, lossless=True, **settings))


@st.composite
def columns(draw, n_rows):
    if draw(st.booleans()):
        return draw(arrays(draw(st.sampled_from(NUMPY)), n_rows))
    kind = draw(st.sampled_from(NULLABLE))
    if kind == "boolean":
        values = st.booleans()
    elif kind.startswith("Float"):
        values = st.floats(width=int(kind[5:]), allow_nan=False)
    else:
        limits = np.iinfo(kind.lower())
        values = st.integers(max(limits.min, -(2**53)), min(limits.max, 2**53))
    return pd.array(draw(st.lists(st.none() | values, min_size=n_rows, max_size=n_rows)), dtype=kind)


@st.composite
def frames(draw):
    n_rows = draw(st.integers(0, 12))
    parts = draw(st.lists(columns(n_rows), max_size=5))
    index = draw(
        st.sampled_from(
            [
                pd.RangeIndex(n_rows),
                pd.RangeIndex(3, 3 + 2 * n_rows, 2, name="row"),
                pd.date_range("2017-10-01", periods=n_rows, freq="h", tz="Europe/Warsaw", name="UTC time"),
                pd.Index([f"day {i}" for i in range(n_rows)]),
                pd.Index(np.arange(n_rows) ** 3),
                pd.Index(np.arange(n_rows) / 3),
            ]
        )
    )
    frame = pd.DataFrame(dict(enumerate(parts)), index=index)
    frame.columns = pd.Index(
        draw(st.lists(st.text(max_size=3), min_size=len(parts), max_size=len(parts))), dtype="str", name="s"
    )
    frame.attrs = draw(st.dictionaries(st.text(max_size=4), JSON, max_size=3))
    return frame


@given(frames(), st.integers(1, 13))
def test_frames_survive(frame, chunk_rows):
    back = there_and_back(frame, chunk_rows=chunk_rows)
    assert_frame_equal(back, frame, check_exact=True, check_freq=True)
    assert back.attrs == frame.attrs


@given(st.data(), st.sampled_from(NUMPY), st.integers(0, 9), st.integers(0, 4))
def test_arrays_survive_bit_for_bit(data, kind, n_rows, n_columns):
    size = np.dtype(kind).itemsize
    octets = data.draw(arrays(np.uint8, (n_rows, n_columns * size), elements=st.integers(0, 1 if kind == "?" else 255)))
    table = octets.view(kind) if n_columns else np.empty((n_rows, 0), kind)
    back = there_and_back(table, chunk_rows=4)
    assert back.dtype == table.dtype
    assert back.shape == table.shape
    assert back.tobytes() == table.tobytes()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (5, 0), (1, 1)])
@pytest.mark.parametrize("kind", ["f8", "i2"])
def test_nothing_is_a_table_too(shape, kind):
    back = there_and_back(np.zeros(shape, kind))
    assert (back.shape, back.dtype) == (shape, np.dtype(kind))
    frame = pd.DataFrame(np.zeros(shape, kind), index=pd.date_range("2020", periods=shape[0], freq="D"))
    assert_frame_equal(there_and_back(frame), frame)


def test_lists_and_other_byte_orders():
    assert_frame_equal(there_and_back(pd.DataFrame([[1, 2.5]])), pd.DataFrame([[1, 2.5]]))
    np.testing.assert_array_equal(there_and_back([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    table = np.arange(6).reshape(2, 3)
    for kind in (">f8", ">i4"):
        back = there_and_back(table.astype(kind))
        assert back.dtype == np.dtype(kind).newbyteorder("=")
        np.testing.assert_array_equal(back, table)


def test_large_whole_numbers_stay_whole():
    table = np.array([[2**63 - 1, -(2**63)], [2**53 + 1, 0]])
    np.testing.assert_array_equal(there_and_back(table), table)


def test_what_comes_back_is_the_callers_own():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    frame.attrs = {"place": ["x"]}
    back = there_and_back(frame)
    back.iloc[0, 0] = 7
    back.attrs["place"].append("y")
    assert frame.attrs == {"place": ["x"]}


def test_duplicate_and_mixed_names_survive():
    frame = pd.DataFrame(np.arange(8.0).reshape(2, 4))
    frame.columns = pd.Index(["a", "a", 7, "ü\U0001f600"], dtype=object)
    assert_frame_equal(there_and_back(frame), frame)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (np.zeros(3), r"reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), "2 dimensions"),
        (np.zeros((2, 2), complex), "real and imaginary"),
        ([["a", "b"]], "only bool, whole numbers and floats"),
        ([[1, 2], [3]], "equal length"),
        (np.array([[None, 1]]), "to_numeric"),
        (np.array([["2020-01-01"]], "M8[s]"), "make it the index"),
        (np.zeros((2, 2), np.longdouble), "up to 64 bits"),
        (np.ma.masked_array(np.zeros((2, 2)), True), "filled"),
        (pd.Series([1.0]), "to_frame"),
        (pd.DataFrame({"x": [1], "who": [b"me"]}), "column 'who'"),
        (pd.DataFrame({"z": [1j]}), "column 'z'"),
        (pd.DataFrame({"big": pd.array([2**53 + 1, None], dtype="Int64")}), "column 'big' .* beyond 2\\^53"),
        (np.zeros((1, 2**20 + 1), bool), "1048576 columns"),
    ],
)
def test_what_cannot_be_stored_is_named(table, said):
    with pytest.raises(ValueError, match=said):
        compress(table, lossless=True)


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"a": (1, 2)}, r"attrs\['a'\] is of type tuple"),
        ({"a": {1: 2}}, r"attrs\['a'\] has the key 1"),
        ({"a": [np.float64(1)]}, r"attrs\['a'\]\[0\] is of type float64"),
        ({3: "a"}, "has the key 3"),
    ],
)
def test_attributes_that_json_would_change_are_refused(attrs, said):
    frame = pd.DataFrame({"x": [1]})
    frame.attrs = attrs
    with pytest.raises(ValueError, match=said):
        compress(frame, lossless=True)


@settings(max_examples=20)
@given(st.dictionaries(st.text(), JSON))
def test_attributes_survive(attrs):
    frame = pd.DataFrame({"x": [1.0]})
    frame.attrs = attrs
    assert json.dumps(there_and_back(frame).attrs) == json.dumps(attrs)
