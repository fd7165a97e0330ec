"""A few hundred of the files that benchmarks/damage.py reads."""

import importlib
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.long
def test_changed_files_give_errors_or_whole_chunks(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    damage, results = importlib.import_module("damage"), importlib.import_module("results")
    with results.Results("benchmarks/damage.py", partial=True) as judged:
        assert damage.run(judged, 300, seed=1) == []
    ((rows,),) = [[table["rows"] for table in judged.record()["figures"].values()]]
    assert len(rows) == len(damage.MUTATIONS)
    assert all(row[1] > 5 for row in rows)


def test_forged_files_pass_their_checksums(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    damage = importlib.import_module("damage")
    data = damage.compress(np.arange(60.0).reshape(-1, 2), lossless=True, chunk_rows=8)
    for file in (data, data * 3):
        assert damage.rebuilt(damage.bodies(file)) == file
        assert b"".join(damage.segments(file)) == file
