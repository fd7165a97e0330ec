"""Whole files are read by the document alone: names, labels, attributes, checksums, indices."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrpursuit.compression import Decoder, Encoder, compress, decompress
from hrpursuit.compression.checking import Checked
from hrpursuit.compression.chunks import verbatim
from hrpursuit.compression.tables.columns import take_apart
from hrpursuit.tables.csv_style import Style

from .second_reader import annotated, members, read_file

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "format.md"
TEXT = DOCUMENT.read_text()


def assert_read_alike(data):
    """The second reader finds what the first one gives, reading aside."""
    found = members(data)
    decoder = Decoder(data)
    header, schema = found[0].header, decoder._header.schema
    table = decoder.read()
    assert header.types == schema.kinds
    assert header.target == (decoder.target.kind, decoder.target.amounts(decoder.n_columns).tolist())
    assert header.attrs == decoder.attrs
    chunks = [chunk for member in found for chunk in member.chunks]
    assert [(c.n_rows, c.offset, c.n_bytes) for c in chunks] == [
        (c.n_rows, c.offset, c.n_bytes) for c in decoder.chunks
    ]
    labels = [label for chunk in chunks for label in chunk.labels]
    if not header.is_frame:
        assert labels == list(range(len(table)))
        return
    assert header.names == list(table.columns)
    assert header.names_type in (str(table.columns.dtype), "range")
    assert (header.names_name, header.labels_name) == (table.columns.name, table.index.name)
    assert header.zone == ("" if getattr(table.index, "tz", None) is None else str(table.index.tz))
    expected = take_apart(table).labels
    assert labels == list(expected) or np.array_equal(labels, expected, equal_nan=True)


INDICES = [
    pd.RangeIndex(30),
    pd.RangeIndex(50, -10, -2, name="down"),
    pd.Index(np.arange(30) ** 3 % 50, name=7),
    pd.Index(np.arange(30, dtype="u8") + np.uint64(2**63 - 5)),
    pd.Index(np.arange(30, dtype="i1")),
    pd.Index(np.arange(30) / 7),
    pd.Index([1.5, np.nan] * 15, dtype="float32"),
    pd.Index([f"row {i * i}" for i in range(29)] + ["ü\ud800"], dtype=object),
    pd.date_range("2017-10-28", periods=30, freq="h", tz="Europe/Warsaw"),
    pd.DatetimeIndex(["NaT", "2020-01-01", "1950-05-05"] * 10),
    pd.date_range("2020", periods=30, freq="W-SUN", unit="s"),
    pd.timedelta_range("1h", periods=30, freq="90min"),
]
COLUMNS = [
    pd.RangeIndex(2, 8, 2, name="x"),
    pd.Index(["a", "b", "c"], dtype=object),
    pd.Index(["s08", "s09", "s10"]),
    pd.Index(["1_pm", "17_pm", "3_pm"], name=3),
    pd.Index([5, 6, -9], dtype="i2"),
    pd.Index([2**64 - 1, "x", ""], dtype=object),
]


@pytest.mark.parametrize("index", INDICES, ids=lambda index: f"{type(index).__name__} {index.dtype}")
def test_every_kind_of_labels(index):
    frame = pd.DataFrame(np.arange(90.0).reshape(-1, 3), index=index, columns=list("abc"))
    frame.attrs = {"unit": "µg/m³", "places": [50.06, {"deep": None}]}
    assert_read_alike(compress(frame, lossless=True, chunk_rows=7))
    encoder = Encoder(lossless=True, chunk_rows=20)
    data = encoder.append(frame.iloc[:3]) + encoder.flush() + encoder.append(frame.iloc[3:]) + encoder.finish()
    assert_read_alike(data)
    assert_read_alike(data + data)


@pytest.mark.parametrize("columns", COLUMNS, ids=str)
def test_every_kind_of_names(columns):
    frame = pd.DataFrame(np.zeros((3, 3)), columns=columns).astype({columns[1]: "int16", columns[2]: "Int32"})
    assert_read_alike(compress(frame, lossless=True))


@settings(max_examples=60)
@given(st.lists(st.text(max_size=12) | st.integers(-(2**63), 2**64 - 1), max_size=20))
def test_any_names(names):
    frame = pd.DataFrame(np.zeros((1, len(names))), columns=pd.Index(names, dtype=object))
    assert_read_alike(compress(frame, lossless=True))


@settings(max_examples=30)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30), st.integers(1, 9))
def test_any_labels(labels, chunk_rows):
    frame = pd.DataFrame({"x": np.zeros(len(labels))}, index=pd.Index(labels, dtype="int64"))
    assert_read_alike(compress(frame, lossless=True, chunk_rows=chunk_rows))


@pytest.mark.parametrize("table", [np.zeros((0, 3)), np.zeros((4, 0), "i2"), pd.DataFrame(index=range(5))])
def test_tables_without_rows_or_columns(table):
    assert_read_alike(compress(table, lossless=True, chunk_rows=3))


TARGETS = [
    {"relative_rmse": 0.094},
    {"relative_rmse": 0.094, "lossless": [1]},
    {"max_error": 2.5e-7},
    {"max_error": [0.5, 0, 1e-3]},
    {"relative_error": 0.01},
    {"n_nonzero_coefs": 2},
]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target(target):
    assert_read_alike(compress(np.arange(60.0).reshape(-1, 3), **target))


def test_bounds_of_many_columns():
    assert_read_alike(compress(np.zeros((3, 500)), max_error=[0.5, 0.25] * 250))


def test_plain_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=50), "b": rng.integers(0, 9, 50).astype("u2"), "c": np.arange(50) % 2 == 0}
    )
    frame["d"] = rng.normal(size=50).round(1)
    plain = [Checked(verbatim.pack(take_apart(frame).columns), is_plain=True)]
    monkeypatch.setattr("hrpursuit.compression.codec.checked", lambda *_: plain)
    data = compress(frame, lossless=True)
    found = read_file(data)
    assert found.met == {"plain"}
    assert found.columns == [frame[name].to_numpy().tobytes() for name in frame]
    pd.testing.assert_frame_equal(decompress(data), frame)


def example():
    """The file of the document, by the code that stands there."""
    part = TEXT.split("## A file, byte by byte")[1]
    found = {}
    exec(part.split("```python")[1].split("```")[0], found)
    return found["data"]


def test_the_annotated_file_is_the_file():
    """With HRPURSUIT_WRITE_DOCUMENT=1 it is written anew."""
    data = example()
    dump = TEXT.split("```text\n")[1].split("\n```")[0]
    if os.environ.get("HRPURSUIT_WRITE_DOCUMENT"):
        DOCUMENT.write_text(TEXT.replace(dump, annotated(data)))
        return
    assert dump == annotated(data)
    assert bytes.fromhex("".join(line[6:29] for line in dump.splitlines())) == data
    assert_read_alike(data)


def test_every_byte_of_a_file_has_a_meaning():
    for index in (pd.to_datetime(["2020", "2021", "2023"]), ["x", "y", "z"], [0.1, 0.2, 0.7]):
        frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1, 2, 3]}, index=index)
        data = compress(frame, max_error=0.5, chunk_rows=2)
        lines = annotated(data + data).splitlines()
        assert sum(len(bytes.fromhex(line[6:29])) for line in lines) == 2 * len(data)


def test_the_document_has_all_entries_of_the_csv_attribute():
    part = TEXT.split('## `attrs["csv"]`')[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| `")]
    assert rows == [f"`{field.name}`" for field in dataclasses.fields(Style)]
    assert json.dumps(Style(decimals=[0, 0]).as_attribute()) == "{}"
