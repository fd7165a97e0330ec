"""Files that were written once decode for ever, to the very same bytes."""

import json
import runpy
from pathlib import Path

import pytest

from hrpursuit.compression import Decoder, decompress, describe

FOLDER = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
FILES = sorted(FOLDER.glob("*.hrp"))
MAKE = runpy.run_path(str(FOLDER / "make.py"))


def test_every_file_is_recorded():
    assert [path.stem for path in FILES] == sorted(EXPECTED)
    assert set(MAKE["CASES"]) <= set(EXPECTED)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_decodes_to_what_it_always_did(path):
    assert MAKE["record"](decompress(path.read_bytes())) == EXPECTED[path.stem]


def test_all_ways_of_coding_are_there():
    found = [describe(path) for path in FILES]
    modes = {mode for description in found for chunk in description.chunks for mode in chunk.mode.split(", ")}
    assert modes == {"samples", "transform", "transform + correction", "sparse codes", "verbatim", "nothing"}
    parts = {part for description in found for part in description.parts}
    assert {"gaps", "readings", "dictionary", "exceptions", "verbatim"} <= parts
    assert {description.target.kind for description in found} == {"lossless", "rmse", "max_error", "n_nonzero"}


def test_files_are_small_and_stay_as_they_are(capsys):
    before = {path: path.read_bytes() for path in FOLDER.iterdir() if path.is_file()}
    assert max(map(len, (data for path, data in before.items() if path.suffix == ".hrp"))) < 3000
    MAKE["main"]()
    assert {path: path.read_bytes() for path in FOLDER.iterdir() if path.is_file()} == before
    assert capsys.readouterr().out.count("stays") == len(MAKE["CASES"])


def test_chunks_can_be_read_one_by_one():
    path = FOLDER / "frame_hourly_chunks.hrp"
    with Decoder(path) as decoder:
        part = decoder.read("2024-10-01 20:00", "2024-10-01 22:00")
        assert decoder.n_decoded == 1
        assert part.equals(decoder.read().loc["2024-10-01 20:00":"2024-10-01 22:00"])
