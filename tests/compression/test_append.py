"""Rows that are flushed, appended after a power cut, or joined by cat give the table that all of them are."""

import io
import os
import subprocess
import sys
import time
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from hrpursuit.compression import (
    DamagedFile,
    DamagedFileWarning,
    Decoder,
    Encoder,
    compress,
    decompress,
    describe,
)

N_ROWS = 60
HOURS = pd.date_range("2020-01-01", periods=N_ROWS, freq="h", name="time")
TABLE = np.arange(2.0 * N_ROWS).reshape(-1, 2) / 4
INDICES = {
    "array": None,
    "counted": pd.RangeIndex(N_ROWS),
    "every other": pd.RangeIndex(10, 10 + 2 * N_ROWS, 2),
    "hours": HOURS,
    "uneven times": HOURS[:1].append(HOURS[1:] + pd.to_timedelta(np.arange(N_ROWS - 1) ** 2, "s")),
    "texts": pd.Index([f"row {i:03d}" for i in range(N_ROWS)]),
    "floats": pd.Index(np.arange(N_ROWS) / 3),
}


def whole(kind):
    return TABLE if kind == "array" else pd.DataFrame(TABLE, index=INDICES[kind], columns=["a", "b"])


def rows(table, start, stop):
    """Some rows, as somebody has them who does not know of the others: counted from 0 where they are counted at all."""
    part = table[start:stop] if isinstance(table, np.ndarray) else table.iloc[start:stop]
    is_counted = isinstance(table, pd.DataFrame) and table.index.equals(pd.RangeIndex(len(table)))
    return part.reset_index(drop=True) if is_counted else part


def assert_same(found, expected):
    if isinstance(expected, pd.DataFrame):
        assert_frame_equal(found, expected, check_freq=False)
    else:
        np.testing.assert_array_equal(found, expected)


