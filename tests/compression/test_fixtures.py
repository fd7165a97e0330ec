"""Files that were written once decode for ever, to the very same bytes."""

import json
import runpy
from pathlib import Path

import pytest

from hrpursuit.compression import Decoder, decompress, describe

from .second_reader import read_file

FOLDER = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
FILES = sorted(FOLDER.glob("*.hrp"))
BOTH = {False, True}
#: What the second reader notes of the settings of tables, and all that it may be.
WAYS = {
    "pace": {0, 1, 2}, "grid": {0, 1, 2, 3, 4, 5}, "centre": {0, 1, 2, 3}, "single": BOTH, "step": BOTH, "offset": BOTH,
    "width": BOTH, "has season": BOTH, "has neighbours": BOTH,
    "list": {"bits", "decimals", "decimals and rest of 4 bytes", "decimals and rest of 8 bytes", "as before"},
    "recurs": BOTH, "lag": {0, 1, 2},
    "apart": {"gaps", "NaN bits", "exceptions", "sentinels"},
}  # fmt: skip
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
    assert modes == {"samples", "transform", "transform + correction", "sparse codes", "table", "verbatim", "nothing"}
    parts = {part for description in found for part in description.parts}
    assert {"gaps", "readings", "dictionary", "exceptions", "verbatim"} <= parts
    assert {description.target.kind for description in found} == {
        "lossless",
        "relative_rmse",
        "max_error",
        "n_nonzero_coefs",
    }


def test_all_ways_of_the_coder_of_tables_are_there():
    """By the second reader, which notes what it meets."""
    files = {path.stem: read_file(path.read_bytes()).met for path in FILES if path.stem.startswith("table_")}
    found = set().union(*files.values())
    for what, values in WAYS.items():
        assert {value for one in found if one[0] == what for value in [one[1]]} >= values, what
    odd = read_file((FOLDER / "lossless_odd_network.hrp").read_bytes()).met
    assert odd == {"samples", *(("apart from groups", part) for part in ("NaN bits", "exceptions", "sentinels"))}
    assert "labels by the coder of tables" in read_file((FOLDER / "frame_irregular_times.hrp").read_bytes()).met
    assert "plain" in read_file((FOLDER / "frame_plain.hrp").read_bytes()).met


def test_chunks_and_headers_come_as_streams_write_them():
    flushed, by_column = (
        Decoder((FOLDER / name).read_bytes()) for name in ("frame_flushed.hrp", "bound_by_column.hrp")
    )
    assert [chunk.n_rows for chunk in flushed.chunks] == [7, 20, 3, 1, 9]
    assert by_column.target.by_column is not None
    for name in ("frame_joined", "appended"):
        assert (FOLDER / f"{name}.hrp").read_bytes().count(b"\x89HRP") == 2


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
