"""BMP and WebP, by Pillow."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.cli.image_formats.picture import (
    EXIF_MARK,
    Picture,
    UnusableImage,
    of_any_size,
    refuse_colours,
    refuse_two_levels,
    split_alpha,
    told_of,
)

BMP_MARK, WEBP_MARK = b"BM", b"RIFF"


def read_bmp(path: Path) -> Picture:
    """Read a BMP file, 8-bit grey or RGB; palettes become RGB."""
    return _read(path, "BMP")


def read_webp(path: Path) -> Picture:
    """Read a WebP file, 8-bit RGB with or without alpha."""
    return _read(path, "WebP")


def write_bmp(path: Path, picture: Picture) -> None:
    with of_any_size() as pillow:
        beside = {} if picture.dpi is None else {"dpi": picture.dpi}
        pillow.fromarray(picture.pixels[0]).save(path, "BMP", **beside)  # alpha is opaque, if there is any


def write_webp(path: Path, picture: Picture) -> None:
    """Write without loss."""
    beside: dict[str, Any] = {"icc_profile": picture.icc, "exif": picture.exif}
    samples = picture.samples(0)
    if picture.alpha is not None and not picture.has_colour:
        samples = np.dstack([picture.pixels[0]] * 3 + [picture.alpha[0]])
    with of_any_size() as pillow:
        image = pillow.fromarray(np.ascontiguousarray(samples))
        image.save(path, "WEBP", lossless=True, exact=True, **{key: one for key, one in beside.items() if one})


def _read(path: Path, kind: str) -> Picture:
    name = str(path)
    with told_of(name, kind), of_any_size() as pillow, pillow.open(path, formats=(kind.upper(),)) as image:
        if getattr(image, "n_frames", 1) > 1:
            raise UnusableImage(
                f"{name} is an animation; give one image, or the frames as a TIFF file of several pages."
            )
        if image.mode == "1":
            refuse_two_levels(name)
        if image.mode == "P":
            warnings.warn(f"{name} has a palette; it is denoised and written as 8-bit RGB.", stacklevel=3)
            image = image.convert("RGB")
        if image.mode not in ("L", "RGB", "RGBA"):
            refuse_colours(name, image.mode)
        pixels, alpha = split_alpha(np.asarray(image))
        about = dict(image.info)
    exif, dpi = about.get("exif"), about.get("dpi")
    return Picture(
        kind,
        pixels,
        alpha,
        icc=about.get("icc_profile"),
        exif=None if exif is None else EXIF_MARK + exif.removeprefix(EXIF_MARK),
        dpi=None if dpi is None else (float(dpi[0]), float(dpi[1])),
    )
