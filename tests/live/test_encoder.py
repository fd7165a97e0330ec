"""What goes into a LiveEncoder comes out of a LiveDecoder: within its bound, at its time, gaps where they were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hrpursuit.datasets import make_sensor_network
from hrpursuit.live import Gap, LiveDecoder, LiveEncoder

HOUR = 3600 * 10**9


def names(n):
    return [f"s{i:02d}" for i in range(n)]


def sent(encoder, table, times=None):
    """Messages of all slots, with what is left at the end."""
    times = [t * HOUR for t in range(len(table))] if times is None else times
    messages = [encoder.encode(row, time) for row, time in zip(table, times, strict=True)]
    return [message for message in [*messages, encoder.flush()] if message is not None]


def rebuilt(messages, decoder=None):
    """Slots of messages that all come, once and in order."""
    decoder = decoder or LiveDecoder()
    slots = []
    for message in messages:
        found = decoder.decode(message)
        assert not isinstance(found, Gap), found
        slots += found
    assert [slot.sequence for slot in slots] == list(range(len(slots)))
    return slots


def values(slots):
    return np.array([slot.values for slot in slots])


def check_bound(got, table, bounds):
    assert np.array_equal(np.isnan(got), np.isnan(table))
    off = np.abs(got - table)
    rounding = np.minimum(1e-3 * np.asarray(bounds), 4 * np.spacing(np.abs(table)))
    assert np.all((off <= np.asarray(bounds) * (1 + 1e-9) + rounding) | np.isnan(table) | (got == table))


@pytest.fixture(scope="module")
def network():
    return make_sensor_network(300, 12, random_state=3)


@pytest.mark.parametrize("slots_per_message", [1, 7])
@pytest.mark.parametrize("max_error", [0.04, 1, 30.0])
def test_the_bound_holds(network, max_error, slots_per_message):
    encoder = LiveEncoder(names(12), max_error=max_error, keyframe_every=100, slots_per_message=slots_per_message)
    messages = sent(encoder, network)
    slots = rebuilt(messages)
    check_bound(values(slots), network, np.full(12, max_error))
    assert [slot.time for slot in slots] == [t * HOUR for t in range(300)]
    assert slots[0].columns == tuple(names(12))
    assert encoder.n_bytes == sum(map(len, messages))
    assert (encoder.n_messages, encoder.n_slots) == (len(messages), 300)


def test_lossless_is_bit_for_bit(network):
    odd = network.copy()
    odd[5, 3], odd[6, 3], odd[7, 3], odd[8, 3] = -0.0, np.inf, -np.inf, 1e300
    odd[50:60, 4] = np.pi * np.arange(10)
    got = values(rebuilt(sent(LiveEncoder(names(12), lossless=True), odd)))
    assert np.array_equal(got.view(np.int64), np.where(np.isnan(odd), np.nan, odd).view(np.int64))


def test_bounds_by_column_and_lossless_columns(network):
    encoder = LiveEncoder(names(12), max_error={"s04": 5.0, "s0*": 0.5, None: 2.0}, lossless=["s11"])
    decoder = LiveDecoder()
    got = values(rebuilt(sent(encoder, network), decoder))
    bounds = np.array([0.5] * 10 + [2.0, 0.0])
    bounds[4] = 5.0
    assert decoder.max_error.tolist() == bounds.tolist()
    check_bound(got, network, bounds)
    there = ~np.isnan(network[:, 11])
    assert np.array_equal(got[there, 11], network[there, 11])
    assert np.nanmax(np.abs(got - network)[:, 4]) > 2  # it uses what it may


def test_a_looser_bound_takes_fewer_bytes(network):
    sizes = [LiveEncoder(names(12), **kind) for kind in ({"lossless": True}, {"max_error": 1}, {"max_error": 10})]
    for encoder in sizes:
        sent(encoder, network)
    assert sizes[0].n_bytes > 1.2 * sizes[1].n_bytes > 1.4 * sizes[2].n_bytes


def test_many_columns_in_groups(rng):
    table = np.round(rng.normal(50, 5, (12, 300)).cumsum(axis=0), 1)
    table[3, 100:200] = np.nan
    got = values(rebuilt(sent(LiveEncoder(names(300), max_error=0.1, keyframe_every=5), table)))
    check_bound(got, table, np.full(300, 0.1))


def test_readings_that_leave_the_plan_are_still_right(rng):
    """Decimals, range and sign change long after the keyframe that knew nothing of them."""
    table = rng.integers(0, 20, (120, 3)).astype(float)
    table[40:, 0] += 0.25
    table[50:, 1] *= 1e7
    table[60:, 2] = -table[60:, 2] - 1e-3
    for settings in ({"lossless": True}, {"max_error": 0.5}, {"max_error": 1e-6}):
        encoder = LiveEncoder(names(3), **settings, keyframe_every=10**6)
        got = values(rebuilt(sent(encoder, table)))
        check_bound(got, table, np.full(3, settings.get("max_error", 0.0)))
        assert 1 < encoder.n_keyframes < 12  # a better plan is made, but not for each reading


def test_an_outlier_costs_little(network):
    """One of 10^9 made all later readings of its column ten bits longer."""
    plain, odd = (LiveEncoder(names(12), max_error=1, keyframe_every=50, stream=1) for _ in range(2))
    sent(plain, network)
    table = network.copy()
    table[60, 4] = 1e9
    check_bound(values(rebuilt(sent(odd, table))), table, np.ones(12))
    assert odd.n_bytes < plain.n_bytes + 40


numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-1000, 1000).map(float),
    st.integers(-(10**6), 10**6).map(lambda number: number / 100),
)


@given(
    st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=12),
    st.sampled_from([0.0, 1e-9, 0.01, 0.5, 1.0, 7.3, 1e6, 1e200]),
    st.lists(st.integers(-(2**61), 2**61), min_size=12, max_size=12),
    st.integers(1, 4),
    st.integers(1, 6),
)
def test_any_rows_at_any_time(rows, bound, times, slots_per_message, keyframe_every):
    table = np.array(rows)
    settings = {"max_error": bound} if bound else {"lossless": True}
    encoder = LiveEncoder(
        names(3), **settings, slots_per_message=slots_per_message, keyframe_every=keyframe_every, key=b"secret"
    )
    slots = rebuilt(sent(encoder, table, times[: len(table)]), LiveDecoder(key=b"secret"))
    assert [slot.time for slot in slots] == times[: len(table)]
    got = values(slots)
    if bound:
        with np.errstate(invalid="ignore", over="ignore"):
            check_bound(got, table, np.full(3, bound))
    else:
        assert np.array_equal(got.view(np.int64), np.where(np.isnan(table), np.nan, table).view(np.int64))


def test_regular_times_cost_nothing_and_jumps_little(network):
    regular, jumping = (LiveEncoder(names(12), max_error=1, stream=1) for _ in range(2))
    sent(regular, network)
    times = np.arange(300) * HOUR
    times[100:] -= 7 * HOUR + 11  # a clock that jumps
    assert [slot.time for slot in rebuilt(sent(jumping, network, times.tolist()))] == times.tolist()
    assert regular.n_bytes < jumping.n_bytes <= regular.n_bytes + 24


def test_a_late_receiver_is_right_from_the_next_keyframe_on(network):
    messages = sent(LiveEncoder(names(12), max_error=1, keyframe_every=50), network)
    decoder = LiveDecoder()
    for message in messages[70:100]:
        found = decoder.decode(message)
        assert isinstance(found, Gap)
        assert found.reason == "waiting"
    slots = decoder.decode(messages[100])
    assert [slot.sequence for slot in slots] == [96, 97, 98, 99, 100]  # the last ones come with it
    check_bound(values(slots), network[96:101], np.full(12, 1.0))
    assert [decoder.decode(message)[0].sequence for message in messages[101:]] == list(range(101, 300))


def test_a_keyframe_on_request(network):
    encoder = LiveEncoder(names(12), max_error=1, keyframe_every=10**6)
    sent(encoder, network[:50])
    encoder.request_keyframe()
    message = encoder.encode(network[50], 50 * HOUR)
    assert encoder.n_keyframes == 2
    assert LiveDecoder().decode(message)[-1].sequence == 50
    encoder.encode(network[51], 51 * HOUR)
    assert encoder.n_keyframes == 2


def test_columns_change(network):
    encoder, decoder = LiveEncoder(names(12), max_error=1), LiveDecoder()
    rebuilt(sent(encoder, network[:20]), decoder)
    encoder.change_columns([*names(12)[2:], "new"])
    row = np.append(network[20, 2:], 7.0)
    [slot] = decoder.decode(encoder.encode(row, 20 * HOUR))
    assert slot.columns == (*names(12)[2:], "new")
    check_bound(slot.values, row, np.ones(11))
    waiting = LiveEncoder(names(2), max_error=1, slots_per_message=2)
    waiting.encode([1.0, 2.0], 0)
    with pytest.raises(ValueError, match="flush"):
        waiting.change_columns(["a"])


def test_sparse_codes_in_a_learned_dictionary():
    table = make_sensor_network(400, 10, random_state=5)
    encoder, decoder = LiveEncoder(names(10), n_nonzero_coefs=3, keyframe_every=50), LiveDecoder()
    assert encoder.components is None
    slots = rebuilt(sent(encoder, table), decoder)
    got, there = values(slots), ~np.isnan(table)
    assert np.array_equal(~np.isnan(got), there)
    assert np.array_equal(encoder.components, decoder.components)
    assert decoder.max_error is None
    norms = np.linalg.norm(decoder.components, axis=1)
    assert np.abs(norms - 1).max() < 0.1
    late = slice(300, None)
    error = np.sqrt(((got - table)[late][there[late]] ** 2).sum() / (table[late][there[late]] ** 2).sum())
    assert 0.001 < error < 0.2
    codes = got[late] @ np.linalg.pinv(decoder.components)
    whole = there[late].all(axis=1)
    if whole.any():
        assert (np.abs(codes[whole]) > 0.02 * np.abs(codes).max()).sum(axis=1).max() <= 3


@pytest.mark.parametrize("seed", range(4))
def test_sparse_codes_of_any_rows(seed):
    """Zeros, gaps, outliers and infinities are no reason to raise."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(90, 4)) * 10.0 ** rng.integers(-5, 6)
    table[:, 0] = [0.0, 5.0, np.nan, 1.0][seed]
    table[30, 1], table[31, 1], table[50:, 2] = 1e300, np.inf, 1e4
    table[rng.random(table.shape) < 0.1 * seed] = np.nan
    slots = rebuilt(sent(LiveEncoder(names(4), n_nonzero_coefs=2, keyframe_every=20), table))
    assert np.array_equal(np.isnan(values(slots)), np.isnan(table))
    assert np.isinf(slots[31].values[1]) == np.isinf(table[31, 1])