def quietly_appended(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder = Encoder.append_to(path)
    assert {warning.category for warning in caught} <= {DamagedFileWarning}
    return encoder, [str(warning.message) for warning in caught]


def read(path, damaged="raise"):
    with Decoder(path, damaged=damaged) as decoder:
        return decoder.read()


cuts = st.lists(st.integers(0, N_ROWS), min_size=0, max_size=5).map(lambda ends: [0, *sorted(ends), N_ROWS])
kinds = st.sampled_from(sorted(INDICES))


@settings(max_examples=40)
@given(kinds, cuts, st.integers(1, 25), st.data())
def test_flushes_at_any_time_lose_nothing(kind, ends, chunk_rows, data):
    table = whole(kind)
    encoder, written, n_given = Encoder(lossless=True, chunk_rows=chunk_rows), b"", 0
    for start, stop in pairwise(ends):
        written += encoder.append(rows(table, start, stop))
        if data.draw(st.booleans()):
            written += encoder.flush()
            n_given = stop
            assert encoder.flush() == b""
            if n_given:  # whoever has these bytes has the rows, without an end
                decoder = Decoder(written, damaged="skip")
                assert_same(decoder.read(), rows(table, 0, n_given))
    written += encoder.finish()
    decoder = Decoder(written)
    assert_same(decoder.read(), table)
    assert all(chunk.n_rows <= chunk_rows for chunk in decoder.chunks)
    assert [chunk.first_row for chunk in decoder.chunks] == [0, *np.cumsum([c.n_rows for c in decoder.chunks])[:-1]]
    assert_same(decompress(written), table)
    assert_same(pd.concat(Decoder(written)) if kind != "array" else np.concatenate(list(Decoder(written))), table)
    start, stop = sorted([data.draw(st.integers(0, N_ROWS - 1)), data.draw(st.integers(0, N_ROWS - 1))])
    labels = np.arange(N_ROWS) if kind == "array" else table.index
    assert_same(
        decoder.read(labels[start], labels[stop]),
        table[start : stop + 1] if kind == "array" else table.iloc[start : stop + 1],
    )


@settings(max_examples=40, deadline=None)
@given(kinds, cuts, st.integers(1, 25), st.data())
def test_a_file_is_gone_on_with_after_any_cut(tmp_path_factory, kind, ends, chunk_rows, data):
    """Sessions, each of which may end by a power cut: rows of whole chunks are there, and the rest comes again."""
    table, path = whole(kind), tmp_path_factory.mktemp("append") / "readings.hrp"
    path.write_bytes(compress(rows(table, 0, ends[1]), lossless=True, chunk_rows=chunk_rows))
    n_safe = ends[1]
    for stop in ends[2:]:
        encoder, said = quietly_appended(path)
        assert not said
        before = path.stat().st_size
        session = encoder.append(rows(table, n_safe, stop))
        session += encoder.flush() if data.draw(st.booleans()) else b""
        session += encoder.finish()
        cut = data.draw(st.integers(0, len(session)))
        with path.open("ab") as file:
            file.write(session[:cut])
        with Decoder(path, damaged="skip") as decoder:
            n_there = decoder.n_rows
            assert n_there <= stop
            assert_same(decoder.read(), rows(table, 0, n_there))
        whole_end = max([before, *(chunk.offset + chunk.n_bytes for chunk in decoder.chunks)])
        _, said = quietly_appended(path)
        assert_same(read(path), rows(table, 0, n_there))  # it is whole again
        if said:
            assert f"{n_there:,} rows stay" in said[0]
            assert whole_end < before + cut
        n_safe = n_there
    encoder, _ = quietly_appended(path)
    with path.open("ab") as file:
        file.write(encoder.append(rows(table, n_safe, N_ROWS)) + encoder.finish())
    assert_same(read(path), table)
    with Decoder(path, damaged="skip") as decoder:
        assert_same(decoder.read(), table)
        assert decoder.damage == []
    assert sum(describe(path).parts.values()) == path.stat().st_size


@settings(max_examples=40)
@given(kinds, cuts, st.integers(1, 25), st.data())
def test_files_are_joined_by_cat(kind, ends, chunk_rows, data):
    table, files = whole(kind), []
    for start, stop in pairwise(ends):
        target = data.draw(st.sampled_from([{"lossless": True}, {"max_error": 1e-9}]))
        files.append(compress(rows(table, start, stop), chunk_rows=data.draw(st.integers(1, chunk_rows)), **target))
    joined = b"".join(files)
    decoder = Decoder(joined)
    assert decoder.n_rows == N_ROWS
    assert_same(decoder.read(), table)
    for again in (Decoder(joined, damaged="skip"), Decoder(io.BufferedReader(Unseekable(joined)))):
        parts = list(again)
        assert_same(np.concatenate(parts) if kind == "array" else pd.concat(parts), table)
        assert again.damage == []
        assert set(again.targets) == set(decoder.targets)
    place = data.draw(st.integers(0, N_ROWS - 1))
    label = place if kind == "array" else table.index[place]
    assert len(decoder.read(label, label)) == 1
    assert sum(describe(joined).parts.values()) == len(joined)
    cut = data.draw(st.integers(len(files[0]), len(joined)))
    kept = Decoder(joined[:cut], damaged="skip")
    assert_same(kept.read(), rows(table, 0, kept.n_rows))


class Unseekable(io.RawIOBase):
    def __init__(self, data):
        self.data = data

    def readable(self):
        return True

    def readinto(self, buffer):
        part, self.data = self.data[: len(buffer)], self.data[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=HOURS[:2])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (FRAME.rename(columns={"b": "c"}), r"the column 'c' instead of 'b'"),
        (FRAME[["b", "a"]], r"the column 'b' instead of 'a'"),
        (FRAME[["a"]], r"1 columns instead of 2"),
        (FRAME.astype({"b": "int16"}), r"the column 'b' is int16 instead of float64"),
        (FRAME.reset_index(drop=True), r"the index is range int64 instead of datetime"),
        (FRAME.tz_localize("Europe/Warsaw"), r"the index is datetime \w+ Europe/Warsaw instead of datetime"),
        (FRAME.to_numpy(), r"one is an array, the other has names"),
    ],
)
def test_files_with_other_columns_are_not_joined(other, said, tmp_path):
    first, second = (compress(table, lossless=True) for table in (FRAME, other))
    for source in (first + second, Unseekable(first + second)):
        with pytest.raises(DamagedFile, match=rf"from byte {len(first)} on does not fit the first: {said}"):
            list(Decoder(source))
    decoder = Decoder(first + second, damaged="skip")
    assert_frame_equal(decoder.read(), FRAME, check_freq=False)
    assert any("does not fit" in what for what in decoder.damage)
    path = tmp_path / "joined.hrp"
    path.write_bytes(first + second)
    with pytest.raises(DamagedFile, match="does not fit"):
        Encoder.append_to(path)
    assert path.read_bytes() == first + second


