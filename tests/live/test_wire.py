"""Messages that were lost, doubled, reordered, replayed, mutated or forged."""

import gc
import importlib
import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from hrpursuit.datasets import make_sensor_network
from hrpursuit.live import Gap, LiveDecoder, LiveEncoder
from hrpursuit.live import encoder as encoder_module
from hrpursuit.live.wire import MAGIC, Sealed, check, new_stream, seal, seal_keyframe

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
HOUR = 3600 * 10**9
KEY = b"a key of the plant"


def messages_of(table, **settings):
    settings = settings if "lossless" in settings else {"max_error": 1, **settings}
    encoder = LiveEncoder([f"s{i}" for i in range(table.shape[1])], **settings)
    return [encoder.encode(row, t * HOUR) for t, row in enumerate(table)]


@pytest.fixture(scope="module")
def table():
    return make_sensor_network(120, 8, random_state=11)


def test_the_check_is_that_of_the_document():
    """Polynomial 0x1021, begun with 0xFFFF; stream and sequence number follow the body."""
    crc = 0xFFFF
    for byte in b"body" + (7).to_bytes(8, "little") + (9).to_bytes(8, "little"):
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021) & 0xFFFF if crc & 0x8000 else crc << 1
    assert check(b"body", 7, 9) == crc


def test_no_two_sequence_numbers_share_a_check():
    """As docs/reference/wire.md says, of numbers that differ in their lower 16 bits."""
    for body, first in ((b"", 0), (b"some bytes", 5 << 16)):
        assert len({check(body, 7, first + number) for number in range(65536)}) == 65536


