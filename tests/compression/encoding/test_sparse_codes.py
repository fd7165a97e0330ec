"""The paper's coding: few coefficients per row, by least squares, in the dictionary that the decoder has."""

import numpy as np
import pytest

from hrpursuit.compression import compress, decompress, describe
from hrpursuit.compression.chunks.apart import Apart
from hrpursuit.compression.chunks.bases import DICTIONARY, Basis, Group, write_groups
from hrpursuit.compression.chunks.chunk_decoder import ChunkDecoder
from hrpursuit.compression.chunks.coding import decode_group
from hrpursuit.compression.chunks.handover import hand_over
from hrpursuit.compression.chunks.payload import Payload
from hrpursuit.compression.chunks.settings import SPARSE, GroupSettings
from hrpursuit.compression.encoding.chunk_groups import ChunkGroup
from hrpursuit.compression.encoding.decimals import on_decimals
from hrpursuit.compression.encoding.sparse_codes import encode_sparse, learn_dictionary
from hrpursuit.compression.kernels.compiled import integers
from hrpursuit.compression.layout import Cursor
from hrpursuit.core.masked import masked_codes


def a_group(X, n_nonzero):
    basis = learn_dictionary(X, n_nonzero, X.shape[1])
    return ChunkGroup([on_decimals(column, np.inf) for column in X.T], basis)


def rank_of_rows(Y, basis):
    """Coefficients that rows need in the dictionary."""
    atoms = basis.dictionary / 2.0**basis.precision
    return np.count_nonzero(np.abs(Y @ np.linalg.pinv(atoms)) > 1e-3 * np.abs(Y).max(), axis=1)


def test_rows_have_no_more_codes_than_asked_for(rng):
    X = rng.standard_normal((80, 6))
    group = a_group(X, 2)
    decoded = np.column_stack(encode_sparse(group).decoded)
    assert rank_of_rows(decoded, group.basis).max() <= 2


def test_quantising_adds_little_to_the_error_of_the_codes(rng):
    X = rng.standard_normal((200, 8)) * 0.6 ** np.arange(8) @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    group = a_group(X, 3)
    atoms = group.basis.dictionary / 2.0**group.basis.precision
    ideal = np.linalg.norm(X - masked_codes(X, atoms, 3) @ atoms)
    got = np.linalg.norm(X - np.column_stack(encode_sparse(group).decoded))
    assert got < 1.05 * ideal


def test_codes_shrink_the_table(rng):
    X = np.round(rng.standard_normal((400, 2)).cumsum(axis=0) @ rng.standard_normal((2, 10)), 2)
    data = compress(X, n_nonzero_coefs=2)
    assert len(data) < min(len(compress(X, lossless=True)), 2190)
    assert [chunk.mode for chunk in describe(data).chunks] == ["sparse codes"]


@pytest.mark.parametrize("seed", [14, 16, 25, 37, 59])
def test_rows_of_few_readings_do_not_blow_up(seed):
    """Their codes may be huge, in atoms that hardly touch them: these once left the range of the coder."""
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 9)
    X = rng.standard_normal((80, n)) * rng.choice([1, 1e3], n)
    X[rng.random(X.shape) < 0.6] = np.nan
    n_nonzero = int(rng.integers(1, n + 1))
    Y = decompress(compress(X, n_nonzero_coefs=n_nonzero))
    assert np.nansum((X - Y) ** 2) < 0.15 * np.nansum(X**2)


def test_the_decoder_has_what_the_encoder_has_of_rows_with_few_readings(rng):
    X = rng.standard_normal((60, 5)) * [1, 1, 1000, 1, 1000]
    X[rng.random(X.shape) < 0.7] = np.nan
    group = a_group(X, 5)
    encoded = encode_sparse(group)
    cursor = Cursor(encoded.data)
    settings = GroupSettings.from_cursor(cursor, 5)
    assert settings.mode == SPARSE
    sent = Basis.from_cursor(Cursor(group.basis.to_bytes()), 5)
    apart = Apart(integers(X.shape, 1))
    numbers = decode_group(cursor.rest(), settings, sent, apart)
    decoded = hand_over(settings, apart, numbers, [X.dtype] * 5)
    np.testing.assert_array_equal(np.column_stack(decoded), np.column_stack(encoded.decoded))


def test_codes_that_are_huge_are_read_as_they_were_written():
    """An atom that is faint where a row has its only reading takes a code of more than 2^25 steps."""
    table = np.array([[65535.0, np.nan], [20.0, 16384.0], [3.0, np.nan], [10.0, 8192.0]])
    basis = Basis(DICTIONARY, dictionary=np.array([[20, 16384]]), precision=14, n_nonzero=1)
    columns = [on_decimals(column, np.inf) for column in table.T]
    encoded = encode_sparse(ChunkGroup(columns, basis))
    nothing = np.zeros(2, dtype=bool)
    decoder = ChunkDecoder(write_groups([Group(np.arange(2), basis)], 2), [np.dtype("f8")] * 2)
    found = decoder.decode(Payload(nothing, nothing, nothing, groups=[encoded.data]).to_bytes(), 4)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, encoded.decoded, strict=True))
    assert abs(found[1][1] - 16384) < 100  # and the rows behind are as they should be


def test_more_coefficients_than_columns_are_refused(rng):
    with pytest.raises(ValueError, match="more than the 3 columns"):
        compress(rng.standard_normal((20, 3)), n_nonzero_coefs=4)
