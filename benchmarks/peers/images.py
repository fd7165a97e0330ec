"""JPEG XL (`cjxl`, `djxl`): whole numbers as a grey image of 16 bits, without loss."""

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from hrpursuit.rivals.packers import packers_here

from .packers import run
from .preparations import FILLS, Series, differences, fill, planes, put_gaps, source_of, undo_zigzag, zigzag
from .tables import Table

PIXEL = 1 << 16
#: All samples for the tree of contexts and the largest groups are nearly always best; the others are tried on the image
#: that these make smallest.
FIRST = ("-I", "100", "-g", "3")
OTHERS = [("-I", "100"), ("-g", "3"), (*FIRST, "-P", "0"), (*FIRST, "-P", "2"), (*FIRST, "-P", "5")]


def encode(image: np.ndarray, options: tuple[str, ...]) -> bytes:
    height, width = image.shape
    with tempfile.TemporaryDirectory() as folder:
        head = f"P5\n{width} {height}\n{PIXEL - 1}\n".encode()
        Path(folder, "t.pgm").write_bytes(head + image.astype(">u2").tobytes())
        run("cjxl", "t.pgm", "t.jxl", "-d", "0", "-e", "9", "--num_threads=0", "--quiet", *options, folder=folder)
        return Path(folder, "t.jxl").read_bytes()


def decode(data: bytes) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.jxl").write_bytes(data)
        run("djxl", "t.jxl", "t.pgm", "--num_threads=0", "--quiet", folder=folder)
        kind, size, most, pixels = Path(folder, "t.pgm").read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    assert (kind, int(most)) == (b"P5", PIXEL - 1)
    return np.frombuffer(pixels, ">u2").reshape(height, width).astype(np.int64)


@dataclass(frozen=True)
class Image:
    """Pixels, one row for each series, numbers beside them, and the way back to readings."""

    how: str
    pixels: np.ndarray
    beside: Series  # starts of differences and tables of values
    undo: Callable[[np.ndarray], Series]
    order_bytes: int = 0  # which row is which

    @property
    def bytes_beside(self) -> int:
        return self.order_bytes + shortest(b"".join(planes(numbers, True) for numbers in self.beside))


@lru_cache(maxsize=16)
def shortest(data: bytes) -> int:
    """What the best of the compressors of bytes, or none, makes of the numbers beside an image."""
    return min([len(data), *(len(packer.pack(data)) for packer in packers_here())])


def to_pixels(series: Series, signs: str) -> tuple[np.ndarray, Callable[[np.ndarray], Series]] | None:
    """Numbers as pixels, those beyond 16 bits as two rows; None beyond 32 bits."""
    numbers = np.stack(series)
    low = 0 if signs == "zigzag" else int(numbers.min())
    shifted = zigzag(numbers) if signs == "zigzag" else numbers - low
    if shifted.min() < 0 or shifted.max() >= PIXEL**2:
        return None
    is_wide = shifted.max() >= PIXEL
    pixels = np.concatenate([shifted // PIXEL, shifted % PIXEL]) if is_wide else shifted

    def undo(pixels: np.ndarray) -> Series:
        n = len(series)
        shifted = pixels[:n] * PIXEL + pixels[n:] if is_wide else pixels
        return list(undo_zigzag(shifted) if signs == "zigzag" else shifted + low)

    return pixels, undo


def images(table: Table) -> Iterator[Image]:
    gaps = list(FILLS) if table.has_gaps else [""]
    for source, gap, (order, signs) in product(
        ("whole", "ranks"), gaps, [(0, "offset"), (1, "zigzag"), (1, "offset"), (None, "zigzag")]
    ):
        if source == "ranks" and gap not in ("", "held"):
            continue
        numbers, tables, undo_source = source_of(table, source)
        if source == "ranks" and not tables:
            continue
        changed, starts, undo_differences = differences(fill(table, numbers, gap), order, False)
        found = to_pixels(changed, signs)
        if found is None:
            continue
        pixels, undo_pixels = found

        def undo(pixels, starts=starts, tables=tables, back=(undo_pixels, undo_differences, undo_source)):
            whole = back[1](back[0](pixels), starts)
            return put_gaps(table, back[2]([*whole, *tables]))

        parts = [source, gap and f"gaps {gap}", f"differences of order {order}, {signs}" if order != 0 else ""]
        yield Image(", ".join(filter(None, parts)), pixels, [starts, *tables], undo)


def by_likeness(image: Image, n_series: int) -> Image:
    """The same image with columns of the table that are alike next to each other: from each one, that which is left and
    differs least. An image predicts a pixel from those beside it.
    """
    numbers = image.pixels[-n_series:].astype(np.float32)  # the lower halves where there are two
    numbers -= numbers.mean(axis=1, keepdims=True)
    numbers /= np.maximum(np.linalg.norm(numbers, axis=1, keepdims=True), 1e-9)
    likeness = numbers @ numbers.T
    order = [int(np.argmax(likeness.sum(axis=1)))]
    likeness[:, order[0]] = -np.inf
    while len(order) < n_series:
        order.append(int(np.argmax(likeness[order[-1]])))
        likeness[:, order[-1]] = -np.inf
    halves = [half * n_series for half in range(len(image.pixels) // n_series)]
    rows = np.concatenate([start + np.array(order) for start in halves])

    def undo(pixels: np.ndarray) -> Series:
        found = np.empty_like(pixels)
        found[rows] = pixels
        return image.undo(found)

    order_bytes = math.ceil(math.lgamma(n_series + 1) / math.log(2) / 8)
    return Image(f"{image.how}, ordered by likeness", image.pixels[rows], image.beside, undo, order_bytes)


def smallest_image(table: Table) -> tuple[int, str] | None:
    """Bytes and how, decoded and judged."""
    best = None
    for image, turned in product(images(table), (False, True)):
        pixels = image.pixels.T if turned else image.pixels
        size = len(encode(pixels, FIRST)) + image.bytes_beside
        if best is None or size < best[0]:
            best = size, image, turned
    if best is None:
        return None
    n_bytes, image, turned = best
    if len(table.live) > 2:
        ordered = by_likeness(image, len(table.live))
        pixels = ordered.pixels.T if turned else ordered.pixels
        image = ordered if len(encode(pixels, FIRST)) + ordered.bytes_beside < n_bytes else image
    pixels = image.pixels.T if turned else image.pixels
    coded = {options: encode(pixels, options) for options in (FIRST, *OTHERS)}
    options, data = min(coded.items(), key=lambda item: len(item[1]))
    decoded = decode(data)
    table.judge(image.undo(decoded.T if turned else decoded))
    how = f"{image.how}, {'rows' if turned else 'columns'}, {' '.join(options)}"
    return len(data) + image.bytes_beside, how


def mask_image_bytes(observed: np.ndarray) -> int:
    """A mask as an image."""
    pixels = observed.astype(np.int64)
    return min(len(encode(image, FIRST)) for image in (pixels, pixels.T))