@pytest.mark.parametrize("seed", range(6))
def test_no_wrong_value_through_a_bad_channel(seed, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    n_shown, n_wrong, n_late, counts = importlib.import_module("live_channel").run(seed, 600)
    assert (n_wrong, n_late) == (0, 0)
    assert n_shown > 200
    assert counts["missed"] > 0  # the channel is bad indeed
    assert counts["duplicate"] + counts["old"] > 0


def test_a_lost_message_is_a_gap_until_the_next_keyframe(table):
    messages = messages_of(table, keyframe_every=50)
    decoder, reasons = LiveDecoder(), []
    for place, message in enumerate(messages):
        if place == 20:
            continue
        found = decoder.decode(message)
        reasons.append(found.reason if isinstance(found, Gap) else "shown")
    assert reasons == ["shown"] * 20 + ["missed"] * 29 + ["shown"] * 70
    assert decoder.counts["lost"] == 1
    found = LiveDecoder()
    found.decode(messages[0])
    assert found.decode(messages[4]).n_missed == 3


def test_messages_in_another_order_are_shown_when_the_first_comes(table):
    messages = messages_of(table)
    decoder = LiveDecoder()
    decoder.decode(messages[0])
    assert decoder.decode(messages[2]).reason == "missed"
    assert decoder.decode(messages[2]).reason == "duplicate"
    assert [slot.sequence for slot in decoder.decode(messages[1])] == [1, 2]
    assert [slot.sequence for slot in decoder.decode(messages[3])] == [3]
    assert decoder.counts["lost"] == 0


def test_a_keyframe_that_has_the_check_of_the_expected_message(table):
    """One in 65,536 has; it was decoded as a message in between, and the state was lost until the next keyframe."""
    body = messages_of(table[:6], keyframe_every=5)[5][14:-4]  # magic, version, flags, stream, sequence number
    streams = range(1, 2_000_000)
    stream = next(s for s in streams if Sealed.of(seal_keyframe(body, s, 5, None), False).is_at(s, 5))
    decoder = LiveDecoder()
    slots = [decoder.decode(message) for message in messages_of(table[:7], keyframe_every=5, stream=stream)]
    assert [slot.sequence for [slot] in slots] == list(range(7))


def test_old_messages_and_old_streams_are_refused(table):
    old, new = messages_of(table, keyframe_every=50), messages_of(table, keyframe_every=50)
    decoder = LiveDecoder()
    for message in old:
        decoder.decode(message)
    assert decoder.decode(old[50]).reason == "old"
    assert decoder.decode(old[100]).reason == "old"
    assert decoder.decode(old[119]).reason == "duplicate"
    assert not isinstance(decoder.decode(new[0]), Gap)  # a gateway that has started anew
    for message in old:
        assert isinstance(decoder.decode(message), Gap)
    assert decoder.decode(old[0]).reason == "old"
    assert [slot.sequence for slot in decoder.decode(new[1])] == [1]


def test_with_a_key_older_streams_are_refused_even_if_never_seen(table):
    older, newer = messages_of(table, key=KEY, stream=5), messages_of(table, key=KEY, stream=6)
    decoder = LiveDecoder(key=KEY)
    assert not isinstance(decoder.decode(newer[0]), Gap)
    assert decoder.decode(older[0]).reason == "old"
    assert not isinstance(decoder.decode(newer[1]), Gap)


def test_identities_of_streams_rise():
    first = new_stream()
    assert first < 2**64
    assert new_stream() >> 16 >= first >> 16


def test_tags(table):
    tagged, plain = messages_of(table, key=KEY), messages_of(table)
    assert len(tagged[1]) == len(plain[1]) + 8
    for decoder, messages in (
        (LiveDecoder(key=b"another"), tagged),
        (LiveDecoder(), tagged),
        (LiveDecoder(key=KEY), plain),
    ):
        assert decoder.decode(messages[0]).reason == "key"
        assert decoder.decode(messages[1]).reason == "waiting"
    decoder = LiveDecoder(key=KEY)
    assert not isinstance(decoder.decode(tagged[0]), Gap)
    forged = tagged[1][:-1] + bytes([tagged[1][-1] ^ 1])
    assert decoder.decode(forged).reason == "key"
    assert [slot.sequence for slot in decoder.decode(tagged[1])] == [1]


def test_other_versions_and_other_bytes(table):
    message = messages_of(table)[0]
    decoder = LiveDecoder(limit=1000)
    other = decoder.decode(message[:3] + b"\x63" + message[4:])
    assert other.reason == "version"
    assert "99" in other.detail
    assert decoder.decode(b"").reason == "waiting"
    assert decoder.decode(MAGIC).reason == "waiting"
    assert decoder.decode(message + bytes(2000)).reason == "damaged"
    assert decoder.decode(seal_keyframe(b"", 1, 0, None)).reason == "damaged"
    assert decoder.counts["slots"] == 0


def mutated(message, others, rng):
    """One of many ways to change a message."""
    data = bytearray(message)
    kind = rng.integers(8)
    if kind == 0:
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    elif kind == 1:
        data[rng.integers(len(data))] = rng.integers(256)
    elif kind == 2:
        del data[rng.integers(len(data)) :]
    elif kind == 3:
        data += rng.bytes(rng.integers(1, 20))
    elif kind == 4:
        at = rng.integers(len(data))
        data[at : at + 4] = rng.bytes(4)
    elif kind == 5:
        data = data[: rng.integers(len(data) + 1)] + others[rng.integers(len(others))][rng.integers(20) :]
    elif kind == 6:
        data = bytearray(rng.bytes(rng.integers(0, 60)))
    else:
        data = bytearray(others[rng.integers(len(others))])  # replayed
    return bytes(data)


@pytest.mark.parametrize("settings", [{"max_error": 1}, {"lossless": True}, {"max_error": 1, "key": KEY}])
def test_mutated_and_replayed_messages(settings, table):
    """10,000 over all settings: no crash, and what is shown is the truth within its bound."""
    rng = np.random.default_rng(17)
    messages = messages_of(table, keyframe_every=20, **settings)
    bound = settings.get("max_error", 0)
    n_shown = n_tried = 0
    while n_tried < 3334:
        decoder = LiveDecoder(key=settings.get("key"))
        for message in messages:
            bad = [mutated(message, messages, rng) for _ in range(rng.integers(0, 3))]
            n_tried += len(bad)
            for one in [*bad, message]:
                found = decoder.decode(one)
                if isinstance(found, Gap):
                    continue
                for slot in found:
                    truth = table[slot.sequence]
                    assert slot.time == slot.sequence * HOUR
                    assert np.array_equal(np.isnan(slot.values), np.isnan(truth))
                    assert np.nanmax(np.abs(slot.values - truth)) <= bound
                    n_shown += 1
    assert n_shown > 500


def resealed(body, sequence, rng):
    """A keyframe with a valid check around a body that nobody has written."""
    data = bytearray(body)
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] = rng.integers(256)
    return seal_keyframe(
        bytes(data[: rng.integers(1, len(data) + 1)] if rng.random() < 0.3 else data), 1, sequence, None
    )


