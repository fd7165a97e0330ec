"""Rows of a range come from their chunks alone; paths, bytes, files and pipes give the same."""

import io
import os
import threading

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from hrpursuit.compression import DamagedFile, Decoder, Target, compress


@pytest.fixture(scope="module")
def frame():
    hours = pd.date_range("2017-10-01", periods=240, freq="h", name="UTC time")
    return pd.DataFrame(np.arange(480).reshape(-1, 2) / 4, index=hours, columns=["a", "b"])


@pytest.fixture(scope="module")
def data(frame):
    return compress(frame, lossless=True, chunk_rows=24)


class Pipe(io.RawIOBase):
    """Gives a few bytes at a time, and cannot seek."""

    def __init__(self, data, step=7):
        self.data, self.step = data, step

    def readable(self):
        return True

    def seekable(self):
        return False

    def read(self, size=-1):
        n = min(self.step, size) if size >= 0 else len(self.data)
        out, self.data = self.data[:n], self.data[n:]
        return out


def test_what_a_file_says_of_itself(frame, data):
    decoder = Decoder(data)
    assert (decoder.n_rows, decoder.n_columns, decoder.columns) == (240, 2, ["a", "b"])
    assert decoder.target == Target("lossless", 0.0)
    assert [chunk.n_rows for chunk in decoder.chunks] == [24] * 10
    assert [chunk.first for chunk in decoder.chunks] == list(frame.index[::24])
    assert [chunk.last for chunk in decoder.chunks] == list(frame.index[23::24])
    assert decoder.n_decoded == 0


@pytest.mark.parametrize(
    "given", [{"relative_rmse": 0.05}, {"relative_rmse": 0.094}, {"max_error": 0.1 + 0.2}, {"n_nonzero_coefs": 2}]
)
def test_the_target_is_kept(frame, given):
    ((kind, amount),) = given.items()
    assert Decoder(compress(frame, **given)).target == Target(kind, amount)


@pytest.mark.parametrize(
    ("start", "stop", "n_decoded"),
    [
        ("2017-10-05", "2017-10-05", 1),
        ("2017-10-05 23:00", "2017-10-06 00:00", 2),
        (pd.Timestamp("2017-10-05 12:30"), pd.Timestamp("2017-10-05 13:30"), 1),
        (np.datetime64("2017-10-09"), None, 2),
        (None, "2017-10-02 03", 2),
        ("2017-09", "2017-09", 0),
        ("2018", None, 0),
        (None, None, 10),
        ("2017-10-06", "2017-10-05", 0),
    ],
)
def test_a_range_decodes_its_chunks_alone(frame, data, start, stop, n_decoded):
    decoder = Decoder(data)
    back = decoder.read(start, stop)
    assert_frame_equal(back, frame.loc[start:stop], check_freq=len(back) > 0)
    assert decoder.n_decoded == n_decoded


def test_rows_of_an_array_go_by_their_numbers():
    table = np.arange(1000).reshape(-1, 2)
    decoder = Decoder(compress(table, lossless=True, chunk_rows=50))
    np.testing.assert_array_equal(decoder.read(120, 180), table[120:181])
    assert decoder.n_decoded == 2
    assert [(chunk.first, chunk.last) for chunk in decoder.chunks][1] == (50, 99)
    assert decoder.read(-5, -1).shape == (0, 2)
    assert decoder.columns is None


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(np.arange(100) ** 2, name="squares"),
        pd.Index(np.arange(100) / 7),
        pd.Index([f"{i:03d}" for i in range(100)]),
        pd.RangeIndex(500, 400, -1),
        pd.Index(np.random.default_rng(0).permutation(100)),
        pd.timedelta_range("1h", periods=100, freq="3h"),
        pd.Index(np.repeat([3, 5, 8, 13], 25)),
        pd.Index(np.arange(100, dtype=np.uint64) + np.uint64(2**63)),
    ],
)
def test_ranges_of_other_labels(index):
    frame = pd.DataFrame({"x": np.arange(100.0)}, index=index)
    decoder = Decoder(compress(frame, lossless=True, chunk_rows=10))
    start, stop = sorted(index[[40, 61]])
    assert_frame_equal(decoder.read(start, stop), frame[(index >= start) & (index <= stop)], check_freq=False)
    assert decoder.n_decoded <= 10
    if index.is_monotonic_increasing and index.is_unique:
        assert decoder.n_decoded == 3


