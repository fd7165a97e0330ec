"""Columns of texts, categories and times: they come back as they were, whatever the target of the others."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from hrpursuit.compression import DamagedFile, Decoder, Encoder, LimitExceeded, compress, decompress, describe
from hrpursuit.compression.errors import damage
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import Header
from hrpursuit.compression.layout import Cursor, shorter, varint
from hrpursuit.compression.tables.dtypes import kinds_to_bytes, read_kinds
from hrpursuit.compression.tables.texts import MAX_TEXTS, Categories, from_numbers, to_numbers

from ..second_reader import members, read_file


def mixed(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "level": rng.normal(size=n).cumsum().round(1),
            "state": rng.choice(["on", "off", None], n),
            "object": pd.Series(rng.choice(["a", "ü\ud800", "", None], n), dtype=object),
            "string": pd.array(rng.choice(["x", "a, b\n", None], n), dtype="string"),
            "size": pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "middle", "high"], ordered=True),
            "number": pd.Categorical(rng.choice([7, 5, np.nan], n)),
            "day": pd.Categorical(pd.DatetimeIndex(rng.choice(["2020-01-01", "2020-05-01"], n), tz="UTC")),
            "when": pd.date_range("2020-03-29", periods=n, freq="7min", tz="Europe/Warsaw"),
            "plain": pd.date_range("1950", periods=n, freq="D", unit="s")[::-1],
            "span": pd.to_timedelta(np.arange(n) ** 2, "s"),
            "is_on": rng.random(n) < 0.5,
            "is_known": pd.array(rng.choice([True, False, None], n), dtype="boolean"),
            "nothing": pd.array([None] * n, dtype="str"),
        }
    )
    frame.loc[3, ["when", "plain", "span"]] = pd.NaT
    return frame


TARGETS = [
    {"lossless": True},
    {"max_error": 0.5},
    {"max_error": {"level": 0.5, None: 3}},
    {"relative_error": 0.01},
    {"relative_rmse": 0.05},
    {"n_nonzero_coefs": 1},
]


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_all_but_the_readings_comes_back(target):
    frame = mixed()
    data = compress(frame, **target, chunk_rows=70)
    encoder = Encoder(**target, chunk_rows=70)
    streamed = b"".join(encoder.append(frame[i : i + 33]) for i in range(0, len(frame), 33)) + encoder.finish()
    for again in (decompress(data), decompress(streamed), pd.concat(list(Decoder(data)))):
        assert_frame_equal(again.drop(columns="level"), frame.drop(columns="level"))
    assert sum(describe(data).parts.values()) == len(data)
    bounds = Decoder(data).target.bounds(frame.shape[1])
    assert (bounds[1:] == 0).all()
    if "max_error" in target:
        assert (decompress(data)["level"] - frame["level"]).abs().max() <= 0.5 + 1e-12  # judged on decimals
        assert bounds[0] == 0.5


def test_parts_and_joined_files():
    frame = mixed()
    data = compress(frame, lossless=True, chunk_rows=70)
    part = Decoder(data).read(60, 80, columns=["size", "state", "when"])
    assert_frame_equal(part, frame.loc[60:80, ["size", "state", "when"]])
    assert_frame_equal(decompress(data + data), pd.concat([frame, frame], ignore_index=True))
    assert_frame_equal(decompress(compress(frame[:0], lossless=True)), frame[:0])
    other = frame.assign(size=frame["size"].cat.rename_categories({"low": "deep"}))
    with pytest.raises(DamagedFile, match="the column 'size' has other categories"):
        decompress(data + compress(other, lossless=True))
    zone = frame.assign(when=frame["when"].dt.tz_convert("UTC"))
    with pytest.raises(DamagedFile, match=r"the column 'when' is datetime64\[us, UTC\]"):
        decompress(data + compress(zone, lossless=True))
    encoder = Encoder(lossless=True)
    encoder.append(frame)
    with pytest.raises(ValueError, match=r"column 'size' has other categories than in the first rows.*set_categories"):
        encoder.append(other)


def test_few_texts_take_few_bytes():
    texts = np.repeat(["running", "stopped", "in maintenance"], 1000)
    plain = len(compress(pd.DataFrame({"x": np.zeros(3000)}), lossless=True))
    assert len(compress(pd.DataFrame({"x": texts}), lossless=True)) < plain + 120


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series(["a", 1], dtype=object), r"column 'x' holds 1 \(int\); a column of objects can be stored if"),
        (pd.Series([["a"], "b"], dtype=object), r"column 'x' holds \['a'\] \(list\)"),
        (pd.Series([1 + 2j]), "column 'x' is of type complex128.*two columns"),
        (pd.period_range("2020", periods=2, freq="D").to_series(index=[0, 1]), "period"),
        (pd.cut(pd.Series([1, 2]), [0, 1, 2]), "the categories of column 'x' cannot be stored"),
        (pd.Series(["x" * MAX_TEXTS + "y"]), "the texts of 1 rows take .* bytes, at most"),
    ],
)
def test_what_cannot_be_stored(column, message):
    with pytest.raises(ValueError, match=message):
        compress(pd.DataFrame({"x": column}), lossless=True)


def test_an_array_has_no_texts():
    with pytest.raises(ValueError, match="only bool, whole numbers and floats up to 64 bits can be stored: give texts"):
        compress(np.array([["a", "b"]]), lossless=True)


def test_a_bound_for_a_text_is_no_bound():
    data = compress(pd.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"]}), max_error=[0.5, 7])
    assert Decoder(data).target.bounds(2).tolist() == [0.5, 0]


@settings(max_examples=60)
@given(st.lists(st.none() | st.text(), min_size=1, max_size=20), st.integers(1, 20), st.sampled_from(["object", "str"]))
def test_any_texts(texts, chunk_rows, kind):
    if kind == "str":
        texts = [None if text is None else text.encode(errors="replace").decode() for text in texts]
    frame = pd.DataFrame({"x": pd.Series(texts, dtype=kind), "y": range(len(texts))})
    data = compress(frame, lossless=True, chunk_rows=chunk_rows)
    assert_frame_equal(decompress(data), frame)
    assert read_file(data).texts == {0: texts}


def test_the_second_reader_reads_them():
    frame = mixed()
    data = compress(frame, lossless=True, chunk_rows=70)
    header = members(data)[0].header
    assert header.zones == {7: "Europe/Warsaw", 8: ""}
    assert header.categories[4] == ("text", "str", ["low", "middle", "high"], True)
    found = read_file(data)
    for place in (1, 2, 3, 4, 12):
        expected = frame.iloc[:, place].astype(object)
        assert found.texts[place] == [None if pd.isna(text) else text for text in expected]
    assert found.columns[7] == frame["when"].array.asi8.tobytes()
    assert found.columns[9] == frame["span"].array.asi8.tobytes()


class TestForgedFiles:
    """What a file says is checked before it is used."""

    def numbers(self, *numbers):
        return [np.array(numbers, np.int32)]

    def test_numbers_of_texts_that_are_not_there(self):
        _, listed = to_numbers([np.array(["a", "b", None], object)], ["str"])
        assert from_numbers(self.numbers(2, 0, 1), ["str"], {}, listed)[0].tolist() == ["b", None, "a"]
        for numbers in [(3, 0, 1), (-1, 0, 1)]:
            with pytest.raises(DamagedFile, match="refers to texts that are not there"):
                from_numbers(self.numbers(*numbers), ["str"], {}, listed)
        with pytest.raises(DamagedFile, match="refers to categories that are not there"):
            from_numbers(self.numbers(5), ["category"], {0: 4}, b"")

    @pytest.mark.parametrize(
        "data",
        [b"", b"\x07", b"\x00", b"\x00\x05", b"\x00\x01\x7f" + b"x", b"\x00\x01\x01\xff", b"\x00\x01\x01xy",
         b"\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", shorter(varint(1) + varint(1) + b"x" + b"\0" * 99)],
    )  # fmt: skip
    def test_lists_that_make_no_sense(self, data):
        with pytest.raises(DamagedFile):
            from_numbers(self.numbers(1, 1), ["str"], {}, data)

    @pytest.mark.long
    def test_one_long_text_in_all_cells_counts_as_often(self):
        frame = pd.DataFrame({"x": ["y" * 100_000] * 5000})
        data = compress(frame, lossless=True)
        assert len(data) < 1000
        with pytest.raises(LimitExceeded):
            decompress(data, limit=10_000_000)
        assert len(decompress(data, limit=2**30)) == 5000

    def test_flags_and_types_have_to_agree(self):
        frame = pd.DataFrame({"x": ["a"]})
        header = bytearray(compress(frame, lossless=True))
        assert header[6] == 3
        header[6] = 1
        body = bytes(header[: 5 + header[4]])
        from hrpursuit.compression.files.header import checksum_bytes  # noqa: PLC0415

        with pytest.raises(DamagedFile, match="that they hold texts, or do not"):
            Header.parse(body + checksum_bytes(body))

    def test_unknown_types_zones_and_categories(self):
        for code in (12, 31, 43, 63, 76, 127):
            with pytest.raises(DamagedFile, match=f"unknown type {code}"):
                read_kinds(Cursor(bytes([code | 128])), 3)
        kinds = ["object", "category", "datetime64[s]", "timedelta64[ns]", "timedelta64[ns]", "bool"]
        runs = read_kinds(Cursor(kinds_to_bytes(kinds)), 6)
        assert [kind for kind, count in runs for _ in range(count)] == kinds
        good = Categories.of(pd.CategoricalDtype(["a", "b"]), "x").to_bytes()
        assert Categories.read(Cursor(good)).values.tolist() == ["a", "b"]
        twice = good.replace(b"ab", b"aa")
        assert twice != good
        for bad in (good[:-1], b"\x00\x00\x00\x00", twice):
            with pytest.raises(DamagedFile), damage("x"):
                Categories.read(Cursor(bad))

    def test_frames_keep_the_list(self):
        data = compress(pd.DataFrame({"x": ["a", "b"]}), lossless=True)
        decoder = Decoder(data)
        chunk = decoder.chunks[0]
        frame = Frame.parse(data[chunk.offset : chunk.offset + chunk.n_bytes], decoder._header)
        assert frame.texts.endswith(b"ab")
