"""What an image file holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hrpursuit.rows.optional import needed

EXIF_MARK = b"Exif\0\0"
_ORIENTATION = 274  # a tag of EXIF and of TIFF
_NEITHER = "denoise takes grey and RGB images"


class UnusableImage(ValueError):
    """The file is no image, is damaged, or is of a kind that is not handled."""


@dataclass
class Picture:
    """Pixels of shape (n_pages, height, width) or, with colour, (n_pages, height, width, n_channels), and the rest.

    The pixels stand as in the file: `exif` says how to turn them, and goes into the output.
    """

    kind: str  # PNG, JPEG, TIFF, PGM, BMP or WebP
    pixels: NDArray[Any]
    alpha: NDArray[Any] | None = None  # (n_pages, height, width)
    icc: bytes | None = None  # colour profile
    exif: bytes | None = None  # with `EXIF_MARK` in front
    dpi: tuple[float, float] | None = None
    own: dict[str, Any] = field(default_factory=dict)  # what only a file of the same kind can take over

    @property
    def has_colour(self) -> bool:
        return self.pixels.ndim == 4

    @property
    def layers(self) -> str:
        """As "8-bit RGB with alpha"."""
        n_channels = self.pixels.shape[-1] if self.has_colour else 1
        channels = {1: "grey", 3: "RGB"}.get(n_channels, f"with {n_channels} channels")
        number = "float" if self.pixels.dtype.kind == "f" else ""
        signed = "signed " if self.pixels.dtype.kind == "i" else ""
        depth = f"{8 * self.pixels.dtype.itemsize}-bit"
        words = [signed + depth, number, channels, "" if self.alpha is None else "with alpha"]
        return " ".join(word for word in words if word)

    def samples(self, page: int) -> NDArray[Any]:
        """Channels and alpha of a page together, as formats store them: (height, width[, n_samples])."""
        pixels = self.pixels[page]
        if self.alpha is None:
            return pixels
        return np.dstack([pixels, self.alpha[page]])


def split_alpha(samples: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Pixels and alpha, with an axis for pages, of an image of one to four samples per pixel."""
    if samples.ndim == 2:
        return samples[None], None
    n_samples = samples.shape[2]
    alpha = samples[None, ..., -1] if n_samples in (2, 4) else None
    pixels = samples[None, ..., 0] if n_samples <= 2 else samples[None, ..., :3]
    return np.ascontiguousarray(pixels), alpha


def refuse_two_levels(name: str) -> None:
    raise UnusableImage(f"{name} has 1 bit a pixel, in which noise cannot be told from image; give 8-bit grey or more.")


def refuse_colours(name: str, colours: str) -> None:
    raise UnusableImage(f"{name} is a {colours} image; {_NEITHER}: convert it to RGB first.")


@contextmanager
def told_of(name: str, kind: str) -> Iterator[None]:
    """Whatever a library says about a file that it cannot read, in one line with the name of the file."""
    try:
        yield
    except (UnusableImage, ImportError, MemoryError):
        raise
    except Exception as error:  # libraries raise nearly anything at damaged files
        words = " ".join(str(error).split()) or type(error).__name__
        raise UnusableImage(f"{name} cannot be read as {kind}, it may be damaged or cut: {words}") from error


@contextmanager
def of_any_size() -> Iterator[Any]:
    """Pillow without its limit on pixels, which is made for images from strangers."""
    pillow: Any = needed("PIL.Image", "Images", "images")
    limit = pillow.MAX_IMAGE_PIXELS
    pillow.MAX_IMAGE_PIXELS = None
    try:
        yield pillow
    finally:
        pillow.MAX_IMAGE_PIXELS = limit


def orientation(exif: bytes | None) -> int:
    """1 to 8, as EXIF and TIFF count them; 1 is upright."""
    if exif is None:
        return 1
    tags = needed("PIL.Image", "Images", "images").Exif()
    try:
        tags.load(exif)
        found = int(tags.get(_ORIENTATION, 1))
    except Exception:  # damaged EXIF is kept, but not followed
        return 1
    return found if 1 <= found <= 8 else 1


def exif_with(orientation: int) -> bytes | None:
    """EXIF that says no more than how to turn the image; None where there is nothing to say."""
    if orientation == 1:
        return None
    tags = needed("PIL.Image", "Images", "images").Exif()
    tags[_ORIENTATION] = orientation
    data: bytes = tags.tobytes()
    return data if data.startswith(EXIF_MARK) else EXIF_MARK + data


def upright(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    """The image (height, width[, n_channels]) turned and mirrored as a viewer shows it."""
    if orientation >= 5:  # 5 to 8 stand on their side
        image = np.swapaxes(image, 0, 1)
    if orientation in (3, 4, 7, 8):
        image = image[::-1]
    if orientation in (2, 3, 6, 7):
        image = image[:, ::-1]
    return image
