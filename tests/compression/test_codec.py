"""Bytes in one call; pandas is needed only by those who have it."""

import subprocess
import sys

import numpy as np
import pytest

from hrpursuit.compression import compress, decompress, describe
from hrpursuit.compression.files.header import MAX_CELLS, even_chunk_rows, fitting_chunk_rows

WITHOUT_PANDAS = """
import sys
sys.modules["pandas"] = None
import numpy as np
from hrpursuit.compression import Decoder, compress, decompress
table = np.arange(30.0).reshape(-1, 3)
data = compress(table, lossless=True, chunk_rows=4)
assert np.array_equal(decompress(data), table)
assert np.array_equal(Decoder(data).read(2, 5), table[2:6])
assert np.array_equal(decompress(data[:-1], damaged="skip"), table)
"""


def test_arrays_need_no_pandas():
    subprocess.run([sys.executable, "-W", "ignore", "-c", WITHOUT_PANDAS], check=True)


def test_progress_counts_rows_to_the_end():
    seen = []
    compress(np.zeros((25, 2)), lossless=True, chunk_rows=10, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (25, 25)
    assert seen == sorted(seen)
    assert all(total == 25 for _, total in seen)


def test_chunks_have_no_more_cells_than_a_reader_takes():
    assert [fitting_chunk_rows(1000, n) for n in (0, 56, 2**14, 2**19, 2**20)] == [1000, 1000, 1000, 32, 16]
    assert fitting_chunk_rows(65536, 257) * 257 <= MAX_CELLS


def test_chunks_of_a_whole_table_are_equally_long():
    assert [even_chunk_rows(n, 2**10) for n in (0, 500, 1024, 1025, 4000)] == [1024, 1024, 1024, 513, 1000]
    X = np.tile(np.arange(70_000) % 7, (2, 1)).T / 10
    assert [chunk.n_rows for chunk in describe(compress(X, lossless=True)).chunks] == [35_000, 35_000]


def test_only_bytes_are_decompressed():
    with pytest.raises(TypeError, match="use Decoder"):
        decompress("readings.hrp")


def test_the_same_table_gives_the_same_file():
    table = np.random.default_rng(0).normal(size=(50, 3)).round(2)
    assert compress(table, lossless=True) == compress(table.copy(), lossless=True)
