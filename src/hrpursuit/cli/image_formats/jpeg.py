"""JPEG, by Pillow."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.cli.image_formats.picture import Picture, of_any_size, refuse_colours, split_alpha, told_of

MARK = b"\xff\xd8\xff"
_QUALITY = 95
_SAME = ("comment", "xmp")  # texts that another JPEG file takes over


def read(path: Path) -> Picture:
    """Read a JPEG file, 8-bit grey or RGB."""
    name = str(path)
    with told_of(name, "JPEG"), of_any_size() as pillow, pillow.open(path, formats=("JPEG", "MPO")) as image:
        if image.mode not in ("L", "RGB"):
            refuse_colours(name, image.mode)
        if getattr(image, "n_frames", 1) > 1:
            warnings.warn(f"{name} holds {image.n_frames} pictures; the first is denoised and written.", stacklevel=2)
        pixels, _ = split_alpha(np.asarray(image))
        about = dict(image.info)
    dpi = about.get("dpi")
    return Picture(
        "JPEG",
        pixels,
        icc=about.get("icc_profile"),
        exif=about.get("exif"),
        dpi=None if dpi is None else (float(dpi[0]), float(dpi[1])),
        own={key: about[key] for key in _SAME if key in about},
    )


def write(path: Path, picture: Picture) -> None:
    """Write with quality 95 and colours as fine as brightness."""
    beside: dict[str, Any] = {"icc_profile": picture.icc, "exif": picture.exif, "dpi": picture.dpi}
    if picture.kind == "JPEG":
        beside |= picture.own
    beside = {key: value for key, value in beside.items() if value}
    if "dpi" in beside:  # whole numbers in JPEG
        beside["dpi"] = tuple(round(one) for one in beside["dpi"])
    with of_any_size() as pillow:
        image = pillow.fromarray(picture.pixels[0])  # alpha is opaque, if there is any
        image.save(path, "JPEG", quality=_QUALITY, subsampling=0, optimize=True, **beside)
