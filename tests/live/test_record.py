"""What was shown becomes an ordinary file, and stays readable when the writer is killed."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from hrpursuit.compression import DamagedFileWarning, Decoder
from hrpursuit.live.messages import Slot
from hrpursuit.live.record import Recorder

SECOND = 10**9


def read(path, damaged="raise"):
    with Decoder(path, damaged=damaged) as decoder:
        return decoder.read()


def slots(first, n, columns=("a", "b")):
    return [
        Slot((first + i) * SECOND, columns, np.array([first + i + 0.5 * k for k in range(len(columns))]), first + i)
        for i in range(n)
    ]


def test_slots_come_back_with_their_times(tmp_path):
    path = tmp_path / "readings.hrp"
    with Recorder(path, chunk_slots=7) as recorder:
        recorder.write(slots(0, 30))
        assert recorder.n_slots == 30
    table = read(path)
    assert list(table.columns) == ["a", "b"]
    assert table.index.as_unit("ns").asi8.tolist() == [i * SECOND for i in range(30)]
    assert np.array_equal(table.to_numpy(), [[i, i + 0.5] for i in range(30)])


def test_a_file_that_is_there_is_gone_on_with(tmp_path):
    path = tmp_path / "readings.hrp"
    for first in (0, 10, 20):
        with Recorder(path, chunk_slots=4) as recorder:
            recorder.write(slots(first, 10))
    assert read(path)["a"].tolist() == list(range(30))


def test_times_may_jump_back(tmp_path):
    path = tmp_path / "readings.hrp"
    with Recorder(path, chunk_slots=4) as recorder:
        recorder.write(slots(100, 10) + slots(3, 5))
    assert read(path)["a"].tolist() == [*range(100, 110), *range(3, 8)]


def test_other_columns_get_a_file_of_their_own(tmp_path):
    path = tmp_path / "readings.hrp"
    with Recorder(path) as recorder:
        recorder.write(slots(0, 5))
        recorder.write(slots(5, 5, ("a", "b", "c")))
        assert recorder.path == tmp_path / "readings-2.hrp"
    with Recorder(path) as recorder:  # goes on with the last one
        recorder.write(slots(10, 5, ("a", "b", "c")))
    assert read(path)["a"].tolist() == list(range(5))
    assert read(tmp_path / "readings-2.hrp")["c"].tolist() == [i + 1.0 for i in range(5, 15)]


def test_a_file_that_is_no_table_is_left_alone(tmp_path):
    path = tmp_path / "readings.hrp"
    path.write_bytes(b"something else")
    with Recorder(path) as recorder:
        recorder.write(slots(0, 3))
    assert path.read_bytes() == b"something else"
    assert len(read(tmp_path / "readings-2.hrp")) == 3


def test_nothing_written_leaves_no_file(tmp_path):
    with Recorder(tmp_path / "readings.hrp"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_impossible_chunks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="chunk_rows must be a whole number"):
        Recorder(tmp_path / "readings.hrp", chunk_slots=0)


WRITER = """
import sys, time
sys.path.insert(0, sys.argv[2])
from test_record import slots
from hrpursuit.live.record import Recorder
recorder = Recorder(sys.argv[1], chunk_slots=10)
for first in range(0, 10**6, 5):
    recorder.write(slots(first, 5))
    if first == 100:
        print("ready", flush=True)
    time.sleep(0.001)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_killed_writer_leaves_whole_chunks(tmp_path):
    path = tmp_path / "readings.hrp"
    here = os.path.dirname(__file__)  # noqa: PTH120 - a text for the other process
    with subprocess.Popen([sys.executable, "-c", WRITER, path, here], stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        writer.kill()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedFileWarning)  # of a chunk that was cut, if it was
        n_whole = len(read(path, "skip"))
    assert n_whole >= 100
    assert n_whole % 10 == 0
    with Recorder(path, chunk_slots=10) as recorder:
        recorder.write(slots(n_whole, 7))
    assert read(path)["a"].tolist() == list(range(n_whole + 7))