def test_forged_keyframes_with_valid_checks(table):
    """Nothing in them reaches an index, a shift or a divisor without a bound; no memory grows."""
    rng = np.random.default_rng(23)
    decoder, bodies = LiveDecoder(), []
    for settings in ({"max_error": 1}, {"lossless": True}):
        message = messages_of(table, **settings, stream=1)[0]
        bodies.append(message[14:-4])  # magic, version, flags, stream, sequence 0
        assert not isinstance(LiveDecoder().decode(message), Gap)
    tracemalloc.start()
    reasons = []
    for sequence in range(400):
        found = decoder.decode(resealed(bodies[sequence % 2], sequence, rng))
        reasons.append(found.reason if isinstance(found, Gap) else "shown")
        if sequence == 100:
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert reasons.count("damaged") > 200
    assert grown < 30e6  # the state of at most one more group of columns


def test_impossible_times_and_names_in_messages_that_are_otherwise_right(monkeypatch):
    """They reached the archive, which then could not be written any more."""
    monkeypatch.setattr(encoder_module, "MOST_TIME", 1 << 65)
    for first in (2**62 - 1, -(2**62) + 1):
        encoder, decoder = LiveEncoder(["a", "b"], lossless=True), LiveDecoder()
        assert decoder.decode(encoder.encode([1.0, 2.0], first))[0].time == first
        found = decoder.decode(encoder.encode([1.0, 2.0], 2 * first))
        assert found.reason == "damaged"
        assert "impossible time" in found.detail
        assert (
            LiveDecoder().decode(LiveEncoder(["a", "b"], lossless=True).encode([1.0, 2.0], 2 * first)).reason
            == "damaged"
        )
    monkeypatch.setattr(encoder_module, "check_names", tuple)
    found = LiveDecoder().decode(LiveEncoder(["a", "a"], lossless=True).encode([1.0, 2.0], 0))
    assert found.reason == "damaged"
    assert "two of the same name" in found.detail


def test_two_messages_that_say_they_are_the_same_one_are_both_left_out(table):
    """The first that came was decoded: one that was damaged and kept has a check that is right by chance."""
    messages = messages_of(table, stream=5)
    damaged = seal(bytes(reversed(messages[2][2:])), 5, 2, None)
    for before in ([damaged, messages[2]], [messages[2], damaged]):
        decoder = LiveDecoder()
        decoder.decode(messages[0])
        assert [decoder.decode(one).reason for one in before] == ["missed", "duplicate"]
        assert [slot.sequence for slot in decoder.decode(messages[1])] == [1]
        assert [slot.sequence for slot in decoder.decode(messages[2])] == [2]  # nothing has been decoded in its place


