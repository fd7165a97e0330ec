"""What a file can claim is bounded: memory by `limit`, the time to read a header by its length."""

import time
import tracemalloc
import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrpursuit.compression import (
    DamagedFile,
    Decoder,
    Encoder,
    LimitExceeded,
    UnsupportedVersion,
    compress,
    decompress,
    describe,
)
from hrpursuit.compression.decoding import DECODERS, LIMIT
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import MAGIC, VERSION, Header
from hrpursuit.compression.files.index import Index
from hrpursuit.compression.files.writer import Writer
from hrpursuit.compression.layout import deflated, signed, text, varint
from hrpursuit.compression.tables.columns import MAX_COLUMNS, Schema, _checked_attrs, take_apart
from hrpursuit.compression.targets import Target

LOSSLESS = Target("lossless", 0.0)
FRAME = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.date_range("2020", periods=2, freq="h"))


def sealed(body):
    """A header with this body."""
    out = MAGIC + varint(len(body)) + body
    return out + zlib.crc32(out).to_bytes(4, "little")


def header_of(n_columns, types, names, labels=b"\x01\x00\x00\x00\x02\x00", attrs=b"\x00", version=1, target=b"\x00"):
    """A header of a frame, forged from its parts; the labels count from 0."""
    description = b"\x01" + deflated(names + labels + attrs)
    body = bytes([version, 1]) + target + varint(1) + varint(n_columns) + types
    return sealed(body + varint(len(description)) + description + b"\x00")


# Times