def test_late_receiver_of_sparse_codes_waits_for_the_dictionary():
    table = make_sensor_network(400, 10, random_state=5)
    encoder = LiveEncoder(names(10), n_nonzero_coefs=3, keyframe_every=20)
    messages = sent(encoder, table)
    decoder, reasons, shown = LiveDecoder(), set(), []
    for message in messages[260:]:
        found = decoder.decode(message)
        if isinstance(found, Gap):
            reasons.add(found.reason)
        else:
            shown += found
    assert reasons == {"waiting", "dictionary"}
    assert shown[-1].sequence == 399
    whole = values(rebuilt(messages))
    new = shown[4:]  # the first four are slots that the keyframe has repeated, in other steps
    assert np.array_equal(values(new), whole[[slot.sequence for slot in new]], equal_nan=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "exactly one of"),
        ({"max_error": 1, "lossless": True}, "exactly one of"),
        ({"max_error": -1}, "above 0"),
        ({"max_error": {"zz": 1}}, "zz"),
        ({"max_error": 1, "keyframe_every": 0}, "keyframe_every must be a whole number"),
        ({"max_error": 1, "slots_per_message": 2000}, "slots_per_message must be a whole number"),
        ({"max_error": 1, "key": "text"}, "key must be bytes"),
        ({"max_error": 1, "key": b""}, "key must be bytes"),
        ({"max_error": 1, "stream": -1}, "stream must be a whole number"),
        ({"n_nonzero_coefs": 0}, "n_nonzero_coefs must be"),
        ({"max_error": 1, "lossless": "ab"}, "lossless must be True or False, or a list"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        LiveEncoder(["a", "b"], **settings)


@pytest.mark.parametrize("columns", [[], ["a", "a"], [1, 2], names(5000), ["x" * 200000], "ab", 3])
def test_bad_columns(columns):
    with pytest.raises(ValueError, match="column"):
        LiveEncoder(columns, max_error=1)


def test_bad_rows():
    encoder = LiveEncoder(["a", "b"], max_error=1)
    with pytest.raises(ValueError, match="row must have 2 readings"):
        encoder.encode([1.0], 0)
    with pytest.raises(ValueError, match="time must be whole nanoseconds"):
        encoder.encode([1.0, 2.0], 0.5)
    with pytest.raises(ValueError, match="time must be whole nanoseconds"):
        encoder.encode([1.0, 2.0], 2**63)
    for row in (["x", 1.0], {"a": 1.0, "b": 2.0}, [1j, 2.0], [10**400, 1.0]):
        with pytest.raises(ValueError, match="row must be"):
            encoder.encode(row, 0)
    assert encoder.n_messages == 0


@pytest.mark.parametrize(("limit", "message"), [(0, "at least 1"), (-5, "at least 1"), ("1M", "whole number of bytes")])
def test_bad_limits(limit, message):
    with pytest.raises(ValueError, match=message):
        LiveDecoder(limit=limit)


@pytest.mark.parametrize("message", ["text", None, 5])
def test_a_message_that_is_no_bytes(message):
    with pytest.raises(TypeError, match="message must be bytes; got"):
        LiveDecoder().decode(message)


def test_masked_readings_are_gaps():
    row = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    [slot] = rebuilt([LiveEncoder(names(3), lossless=True).encode(row, 0)])
    np.testing.assert_array_equal(slot.values, [1.0, np.nan, 3.0])
    assert slot.values[0] == 1.0