def test_damage_that_the_check_does_not_find_is_soon_refused(table):
    """As docs/reference/wire.md says: by how messages end. benchmarks/live.py has the figures."""
    messages, rng = messages_of(table, stream=5, keyframe_every=120), np.random.default_rng(31)
    shown = []
    for at in range(1, 100, 3):
        decoder = LiveDecoder()
        for message in messages[:at]:
            decoder.decode(message)
        rest = [seal(rng.bytes(len(messages[at]) - 2), 5, at, None), *messages[at + 1 :]]
        shown.append([isinstance(decoder.decode(message), Gap) for message in rest].index(True))
    assert np.mean(np.array(shown) == 0) > 0.3
    assert max(shown) < 20


@pytest.mark.long
def test_memory_does_not_grow():
    table = make_sensor_network(200, 6, random_state=2)
    encoder, decoder = LiveEncoder([f"s{i}" for i in range(6)], max_error=1, keyframe_every=100), LiveDecoder()
    sizes = []
    for turn in range(13):
        if turn == 4:
            tracemalloc.start()  # which makes everything slow
        for t, row in enumerate(table):
            if t % 50 == 7:
                encoder.encode(row, t * HOUR)  # lost
            decoder.decode(encoder.encode(row, t * HOUR))
        gc.collect()
        if turn >= 8:  # the history of the encoder was full before, and all of it is of traced slots now
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert max(sizes) - min(sizes) < 20_000


@pytest.mark.parametrize(("settings", "most"), [({"max_error": 1}, 10_300), ({"lossless": True}, 15_900)])
def test_october_takes_few_bytes(settings, most, raw_readings):
    """Asked were 12,000 and 17,500; a change that makes messages 1% longer should be seen."""
    encoder, decoder = LiveEncoder([f"s{i + 1:02d}" for i in range(56)], **settings), LiveDecoder()
    for t, row in enumerate(raw_readings):
        [slot] = decoder.decode(encoder.encode(row, t * HOUR))
        assert np.array_equal(np.isnan(slot.values), np.isnan(row))
        assert np.nanmax(np.abs(slot.values - row), initial=0.0) <= settings.get("max_error", 0)
    assert encoder.n_keyframes == 3
    assert encoder.n_bytes <= most


def test_slots_take_little_of_the_processor():
    """Asked are 1,000 slots of 56 sensors per second on one core, and 99% below 5 ms; here a third as many at least."""
    table = make_sensor_network(300, 56, random_state=8)
    encoder, decoder = LiveEncoder([f"s{i}" for i in range(56)], max_error=1), LiveDecoder()
    used = []
    for t, row in enumerate(table):
        start = time.thread_time()
        decoder.decode(encoder.encode(row, t * HOUR))
        used.append(time.thread_time() - start)
    assert np.quantile(used[10:], 0.98) < 0.005
    assert np.mean(used[10:]) < 0.003


PLAIN = """
import sys
import numpy as np
from hrpursuit.live import LiveEncoder
table = np.frombuffer(bytes.fromhex(sys.argv[1])).reshape(-1, 4)
for settings in ({"max_error": 1}, {"lossless": True}, {"max_error": 1e-7}):
    encoder = LiveEncoder(list("abcd"), **settings, keyframe_every=5, stream=9)
    for second, row in enumerate(table):
        print(encoder.encode(row, second * 10**9).hex())
"""


@pytest.mark.long
def test_messages_are_the_same_without_compiled_kernels():
    """On integers that raise where 64 bits would not do, and that no compiler has touched."""
    table = make_sensor_network(9, 4, random_state=1)
    table[3, 1], table[5:, 2], table[6:, 3] = 1e12, 1e5, -0.013
    printed = []
    for disabled in "01":
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        command = [sys.executable, "-c", PLAIN, table.tobytes().hex()]
        printed.append(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert printed[0] == printed[1]
    assert len(printed[0].split()) == 27


def test_benchmark_in_small(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    live = importlib.import_module("live")
    sizes = live.sizes_of(make_sensor_network(300, 20, random_state=0), 1.0)
    assert sizes["LiveEncoder, max_error=1"] < 0.5 * sizes["delta + varint"] < sizes["JSON"]
