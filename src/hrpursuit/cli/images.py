"""Images as the commands read and write them: PNG, JPEG, TIFF, PGM, PPM, BMP and WebP, and whatever else TIFF holds.

What stands beside the pixels is kept where the new format can: alpha, colour profile, EXIF with its orientation, dots
an inch, texts. Needs Pillow, tifffile and imagecodecs, which the extra `images` installs.
"""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from hrpursuit.cli.image_formats import bitmap, jpeg, netpbm, png, tiff
from hrpursuit.cli.image_formats.picture import EXIF_MARK, Picture, UnusableImage, exif_with, orientation
from hrpursuit.files import check_writable, replaced_when_done
from hrpursuit.rows.optional import needed

SUFFIXES = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".pgm": "PGM",
    ".ppm": "PGM",
    ".pnm": "PGM",
    ".bmp": "BMP",
    ".webp": "WebP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
_WRITERS = {
    "PNG": png.write,
    "JPEG": jpeg.write,
    "TIFF": tiff.write,
    "PGM": netpbm.write,
    "BMP": bitmap.write_bmp,
    "WebP": bitmap.write_webp,
}
_READERS = {
    png.MARK: png.read,
    jpeg.MARK: jpeg.read,
    bitmap.BMP_MARK: bitmap.read_bmp,
    bitmap.WEBP_MARK: bitmap.read_webp,
    **dict.fromkeys(tiff.MARKS, tiff.read),
    **dict.fromkeys(netpbm.MARKS, netpbm.read),
}
_TYPES = {
    "PNG": ("uint8", "uint16"),
    "PGM": ("uint8", "uint16"),
    "JPEG": ("uint8",),
    "BMP": ("uint8",),
    "WebP": ("uint8",),
}
_WITHOUT_ALPHA = ("JPEG", "PGM", "BMP")
_WITHOUT_EXIF = ("PGM", "BMP")
_MOST_DOTS = {"PNG": 0.0254 * (2**31 - 1), "JPEG": 2**16 - 1, "TIFF": np.inf, "BMP": 0.0254 * (2**31 - 1)}  # an inch
_MOST_EXIF = 2**16 - 3  # bytes in JPEG


def read_image(path: str | Path) -> Picture:
    """Read an image; the first bytes of the file say of which kind it is, not its name."""
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"{file} does not exist.")
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder; give image files, as {file}/*.png.")
    with file.open("rb") as opened:
        start = opened.read(8)
    for mark, read in _READERS.items():
        if start.startswith(mark):
            return read(file)
    what = "is empty" if not start else "is no image of these kinds"
    raise UnusableImage(f"{file} {what}; expected a PNG, JPEG, TIFF, PGM, PPM, BMP or WebP file.")


def write_image(path: str | Path, picture: Picture) -> None:
    """Write an image in the format of its suffix, to a file that appears whole or not at all."""
    check_fits(path, picture)
    kind = format_of(path)
    exif = picture.exif or b""
    if (kind == "TIFF" and picture.kind != "TIFF") or (kind == "JPEG" and len(exif) > _MOST_EXIF):
        turned = exif_with(orientation(picture.exif))
        if len(exif) > len(turned or EXIF_MARK):
            warnings.warn(f"{path}: of the EXIF data only the orientation is kept in {kind}.", stacklevel=2)
        picture = replace(picture, exif=turned)
    if kind in _WITHOUT_EXIF and (orientation(exif or None) != 1 or picture.icc is not None):
        warnings.warn(f"{path}: {kind} holds neither orientation nor colour profile; left out.", stacklevel=2)
    if picture.dpi is not None and max(picture.dpi) > _MOST_DOTS.get(kind, np.inf):
        warnings.warn(f"{path}: {kind} cannot hold {max(picture.dpi):,.0f} dots an inch; left out.", stacklevel=2)
        picture = replace(picture, dpi=None)
    with replaced_when_done(path) as temporary:
        _WRITERS[kind](temporary, picture)


def check_image_output(path: str | Path, *inputs: str | Path) -> None:
    """Refuse, before the work, a name of another kind, a place that cannot be written, an input, and to go on without
    the packages.
    """
    format_of(path)
    check_writable(path, *inputs)
    for package in ("PIL.Image", "tifffile", "imagecodecs"):
        needed(package, "Images", "images")


def check_fits(path: str | Path, picture: Picture) -> None:
    """Refuse, before the work, a format that would lose something of the pixels."""
    kind = format_of(path)
    if kind == "TIFF":
        return
    n_pages, n_channels = len(picture.pixels), picture.pixels.shape[3] if picture.has_colour else 1
    lost = ""
    if picture.pixels.dtype.name not in _TYPES[kind]:
        lost = f"cannot hold {picture.layers} images"
    elif n_pages > 1:
        lost = f"holds one image, and there are {n_pages} pages"
    elif n_channels not in (1, 3):
        lost = f"holds 1 or 3 channels, and there are {n_channels}"
    elif kind in _WITHOUT_ALPHA and picture.alpha is not None and not np.all(picture.alpha == 255):
        lost = "cannot hold alpha"
    if lost:
        others = ".png or .tif" if kind != "PNG" and _holds(".png", picture) else ".tif"
        raise ValueError(f"{path}: {kind} {lost}; give the output a name that ends in {others}.")


def format_of(path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        *first, last = SUFFIXES
        expected = f"{', '.join(first)} or {last}"
        raise ValueError(f"{path}: expected a name that ends in {expected}; got {suffix or 'none'!r}.")
    return SUFFIXES[suffix]


def _holds(suffix: str, picture: Picture) -> bool:
    try:
        check_fits(f"x{suffix}", picture)
    except ValueError:
        return False
    return True
