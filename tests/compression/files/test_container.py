"""A file that is cut or changed gives every whole chunk, or an error; never something else."""

import warnings

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from hrpursuit.compression import DamagedFile, DamagedFileWarning, Decoder, compress, decompress
from hrpursuit.compression.chunks.verbatim import pack
from hrpursuit.compression.files.frame import MARKER

N_CHUNKS, ROWS = 5, 4


@pytest.fixture(scope="module")
def array():
    return np.arange(N_CHUNKS * ROWS * 3).reshape(-1, 3) * 1.5


@pytest.fixture(scope="module")
def frame(array):
    index = (
        pd.date_range("2017-10-01", periods=len(array), freq="h").delete([7]).append(pd.DatetimeIndex(["2018-01-01"]))
    )
    out = pd.DataFrame(array, index=index, columns=["s1", "s2", "s3"])
    out.attrs = {"unit": "µg/m³"}
    return out


@pytest.fixture(scope="module", params=["array", "frame"])
def table(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def data(table):
    return compress(table, lossless=True, chunk_rows=ROWS)


def skipping(data):
    """What is given of a damaged file, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DamagedFileWarning)
        return decompress(data, damaged="skip"), bool(caught)


def assert_same(a, b):
    if isinstance(b, pd.DataFrame):
        assert_frame_equal(a, b, check_freq=False)
    else:
        np.testing.assert_array_equal(a, b)


def rows_of(table, numbers):
    kept = [row for number in numbers for row in range(number * ROWS, (number + 1) * ROWS)]
    return table.iloc[kept] if isinstance(table, pd.DataFrame) else table[kept]


def test_a_file_cut_anywhere_gives_every_whole_chunk(table, data):
    ends = [chunk.offset + chunk.n_bytes for chunk in Decoder(data).chunks]
    header_end = Decoder(data).chunks[0].offset
    for size in range(len(data)):
        cut = data[:size]
        with pytest.raises(DamagedFile):
            decompress(cut)
        if size < header_end:
            with pytest.raises(DamagedFile):
                decompress(cut, damaged="skip")
            continue
        back, warned = skipping(cut)
        assert warned
        assert_same(back, rows_of(table, range(sum(end <= size for end in ends))))


def test_a_changed_byte_costs_its_chunk_and_no_other(table, data):
    chunks = Decoder(data).chunks
    first, last = chunks[0].offset, chunks[-1].offset + chunks[-1].n_bytes
    places = [*range(first), *range(first, first + 12), *range(first + 12, last, 5), *range(last, len(data))]
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        with pytest.raises(DamagedFile):
            decompress(bytes(changed))
        if place < chunks[0].offset:
            with pytest.raises(DamagedFile):
                decompress(bytes(changed), damaged="skip")
            continue
        back, warned = skipping(bytes(changed))
        assert warned
        hit = [n for n, chunk in enumerate(chunks) if chunk.offset <= place < chunk.offset + chunk.n_bytes]
        assert_same(back, rows_of(table, [number for number in range(N_CHUNKS) if number not in hit]))


@pytest.mark.parametrize("inserted", [b"x", MARKER, MARKER + b"\x05", MARKER * 50, b"\x89HRP", bytes(3000)])
def test_bytes_put_in_are_passed_over(table, data, inserted):
    for chunk in Decoder(data).chunks:
        back, warned = skipping(data[: chunk.offset] + inserted + data[chunk.offset :])
        assert warned
        assert_same(back, table)
        with pytest.raises(DamagedFile):
            decompress(data[: chunk.offset] + inserted + data[chunk.offset :])


def test_swapped_and_doubled_chunks_are_put_in_order_or_refused(table, data):
    a, b = Decoder(data).chunks[1:3]
    first, second = (data[c.offset : c.offset + c.n_bytes] for c in (a, b))
    swapped = data[: a.offset] + second + first + data[b.offset + b.n_bytes :]
    doubled = data[: b.offset] + first + data[b.offset :]
    for changed in (swapped, doubled):
        with pytest.raises(DamagedFile):
            decompress(changed)
        back, warned = skipping(changed)
        assert warned
        assert_same(back, table)


def test_a_chunk_of_another_file_is_not_taken(array):
    mine, other = (compress(array + k, max_error=1 + k, chunk_rows=ROWS) for k in (0, 1))
    there, here = Decoder(other).chunks[2], Decoder(mine).chunks[2]
    mixed = (
        mine[: here.offset] + other[there.offset : there.offset + there.n_bytes] + mine[here.offset + here.n_bytes :]
    )
    decoder = Decoder(mixed, damaged="skip")
    assert [chunk.first_row for chunk in decoder.chunks] == [0, 4, 12, 16]
    assert any("rows 8 to 11 are lost" in what for what in decoder.damage)


def test_a_marker_within_a_payload_is_no_chunk():
    table = np.frombuffer(MARKER * 400, "u1").reshape(-1, 8)
    noise = np.random.default_rng(0).integers(0, 256, table.shape).astype("u1")
    mixed = np.where(np.arange(len(table))[:, None] % 7 == 0, table, noise)
    data = compress(mixed, lossless=True, chunk_rows=20)
    chunks = Decoder(data).chunks
    changed = bytearray(data)
    changed[chunks[2].offset] ^= 1
    decoder = Decoder(bytes(changed), damaged="skip")
    assert [chunk.first_row for chunk in decoder.chunks] == [0, 20, 60, 80]


def test_a_file_full_of_markers_is_given_up():
    data = compress(np.zeros((2, 2)), lossless=True)
    start = Decoder(data).chunks[0].offset
    fake = (MARKER + b"\x80\x80\x20") * 60_000
    decoder = Decoder(data[:start] + fake + bytes(600_000), damaged="skip")
    assert decoder.n_rows == 0
    assert any("look like the start" in what for what in decoder.damage)


def test_what_is_no_such_file_is_said():
    for data, said in [
        (b"", "it is empty"),
        (b"PK\x03\x04 and so on", "begins with"),
        (b"\x89HRP", "cut within its header|bytes expected"),
    ]:
        with pytest.raises(DamagedFile, match=said):
            decompress(data)


def test_the_container_is_small():
    rng = np.random.default_rng(1)
    table = rng.integers(0, 200, (744, 56)).astype(float)
    table[rng.random(table.shape) < 0.2] = np.nan
    plain = compress(table, lossless=True)
    with Decoder(plain) as decoder:
        _, frame = next(decoder._frames())
    assert len(plain) - len(frame.payload) - len(decoder._header.shared) <= 48
    names = [f"s{i:02d}" for i in range(1, 57)]
    hours = pd.date_range("2017-10-01", periods=744, freq="h")
    described = compress(pd.DataFrame(table, index=hours, columns=names), lossless=True)
    assert len(described) - len(plain) <= 60
    assert len(pack(list(table.T))) > 1000
