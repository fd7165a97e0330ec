"""TIFF: one page, or a stack of pages of the same shape, with integers and floats of any size, by tifffile."""

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrpursuit.cli.image_formats.picture import (
    Picture,
    UnusableImage,
    exif_with,
    orientation,
    refuse_colours,
    refuse_two_levels,
    told_of,
)
from hrpursuit.rows.optional import needed

MARKS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_GREY_INVERTED, _GREY, _RGB, _PALETTE, _YCBCR = 0, 1, 2, 3, 6  # photometric interpretation
_JPEG = (6, 7, 34892)  # compressions that decode to RGB
_LOSSLESS = (1, 5, 8, 32773, 32946, 50000)  # none, LZW, Deflate, PackBits, Deflate again, Zstandard
_DEFLATE = 8
_NO_PREDICTOR = (1, 32773)
_ALPHA = (1, 2)  # extra samples: associated, unassociated
_INCH, _CENTIMETRE = 2, 3
_ORIENTATION = 274
_TEXTS = (271, 272, 306, 315, 33432)  # make, model, time, artist, copyright
_AS_THEY_ARE = (700, 33723, 33550, 33922, 34264, 34735, 34736, 34737)  # XMP, IPTC; GeoTIFF: the place on earth
_EXIF = (34665, 34853)  # what the camera did, where it was
_LARGE = 3 << 30  # bytes from which offsets need 64 bits

logging.getLogger("tifffile").addHandler(logging.NullHandler())  # what it finds odd in a file; errors are raised


def read(path: Path) -> Picture:
    """Read a TIFF file; several pages must be of one size and type."""
    name = str(path)
    tifffile = needed("tifffile", "TIFF images", "images")
    with told_of(name, "TIFF"), tifffile.TiffFile(path, is_ome=False) as file:  # OME would read other files too
        series, page = _only_series(file, name), file.series[0].keyframe
        _check(page, name)
        pages = series.asarray().reshape(-1, *page.shape)
        own = {
            "compression": int(page.compression) if int(page.compression) in _LOSSLESS else _DEFLATE,
            "planar": page.axes.startswith("S"),
            "tags": [_copied(page.tags[code]) for code in (*_TEXTS, *_AS_THEY_ARE) if code in page.tags],
            "description": page.description or None,
            "resolution": _resolution(page),
        }
        if own["planar"]:
            pages = np.moveaxis(pages, 1, -1)
        pixels, alpha = _taken_apart(pages, page, name, own)
        turn = page.tags[_ORIENTATION].value if _ORIENTATION in page.tags else 1
        if any(code in page.tags for code in _EXIF):
            warnings.warn(f"{name}: of the EXIF data only the orientation is kept.", stacklevel=2)
        return Picture(
            "TIFF",
            pixels,
            alpha,
            icc=page.iccprofile,
            exif=exif_with(int(turn)),
            dpi=_dpi(own["resolution"]),
            own=own,
        )


def write(path: Path, picture: Picture) -> None:
    tifffile = needed("tifffile", "TIFF images", "images")
    own = picture.own if picture.kind == "TIFF" else {}
    settings = _settings(picture, own)
    is_planar = settings.get("planarconfig") == "separate"
    with tifffile.TiffWriter(path, bigtiff=picture.pixels.nbytes > _LARGE, ome=False, shaped=False) as file:
        for i in range(len(picture.pixels)):
            samples = picture.samples(i)
            description = own.get("description") if i == 0 else None
            file.write(
                np.moveaxis(samples, -1, 0) if is_planar else samples,
                description=description.encode() if description else None,
                **settings,
            )


def _settings(picture: Picture, own: dict[str, Any]) -> dict[str, Any]:
    """What the tags of every page will say, as far as it can the same as in the file that was read."""
    n_channels = picture.pixels.shape[3] if picture.has_colour else 1
    n_samples = n_channels + (picture.alpha is not None)
    tags = list(own.get("tags", ()))
    turn = orientation(picture.exif)
    if turn != 1:
        tags.append((_ORIENTATION, "H", 1, turn, True))
    compression = own.get("compression", _DEFLATE)
    settings: dict[str, Any] = {
        "photometric": _RGB if n_channels == 3 else _GREY,
        "compression": compression,
        "predictor": compression not in _NO_PREDICTOR,
        "iccprofile": picture.icc,
        "extratags": tags,
        "software": False,
        "metadata": None,
        "contiguous": False,
    }
    if n_samples > 1:
        settings["planarconfig"] = "separate" if own.get("planar") else "contig"
    n_extra = n_samples - (3 if n_channels == 3 else 1)
    if n_extra:
        unknown, alpha = [0] * n_extra, [own.get("alpha", 2)]  # 2: colours are not multiplied by it
        settings["extrasamples"] = unknown if picture.alpha is None else unknown[1:] + alpha
    return settings | (own.get("resolution") or _resolution_of(picture.dpi))


