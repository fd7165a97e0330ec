"""PNG: pixels by libpng; other chunks are copied unchanged."""

import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hrpursuit.cli.image_formats.picture import (
    EXIF_MARK,
    Picture,
    UnusableImage,
    refuse_two_levels,
    split_alpha,
    told_of,
)
from hrpursuit.rows.optional import needed

MARK = b"\x89PNG\r\n\x1a\n"
#: True of the pixels after denoising as well: colours, size in print, EXIF and texts.
_KEPT = (b"cHRM", b"gAMA", b"iCCP", b"sRGB", b"cICP", b"mDCV", b"cLLI", b"pHYs", b"eXIf", b"tEXt", b"zTXt", b"iTXt")
_PALETTE = 3  # colour type
_METRES = 0.0254  # in an inch
_LARGEST_PROFILE = 1 << 26  # bytes


def read(path: Path) -> Picture:
    """Read a PNG file: grey or RGB, with or without alpha, 8 or 16 bits; fewer bits and palettes become 8."""
    name, data = str(path), path.read_bytes()
    with told_of(name, "PNG"):
        chunks = list(_chunks(data, name))
        depth, colours = chunks[0][1][8:10]
        if depth == 1:
            refuse_two_levels(name)
        if any(kind == b"acTL" for kind, _ in chunks):
            raise UnusableImage(
                f"{name} is an animation; give one image, or the frames as a TIFF file of several pages."
            )
        pixels, alpha = split_alpha(needed("imagecodecs", "PNG images", "images").png_decode(data))
    if colours == _PALETTE:
        warnings.warn(f"{name} has a palette; it is denoised and written as 8-bit RGB.", stacklevel=2)
    elif depth < 8:
        warnings.warn(f"{name} has {depth} bits a pixel; it is denoised and written with 8.", stacklevel=2)
    beside = dict(chunks)
    exif = beside.get(b"eXIf")
    return Picture(
        "PNG",
        pixels,
        alpha,
        icc=_profile(beside.get(b"iCCP")),
        exif=None if exif is None else EXIF_MARK + exif.removeprefix(EXIF_MARK),
        dpi=_dpi(beside.get(b"pHYs")),
        own={"chunks": [chunk for chunk in chunks if chunk[0] in _KEPT]},
    )


def write(path: Path, picture: Picture) -> None:
    data: bytes = needed("imagecodecs", "PNG images", "images").png_encode(np.ascontiguousarray(picture.samples(0)))
    beside = picture.own.get("chunks")
    if beside is None:
        beside = list(_made_chunks(picture))
    head = len(MARK) + 25  # the first chunk is 13 bytes, and 12 around them
    with path.open("wb") as file:
        file.write(data[:head])
        for kind, payload in beside:
            file.write(struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload)))
        file.write(data[head:])


def _chunks(data: bytes, name: str) -> Iterator[tuple[bytes, bytes]]:
    """All but the pixels and what is damaged, the header first."""
    start, kind = len(MARK), b""
    while kind != b"IEND":
        if start + 12 > len(data):
            raise UnusableImage(f"{name} is cut: it ends after {len(data):,} bytes, before the end of the image.")
        (length,) = struct.unpack_from(">I", data, start)
        kind = data[start + 4 : start + 8]
        payload = b"" if kind == b"IDAT" else data[start + 8 : start + 8 + length]
        is_whole = data[start + 8 + length : start + 12 + length] == struct.pack(">I", zlib.crc32(kind + payload))
        if start == len(MARK) and not (kind == b"IHDR" and length == 13 and is_whole):
            raise UnusableImage(f"{name} is no PNG file, or its header is damaged.")
        if is_whole:
            yield kind, payload
        start += 12 + length


def _profile(chunk: bytes | None) -> bytes | None:
    if chunk is None:
        return None
    _, _, compressed = chunk.partition(b"\0")  # name, method (one byte), data
    try:
        return zlib.decompressobj().decompress(compressed[1:], _LARGEST_PROFILE)
    except zlib.error:
        return None


def _dpi(chunk: bytes | None) -> tuple[float, float] | None:
    if chunk is None or len(chunk) != 9 or chunk[8] != 1:  # 1: pixels a metre
        return None
    x, y = struct.unpack(">II", chunk[:8])
    return x * _METRES, y * _METRES


def _made_chunks(picture: Picture) -> Iterator[tuple[bytes, bytes]]:
    if picture.icc is not None:
        yield b"iCCP", b"ICC profile\0\0" + zlib.compress(picture.icc)
    if picture.dpi is not None:
        yield b"pHYs", struct.pack(">IIB", *(round(one / _METRES) for one in picture.dpi), 1)
    if picture.exif is not None:
        yield b"eXIf", picture.exif.removeprefix(EXIF_MARK)