MANY = MAX_COLUMNS
ONE_GROUP = b"\x01\x00" + b"\x06\x01s\x00\x00" + varint(MANY) + b"\x00\x00\x02"
COSTLY = {
    "one group of names": (b"\x8b", ONE_GROUP),
    "as many groups as names": (b"\x8b", b"\x01\x00" + b"\x00\x00\x01" * MANY),
    "groups of two numbers": (b"\x8b", b"\x01\x00" + b"\x02\x01s\x00\x00\x02\x02\x00\x02" * (MANY // 2)),
    "a list of names": (b"\x8b", b"\x01\x00\x08" + varint(MANY) + b"\x01" * MANY + b"x" * MANY),
    "types that change": (b"\x0b\x01\x24\x01" * (MANY // 2 - 1) + b"\x0b\x01\xa4", ONE_GROUP),
    "types that know missing values": (b"\xa4", ONE_GROUP),
}


@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.long
def test_a_header_is_read_in_no_more_time_than_it_is_worth(name):
    """3 kB took 24 seconds. The time is that of the processor, since others may work on the machine."""
    data = header_of(MANY, *COSTLY[name])
    start = time.process_time()
    with pytest.raises(DamagedFile):
        list(Decoder(data, damaged="skip"))
    assert time.process_time() - start < 6


@pytest.mark.long
def test_headers_of_joined_files_are_read_once():
    """Later ones repeat the columns of the first; those that do not are counted."""
    names = [f"sensor {i * i % 9973}" for i in range(20_000)]
    one = compress(pd.DataFrame(np.zeros((1, len(names)), "u1"), columns=names), lossless=True)
    header, _ = Decoder(one)._header, None
    start = time.process_time()
    Header.parse(one[: header.n_bytes])
    alone = time.process_time() - start
    start = time.process_time()
    for _ in range(20):
        assert Header.parse(one[: header.n_bytes], like=header).schema.names is header.schema.names
    assert time.process_time() - start < 20 * alone / 2
    forged = header_of(MANY, b"\x8b", ONE_GROUP)
    other = header_of(MANY, b"\x8b", ONE_GROUP.replace(b"s", b"t"))
    start = time.process_time()
    with pytest.raises(DamagedFile):
        list(Decoder(forged + other * 200, damaged="skip"))
    assert time.process_time() - start < 20


@pytest.mark.long
def test_bounds_of_joined_files_are_read_once():
    """A bound for each of a million columns takes a few kilobytes if they repeat each other."""
    bounds = [Target.of_columns("max_error", [amount, 0.5] * (MANY // 2)).to_bytes() for amount in (0.25, 0.75)]
    first, other = (header_of(MANY, b"\x8b", ONE_GROUP, target=target) for target in bounds)
    for data in (first * 300, first + other * 300):
        start = time.process_time()
        with pytest.raises(DamagedFile):
            list(Decoder(data, damaged="skip"))
        assert time.process_time() - start < 20


def claim(n_chunks, n_rows, n_columns, value=np.nan, dtype="f8"):
    """A whole file of equal chunks, which take a few bytes each; without a reading if the value is NaN."""
    table = np.full((n_rows, n_columns), value, dtype)
    writer = Writer.beginning(take_apart(table).schema, LOSSLESS, n_rows, shared_of(table))
    payload = next(Decoder(compress(table, lossless=True, chunk_rows=n_rows))._frames())[1].payload
    part = take_apart(table)
    return writer.start + b"".join(writer.chunk(part, payload) for _ in range(n_chunks)) + writer.end()


def shared_of(table):
    return Decoder(compress(table[:1], lossless=True))._header.shared


@pytest.mark.long
def test_a_small_file_that_claims_terabytes_is_refused_at_once():
    data = claim(20_000, 65536, 200)
    claimed = 20_000 * (65536 * 200 * 8 + 512 * 200)
    assert len(data) < 2**20 < LIMIT < claimed
    for read in (decompress, lambda data: list(Decoder(data)), lambda data: decompress(data, damaged="skip")):
        start = time.process_time()
        with pytest.raises(LimitExceeded, match=rf"{claimed:,} bytes .* limit={LIMIT} allows .* greater limit"):
            read(data)
        assert time.process_time() - start < 10
    assert Decoder(data).read(0, 1).shape == (2, 200)  # a range of it is no trouble
    assert describe(compress(np.zeros((2, 2)), lossless=True)).n_rows == 2


@pytest.mark.parametrize(("n_chunks", "n_rows", "n_columns"), [(1200, 65536, 16), (2400, 1, 2**13)])
@pytest.mark.long
def test_total_work_is_bounded_whatever_the_type(n_chunks, n_rows, n_columns):
    """Truth values take a byte each and as long as doubles: files of 170 kB and of 600 kB took ten minutes."""
    data = claim(n_chunks, n_rows, n_columns, value=0, dtype=bool)
    assert len(data) < 2**20
    assert n_chunks * n_rows * n_columns < LIMIT
    start = time.process_time()
    with pytest.raises(LimitExceeded):
        decompress(data)
    assert time.process_time() - start < 5


def test_the_limit_counts_what_is_asked_for():
    table = np.arange(6000.0).reshape(-1, 3)
    data = compress(table, lossless=True, chunk_rows=100)
    n_bytes = 20 * (100 * 3 * 8 + 3 * 512)
    np.testing.assert_array_equal(decompress(data, limit=n_bytes), table)
    assert len(list(Decoder(data, limit=n_bytes))) == 20
    assert decompress(data, limit=None).shape == table.shape
    for read in (lambda: decompress(data, limit=n_bytes - 1), lambda: list(Decoder(data, limit=n_bytes - 1))):
        with pytest.raises(LimitExceeded, match=f"limit={n_bytes - 1}"):
            read()
    decoder = Decoder(data, limit=n_bytes // 10)
    assert decoder.read(150, 250).shape == (101, 3)
    with pytest.raises(LimitExceeded):
        decoder.read()
    assert decoder.n_decoded == 2
    for limit in (0, -1, 1.5, True, "8G"):
        with pytest.raises(ValueError, match="limit must be a number of bytes"):
            decompress(data, limit=limit)


def test_names_attributes_and_texts_count_as_well():
    frame = pd.DataFrame({"a": np.arange(50.0)}, index=["0"] * 49 + ["0" * 50_000])
    frame.attrs = {"long": "x" * 100_000}
    encoder = Encoder(lossless=True, chunk_rows=1)
    data = b"".join(encoder.append(frame.iloc[i : i + 1]) for i in range(50)) + encoder.finish()
    assert len(decompress(data, limit=80_000)) == 50
    with pytest.raises(LimitExceeded):
        decompress(data, limit=79_000)
    with pytest.raises(LimitExceeded):
        list(Decoder(data, limit=5_000_000))
    assert len(list(Decoder(data, limit=5_100_000))) == 50


def test_labels_are_read_quickly():
    """80 bytes per chunk say 65536 labels: that took a second for ten of them."""
    index = pd.Index(np.zeros(65536, "i8"))
    data = compress(pd.DataFrame({"x": np.full(65536, np.nan)}, index=index), lossless=True, chunk_rows=65536)
    assert len(data) < 300
    with Decoder(data) as decoder:
        member, frame = next(decoder._frames())
    member.labels(frame)
    start = time.process_time()
    for _ in range(50):
        member.labels(frame)
    assert time.process_time() - start < 2


def test_memory_of_an_index_is_that_of_its_file():
    """A forged one cannot list more chunks than the file has bytes for."""
    data = compress(np.zeros((2, 2)), lossless=True)
    header = Decoder(data)._header
    index = Index(header.n_bytes, 0, [9] * 10, [1000] * 10)
    for sizes in ([0] * 100_000, [8] * 3, [2**29]):
        index.sizes, index.rows = sizes, [header.chunk_rows] * len(sizes)
        forged = data[: header.n_bytes] + index.to_bytes(header)
        tracemalloc.start()
        with pytest.raises(DamagedFile):
            Decoder(forged)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000 + 40 * len(forged)
        tracemalloc.stop()


# Versions


def test_a_newer_file_is_no_damage():
    table = np.zeros((2, 2))
    data = compress(table, lossless=True)
    n = Decoder(data)._header.n_bytes
    body = data[5 : n - 4]
    newer = sealed(bytes([9]) + body[1:]) + b"whatever comes in version 9"
    for read in (decompress, lambda d: list(Decoder(d)), lambda d: decompress(d, damaged="skip"), describe):
        with pytest.raises(UnsupportedVersion, match=rf"version 9 .* up to {VERSION}: pip install") as caught:
            read(newer)
        assert (caught.value.found, caught.value.known) == (9, VERSION)
        assert not isinstance(caught.value, DamagedFile)
    with pytest.raises(UnsupportedVersion):
        list(Decoder(data + newer, damaged="skip"))
    flipped = bytearray(data)
    flipped[5] = 9  # a byte that was changed, and no newer file: the checksum tells
    with pytest.raises(DamagedFile, match="checksum"):
        decompress(bytes(flipped))
    with pytest.raises(DamagedFile, match="no version 0"):
        decompress(sealed(bytes([0]) + body[1:]))


def test_errors_survive_pickling():
    import pickle  # noqa: PLC0415

    error = pickle.loads(pickle.dumps(UnsupportedVersion("newer", 9, 1)))
    assert (str(error), error.found, error.known) == ("newer", 9, 1)


def test_sections_of_later_versions():
    data = compress(np.arange(6.0).reshape(3, 2), lossless=True)
    header = Decoder(data)._header
    body = data[5 : header.n_bytes - 4]

    def rebuilt(more):
        start = sealed(body + more)
        again = Header.parse(start)
        frame = next(Decoder(data)._frames())[1]
        end = Index(len(start), 0, [frame.n_bytes], [3], True).to_bytes(again)
        return start + Frame(0, 3, b"", frame.payload).to_bytes(again) + end

    np.testing.assert_array_equal(decompress(rebuilt(b"\x80\x03abc\xff\x00")), decompress(data))
    with pytest.raises(UnsupportedVersion, match="section of the kind 127"):
        rebuilt(b"\x80\x00\x7f\x03abc")
    with pytest.raises(DamagedFile):
        rebuilt(b"\x80\x04abc")


def test_the_version_picks_the_decoder(monkeypatch):
    assert max(DECODERS) == VERSION
    data = compress(np.arange(6.0).reshape(3, 2), lossless=True)

    class Other(DECODERS[1]):
        def decode(self, payload, n_rows):
            return [np.full(n_rows, 7.0) for _ in self.dtypes]

    monkeypatch.setitem(DECODERS, 1, Other)
    assert (decompress(data) == 7).all()
    assert Decoder(data).version == describe(data).version == 1


# What pandas is asked to make of the words in a header


def described(zone="", frequency="", attrs="", kind=5):
    code = kind | 3 << 3 | bool(zone) << 6 | bool(frequency) << 7
    labels = bytes([code]) + b"\x00" + signed(0) + b"\x00" + signed(36) + b"\x0b"
    labels += (text(zone) if zone else b"") + (text(frequency) if frequency else b"")
    return header_of(1, b"\x8b", b"\x01\x00\x00\x01a\x01", labels, text(attrs))


@pytest.mark.parametrize(
    "zone",
    ["Europe", "Nowhere/Land", "../../etc/passwd", "/etc/localtime", "dateutil//etc/passwd", "tzlocal()", "UTC+99:99",
     "a" * 300, "Europe/Warsaw\0", "\ud800", " ", "America", "posixrules/", "+5", "Europe/Warsaw\n"],
)  # fmt: skip
def test_zones_that_are_none(zone):
    with pytest.raises(DamagedFile, match="time zone"):
        Header.parse(described(zone))


@pytest.mark.parametrize(
    "frequency",
    ["x", "W-XXX", "WOM-9MON", "REQ-N-DEC-MON", "1" * 40 + "h", "h" * 500, "nan", "1.5h", "h;D", "\0", "infer",
     "\ud800"],
)  # fmt: skip
def test_frequencies_that_are_none(frequency):
    with pytest.raises(DamagedFile, match="frequency"):
        Header.parse(described(frequency=frequency))


@pytest.mark.parametrize(
    "attrs",
    ["[" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000, '{"a":' * 65 + "1" + "}" * 65, "[]", "7", "{",
     '{"a":1e999999}x', '{"a":' + "9" * 10_000 + "}", '"' + "x" * 2**20 + '"'],
)  # fmt: skip
def test_attributes_that_are_none(attrs):
    with pytest.raises(DamagedFile):
        Header.parse(described(attrs=attrs))


def test_attributes_may_be_nested_as_deep_as_pandas_copies_them():
    frame, deep = FRAME.copy(), 1
    for _ in range(64):
        deep = {"a": deep}
    frame.attrs = deep
    assert decompress(compress(frame, lossless=True)).copy().attrs == deep
    round_and_round = {}
    round_and_round["a"] = [round_and_round]
    for attrs in ({"a": deep}, round_and_round):
        with pytest.raises(ValueError, match="nested more than 64 times"):
            _checked_attrs(attrs)


words = st.text(st.sampled_from("WBCDMQYSEhbminsu-0123456789JANFRI+/:_ \0ü"), max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    words | st.sampled_from(["UTC", "Europe/Warsaw", "UTC+05:30", "Asia/Kathmandu"]),
    words | st.sampled_from(["h", "15min", "B", "cbh", "LWOM-FRI", "YS-JAN", "-3D", "0h", "999999999999999h"]),
    st.sampled_from(["", "{}", '{"a":[1]}']) | st.text(max_size=8),
    st.sampled_from([5, 6]),
)
def test_any_words_are_a_header_or_damage(zone, frequency, attrs, kind):
    """Nothing but DamagedFile is raised, neither now nor when a table is made."""
    data = described(zone, frequency, attrs, kind)
    try:
        header = Header.parse(data)
    except DamagedFile:
        return
    writer = Writer(header.with_checksum(data), data)
    labels = np.array([0, 3600 * 10**9, -(2**63), 2**63 - 1])
    table = Schema(["float64"], header.schema.names, header.schema.labels)
    chunk = take_apart(pd.DataFrame({"a": np.zeros(4)}))
    for place in range(4):
        one = type(chunk)(table, [np.zeros(1)], labels[place : place + 1], 1)
        with Decoder(compress(np.zeros((1, 1)), lossless=True)) as plain:
            payload = next(plain._frames())[1].payload
        try:
            tables = list(Decoder(writer.start + writer.chunk(one, payload) + writer.end()))
        except DamagedFile:
            tables = []
        assert len(tables) <= 4
        writer = Writer(header.with_checksum(data), data)
