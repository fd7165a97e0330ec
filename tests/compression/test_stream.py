"""Rows that come in parts give the table that all of them are, in the memory of one chunk."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from hrpursuit.compression import Decoder, Encoder, compress, decompress


def encoded(parts, **settings):
    encoder = Encoder(**{"lossless": True, **settings})
    return b"".join([*map(encoder.append, parts), encoder.finish()])


@settings(max_examples=25)
@given(st.lists(st.integers(0, 30), max_size=6), st.integers(1, 40))
def test_parts_of_any_size_give_the_whole(sizes, chunk_rows):
    table = np.arange(2.0 * sum(sizes)).reshape(-1, 2)
    frame = pd.DataFrame(table, index=pd.date_range("2020", periods=len(table), freq="h"), columns=["a", "b"])
    ends = np.cumsum([0, *sizes])
    for whole, parts in (
        (table, [table[a:b] for a, b in pairwise(ends)] or [table]),
        (frame, [frame.iloc[a:b] for a, b in pairwise(ends)] or [frame]),
    ):
        data = encoded(parts, chunk_rows=chunk_rows)
        decoder = Decoder(data)
        assert all(chunk.n_rows == chunk_rows for chunk in decoder.chunks[:-1])
        if whole is frame:
            assert_frame_equal(decoder.read(), frame)
        else:
            np.testing.assert_array_equal(decoder.read(), table)


def test_one_chunk_is_the_same_file_either_way():
    table = np.arange(60.0).reshape(-1, 3)
    assert encoded([table[:7], table[7:8], table[8:]], chunk_rows=20) == compress(table, lossless=True, chunk_rows=20)


def test_bytes_come_as_soon_as_a_chunk_is_full():
    encoder = Encoder(lossless=True, chunk_rows=10)
    assert encoder.append(np.zeros((9, 2))) == b""
    first = encoder.append(np.zeros((1, 2)))
    assert first.startswith(b"\x89HRP")
    assert decompress_quietly(first).shape == (10, 2)


def decompress_quietly(data):
    with pytest.warns(Warning, match="not finished"):
        return decompress(data, damaged="skip")


def test_rows_that_wait_are_copies():
    encoder = Encoder(lossless=True, chunk_rows=10)
    rows = np.ones((4, 2))
    encoder.append(rows)
    rows[:] = 7
    assert decompress(encoder.finish()).max() == 1


def test_frames_that_count_from_zero_are_numbered_on():
    part = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    back = decompress(encoded([part] * 4, chunk_rows=5))
    assert_frame_equal(back, pd.concat([part] * 4, ignore_index=True))


def test_single_rows_of_an_hourly_frame_cost_no_labels():
    frame = pd.DataFrame({"x": np.arange(50.0)}, index=pd.date_range("2020", periods=50, freq="h"))
    data = encoded([frame.iloc[i : i + 1] for i in range(50)], chunk_rows=25)
    assert len(data) <= len(compress(frame, lossless=True, chunk_rows=25))
    assert_frame_equal(decompress(data), frame)


def test_narrower_types_are_taken_wider_ones_refused():
    encoder = Encoder(lossless=True)
    encoder.append(np.zeros((2, 2)))
    encoder.append(np.ones((1, 2), np.int32))
    encoder.append(np.full((1, 2), 2**53))
    with pytest.raises(ValueError, match="column 0 was float64 in the first rows and is int64 now"):
        encoder.append(np.full((1, 2), 2**53 + 1))
    with pytest.raises(ValueError, match="complex128"):
        encoder.append(np.full((1, 2), 1j))
    assert decompress(encoder.finish()).tolist() == [[0, 0], [0, 0], [1, 1], [2**53] * 2]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.zeros((1, 2)), "were a DataFrame, these are an array"),
        (pd.DataFrame({"a": [1.0]}, index=[5]), "had 2 columns, these have 1"),
        (pd.DataFrame({"a": [1.0], "c": [1.0]}), "'b' was expected, 'c' came"),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), "column 'b'"),
        (pd.DataFrame({"a": [1.0], "b": [1.0]}, index=["x"]), "the index of the first rows was range"),
        (pd.DataFrame({"a": [1.0], "b": pd.array([1], dtype="Int64")}), "column 'b' was float64"),
    ],
)
def test_rows_that_do_not_fit(rows, said):
    encoder = Encoder(lossless=True)
    encoder.append(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    with pytest.raises(ValueError, match=said):
        encoder.append(rows)


def test_an_end_is_an_end():
    with pytest.raises(ValueError, match="nothing was appended"):
        Encoder(lossless=True).finish()
    encoder = Encoder(lossless=True)
    encoder.append(np.zeros((0, 3)))
    assert decompress(encoder.finish()).shape == (0, 3)
    for call in (encoder.finish, lambda: encoder.append(np.zeros((1, 3)))):
        with pytest.raises(ValueError, match="has finished"):
            call()


def peak_of(n_rows):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 100, (100, 8)).astype(float)
    encoder = Encoder(lossless=True, chunk_rows=500, effort="fast")
    data = [encoder.append(rows) for _ in range(10)]  # compiled and warm
    tracemalloc.start()
    for _ in range(n_rows // 100):
        data[-1] = encoder.append(rows)
    encoder.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_is_that_of_a_chunk():
    assert peak_of(20_000) < 1.5 * peak_of(2000)