def _copied(tag: Any) -> tuple[Any, ...]:
    """A tag of a file as the writer takes it: on the first page only. Texts may have letters beyond ASCII."""
    if isinstance(tag.value, str):
        return tag.code, "s", 0, tag.value.encode(), True
    return tag.code, int(tag.dtype), tag.count, tag.value, True


def _only_series(file: Any, name: str) -> Any:
    series = file.series
    if not series:
        raise UnusableImage(f"{name} has no image in it.")
    others = [one for one in series[1:] if not one.keyframe.is_reduced]
    if others:
        shapes = ", ".join(" x ".join(str(n) for n in one.shape) + f" {one.dtype}" for one in (series[0], *others)[:4])
        raise UnusableImage(f"{name} has pages that are not alike ({shapes}); give it in several files.")
    if len(series) > 1 or len(series[0].levels) > 1 or series[0].keyframe.subifds:
        warnings.warn(f"{name} has smaller copies of its image; they are not written.", stacklevel=3)
    return series[0]


def _check(page: Any, name: str) -> None:
    photometric, compression = int(page.photometric), int(page.compression)
    if page.dtype is None or page.dtype.kind not in "uifb":
        raise UnusableImage(f"{name} holds {page.dtype or 'unknown'} numbers; integers and floats can be denoised.")
    if page.dtype.kind == "b" or page.bitspersample == 1:
        refuse_two_levels(name)
    if photometric not in (_GREY_INVERTED, _GREY, _RGB, _PALETTE) and not (
        photometric == _YCBCR and compression in _JPEG
    ):
        refuse_colours(name, getattr(page.photometric, "name", str(photometric)))
    if page.imagedepth != 1:
        raise UnusableImage(f"{name} holds volumes; give them as a stack of pages.")


def _taken_apart(
    pages: NDArray[Any], page: Any, name: str, own: dict[str, Any]
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Pixels and alpha of pages of shape (n_pages, height, width[, n_samples])."""
    photometric = int(page.photometric)
    pages = pages.astype(pages.dtype.newbyteorder("="), copy=False)
    if photometric == _PALETTE:
        warnings.warn(f"{name} has a palette; it is denoised and written as 8-bit RGB.", stacklevel=3)
        own["description"] = None  # it may tell of one sample a pixel
        return (np.moveaxis(page.colormap, 0, -1) >> 8).astype(np.uint8)[pages], None
    if photometric == _GREY_INVERTED and pages.dtype.kind == "u":
        pages = (2**page.bitspersample - 1 - pages).astype(pages.dtype)
    if pages.dtype.kind == "u":
        pages = _of_whole_bytes(pages, page.bitspersample, name)
    if pages.ndim == 3:
        return pages, None
    extra = [int(one) for one in page.extrasamples]
    if extra and (extra[-1] in _ALPHA or (photometric == _RGB and len(extra) == 1)):
        own["alpha"] = extra[-1]
        if extra[-1] not in _ALPHA:
            warnings.warn(f"{name} does not say what its fourth channel is; it is left as it is.", stacklevel=3)
        pixels = pages[..., :-1]
        return np.ascontiguousarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels), pages[..., -1]
    return np.ascontiguousarray(pages[..., 0] if pages.shape[-1] == 1 else pages), None


def _of_whole_bytes(pages: NDArray[Any], n_bits: int, name: str) -> NDArray[Any]:
    """Fewer than 8 bits spread over 8, as viewers show them; of 9 to 15 the values stay, as instruments mean them."""
    room = 8 * pages.dtype.itemsize
    if n_bits == room:
        return pages
    if n_bits > 8:
        warnings.warn(f"{name} has {n_bits} bits a pixel; it is written with {room}, of the same values.", stacklevel=4)
        return pages
    warnings.warn(f"{name} has {n_bits} bits a pixel; it is denoised and written with 8.", stacklevel=4)
    return np.rint(pages * (255 / (2**n_bits - 1))).astype(np.uint8)


def _resolution(page: Any) -> dict[str, Any]:
    if 282 not in page.tags or 283 not in page.tags:
        return {}
    unit = int(page.tags[296].value) if 296 in page.tags else _INCH
    return {"resolution": (page.tags[282].value, page.tags[283].value), "resolutionunit": unit}


def _dpi(resolution: dict[str, Any]) -> tuple[float, float] | None:
    unit = {_INCH: 1.0, _CENTIMETRE: 2.54}.get(resolution.get("resolutionunit", 0))
    if unit is None:
        return None
    (x, x_part), (y, y_part) = resolution["resolution"]
    return (unit * x / x_part, unit * y / y_part) if x and y and x_part and y_part else None


def _resolution_of(dpi: tuple[float, float] | None) -> dict[str, Any]:
    return {} if dpi is None else {"resolution": dpi, "resolutionunit": _INCH}
