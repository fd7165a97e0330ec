"""The messages since the last keyframe, in a file that a kill may cut anywhere."""

import pytest

from hrpursuit.live.journal import Journal


def written(path):
    journal = Journal(path)
    for number, message in enumerate([b"key 1", b"a", b"b", b"key 2", b"c", b""]):
        (journal.start if number in (0, 3) else journal.append)(message)
    journal.close()


def test_it_starts_anew_with_each_keyframe(tmp_path):
    path = tmp_path / "journal"
    written(path)
    journal = Journal(path)
    assert list(journal.read()) == [b"key 2", b"c", b""]
    journal.close()


def test_nothing_is_kept_before_the_first_keyframe(tmp_path):
    journal = Journal(tmp_path / "journal")
    journal.append(b"a")
    assert list(journal.read()) == []
    journal.close()


def test_cut_anywhere_it_has_its_whole_messages_and_goes_on_behind_them(tmp_path):
    path = tmp_path / "journal"
    written(path)
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        before = [b"key 2", b"c", b""]
        try:
            journal = Journal(path)
        except ValueError:
            assert 0 < n < 20  # not even its first line
            continue
        found = list(journal.read())
        assert found == before[: len(found)]
        if found:
            journal.append(b"next")
            assert list(journal.read()) == [*found, b"next"]
        journal.close()


def test_another_file_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a journal")
    with pytest.raises(ValueError, match="is no journal of a controller"):
        Journal(path)
    assert path.read_text() == "not a journal"
