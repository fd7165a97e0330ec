"""Chunks of a file that grows, or of a pipe, come as soon as they are whole."""

import io
import os
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from hrpursuit.compression import DamagedFile, Decoder, Encoder, LimitExceeded, compress

SOON = 30.0  # seconds after which a test has failed rather than a machine been slow
TABLE = np.arange(240.0).reshape(-1, 4)


@pytest.fixture(scope="module")
def blocks():
    """A file as the parts in which it is written: header and first chunk, chunks, index."""
    encoder = Encoder(lossless=True, chunk_rows=10)
    parts = [encoder.append(TABLE[start : start + 10]) for start in range(0, 60, 10)]
    return [*parts, encoder.finish()]


class Taken:
    """What an iterator gives, taken in a thread of its own."""

    def __init__(self, tables):
        self.tables, self.error, self._new = [], None, threading.Condition()
        self._thread = threading.Thread(target=self._take, args=(tables,), daemon=True)
        self._thread.start()

    def _take(self, tables):
        try:
            for table in tables:
                with self._new:
                    self.tables.append(table)
                    self._new.notify_all()
        except BaseException as error:
            self.error = error
        finally:
            with self._new:
                self._new.notify_all()

    def wait_for(self, n_tables):
        with self._new:
            assert self._new.wait_for(lambda: len(self.tables) >= n_tables or self.error, SOON), "nothing came"
        assert self.error is None or len(self.tables) >= n_tables, self.error

    def end(self):
        self._thread.join(SOON)
        assert not self._thread.is_alive(), "it does not end"
        if self.error is not None:
            raise self.error
        return self.tables


def decoded(source):
    yield from Decoder(source)


@pytest.mark.parametrize("way", [decoded, Decoder.follow])
@pytest.mark.parametrize("kind", ["pipe", "unbuffered pipe", "socket"])
def test_a_chunk_comes_with_its_last_byte(blocks, way, kind):
    """Not when the next one begins, nor when 64 KiB are full."""
    if kind == "socket":
        into, out = socket.socketpair()
        source, sink = out.makefile("rb"), into.makefile("wb", buffering=0)
        into.close(), out.close()
    else:
        out, into = os.pipe()
        source, sink = os.fdopen(out, "rb", 0 if kind == "unbuffered pipe" else -1), os.fdopen(into, "wb", 0)
    with source, sink:
        taken = Taken(way(source))
        for number, block in enumerate(blocks[:-1]):
            sink.write(block[:-1])
            time.sleep(0.01)
            assert len(taken.tables) == number
            sink.write(block[-1:])
            taken.wait_for(number + 1)
        sink.write(blocks[-1])
        sink.close()
        np.testing.assert_array_equal(np.concatenate(taken.end()), TABLE)


def test_a_growing_file_is_followed_to_its_end(blocks, tmp_path):
    path = tmp_path / "readings.hrp"
    path.touch()
    taken = Taken(Decoder.follow(path, interval=0.01))
    with path.open("ab", 0) as file:
        for number, block in enumerate(blocks[:-1]):
            for place in range(0, len(block), 5):
                file.write(block[place : place + 5])
            taken.wait_for(number + 1)
        file.write(blocks[-1])
    np.testing.assert_array_equal(np.concatenate(taken.end()), TABLE)


WRITER = """
import sys, time
import numpy as np
from hrpursuit.compression import Encoder
encoder = Encoder(max_error=0.1, chunk_rows=1000)
with open(sys.argv[1], "wb", 0) as file:
    for start in range(0, 60, 20):
        file.write(encoder.append(np.arange(240.0).reshape(-1, 4)[start : start + 20]))
        file.write(encoder.flush())
        time.sleep(0.05)
    file.write(encoder.finish())
"""


def test_another_process_writes(tmp_path):
    path = tmp_path / "readings.hrp"
    path.touch()
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) as process:
        tables = list(Decoder.follow(path, interval=0.01, stop=lambda: process.poll() is not None))
        assert process.wait() == 0
    assert [len(table) for table in tables] == [20, 20, 20]
    assert np.abs(np.concatenate(tables) - TABLE).max() <= 0.1 + 1e-12


def test_it_ends_when_it_is_told_to(blocks, tmp_path):
    """Also within a chunk; what had come before that is given."""
    path = tmp_path / "readings.hrp"
    for data, n_tables in ((b"", 0), (blocks[0][:9], 0), (blocks[0] + blocks[1][:-1], 1), (b"".join(blocks), 6)):
        path.write_bytes(data)
        asked = []

        def stop(asked=asked):
            asked.append(time.monotonic())
            return len(asked) == 3

        assert len(list(Decoder.follow(path, interval=0.05, stop=stop))) == n_tables
        assert len(asked) == 3
        assert 0.04 < asked[2] - asked[1] < SOON
    path.write_bytes(blocks[0])

    def last_moment():
        with path.open("ab") as file:
            file.write(blocks[1])
        return True

    assert len(list(Decoder.follow(path, interval=0.01, stop=last_moment))) == 2


