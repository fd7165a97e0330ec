"""Bit for bit, whatever the type; and nothing but DamagedFile from bytes that are not its own."""

import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hrpursuit.compression.chunks.verbatim import pack, unpack
from hrpursuit.compression.errors import DamagedFile

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def same_bits(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


@st.composite
def tables(draw):
    n_rows = draw(st.integers(0, 20))
    types = draw(st.lists(st.sampled_from(TYPES), max_size=5))
    columns = []
    for kind in types:
        octets = draw(
            arrays(np.uint8, (n_rows, np.dtype(kind).itemsize), elements=st.integers(0, 1 if kind == "?" else 255))
        )
        columns.append(octets.view(kind)[:, 0])
    return n_rows, columns


@given(tables())
def test_any_bits_survive(table):
    n_rows, columns = table
    back = unpack(pack(columns), n_rows, [column.dtype for column in columns])
    assert len(back) == len(columns)
    assert all(same_bits(a, b) for a, b in zip(back, columns, strict=True))


def test_special_floats_keep_every_bit():
    bits = np.array([0x7FF8000000000001, 0xFFF0000000000000, 0x8000000000000000, 0x7FF4DEADBEEF0001, 1], np.uint64)
    (back,) = unpack(pack([bits.view(np.float64)]), 5, [np.dtype(np.float64)])
    assert back.tobytes() == bits.tobytes()


def test_smooth_columns_get_smaller_than_deflate_alone(rng):
    columns = list(np.cumsum(rng.integers(-3, 4, (4, 2000)), axis=1).astype(np.float64))
    assert len(pack(columns)) < 0.75 * len(zlib.compress(np.array(columns).tobytes(), 9))


@pytest.mark.parametrize("kind", ["f8", "f4", "i2", "?"])
def test_every_cut_and_flip_is_an_error_or_the_right_shape(rng, kind):
    columns = [rng.integers(0, 2, 30).astype(kind) for _ in range(3)]
    data, dtypes = pack(columns), [column.dtype for column in columns]
    for end in range(len(data)):
        with pytest.raises(DamagedFile):
            unpack(data[:end], 30, dtypes)
    for place in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            try:
                back = unpack(bytes(changed), 30, dtypes)
            except DamagedFile:
                continue
            assert [column.dtype for column in back] == dtypes
            assert all(len(column) == 30 for column in back)


def test_a_claim_of_many_rows_takes_no_memory():
    data, dtypes = pack([np.arange(10.0)] * 200), [np.dtype(float)] * 200
    tracemalloc.start()
    with pytest.raises(DamagedFile):
        unpack(data, 65536, dtypes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
