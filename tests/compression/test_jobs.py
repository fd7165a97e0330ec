"""Chunks in threads: the same bytes and the same tables, whatever the number of threads."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest

from hrpursuit.compression import DamagedFile, DamagedFileWarning, Decoder, Encoder, LimitExceeded, compress, decompress
from hrpursuit.compression.jobs import in_order, n_threads

RNG = np.random.default_rng(4)
LEVELS = np.cumsum(RNG.normal(size=(600, 1)), axis=0)
TABLE = np.round(LEVELS + 0.3 * RNG.normal(size=(600, 6)), 1)
TABLE[:110] = np.nan  # the first chunk has nothing to choose by
TARGETS = [{"lossless": True}, {"max_error": 0.3}, {"relative_rmse": 0.05}, {"n_nonzero_coefs": 2}]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: next(iter(target)))
def test_the_bytes_do_not_depend_on_the_number_of_threads(target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some columns are far off at this RMSE
        files = [compress(TABLE, **target, chunk_rows=100, n_jobs=n_jobs) for n_jobs in (None, 2, 3)]
        assert files[0] == files[1] == files[2]
        streams = []
        for n_jobs in (1, 2, 3):
            encoder = Encoder(**target, chunk_rows=100, n_jobs=n_jobs)
            parts = [encoder.append(TABLE[start : start + 70]) for start in range(0, 600, 70)]
            streams.append(b"".join([*parts, encoder.finish()]))
    assert streams[0] == streams[1] == streams[2]


def test_rows_wait_for_as_many_chunks_as_threads():
    encoder = Encoder(lossless=True, chunk_rows=10, n_jobs=3)
    assert encoder.append(TABLE[:29]) == b""
    given = encoder.append(TABLE[29:34])
    assert given.startswith(b"\x89HRP")
    tables = list(Decoder(given + encoder.flush() + encoder.finish()))
    assert [len(table) for table in tables] == [10, 10, 10, 4]
    np.testing.assert_array_equal(np.concatenate(tables), TABLE[:34])


def test_flush_gives_all_chunks_that_wait():
    encoder = Encoder(lossless=True, chunk_rows=10, n_jobs=8)
    encoder.append(TABLE[:25])
    data = encoder.flush()
    assert encoder.flush() == b""
    assert [chunk.n_rows for chunk in Decoder(data + encoder.finish()).chunks] == [10, 10, 5]


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_tables_come_back_in_order(n_jobs):
    frame = pd.DataFrame(TABLE, index=pd.date_range("2024-01-01", periods=600, freq="h"), columns=list("abcdef"))
    data = compress(frame, lossless=True, chunk_rows=50)
    pd.testing.assert_frame_equal(decompress(data, n_jobs=n_jobs), frame)
    with Decoder(data, n_jobs=n_jobs) as decoder:
        pd.testing.assert_frame_equal(pd.concat(list(decoder)), frame, check_freq=False)
        part = decoder.read("2024-01-03", "2024-01-20", columns=["e", "b"])
        pd.testing.assert_frame_equal(part, frame.loc["2024-01-03":"2024-01-20", ["e", "b"]], check_freq=False)
        assert decoder.n_decoded == 12 + 10


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_damage_is_told_at_its_place(n_jobs):
    """Chunks before the one that is damaged come first, though later ones are decoded at the same time."""
    data = bytearray(compress(TABLE[120:], lossless=True, chunk_rows=40))
    chunks = Decoder(bytes(data)).chunks
    data[chunks[3].offset + chunks[3].n_bytes // 2] ^= 255
    tables = iter(Decoder(bytes(data), n_jobs=n_jobs))
    for place in range(3):
        np.testing.assert_array_equal(next(tables), TABLE[120:][40 * place : 40 * (place + 1)])
    with pytest.raises(DamagedFile, match="row 120 on"):
        next(tables)
    with pytest.warns(DamagedFileWarning, match="bytes"):
        assert len(decompress(bytes(data), damaged="skip", n_jobs=n_jobs)) == len(TABLE) - 120 - 40


def test_the_limit_holds_for_all_threads_together():
    data = compress(TABLE, lossless=True, chunk_rows=50)
    with pytest.raises(LimitExceeded):
        decompress(data, limit=TABLE.nbytes // 2, n_jobs=2)


def test_a_pipe_is_given_chunk_by_chunk_whatever_the_number_of_threads():
    encoder = Encoder(lossless=True, chunk_rows=10)
    data = encoder.append(TABLE[:10])
    asked = []

    class Pipe:
        def read1(self, n_bytes):
            asked.append(n_bytes)
            if len(asked) > 1:
                raise AssertionError("nothing more has come")
            return data

        read = read1

    np.testing.assert_array_equal(next(iter(Decoder(Pipe(), n_jobs=4))), TABLE[:10])


def test_in_order_gives_results_before_what_the_items_raise():
    def items():
        yield from range(3)
        raise ValueError("no more")

    results = in_order(lambda item: item**2, items(), 2)
    assert [next(results) for _ in range(3)] == [0, 1, 4]
    with pytest.raises(ValueError, match="no more"):
        next(results)


def test_in_order_runs_at_the_same_time_and_takes_few_items():
    both, taken = threading.Barrier(2, timeout=30), []

    def items():
        for item in range(8):
            taken.append(item)
            yield item

    def work(item):
        both.wait()  # nobody passes alone
        return item

    results = in_order(work, items(), 2)
    assert next(results) == 0
    assert len(taken) <= 4
    assert list(results) == list(range(1, 8))


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "two"])
def test_n_jobs_is_checked(n_jobs):
    for call in (
        lambda: compress(TABLE, lossless=True, n_jobs=n_jobs),
        lambda: decompress(b"", n_jobs=n_jobs),
        lambda: Encoder(lossless=True, n_jobs=n_jobs),
    ):
        with pytest.raises(ValueError, match="n_jobs must be a whole number other than 0, or None; got"):
            call()


def test_n_threads():
    assert n_threads(None) == 1
    assert n_threads(np.int64(3)) == 3
    assert n_threads(-1) >= n_threads(-2) >= 1
    assert n_threads(-1000) == 1