def test_labels_of_joined_files_are_in_order_only_if_they_are():
    early, late = (compress(FRAME.set_axis(HOURS[i : i + 2]), lossless=True) for i in (0, 30))
    decoder = Decoder(early + late)
    assert len(decoder.read(HOURS[30], HOURS[31])) == 2
    assert decoder.n_decoded == 1
    decoder = Decoder(late + early)
    assert len(decoder.read(HOURS[0], HOURS[1])) == 2
    assert decoder.n_decoded == 1  # the labels of the others were looked at


def test_what_is_appended_costs_no_header_again(tmp_path):
    path = tmp_path / "readings.hrp"
    names = [f"sensor of the {i}th floor" for i in range(40)]
    frame = pd.DataFrame(np.ones((N_ROWS, 40)), index=HOURS, columns=names)
    path.write_bytes(compress(frame.iloc[:20], lossless=True))
    size = path.stat().st_size
    header = describe(path).parts["header"] + describe(path).parts["names and index"]
    encoder = Encoder.append_to(path)
    with path.open("ab") as file:
        file.write(encoder.append(frame.iloc[20:]) + encoder.finish())
    added = describe(path)
    assert added.parts["header"] + added.parts["names and index"] == header
    assert path.stat().st_size < size + 60
    assert_frame_equal(read(path), frame)


def test_what_the_coder_shares_may_change(tmp_path):
    """Another dictionary needs another header, which is written where it is needed."""
    rng = np.random.default_rng(0)
    first, second = (rng.normal(20, 5, (100, 6)).round(1) for _ in range(2))
    path = tmp_path / "readings.hrp"
    path.write_bytes(compress(first, n_nonzero_coefs=6))
    encoder = Encoder.append_to(path)
    assert encoder.target == describe(path).target
    with path.open("ab") as file:
        file.write(encoder.append(second) + encoder.finish())
    assert path.read_bytes().count(b"\x89HRP") == 2
    back = read(path)
    assert back.shape == (200, 6)
    assert np.abs(back - np.concatenate([first, second])).max() < 1


def test_a_file_that_was_finished_is_not_touched(tmp_path):
    path = tmp_path / "readings.hrp"
    path.write_bytes(compress(TABLE, lossless=True, chunk_rows=7))
    before = path.read_bytes()
    encoder = Encoder.append_to(path)
    assert path.read_bytes() == before
    assert encoder.finish() == b""
    assert encoder._chunk_rows == 7


def test_damage_before_the_end_is_not_appended_to(tmp_path):
    path = tmp_path / "readings.hrp"
    data = bytearray(compress(TABLE, lossless=True, chunk_rows=7))
    data[Decoder(bytes(data)).chunks[2].offset + 8] ^= 1
    path.write_bytes(data)
    encoder = Encoder.append_to(path)  # the index is whole: nobody has to look at the chunks
    assert encoder.finish() == b""
    path.write_bytes(data[:-5])
    with pytest.raises(DamagedFile, match="damaged before its end"):
        Encoder.append_to(path)
    assert path.read_bytes() == data[:-5]
    for start in (b"", b"\x89HRP", b"no table at all", bytes(data[:9])):
        path.write_bytes(start)
        with pytest.raises(DamagedFile):
            Encoder.append_to(path)
        assert path.read_bytes() == start
    with pytest.raises(FileNotFoundError):
        Encoder.append_to(tmp_path / "nowhere.hrp")


