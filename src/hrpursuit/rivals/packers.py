"""Compressors of bytes at their strongest, and what the gaps of a table cost with the best of them."""

import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hrpursuit.rows.optional import needed

EXTRA = "rivals"
#: Literal context and position bits of LZMA2 that are tried: none of them is best on all tables.
_XZ_MODELS = [{"lc": literal, "pb": position} for literal, position in ((0, 0), (3, 0), (3, 2), (4, 0))]


@dataclass(frozen=True)
class Packer:
    """A compressor of bytes and the way back."""

    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


def _xz_filters(model: dict[str, int], n_bytes: int) -> list[dict[str, int]]:
    strongest = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lp": 0, "dict_size": max(4096, n_bytes)}
    return [strongest | model]


def _pack_xz(data: bytes) -> bytes:
    """The raw stream, without the container of `xz`, of the byte model that suits best; the first byte says which."""
    found = (
        bytes([number]) + lzma.compress(data, format=lzma.FORMAT_RAW, filters=_xz_filters(model, len(data)))
        for number, model in enumerate(_XZ_MODELS)
    )
    return min(found, key=len)


def _unpack_xz(data: bytes) -> bytes:
    most = 1 << 26  # a dictionary larger than that of the encoder decodes the same
    return lzma.decompress(data[1:], format=lzma.FORMAT_RAW, filters=_xz_filters(_XZ_MODELS[data[0]], most))


def _pack_zstd(data: bytes) -> bytes:
    zstandard = needed("zstandard", "comparisons with zstd", EXTRA)
    how = zstandard.ZstdCompressionParameters.from_level(
        22, source_size=len(data), write_content_size=False, write_checksum=False, write_dict_id=False
    )
    return zstandard.ZstdCompressor(compression_params=how).compress(data)


def _unpack_zstd(data: bytes) -> bytes:
    return needed("zstandard", "comparisons with zstd", EXTRA).ZstdDecompressor().decompressobj().decompress(data)


def _pack_brotli(data: bytes) -> bytes:
    brotli = needed("brotli", "comparisons with brotli", EXTRA)
    window = min(max(len(data).bit_length(), 16), 24)  # all of the data if possible; 16 takes the shortest header
    return brotli.compress(data, quality=11, lgwin=window)


def _unpack_brotli(data: bytes) -> bytes:
    return needed("brotli", "comparisons with brotli", EXTRA).decompress(data)


PACKERS: dict[str, Packer] = {
    "xz": Packer(_pack_xz, _unpack_xz),
    "zstd": Packer(_pack_zstd, _unpack_zstd),
    "brotli": Packer(_pack_brotli, _unpack_brotli),
}


def packers_here() -> Iterator[Packer]:
    """Those whose packages are installed."""
    for packer in PACKERS.values():
        try:
            packer.pack(b"")
        except ImportError:
            continue
        yield packer


def mask_bytes(observed: np.ndarray) -> int:
    """The least that a mask takes: whole, or where it changes from row to row, by rows or by columns."""
    changes = observed.copy()
    changes[1:] ^= observed[:-1]
    arrangements = [bits for mask in (observed, changes) for bits in (mask, mask.T)]
    arrangements = [np.packbits(bits).tobytes() for bits in arrangements]
    return min(len(packer.pack(data)) for packer in packers_here() for data in arrangements)
