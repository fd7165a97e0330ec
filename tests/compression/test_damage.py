"""A few hundred of the files that benchmarks/damage.py reads."""

import importlib
from pathlib import Path

import numpy as np


def test_changed_files_give_errors_or_whole_chunks(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    damage = importlib.import_module("damage")
    assert damage.run(300, seed=1) == []
    rows = capsys.readouterr().out.splitlines()[2:]
    assert len(rows) == len(damage.MUTATIONS)
    assert all(int(row.split("|")[1]) > 5 for row in rows)


def test_forged_files_pass_their_checksums(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    damage = importlib.import_module("damage")
    data = damage.compress(np.arange(60.0).reshape(-1, 2), lossless=True, chunk_rows=8)
    for file in (data, data * 3):
        assert damage.rebuilt(damage.bodies(file)) == file
        assert b"".join(damage.segments(file)) == file
