"""docs/reference/wire.md says what messages are: its example is what is sent, and a decoder written from it reads a
stream.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from hrpursuit.datasets import make_sensor_network
from hrpursuit.live import LiveEncoder

from .second_decoder import SecondDecoder

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reference" / "wire.md").read_text()
SECOND = 10**9


def test_the_example_is_what_is_sent(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    exec(compile(block, "wire.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"```\n((?:[0-9a-f]{2} ?)+)\n```", TEXT)
    slots = SecondDecoder([bytes.fromhex(line) for line in printed]).slots
    first = 1_700_000_000 * SECOND
    assert slots == [(first, [20.0, 1013.5]), (first + SECOND, [20.0, 1013.5]), (first + 2 * SECOND, [24.0, None])]


def test_the_bytes_of_the_example_are_those_of_its_table():
    keyframe = re.findall(r"```\n((?:[0-9a-f]{2} ?)+)\n```", TEXT)[0]
    rows = re.findall(r"^\| (`[0-9a-f `…]+) \|", TEXT.split("The first message is")[1].split("The plan after")[0], re.M)
    at = 0
    for row in rows:
        for part in re.findall(r"`([0-9a-f ]+)`", row):
            found = keyframe.find(part, at)
            assert found >= at, part
            assert found == at or "…" in row
            at = found + len(part) + 1
    assert at == len(keyframe) + 1


@pytest.mark.parametrize("settings", [{"max_error": 1}, {"lossless": True}, {"max_error": 0.3, "slots_per_message": 4}])
def test_a_second_decoder_reads_a_stream(settings):
    table = make_sensor_network(70, 7, random_state=4)
    table[30, 2], table[33, 4] = np.inf, 1e9
    encoder = LiveEncoder([f"s{i}" for i in range(7)], **settings, keyframe_every=30)
    times = (np.arange(70) + np.where(np.arange(70) > 40, -1000, 0)) * SECOND
    messages = [encoder.encode(row, time) for row, time in zip(table, times.tolist(), strict=True)]
    messages = [message for message in [*messages, encoder.flush()] if message]
    slots = SecondDecoder(messages).slots
    assert [time for time, _ in slots] == times.tolist()
    got = np.array([values for _, values in slots], dtype=float)
    assert np.array_equal(np.isnan(got), np.isnan(table))
    with np.errstate(invalid="ignore"):
        assert np.all((np.abs(got - table) <= settings.get("max_error", 0)) | (got == table) | np.isnan(table))
