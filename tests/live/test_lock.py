"""One writer at a time for an archive and a journal, also after a kill."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from hrpursuit.compression import decompress
from hrpursuit.live.controller import ControllerSettings
from hrpursuit.live.journal import Journal
from hrpursuit.live.lock import LockedFile, WriterLock
from hrpursuit.live.messages import Slot
from hrpursuit.live.record import Recorder

SECOND = 10**9
HOLDER = """
import sys, time
from pathlib import Path
from hrpursuit.live.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def slot(number):
    return Slot(number * SECOND, ("a",), np.array([float(number)]), number)


def test_the_second_writer_is_refused_and_the_first_loses_nothing(tmp_path):
    path = tmp_path / "readings.hrp"
    with Recorder(path) as first:
        first.write([slot(0)])
        with pytest.raises(LockedFile, match=f"readings.hrp is written by process {os.getpid()}: stop that one"):
            Recorder(path)
        (tmp_path / "link.hrp").symlink_to(path)
        with pytest.raises(LockedFile):
            Recorder(tmp_path / "link.hrp")
        first.write([slot(1)])
    with Recorder(path) as second:
        second.write([slot(2)])
    assert decompress(path.read_bytes())["a"].tolist() == [0.0, 1.0, 2.0]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.hrp", "readings.hrp"]


def test_a_closed_recorder_does_not_write(tmp_path):
    recorder = Recorder(tmp_path / "readings.hrp")
    recorder.close()
    recorder.close()
    with pytest.raises(ValueError, match="is closed"):
        recorder.write([slot(0)])


def test_a_journal_has_one_writer(tmp_path):
    journal = Journal(tmp_path / "journal")
    with pytest.raises(LockedFile, match="journal is written by process"):
        Journal(tmp_path / "journal")
    journal.start(b"keyframe")  # another file has this name now
    with pytest.raises(LockedFile):
        Journal(tmp_path / "journal")
    journal.close()
    Journal(tmp_path / "journal").close()


def test_archive_and_journal_are_two_files(tmp_path):
    with pytest.raises(ValueError, match="--archive and --journal"):
        ControllerSettings("hrp/plant", archive=tmp_path / "one", journal=tmp_path / "one")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_killed_writer_is_in_nobodys_way(tmp_path):
    path = tmp_path / "readings.hrp"
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockedFile, match=f"is written by process {holder.pid}:"):
            WriterLock(path)
        holder.kill()
    assert (tmp_path / "readings.hrp.lock").exists()
    lock = WriterLock(path)
    with pytest.raises(LockedFile, match=f"is written by process {os.getpid()}:"):
        WriterLock(path)
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_nobody_releases_ends_with_its_owner(tmp_path):
    lock = WriterLock(tmp_path / "file")
    del lock
    WriterLock(tmp_path / "file").release()


@pytest.mark.long
def test_two_roles_on_one_archive(role, port, tmp_path):
    """Also a gateway and a controller; a port that nobody listens on is enough."""
    broker, archive = ("--broker", f"mqtt://127.0.0.1:{port}"), ("--archive", tmp_path / "readings.hrp")
    first = role("controller", *broker, "--from", "hrp/plant", *archive)
    first.wait_for("no connection to the broker")
    for arguments in (
        ("controller", *broker, "--from", "hrp/plant", *archive),
        ("gateway", *broker, "--topics", "plant/+", "--to", "hrp/plant", "--lossless", *archive),
    ):
        code, said = role(*arguments).end()
        assert code == 1
        assert f"readings.hrp is written by process {first.process.pid}: stop that one, or give another file" in said
        assert "Traceback" not in said
    assert first.process.poll() is None
    first.kill()
    again = role("controller", *broker, "--from", "hrp/plant", *archive)
    again.wait_for("no connection to the broker")
    code, said = again.stop()
    assert code == 0, said
    assert not list(tmp_path.glob("*.lock"))
