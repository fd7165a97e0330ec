"""What is given away was decoded from its bytes and compared, whatever the coder did."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from hrpursuit.compression import Encoder, codec, compress, decompress, describe, stream
from hrpursuit.compression.checking import _distance, _keeps
from hrpursuit.compression.chunks.chunk_decoder import ChunkDecoder
from hrpursuit.compression.encoding.chunk_coder import ChunkCoder
from hrpursuit.compression.files.writer import Writer
from hrpursuit.compression.targets import Target

TABLE = np.round(np.random.default_rng(0).normal(20, 5, (50, 3)), 1)
TABLE[7, 1], TABLE[9, 2] = np.nan, np.inf


class Careless(ChunkCoder):
    """Codes another table than it is given: one reading of it is off."""

    error = 1.0
    n_calls = 0

    def encode_all(self, chunks, progress=None, n_jobs=1):
        wrong = [[column.copy() for column in chunk] for chunk in chunks]
        wrong[-1][0][0] += type(self).error
        return super().encode_all(wrong, progress, n_jobs)


class Garbled(ChunkCoder):
    """Gives bytes that nobody can decode."""

    def encode_all(self, chunks, progress=None, n_jobs=1):
        return (b"\xff" + data for data in super().encode_all(chunks, progress, n_jobs))


class Forgetful(ChunkCoder):
    """Puts a reading where there was a gap."""

    def encode_all(self, chunks, progress=None, n_jobs=1):
        return super().encode_all([[np.nan_to_num(column) for column in chunk] for chunk in chunks], progress, n_jobs)


@pytest.fixture
def use(monkeypatch):
    def replace(coder):
        for module in (codec, stream):
            monkeypatch.setattr(module, "ChunkCoder", coder)

    return replace


def written(table, way, **target):
    if way == "compress":
        return compress(table, chunk_rows=20, **target)
    encoder = Encoder(chunk_rows=20, **target)
    return encoder.append(table) + encoder.finish()


@pytest.mark.parametrize("way", ["compress", "Encoder"])
@pytest.mark.parametrize("coder", [Careless, Garbled, Forgetful])
@pytest.mark.parametrize("target", [{"lossless": True}, {"max_error": 0.5}, {"relative_rmse": 0.001}])
def test_a_careless_coder_makes_files_larger_not_wrong(use, way, coder, target):
    honest = written(TABLE, way, **target)
    use(coder)
    with pytest.warns(RuntimeWarning, match=r"rows did not decode to what was asked for"):
        data = written(TABLE, way, **target)
    back = decompress(data)
    assert len(data) > len(honest)
    assert np.array_equal(np.isnan(back), np.isnan(TABLE))
    seen = np.isfinite(TABLE)
    error = np.abs(back[seen] - TABLE[seen])
    assert back[9, 2] == np.inf
    assert error.max() <= {"lossless": 0, "max_error": 0.5, "relative_rmse": 1}[next(iter(target))]
    assert np.sqrt(np.sum(error**2) / np.sum(TABLE[seen] ** 2)) <= target.get("rmse", 1)
    assert any(chunk.mode == "verbatim" for chunk in describe(data).chunks)
    assert sum(describe(data).parts.values()) == len(data)


def test_only_the_chunk_that_fails_is_stored_as_it_is(use):
    use(Careless)
    with pytest.warns(RuntimeWarning, match=r"^10 rows did not decode"):
        data = compress(TABLE, lossless=True, chunk_rows=20)
    assert [chunk.mode == "verbatim" for chunk in describe(data).chunks] == [False, False, True]


def test_an_rmse_is_kept_over_the_whole_table(use):
    """The chunks with the largest errors are stored as they are, until the rest keeps it."""
    use(Careless)
    for error, n_plain in ((0.001, 0), (30.0, 1)):
        Careless.error = error
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = compress(TABLE, relative_rmse=0.02, chunk_rows=20)
        assert len(caught) == n_plain
        back, seen = decompress(data), np.isfinite(TABLE)
        assert np.linalg.norm(back[seen] - TABLE[seen]) <= 0.02 * np.linalg.norm(TABLE[seen]) * (1 + 1e-8)
    Careless.error = 1.0


def test_types_that_know_missing_values_are_checked_as_they_come_back(use):
    frame = pd.DataFrame({"a": pd.array([1, None, 3, 4] * 5, dtype="Int16"), "b": pd.array([True, None] * 10)})
    for target in ({"lossless": True}, {"max_error": 0.4}, {"max_error": 2}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            back = decompress(compress(frame, **target))
        assert (back["a"] - frame["a"]).abs().max() <= target.get("max_error", 0)
        assert back["a"].isna().equals(frame["a"].isna())


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u8", "i1", "?"])
def test_what_counts_as_kept(dtype):
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    a = np.array([0, 1, 0, 1] if dtype == "?" else [0, 1, 100, 7], dtype)
    exact, bound = Target("lossless", 0.0), Target("max_error", 1.0)
    assert _keeps(exact, [a], [a.copy()])
    b = a.copy()
    b[1] = 0 if dtype == "?" else 2
    assert not _keeps(exact, [a], [b])
    assert _keeps(bound, [a], [b])
    assert not _keeps(Target("max_error", 0.99), [a], [b])
    if info is not None:
        ends = np.array([info.min, info.max], dtype)
        assert int(_distance(ends, ends[::-1]).max()) == int(info.max) - int(info.min)
        assert not _keeps(Target("max_error", 1e18 if dtype[1] == "8" else 100.0), [ends], [ends[::-1]])
    if np.dtype(dtype).kind == "f":
        odd = np.array([np.nan, np.inf, -np.inf, -0.0], dtype)
        assert _keeps(exact, [odd], [odd.copy()])
        for place, value in ((0, 1.0), (1, np.nan), (1, -np.inf), (2, 1e4)):
            other = odd.copy()
            other[place] = value
            for target in (exact, bound, Target("relative_rmse", 0.5), Target("n_nonzero_coefs", 1)):
                assert not _keeps(target, [odd], [other])
        zero = odd.copy()
        zero[3] = 0.0
        assert not _keeps(exact, [odd], [zero])
        assert _keeps(bound, [odd], [zero])


def test_a_bound_is_judged_on_decimals():
    """1.1 - 1.0 is more than 0.1 in floats, and 0.1 in decimals."""
    a, b = np.array([1.1]), np.array([1.0])
    assert abs(a - b)[0] > 0.1
    assert _keeps(Target("max_error", 0.1), [a], [b])
    assert not _keeps(Target("max_error", 0.0999999), [a], [b])
    assert _keeps(Target("max_error", 0.1), [a.astype("f4")], [b.astype("f4")])


class Failing(ChunkCoder):
    """Fails as long as it is told to."""

    fails = True

    def _as_table(self, columns, bounds):
        if type(self).fails:
            raise MemoryError("no room")
        return super()._as_table(columns, bounds)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("call", ["append", "flush", "finish"])
def test_an_exception_in_a_chunk_leaves_the_encoder_as_it_was(use, call, n_jobs):
    use(Failing)
    for n_before in (0, 25):
        Failing.fails = False
        encoder, file = Encoder(lossless=True, chunk_rows=10, n_jobs=n_jobs), io.BytesIO()
        file.write(encoder.append(TABLE[:n_before]))
        if call != "append":
            file.write(encoder.append(TABLE[n_before : n_before + 3]))
        Failing.fails = True
        for _ in range(2):
            with pytest.raises(MemoryError):
                encoder.append(TABLE[n_before:]) if call == "append" else getattr(encoder, call)()
        Failing.fails = False
        file.write(encoder.append(TABLE[n_before + 3 * (call != "append") :]) + encoder.finish())
        np.testing.assert_array_equal(decompress(file.getvalue()), TABLE)


def test_chunks_before_the_one_that_fails_come_with_the_next_call(use, monkeypatch):
    """A call that fails gives nothing, so nothing of it may count as given."""
    calls = []

    class SecondFails(ChunkCoder):
        def _as_table(self, columns, bounds):
            calls.append(len(columns[0]))
            if len(calls) == 2:
                raise KeyboardInterrupt
            return super()._as_table(columns, bounds)

    use(SecondFails)
    encoder = Encoder(lossless=True, chunk_rows=10)
    with pytest.raises(KeyboardInterrupt):
        encoder.append(TABLE)
    data = encoder.append(TABLE)
    assert data.startswith(b"\x89HRP")
    np.testing.assert_array_equal(decompress(data + encoder.finish()), TABLE)


def test_an_index_that_fails_leaves_the_encoder_as_it_was(monkeypatch):
    """The rows that `finish` has coded before its index fails are not lost."""
    encoder = Encoder(lossless=True, chunk_rows=20)
    data = encoder.append(TABLE)
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "end", lambda self: (_ for _ in ()).throw(MemoryError("no room")))
        with pytest.raises(MemoryError):
            encoder.finish()
    np.testing.assert_array_equal(decompress(data + encoder.finish()), TABLE)


def test_every_chunk_is_decoded_once(monkeypatch):
    rows, decode = [], ChunkDecoder.decode
    monkeypatch.setattr(ChunkDecoder, "decode", lambda self, data, n: rows.append(n) or decode(self, data, n))
    compress(TABLE, max_error=0.5, chunk_rows=20)
    assert rows == [20, 20, 10]
    rows.clear()
    written(TABLE, "Encoder", relative_rmse=0.1)
    assert rows == [20, 20, 10]