def test_labels_out_of_order_with_gaps_among_them():
    index = pd.DatetimeIndex(["2020-01-05", "NaT", "2020-01-01", "2020-01-03", "2019-01-01", "2020-01-02"])
    frame = pd.DataFrame({"x": range(6)}, index=index)
    decoder = Decoder(compress(frame, lossless=True, chunk_rows=2))
    assert decoder.read("2020-01-02", "2020-01-05")["x"].tolist() == [0, 3, 5]
    assert_frame_equal(decoder.read(), frame)


def test_zones():
    index = pd.date_range("2017-10-28", periods=60, freq="h", tz="Europe/Warsaw")
    frame = pd.DataFrame({"x": np.arange(60.0)}, index=index)
    decoder = Decoder(compress(frame, lossless=True, chunk_rows=10))
    assert_frame_equal(decoder.read("2017-10-29", "2017-10-29"), frame.loc["2017-10-29"])
    assert len(decoder.read("2017-10-29", "2017-10-29")) == 25
    start, stop = "2017-10-29T00:00+00:00", "2017-10-29T05:00+00:00"
    assert len(decoder.read(start, stop)) == 6
    naive = Decoder(compress(frame.tz_localize(None), lossless=True))
    with pytest.raises(ValueError, match="no time zone"):
        naive.read(start)


@pytest.mark.parametrize("bound", [5, "the day before", float("nan"), pd.NaT, True])
def test_bounds_that_are_no_times(data, bound):
    with pytest.raises(ValueError, match=r"time"):
        Decoder(data).read(bound)


def test_bounds_that_are_no_numbers():
    decoder = Decoder(compress(np.zeros((3, 1)), lossless=True))
    with pytest.raises(ValueError, match="row numbers"):
        decoder.read("2017")
    with pytest.raises(ValueError, match="row numbers"):
        decoder.read(pd.Timestamp("2017"))


def test_paths_files_and_pipes_give_the_same(frame, data, tmp_path):
    path = tmp_path / "readings.hrp"
    path.write_bytes(data)
    later = io.BytesIO(b"before" + data)
    later.seek(6)
    with path.open("rb") as file:
        for source in (path, str(path), bytearray(data), memoryview(data), file, later, Pipe(data), Pipe(data, 10**6)):
            with Decoder(source) as decoder:
                tables = list(decoder)
            assert [len(table) for table in tables] == [24] * 10
            assert_frame_equal(pd.concat(tables), frame, check_freq=False)
        assert not file.closed


def test_a_real_pipe(frame, data):
    out, into = os.pipe()
    with os.fdopen(out, "rb") as source, os.fdopen(into, "wb") as sink:
        writing = threading.Thread(target=lambda: (sink.write(data), sink.close()))
        writing.start()
        decoder = Decoder(source)
        assert decoder.n_rows is None
        assert_frame_equal(pd.concat(list(decoder)), frame, check_freq=False)
        writing.join()
        with pytest.raises(ValueError, match="can seek"):
            decoder.read()


def test_a_damaged_pipe(frame, data):
    chunk = Decoder(data).chunks[3]
    changed = bytearray(data)
    changed[chunk.offset + 9] ^= 4
    tables = []
    with pytest.raises(DamagedFile):
        tables.extend(Decoder(Pipe(bytes(changed))))
    decoder = Decoder(Pipe(bytes(changed)), damaged="skip")
    tables = list(decoder)
    assert_frame_equal(pd.concat(tables), frame.drop(frame.index[72:96]), check_freq=False)
    assert decoder.damage
    for size in (len(data) - 1, chunk.offset, chunk.offset + 3):
        with pytest.raises(DamagedFile):
            list(Decoder(Pipe(data[:size])))
        assert all(len(table) == 24 for table in Decoder(Pipe(data[:size]), damaged="skip"))


def test_sources_and_settings_that_are_none(data):
    with pytest.raises(TypeError, match="path, bytes or a binary file"):
        Decoder(5)
    with pytest.raises(ValueError, match="'raise' or 'skip'"):
        Decoder(data, damaged="maybe")
    with pytest.raises(FileNotFoundError):
        Decoder("nowhere.hrp")
