"""A decoder has the very integers that the encoder believes it has, in every mode and for any readings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrpursuit.compression.chunks.bases import DICTIONARY, SENT, Basis
from hrpursuit.compression.chunks.coding import Readings, decode_group, encode_group
from hrpursuit.compression.chunks.settings import CORRECTED, SAMPLES, SPARSE, TRANSFORM, Settings
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.layout import Cursor

LIMIT = 1 << 16


@st.composite
def groups(draw):
    """Settings, a basis, readings and the price of a bit."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = n_rows, n = draw(st.integers(1, 40)), draw(st.integers(1, 9))
    mode = draw(st.sampled_from([SAMPLES, TRANSFORM, CORRECTED, SPARSE]))
    size = draw(st.sampled_from([0, 3, 300, LIMIT]))
    values = rng.integers(-size, size + 1, shape)
    if draw(st.booleans()):
        values = np.clip(np.cumsum(values // 8, axis=0), -LIMIT, LIMIT)
    keep_positive = draw(st.booleans())
    values = np.abs(values) if keep_positive else values
    seen = (rng.random(shape) >= draw(st.sampled_from([0.0, 0.0, 0.2, 0.9, 1.0]))).astype(np.int64)
    fraction = draw(st.integers(0, 6)) if size < LIMIT else 0
    steps = tuple(int(2**e) for e in rng.uniform(0, 14, n if mode == SAMPLES and draw(st.booleans()) else 1))
    chosen = Settings(mode, (0,), steps, fraction, keep_positive=keep_positive)
    basis, low = Basis(), integers((0, 0))
    if mode == SAMPLES:
        widths = tuple(rng.integers(0, 59, n).tolist()) if draw(st.booleans()) else ()
        scales = tuple(rng.integers(1, 8193, n).tolist()) if draw(st.booleans()) else (64,)
        low = as_integers(rng.integers(0, 2 ** np.array(widths, np.int64), shape) * seen) if widths else low
        chosen = replace(
            chosen,
            widths=widths,
            scales=scales,
            season=draw(st.sampled_from([1, 2, 7, 24])),
            grain=draw(st.booleans()),
            in_haste=draw(st.booleans()),
        )
    elif mode == SPARSE:
        n_atoms, precision = draw(st.integers(1, 12)), draw(st.integers(5, 14))
        dictionary = rng.integers(-(1 << precision), (1 << precision) + 1, (n_atoms, n))
        n_nonzero = draw(st.integers(1, n))
        basis = Basis(DICTIONARY, dictionary=dictionary, precision=precision, n_nonzero=n_nonzero)
        values = rng.integers(-size, size + 1, (n_rows, n_atoms))
        values[np.argsort(rng.random(values.shape), axis=1) >= n_nonzero] = 0
    elif draw(st.booleans()):
        basis = Basis(SENT, order=rng.permutation(n), sent=rng.integers(-9, 10, (draw(st.integers(0, n)), n)))
    if mode == CORRECTED:
        values = values >> fraction << fraction
        chosen = replace(chosen, bound=draw(st.sampled_from([1, 2, 7, 1001])))
    price = draw(st.sampled_from([0.0, 0.1, 5.0]))
    return chosen, basis, Readings(as_integers(values), as_integers(seen), low), price


def check(chosen, basis, readings, price=0.0):
    seen, low, shape = readings.seen.copy(), readings.low.copy(), readings.seen.shape
    coded = encode_group(chosen, basis, replace(readings, seen=seen, low=low), price)
    np.testing.assert_array_equal(seen, readings.seen)
    cursor = Cursor(chosen.to_bytes())
    received = Settings.from_cursor(cursor, shape[1])
    cursor.end()
    assert received == chosen
    sent = Basis.from_cursor(Cursor(basis.to_bytes()), shape[1])
    decoded = decode_group(coded.data, received, sent, shape)
    np.testing.assert_array_equal(decoded.readings.values, coded.readings.values)
    np.testing.assert_array_equal(decoded.readings.seen, readings.seen)
    if chosen.widths:
        np.testing.assert_array_equal(decoded.readings.low, readings.low)
    return decoded.readings.values


@settings(max_examples=300)
@given(groups())
def test_a_decoder_has_what_the_encoder_has(group):
    chosen, basis, readings, price = group
    got = check(chosen, basis, readings, price)
    seen = readings.seen != 0
    error = np.abs(got - readings.values) if chosen.mode != SPARSE else None
    if chosen.mode == SAMPLES and price == 0:
        assert np.all(error[seen] <= np.broadcast_to(np.array(chosen.steps), seen.shape)[seen] / 2 + 0.5)
    if chosen.mode == CORRECTED:
        error = np.abs(got - (readings.values >> chosen.fraction))
        assert np.all(error[seen] <= chosen.bound // 2 + (chosen.bound + 1) % 2)
    if chosen.keep_positive and chosen.mode != CORRECTED:
        assert got.min(initial=0) >= 0


def test_steps_of_one_leave_no_error(rng):
    values = np.cumsum(rng.integers(-50, 51, (60, 5)), axis=0)
    readings = Readings(as_integers(values), integers((60, 5), 1), integers((0, 0)))
    np.testing.assert_array_equal(check(Settings(SAMPLES, (0,), (1,)), Basis(), readings), values)
    close = check(Settings(TRANSFORM, (0,), (1,)), Basis(), readings)
    assert np.abs(close - values).max() <= 3


@pytest.mark.parametrize("mode", [SAMPLES, TRANSFORM])
def test_readings_that_need_more_room_than_expected(rng, mode):
    """Noise takes far more than the half byte a reading that the first buffer has."""
    values = rng.integers(-LIMIT, LIMIT + 1, (300, 8))
    readings = Readings(as_integers(values), integers((300, 8), 1), integers((0, 0)))
    coded = encode_group(Settings(mode, (0,), (1,)), Basis(), readings)
    assert len(coded.data) > values.size // 2 + 1024
    check(Settings(mode, (0,), (1,)), Basis(), readings)


def test_a_transform_of_a_larger_step_is_shorter_and_coarser(rng):
    smooth = np.rint(2000 * np.sin(np.arange(80)[:, None] / 9 + np.arange(6))).astype(np.int64)
    readings = Readings(as_integers(smooth), integers(smooth.shape, 1), integers((0, 0)))
    sizes, errors = [], []
    for step in (16, 64, 256, 1024):
        coded = encode_group(Settings(TRANSFORM, (0,), (step,)), Basis(), readings)
        sizes.append(len(coded.data))
        errors.append(np.sqrt(np.mean((coded.readings.values - smooth) ** 2)) / step)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[-1]
    assert all(0.02 < error < 0.4 for error in errors)  # an even step leaves 0.29


def test_gaps_cost_nothing_but_their_place(rng):
    """What stands under a gap does not matter."""
    values, seen = rng.integers(0, 500, (40, 4)), (rng.random((40, 4)) < 0.7).astype(np.int64)
    other = np.where(seen, values, rng.integers(-(2**15), 2**15, (40, 4)))
    for mode in (SAMPLES, TRANSFORM, CORRECTED):
        chosen = Settings(mode, (0,), (16,), bound=9)
        data = [
            encode_group(chosen, Basis(), Readings(as_integers(v), as_integers(seen), integers((0, 0))), 0.1).data
            for v in (values, other)
        ]
        assert data[0] == data[1]