def test_rows_that_do_not_fit_the_file_are_refused(tmp_path):
    path = tmp_path / "readings.hrp"
    path.write_bytes(compress(FRAME, max_error=0.5))
    encoder = Encoder.append_to(path, effort="fast")
    with pytest.raises(ValueError, match="'b' was expected, 'c' came"):
        encoder.append(FRAME.rename(columns={"b": "c"}))
    with pytest.raises(ValueError, match="the index of the first rows was datetime"):
        encoder.append(FRAME.reset_index(drop=True))
    with path.open("ab") as file:
        file.write(encoder.append(FRAME.astype("float32").set_axis(HOURS[2:4])) + encoder.finish())
    assert len(read(path)) == 4
    with pytest.raises(ValueError, match="effort must be one of"):
        Encoder.append_to(path, effort="none")


WRITER = """
import sys
import numpy as np
from hrpursuit.compression import Encoder

encoder, row = Encoder.append_to(sys.argv[1], effort="fast"), int(sys.argv[2])
with open(sys.argv[1], "ab", buffering=0) as file:
    while True:
        data = encoder.append(np.arange(row, row + 50.0).reshape(-1, 2)) + encoder.flush()
        for start in range(0, len(data), 7):  # in pieces, so that some are missing when it ends
            file.write(data[start : start + 7])
        row += 50
        print(row, flush=True)
"""


def test_a_writer_that_is_killed_loses_no_chunk_that_was_written(tmp_path):
    """Killed three times in the midst of writing; each time the file is read to its last whole chunk, and gone on
    with.
    """
    path = tmp_path / "readings.hrp"
    encoder = Encoder(lossless=True, effort="fast")
    path.write_bytes(encoder.append(np.arange(10.0).reshape(-1, 2)) + encoder.flush())
    row = 10
    for pause in (0.0, 0.003, 0.011):
        arguments = [sys.executable, "-W", "ignore", "-c", WRITER, str(path), str(row)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            for _ in range(5):
                said = int(writer.stdout.readline())
            time.sleep(pause)
            writer.kill()  # SIGKILL: nothing is done on the way out
            said = max([said, *map(int, writer.stdout.read().split())])
        with Decoder(path, damaged="skip") as decoder:
            found = decoder.read()
        np.testing.assert_array_equal(found.ravel(), np.arange(found.size))
        assert found.size >= said >= row + 250
        row = found.size
    encoder, _ = quietly_appended(path)
    with path.open("ab") as file:
        file.write(encoder.finish())
    np.testing.assert_array_equal(read(path).ravel(), np.arange(row))


def test_bytes_reach_the_disk_before_mending_is_said(tmp_path, monkeypatch):
    path = tmp_path / "readings.hrp"
    path.write_bytes(compress(TABLE, lossless=True, chunk_rows=7)[:-40])
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(os.fstat(number).st_size))
    with pytest.warns(DamagedFileWarning, match="bytes were no whole chunk and are cut off"):
        Encoder.append_to(path)
    assert synced == [path.stat().st_size]
    assert len(read(path)) == 56


def test_targets_of_files_without_rows_are_seen_in_a_pipe():
    empty, full = compress(np.zeros((0, 3)), max_error=1e-9), compress(np.arange(30.0).reshape(10, 3), lossless=True)
    joined = full + empty + full
    pipe = Decoder(io.BufferedReader(Unseekable(joined)))
    assert sum(len(part) for part in pipe) == 20
    assert set(pipe.targets) == set(Decoder(joined).targets)
    assert len(pipe.targets) == 2
