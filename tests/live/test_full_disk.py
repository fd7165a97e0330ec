"""A disk that is full: values are shown all the same, the archive stays whole, and memory does not grow."""

import asyncio
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

from hrpursuit.compression import DamagedFileWarning, Decoder
from hrpursuit.live import LiveEncoder, Recorder
from hrpursuit.live.controller import Controller, ControllerSettings
from hrpursuit.live.messages import Slot
from hrpursuit.live.mqtt import Connection
from hrpursuit.live.slots import SECOND

resource = pytest.importorskip("resource", reason="needs limits on the size of files, as Unix has them")

NOWHERE = Connection("127.0.0.1", 1)


def said(role):
    return [one.text for one in role.happenings.last]


@contextmanager
def files_up_to(n_bytes):
    """As if the disk were full: no file of this process grows beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def slots(first, n, columns=("a", "b")):
    rng = np.random.default_rng(first)
    return [Slot((first + i) * SECOND, columns, rng.normal(size=len(columns)), first + i) for i in range(n)]


def table(path, damaged="raise"):
    with Decoder(path, damaged=damaged) as decoder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedFileWarning)  # there is no index yet
        return decoder.read().to_numpy().tolist()


def rows(given):
    return [one.values.tolist() for one in given]


def test_a_full_disk_keeps_slots_until_there_is_room(tmp_path):
    path = tmp_path / "readings.hrp"
    first, meanwhile, last = slots(0, 20), slots(20, 35), slots(55, 10)
    recorder = Recorder(path, chunk_slots=10)
    recorder.write(first)
    size = path.stat().st_size
    with files_up_to(size + 40):
        for one in meanwhile:
            try:
                recorder.write([one])
            except OSError:
                assert table(path, "skip") == rows(first)
                assert path.stat().st_size < size + 40  # no part of a chunk is left, an index may be there
    assert (recorder.n_waiting, recorder.n_dropped) == (35, 0)
    recorder.write(last)
    recorder.close()
    assert table(path) == rows(first + meanwhile + last)


def test_a_disk_that_stays_full_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "readings.hrp"
    recorder = Recorder(path, chunk_slots=4)
    recorder.write(slots(0, 8))
    given = slots(8, 200)
    with files_up_to(path.stat().st_size):
        for one in given:
            try:
                recorder.write([one])
            except OSError as error:
                failed = error
        assert failed.errno
        assert (recorder.n_waiting, recorder.n_dropped) == (64, 136)
        with pytest.raises(OSError, match="large"):  # of the old columns; the new ones are taken
            recorder.write(slots(208, 1, ("a", "b", "c")))
        assert (recorder.n_waiting, recorder.n_dropped) == (1, 200)
    recorder.close()
    assert table(path, "skip") == rows(slots(0, 8))
    assert table(tmp_path / "readings-2.hrp") == rows(slots(208, 1, ("a", "b", "c")))


def test_a_full_disk_does_not_keep_values_back(tmp_path):
    journal = tmp_path / "journal"
    controller = Controller(ControllerSettings("hrp/plant", "rebuilt/{sensor}", journal=journal), NOWHERE)
    encoder, shown = LiveEncoder(["a"], lossless=True, keyframe_every=10), []
    controller.shown = lambda slot, n_bytes: shown.append(slot.sequence)

    async def send(first, n):
        for number in range(first, first + n):
            controller._handle("hrp/plant", encoder.encode([float(number)], number * SECOND), False)

    asyncio.run(send(0, 3))
    with files_up_to(journal.stat().st_size + 2):
        asyncio.run(send(3, 10))
    assert any("cannot write the journal" in line for line in said(controller))
    asyncio.run(send(13, 10))
    assert shown == list(range(23))
    controller._close()
    again = Controller(ControllerSettings("hrp/plant", journal=journal), NOWHERE)
    again._close()
    assert again.decoder.decode(encoder.encode([23.0], 23 * SECOND))[0].values == [23.0]
