"""Integers come back whatever the model has learned, and what is learned saves bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from hrpursuit.compression.kernels.bits import POSITION, finish_encoding, new_coder, start_decoding
from hrpursuit.compression.kernels.constants import N_SCALES, SCALE
from hrpursuit.compression.kernels.mixing import (
    bits_needed,
    cheapest_level,
    code_integer,
    code_mixed_bit,
    guess_by_scale,
    new_model,
    scale_of,
)


@njit
def code_all(coder, buffer, decoding, values, contexts, centres, model, sign_is_learned):
    for i in range(len(values)):
        model.slots[0] = contexts[i]
        model.slots[1] = N_SCALES - 1
        model.experts[0, 0] = centres[i]
        model.experts[0, 1] = (1 << 32) // 200
        values[i] = code_integer(coder, buffer, decoding, values[i], model, sign_is_learned)


@njit
def code_bits(coder, buffer, bits, model):
    for i in range(len(bits)):
        code_mixed_bit(coder, buffer, False, bits[i], model, 0)


@njit
def classes(magnitudes):
    return np.array([scale_of(m) for m in magnitudes])


def a_model():
    model = new_model(N_SCALES, [20000, 20000, 20000], n_experts=1, limit=200)
    guess_by_scale(model, 0, 4)
    return model


def data_of(values, contexts, centres=None, sign_is_learned=True):
    coder, buffer = new_coder(), np.zeros(16 * len(values) + 64, np.uint8)
    centres = np.zeros(len(values), np.int64) if centres is None else centres
    code_all(coder, buffer, False, values.copy(), contexts, centres, a_model(), sign_is_learned)
    finish_encoding(coder, buffer)
    assert coder[POSITION] < len(buffer)
    return buffer[: coder[POSITION]]


@given(st.integers(0, 2**32), st.integers(1, 200), st.sampled_from([0, 1, 30, 41, 5000, 2**25 - 1]), st.booleans())
def test_integers_come_back(seed, n, largest, sign_is_learned):
    rng = np.random.default_rng(seed)
    values, contexts = rng.integers(-largest, largest + 1, n), rng.integers(0, N_SCALES, n)
    values[rng.random(n) < 0.1] = rng.choice([-largest, largest])
    centres = rng.integers(-(2**29), 2**29, n) >> rng.integers(0, 29, n)
    data = data_of(values, contexts, centres, sign_is_learned)
    coder, back = new_coder(), np.full(n, 5)
    start_decoding(coder, data)
    code_all(coder, data, True, back, contexts, centres, a_model(), sign_is_learned)
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("chance", [0.002, 0.02, 0.2, 0.5, 0.9])
def test_a_skewed_stream_costs_little_more_than_its_entropy(rng, chance):
    bits = (rng.random(20_000) < chance).astype(np.int64)
    coder, buffer = new_coder(), np.zeros(10_000, np.uint8)
    code_bits(coder, buffer, bits, new_model(1, [65536], n_experts=0, limit=250, n_bins=1))
    p = bits.mean()
    entropy = -len(bits) * (p * np.log2(p) + (1 - p) * np.log2(1 - p)) / 8
    assert entropy - 2 < coder[POSITION] < 1.03 * entropy + 12


def test_contexts_are_worth_what_they_tell(rng):
    n = 4000
    contexts = rng.integers(0, 4, n) * 8
    values = np.rint(rng.laplace(size=n) * 1.5 ** (contexts / 4)).astype(np.int64)
    counts = [np.unique(values[contexts == c], return_counts=True)[1] for c in np.unique(contexts)]
    entropy = sum(-(c * np.log2(c / c.sum())).sum() for c in counts) / 8
    assert len(data_of(values, contexts)) < 1.08 * entropy
    assert len(data_of(values, np.zeros(n, np.int64))) > 1.1 * entropy


def test_an_expert_that_knows_the_centre_saves_bits(rng):
    centres = rng.integers(-5, 6, 2000)
    values = centres + np.rint(rng.logistic(scale=0.7, size=2000)).astype(np.int64)
    contexts = np.full(2000, 20)
    assert len(data_of(values, contexts, centres * 256)) < 0.75 * len(data_of(values, contexts))


def test_signs_that_lean_one_way_are_learned():
    values, contexts = np.full(2000, -2), np.full(2000, 20)
    assert len(data_of(values, contexts)) < 60
    assert len(data_of(values, contexts, sign_is_learned=False)) > 2000 // 8


@njit
def code_told(coder, buffer, bits, places, told, model):
    for i in range(len(bits)):
        model.slots[0], model.slots[1], model.place[0] = told[i, 0], 2 + told[i, 1], places[i]
        code_mixed_bit(coder, buffer, False, bits[i], model, 0)


def test_each_place_learns_whom_to_trust(rng):
    """In one place the bit is what one context tells, in the other what the other does."""
    bits, places = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)

    def n_bytes(n_places):
        model = new_model(4, [20000, 20000], n_experts=0, limit=250, n_bins=1, n_places=n_places)
        told = np.where(places[:, None] == [0, 1], bits[:, None], rng.integers(0, 2, (4000, 2)))
        coder, buffer = new_coder(), np.zeros(4000, np.uint8)
        code_told(coder, buffer, bits, places, told, model)
        return coder[POSITION]

    assert n_bytes(2) < 0.5 * n_bytes(0)


@pytest.mark.parametrize("learned", [True, False])
def test_the_encoder_knows_what_an_integer_costs(rng, learned):
    model = a_model()
    values, contexts = rng.geometric(0.4, 3000) * rng.choice([-1, 1], 3000), np.full(3000, 18)
    values[::3] = 0
    code_all(new_coder(), np.zeros(9000, np.uint8), False, values, contexts, np.zeros(3000, np.int64), model, learned)
    for value in (0, 1, -1, 2, -5):
        assert abs(bits_needed(value, model, learned) + np.log2(np.mean(values == value))) < 0.6
    assert bits_needed(1000, model, learned) > bits_needed(30, model, learned) > bits_needed(3, model, learned)


def test_rounding_gives_way_to_the_price_of_bits():
    model = a_model()
    model.slots[:] = 3, 3  # zeros are likely
    assert cheapest_level(0.8, model, 0.0, 3, True) == 1
    assert cheapest_level(0.6, model, 0.2, 3, True) == 0
    assert cheapest_level(-0.6, model, 0.2, 3, True) == 0
    assert cheapest_level(-7.4, model, 1e-9, 3, True) == -7
    assert cheapest_level(2.6, model, 1000.0, 3, True) == 1  # at most two steps
    assert cheapest_level(2.6, model, 1000.0, 9, True) == 0


def test_classes_have_ends():
    np.testing.assert_array_equal(classes(np.array([-5, 0, 8191, 10**9])), [0, 0, SCALE[-1], SCALE[-1]])
