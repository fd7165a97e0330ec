"""PGM and PPM: a short header, then the samples as they are."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrpursuit.cli.image_formats.picture import Picture, UnusableImage, refuse_two_levels, split_alpha

MARKS = (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6")
_BITMAPS, _TEXT, _COLOUR = (b"P1", b"P4"), (b"P2", b"P3"), (b"P3", b"P6")
_NUMBER = re.compile(rb"(?:\s+|#[^\n]*\n)*(\d+)")


def read(path: Path) -> Picture:
    """Read a PGM or PPM file, binary or text, of 8 or 16 bits; values stay as they are, whatever the largest may be."""
    name, data = str(path), path.read_bytes()
    mark = data[:2]
    if mark in _BITMAPS:
        refuse_two_levels(name)
    numbers, end = [], 2
    for _ in range(3):
        found = _NUMBER.match(data, end)
        if found is None:
            raise UnusableImage(f"{name} has no header of a PGM or PPM file: width, height and largest value.")
        numbers.append(int(found[1]))
        end = found.end()
    width, height, largest = numbers
    if not 0 < largest < 2**16 or width == 0 or height == 0:
        raise UnusableImage(f"{name} says that it has {width} x {height} pixels up to {largest}; expected up to 65535.")
    shape = (height, width, 3) if mark in _COLOUR else (height, width)
    samples = _samples(data[end:], mark, shape, largest)
    if samples is None:
        raise UnusableImage(f"{name} is cut: it ends before the end of the image.")
    pixels, _ = split_alpha(samples.reshape(shape).astype(np.uint8 if largest < 256 else np.uint16))
    return Picture("PGM", pixels, own={"largest": largest})


def write(path: Path, picture: Picture) -> None:
    pixels = picture.pixels[0]
    largest = np.iinfo(pixels.dtype).max
    if picture.kind == "PGM":  # a camera of 12 bits says so
        largest = max(int(picture.own["largest"]), int(pixels.max())) if largest > 255 else 255
    mark = "P6" if picture.has_colour else "P5"
    header = f"{mark}\n{pixels.shape[1]} {pixels.shape[0]}\n{largest}\n"
    path.write_bytes(header.encode() + pixels.astype(pixels.dtype.newbyteorder(">")).tobytes())


def _samples(data: bytes, mark: bytes, shape: tuple[int, ...], largest: int) -> NDArray[np.int64] | None:
    n_samples = int(np.prod(shape))
    if mark in _TEXT:
        words = re.sub(rb"#[^\n]*", b"", data).split()
        return None if len(words) < n_samples else np.array(words[:n_samples]).astype(np.int64)
    dtype = np.dtype(np.uint8 if largest < 256 else ">u2")
    if len(data) - 1 < n_samples * dtype.itemsize:  # one blank after the header
        return None
    return np.frombuffer(data, dtype, n_samples, 1).astype(np.int64)
