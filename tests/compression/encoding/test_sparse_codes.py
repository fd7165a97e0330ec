"""Codes in a dictionary of HRP."""

import numpy as np

from hrpursuit.compression.chunks.bases import DICTIONARY, Basis, Group, write_groups
from hrpursuit.compression.chunks.chunk_decoder import ChunkDecoder
from hrpursuit.compression.chunks.payload import Payload
from hrpursuit.compression.encoding.decimals import take_apart
from hrpursuit.compression.encoding.pieces import Piece
from hrpursuit.compression.encoding.sparse_codes import encode_sparse


def test_codes_that_are_huge_are_read_as_they_were_written():
    """An atom that is faint where a row has its only reading takes a code of more than 2^25 steps."""
    table = np.array([[65535.0, np.nan], [20.0, 16384.0], [3.0, np.nan], [10.0, 8192.0]])
    basis = Basis(DICTIONARY, dictionary=np.array([[20, 16384]]), precision=14, n_nonzero=1)
    columns = [take_apart(column, False) for column in table.T]
    trial = encode_sparse(Piece(columns, basis))
    nothing = np.zeros(2, dtype=bool)
    decoder = ChunkDecoder(write_groups([Group(np.arange(2), basis)], 2), [np.dtype("f8")] * 2)
    found = decoder.decode(Payload(nothing, nothing, groups=[trial.data]).to_bytes(), 4)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, trial.decoded, strict=True))
    assert abs(found[1][1] - 16384) < 100  # and the rows behind are as they should be
