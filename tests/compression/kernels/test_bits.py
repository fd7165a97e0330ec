"""What is coded comes back, in as many bytes as its entropy says."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit

from hrpursuit.compression.kernels.bits import (
    POSITION,
    code_bit,
    code_number,
    code_plain_bits,
    finish_encoding,
    new_coder,
    start_decoding,
)


@njit
def code_all(coder, buffer, decoding, chances, bits):
    for i in range(len(bits)):
        bits[i] = code_bit(coder, buffer, decoding, chances[i], bits[i])


def written(code, size=100_000):
    """Bytes of what `code` writes."""
    coder, buffer = new_coder(), np.zeros(size, np.uint8)
    code(coder, buffer, False)
    finish_encoding(coder, buffer)
    return buffer[: coder[POSITION]].copy()


def read(data, code):
    coder = new_coder()
    start_decoding(coder, data)
    return code(coder, data, True)


@given(st.integers(0, 2**32), st.integers(0, 400), st.sampled_from([1, 2, 300, 32767]))
@example(0, 0, 1)
def test_bits_come_back_whatever_their_chances(seed, n, spread):
    rng = np.random.default_rng(seed)
    chances = rng.choice([1, spread, 32768, 65536 - spread, 65535], n)
    bits = rng.integers(0, 2, n)
    data = written(lambda *coder: code_all(*coder, chances, bits.copy()))
    back = np.full(n, 7)
    read(data, lambda *coder: code_all(*coder, chances, back))
    np.testing.assert_array_equal(back, bits)


@pytest.mark.parametrize("chance", [1, 16, 700, 20000, 32768, 60000, 65535])
def test_bits_take_as_much_as_their_entropy(rng, chance):
    n = 200_000
    chances, bits = np.full(n, chance), (rng.random(n) < chance / 65536).astype(np.int64)
    ones, p = bits.sum(), chance / 65536
    bound = -(ones * np.log2(p) + (n - ones) * np.log2(1 - p)) / 8
    n_bytes = len(written(lambda *coder: code_all(*coder, chances, bits)))
    assert bound - 1 <= n_bytes <= 1.002 * bound + 4


@given(st.lists(st.integers(1, 2**25 - 1), max_size=50))
@example([1, 2, 3, 2**24 - 1, 2**24, 2**25 - 1])
def test_numbers_come_back(numbers):
    data = written(lambda *coder: [code_number(*coder, number) for number in numbers])
    assert read(data, lambda *coder: [code_number(*coder, 0) for _ in numbers]) == numbers
    assert len(data) <= sum(2 * number.bit_length() for number in numbers) / 8 + 3


@given(st.lists(st.tuples(st.integers(0, 58), st.integers(0, 2**58 - 1)), max_size=30))
def test_plain_bits_come_back(pairs):
    pairs = [(width, value & ((1 << width) - 1)) for width, value in pairs]
    data = written(lambda *coder: [code_plain_bits(*coder, value, width) for width, value in pairs])
    assert read(data, lambda *coder: [code_plain_bits(*coder, 0, width) for width, _ in pairs]) == [
        value for _, value in pairs
    ]


def test_a_full_buffer_counts_on():
    coder, buffer = new_coder(), np.zeros(3, np.uint8)
    for number in range(1, 200):
        code_number(coder, buffer, False, number)
    finish_encoding(coder, buffer)
    whole = written(lambda *coder: [code_number(*coder, number) for number in range(1, 200)])
    assert coder[POSITION] == len(whole) > 3
    np.testing.assert_array_equal(buffer, whole[:3])


def test_the_end_is_as_short_as_zeros_that_follow_allow():
    assert len(written(lambda *coder: code_number(*coder, 1))) == 1
    assert len(written(lambda *coder: None)) == 1
