"""A decoder has the very integers that the encoder believes it has, in every mode and for any readings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrpursuit.compression.chunks.apart import Apart, Numbers
from hrpursuit.compression.chunks.bases import DICTIONARY, SENT, Basis
from hrpursuit.compression.chunks.coding import decode_group, encode_group
from hrpursuit.compression.chunks.settings import CORRECTED, SAMPLES, SPARSE, TRANSFORM, GroupSettings
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
    chosen = GroupSettings(mode, (0,), steps, fraction, keep_positive=keep_positive)
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
    apart = Apart(as_integers(seen))
    if draw(st.booleans()):
        apart.cells, apart.values = np.flatnonzero(rng.random(seen.size) < 0.1), []
        places = as_integers(rng.random(n_rows) < 0.3)
        apart.sentinels = [(draw(st.integers(0, n - 1)), bytes(8), places)]
    if chosen.widths:
        low = low * apart.coded()
    return chosen, basis, apart, Numbers(as_integers(values), low), price


def check(chosen, basis, apart, numbers, price=0.0):
    seen, low, shape = apart.seen.copy(), numbers.low.copy(), apart.seen.shape
    data, coded = encode_group(chosen, basis, apart, numbers, price)
    np.testing.assert_array_equal(seen, apart.seen)
    np.testing.assert_array_equal(low, numbers.low)
    cursor = Cursor(chosen.to_bytes())
    received = GroupSettings.from_cursor(cursor, shape[1])
    cursor.end()
    assert received == chosen
    sent = Basis.from_cursor(Cursor(basis.to_bytes()), shape[1])
    found = Apart(integers(shape, 1), cells=apart.cells)
    found.sentinels = [(column, bits, integers(shape[0])) for column, bits, _ in apart.sentinels]
    decoded = decode_group(data, received, sent, found)
    np.testing.assert_array_equal(decoded.whole, coded.whole)
    np.testing.assert_array_equal(found.seen, apart.seen)
    np.testing.assert_array_equal(found.coded(), apart.coded())
    if chosen.widths:
        np.testing.assert_array_equal(decoded.low, numbers.low)
    return decoded.whole


@settings(max_examples=300)
@given(groups())
def test_a_decoder_has_what_the_encoder_has(group):
    chosen, basis, apart, numbers, price = group
    got = check(chosen, basis, apart, numbers, price)
    seen = apart.coded() != 0
    error = np.abs(got - numbers.whole) if chosen.mode != SPARSE else None
    if chosen.mode == SAMPLES and price == 0:
        assert np.all(error[seen] <= np.broadcast_to(np.array(chosen.steps), seen.shape)[seen] / 2 + 0.5)
    if chosen.mode == CORRECTED:
        error = np.abs(got - (numbers.whole >> chosen.fraction))
        assert np.all(error[seen] <= chosen.bound // 2 + (chosen.bound + 1) % 2)
    if chosen.keep_positive and chosen.mode != CORRECTED:
        assert got.min(initial=0) >= 0


def test_steps_of_one_leave_no_error(rng):
    values = np.cumsum(rng.integers(-50, 51, (60, 5)), axis=0)
    cells = Apart(integers((60, 5), 1)), Numbers(as_integers(values))
    np.testing.assert_array_equal(check(GroupSettings(SAMPLES, (0,), (1,)), Basis(), *cells), values)
    close = check(GroupSettings(TRANSFORM, (0,), (1,)), Basis(), *cells)
    assert np.abs(close - values).max() <= 3


@pytest.mark.parametrize("mode", [SAMPLES, TRANSFORM])
def test_readings_that_need_more_room_than_expected(rng, mode):
    """Noise takes far more than the half byte a reading that the first buffer has."""
    values = rng.integers(-LIMIT, LIMIT + 1, (300, 8))
    cells = Apart(integers((300, 8), 1)), Numbers(as_integers(values))
    data, _ = encode_group(GroupSettings(mode, (0,), (1,)), Basis(), *cells)
    assert len(data) > values.size // 2 + 1024
    check(GroupSettings(mode, (0,), (1,)), Basis(), *cells)


def test_a_transform_of_a_larger_step_is_shorter_and_coarser(rng):
    smooth = np.rint(2000 * np.sin(np.arange(80)[:, None] / 9 + np.arange(6))).astype(np.int64)
    cells = Apart(integers(smooth.shape, 1)), Numbers(as_integers(smooth))
    sizes, errors = [], []
    for step in (16, 64, 256, 1024):
        data, coded = encode_group(GroupSettings(TRANSFORM, (0,), (step,)), Basis(), *cells)
        sizes.append(len(data))
        errors.append(np.sqrt(np.mean((coded.whole - smooth) ** 2)) / step)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[-1]
    assert all(0.02 < error < 0.4 for error in errors)  # an even step leaves 0.29


def test_gaps_cost_nothing_but_their_place(rng):
    """What stands under a gap does not matter."""
    values, seen = rng.integers(0, 500, (40, 4)), (rng.random((40, 4)) < 0.7).astype(np.int64)
    other = np.where(seen, values, rng.integers(-(2**15), 2**15, (40, 4)))
    for mode in (SAMPLES, TRANSFORM, CORRECTED):
        chosen = GroupSettings(mode, (0,), (16,), bound=9)
        data = [
            encode_group(chosen, Basis(), Apart(as_integers(seen)), Numbers(as_integers(v)), 0.1)[0]
            for v in (values, other)
        ]
        assert data[0] == data[1]
