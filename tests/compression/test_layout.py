"""Numbers and texts survive; what is cut or has no end is damaged."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import (
    Cursor,
    decimal,
    inflated,
    scaled,
    shorter,
    signed,
    text,
    unpacked,
    varint,
)

WHOLE = st.integers(0, 2**64 - 1)
SIGNED = st.integers(-(2**64), 2**64)
FLOATS = st.floats(0, exclude_min=True, allow_infinity=False)


@given(WHOLE, SIGNED, SIGNED, st.text(st.characters()), FLOATS)
def test_one_after_the_other_survives(a, b, c, string, value):
    data = varint(a) + signed(b) + scaled(c) + text(string) + decimal(value)
    cursor = Cursor(data)
    assert cursor.varint() == a
    assert cursor.signed() == b
    assert cursor.scaled() == c
    assert cursor.text() == string
    assert cursor.decimal() == value
    cursor.end()


@given(WHOLE, SIGNED, FLOATS)
def test_every_cut_is_damage(number, whole, value):
    for data, read in (
        (varint(number), Cursor.varint),
        (scaled(whole), Cursor.scaled),
        (decimal(value), Cursor.decimal),
    ):
        for end in range(len(data)):
            with pytest.raises(DamagedFile):
                read(Cursor(data[:end]))


def test_short_things_are_short():
    assert [len(decimal(value)) for value in (0.05, 1.0, 0.094, 2.5e-7, 1e300)] == [2, 2, 2, 2, 3]
    assert len(scaled(1_506_816_000 * 10**9)) == 5
    assert len(varint(127)) == 1


def test_limits_are_kept():
    with pytest.raises(DamagedFile, match="at most 9"):
        Cursor(varint(10)).varint(9)
    with pytest.raises(DamagedFile, match="no end"):
        Cursor(b"\xff" * 20).varint()
    with pytest.raises(DamagedFile, match="UTF-8"):
        Cursor(b"\x02\xff\xff").text()
    with pytest.raises(DamagedFile, match="3 bytes too many"):
        Cursor(b"abc").end()


@given(st.binary(max_size=200))
def test_the_shorter_of_both(data):
    for sample in (data, data * 20):
        assert len(shorter(sample)) <= len(sample) + 1
        assert unpacked(shorter(sample), len(sample)) == sample


def test_a_small_file_does_not_become_a_large_memory():
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = packer.compress(bytes(10**7)) + packer.flush()
    with pytest.raises(DamagedFile, match="within 1000 bytes"):
        inflated(bomb, 1000)
    with pytest.raises(DamagedFile):
        inflated(bomb[:-1], 10**7)
    with pytest.raises(DamagedFile):
        inflated(bomb + b"x", 10**7)