def test_an_idle_pipe_can_be_stopped(blocks):
    out, into = os.pipe()
    with os.fdopen(out, "rb") as source, os.fdopen(into, "wb", 0) as sink:
        done = threading.Event()
        taken = Taken(Decoder.follow(source, interval=0.01, stop=done.is_set))
        sink.write(blocks[0] + blocks[1][:4])
        taken.wait_for(1)
        done.set()
        assert len(taken.end()) == 1
        sink.write(b"?")  # nobody closed it


def test_a_pipe_that_breaks_off_is_damaged(blocks):
    for data, n_tables in ((blocks[0] + blocks[1], 2), (blocks[0] + blocks[1][:-1], 1)):
        for damaged in ("raise", "skip"):
            out, into = os.pipe()
            with os.fdopen(out, "rb") as source:
                with os.fdopen(into, "wb", 0) as sink:
                    sink.write(data)
                taken = Taken(Decoder.follow(source, interval=0.01, damaged=damaged))
                if damaged == "raise":
                    with pytest.raises(DamagedFile, match=r"not finished|no whole chunk"):
                        taken.end()
                else:
                    taken.end()
                assert len(taken.tables) == n_tables


def test_a_writer_that_starts_anew_is_followed(tmp_path):
    """The power went while a chunk was written: the rest of it, which was read, is cut off by the next writer."""
    path = tmp_path / "readings.hrp"
    hours = pd.date_range("2020-01-01", periods=60, freq="h")
    frame = pd.DataFrame(TABLE, index=hours, columns=list("abcd"))
    encoder = Encoder(lossless=True, chunk_rows=10)
    data = encoder.append(frame.iloc[:30])
    path.write_bytes(data[:-3])
    done = threading.Event()
    taken = Taken(Decoder.follow(path, interval=0.01, stop=done.is_set))
    taken.wait_for(2)
    with pytest.warns(Warning, match="20 rows stay"):
        encoder = Encoder.append_to(path)
    with path.open("ab", 0) as file:
        for start in range(20, 60, 5):
            file.write(encoder.append(frame.iloc[start : start + 5]) + encoder.flush())
        taken.wait_for(10)
        file.write(encoder.finish())
    with path.open("ab", 0) as file:
        file.write(compress(frame.iloc[:10].set_axis(hours[:10] + hours.freq * 60), lossless=True))
    taken.wait_for(11)
    done.set()
    tables = taken.end()
    assert_frame_equal(pd.concat(tables[:-1]), frame, check_freq=False)
    assert len(tables[-1]) == 10


def test_a_file_that_becomes_shorter_than_what_was_given(blocks, tmp_path):
    path = tmp_path / "readings.hrp"
    path.write_bytes(blocks[0] + blocks[1])
    taken = Taken(Decoder.follow(path, interval=0.01))
    taken.wait_for(2)
    path.write_bytes(blocks[0])
    with pytest.raises(DamagedFile, match="is now shorter"):
        taken.end()


def test_damage_is_told_or_passed_over(blocks):
    data = bytearray(b"".join(blocks))
    data[len(blocks[0]) + 9] ^= 1
    with pytest.raises(DamagedFile, match="no whole chunk"):
        list(Decoder.follow(bytes(data), interval=0.01))
    tables = list(Decoder.follow(bytes(data), interval=0.01, damaged="skip"))
    np.testing.assert_array_equal(np.concatenate(tables), np.delete(TABLE, range(10, 20), axis=0))


class Reluctant(io.RawIOBase):
    """A source that says now and then that it has nothing yet, as one that does not block."""

    def __init__(self, data):
        self.data, self.turn = data, 0

    def readable(self):
        return True

    def read(self, size=-1):
        self.turn += 1
        if self.turn % 3 == 0:
            return None
        part, self.data = self.data[:50], self.data[50:]
        return part


def test_a_source_that_does_not_block(blocks):
    tables = list(Decoder.follow(Reluctant(b"".join(blocks)), interval=0.001))
    np.testing.assert_array_equal(np.concatenate(tables), TABLE)
    with pytest.raises(BlockingIOError, match=r"Decoder\.follow"):
        list(Decoder(Reluctant(b"".join(blocks))))


def test_settings_that_are_none(blocks):
    for given in ({"interval": 0}, {"interval": float("nan")}, {"interval": "1"}, {"stop": 5}, {"damaged": "maybe"}):
        with pytest.raises(ValueError, match=next(iter(given))):
            Decoder.follow(blocks[0], **given)
    with pytest.raises(FileNotFoundError):
        Decoder.follow("nowhere.hrp")


def test_a_chunk_has_to_fit_the_limit_not_all_of_them(blocks):
    data = b"".join(blocks)
    n_bytes = 10 * 4 * 8 + 512 * 4
    assert len(list(Decoder.follow(data, limit=n_bytes))) == 6
    with pytest.raises(LimitExceeded, match=f"limit={n_bytes - 1}"):
        list(Decoder.follow(data, limit=n_bytes - 1))


def test_a_file_is_closed_with_its_iterator(blocks, tmp_path):
    path = tmp_path / "readings.hrp"
    path.write_bytes(b"".join(blocks))
    tables = Decoder.follow(path)
    file = tables.gi_frame.f_locals["self"]._file
    next(tables)
    assert not file.closed
    tables.close()
    assert file.closed
