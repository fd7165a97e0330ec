"""Runs the kernels over a group of columns of a chunk: the same steps to write and to read."""

import numpy as np

from hrpursuit.compression.chunks.apart import Apart, Numbers
from hrpursuit.compression.chunks.bases import Basis
from hrpursuit.compression.chunks.settings import CORRECTED, SAMPLES, SPARSE, GroupSettings
from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.bits import N_BEYOND, POSITION, finish_encoding, new_coder, start_decoding
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.kernels.correction import code_correction, new_correction, new_correction_model
from hrpursuit.compression.kernels.gaps import code_gaps, new_gap_model
from hrpursuit.compression.kernels.samples import (
    REFACTOR,
    SELDOM,
    code_low_bits,
    code_samples,
    new_difference_model,
    new_samples,
)
from hrpursuit.compression.kernels.sparse import code_sparse, new_sparse, new_sparse_models
from hrpursuit.compression.kernels.transform import code_transform, encoder_room, new_level_model, new_transform


def encode_group(
    settings: GroupSettings, basis: Basis, apart: Apart, wanted: Numbers, price: float = 0.0, n_fills: int = 3
) -> tuple[bytes, Numbers]:
    """The bytes of a group, and the numbers that a decoder gets; `price` of a bit in squared steps, and how often gaps
    are filled anew in transform coding.
    """
    size = wanted.whole.size // 2 + 1024
    while True:
        buffer = np.zeros(size, dtype=np.uint8)
        coder = new_coder()
        got = _run(coder, buffer, False, settings, basis, apart, wanted, price, n_fills)
        finish_encoding(coder, buffer)
        size = int(coder[POSITION])
        if size <= len(buffer):
            return buffer[:size].tobytes(), got


def decode_group(data: bytes, settings: GroupSettings, basis: Basis, apart: Apart) -> Numbers:
    """The numbers that `encode_group` has written; gaps and places of sentinels are set in `apart`."""
    buffer, coder = np.frombuffer(data, dtype=np.uint8).copy(), new_coder()  # writable, as that of the encoder
    start_decoding(coder, buffer)
    shape = apart.seen.shape
    empty = Numbers(integers((0, shape[1])), integers(shape if settings.widths else (0, 0)))
    got = _run(coder, buffer, True, settings, basis, apart, empty, 0.0, 1)
    if coder[POSITION] > len(buffer) + N_BEYOND:
        raise DamagedFile("the coded readings of a chunk end too early")
    return got


def _run(
    coder: np.ndarray, buffer: np.ndarray, decoding: bool, settings: GroupSettings, basis: Basis, apart: Apart,
    wanted: Numbers, price: float, n_fills: int,
) -> Numbers:  # fmt: skip
    n = apart.seen.shape[1]
    apart.code_places(coder, buffer, decoding)
    coded, low, out = apart.coded(), wanted.low, integers(apart.seen.shape)
    if settings.mode == SAMPLES:
        steps = _by_column(settings.steps, n)
        state = new_samples(_by_column(settings.scales, n), steps)
        code_samples(
            coder, buffer, decoding, wanted.whole, coded, out, state, new_difference_model(n), as_integers(steps),
            price, (1 << settings.fraction) if settings.grain else 0, settings.keep_positive, settings.season,
            SELDOM if settings.in_haste else REFACTOR,
        )  # fmt: skip
        if settings.widths:
            code_low_bits(coder, buffer, decoding, low, coded, as_integers(np.array(settings.widths)))
    elif settings.mode == SPARSE:
        code_sparse(
            coder, buffer, decoding, wanted.whole, coded, out, new_sparse(basis.dictionary), *new_sparse_models(),
            settings.steps[0], basis.precision, basis.n_nonzero, settings.keep_positive,
        )  # fmt: skip
    else:
        code_transform(
            coder, buffer, decoding, wanted.whole, coded, out, new_transform(basis.atoms(n), basis.is_adaptive),
            new_level_model(), settings.steps[0], price, n_fills, settings.keep_positive, *encoder_room(n, decoding),
        )  # fmt: skip
        if settings.mode == CORRECTED:
            rough, out = out, integers(out.shape)
            whole = wanted.whole if decoding else wanted.whole >> settings.fraction
            code_correction(
                coder, buffer, decoding, whole, coded, rough, settings.fraction, out, new_correction(n),
                new_correction_model(), settings.bound,
            )  # fmt: skip
    return Numbers(out, low)


def _by_column(entries: tuple[int, ...], n: int) -> np.ndarray:
    return np.resize(np.array(entries, dtype=np.int64), n)


def count_gap_bytes(data: bytes, shape: tuple[int, int]) -> int:
    """How many of the bytes say where there are readings."""
    buffer, coder = np.frombuffer(data, dtype=np.uint8).copy(), new_coder()
    start_decoding(coder, buffer)
    code_gaps(coder, buffer, True, integers(shape), integers(shape[1]), *new_gap_model())
    return min(max(int(coder[POSITION]) - 4, 0), len(buffer))
