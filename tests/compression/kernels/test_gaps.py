"""Where readings are comes back, and takes little where outages last."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.compression.chunks.coding import count_gap_bytes
from hrpursuit.compression.kernels.bits import POSITION, finish_encoding, new_coder, start_decoding
from hrpursuit.compression.kernels.compiled import integers
from hrpursuit.compression.kernels.gaps import code_gaps, new_gap_model


def encoded(seen):
    coder, buffer = new_coder(), np.zeros(seen.size + 64, np.uint8)
    code_gaps(coder, buffer, False, seen.astype(np.int64), integers(seen.shape[1]), *new_gap_model())
    finish_encoding(coder, buffer)
    return buffer[: coder[POSITION]]


def decoded(data, shape):
    coder, seen = new_coder(), integers(shape)
    start_decoding(coder, data)
    code_gaps(coder, data, True, seen, integers(shape[1]), *new_gap_model())
    return seen


@given(
    st.integers(0, 2**32), st.integers(1, 80), st.integers(1, 12), st.sampled_from([0.0, 0.02, 0.5, 1.0]), st.booleans()
)
def test_any_mask_comes_back(seed, n_rows, n_columns, share, lasting):
    rng = np.random.default_rng(seed)
    seen = rng.random((n_rows, n_columns)) >= share
    if lasting:
        seen = np.repeat(seen, 5, axis=0)[:n_rows]
    np.testing.assert_array_equal(decoded(encoded(seen), seen.shape), seen)


@pytest.mark.parametrize("n_columns", [1, 56, 3000])
def test_a_table_without_gaps_takes_next_to_nothing(n_columns):
    assert len(encoded(np.ones((200, n_columns)))) <= 12 + n_columns // 12


def test_outages_cost_their_ends_alone(rng):
    seen = np.ones((700, 50))
    for _ in range(60):
        sensor, start = rng.integers(50), rng.integers(700)
        seen[start : start + rng.integers(5, 60), sensor] = 0
    data = encoded(seen)
    assert len(data) < 60 * 2 * 2.2  # a row of about two bytes for each end
    assert abs(count_gap_bytes(bytes(data), seen.shape) - len(data)) <= 3


def test_independent_gaps_cost_their_entropy(rng):
    seen = rng.random((400, 30)) < 0.8
    entropy = -400 * 30 * (0.8 * np.log2(0.8) + 0.2 * np.log2(0.2)) / 8
    assert len(encoded(seen)) < 1.06 * entropy
