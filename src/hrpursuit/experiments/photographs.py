"""Photographs that are inside the wheels of scikit-image, PyWavelets and scikit-learn: nothing is downloaded.

Two are smaller than a crop in one direction and stay so (`page`, `text`). Left out are drawings (`chessboard`, `color`,
`horse`, `logo`, `phantom`), pictures of about a hundred pixels and fewer (`microaneurysms`, `lfw_subset`, `multipage`,
`no_time_for_that_tiny`), and what is there twice (`motorcycle_right`, the scene of `motorcycle_left`; PyWavelets'
`camera`).
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hrpursuit.rows.optional import needed

Image = NDArray[np.float64]  # (height, width), or (height, width, 3) in colour; levels from 0 to 255

SIDE = 256  # of the crop from the centre, at the most
#: Every setting, of hrpursuit and of the others, was chosen on these alone.
TUNING = ("camera", "astronaut", "coffee")
#: Those that results are judged on.
JUDGED = (
    "aero",
    "ascent",
    "brick",
    "cell",
    "chelsea",
    "china",
    "clock_motion",
    "coins",
    "flower",
    "grass",
    "gravel",
    "hubble_deep_field",
    "ihc",
    "moon",
    "motorcycle_left",
    "page",
    "retina",
    "rocket",
    "text",
)
#: Those of both that have colours.
COLOURED = (
    "astronaut",
    "coffee",
    "chelsea",
    "china",
    "flower",
    "hubble_deep_field",
    "ihc",
    "motorcycle_left",
    "retina",
    "rocket",
)
_FOLDERS = ("skimage/data", "pywt/data", "sklearn/datasets/images")
_ENDINGS = (".png", ".jpg", ".npz")
_LUMINANCE = (0.2125, 0.7154, 0.0721)  # of red, green and blue, as of scikit-image


@cache
def path_of(name: str) -> Path:
    """The file of a photograph. Packages are found, not imported, as importing some of them takes a second."""
    for folder in _FOLDERS:
        package, _, inner = folder.partition("/")
        found = find_spec(package)
        for root in found.submodule_search_locations or () if found else ():
            for ending in _ENDINGS:
                path = Path(root) / inner / f"{name}{ending}"
                if path.is_file():
                    return path
    raise FileNotFoundError(
        f"there is no photograph {name!r} inside scikit-image, PyWavelets or scikit-learn as they are installed here: "
        'pip install "hrpursuit[experiments]", or leave it out.'
    )


def read(path: Path) -> NDArray[np.uint8]:
    """A picture as it is in its file."""
    if path.suffix == ".npz":
        return np.load(path)["data"]
    return np.asarray(needed("skimage.io", "Photographs", "experiments").imread(path))


@cache
def photograph(name: str, *, in_colour: bool = False, side: int = SIDE) -> Image:
    """The centre of a photograph, at most `side` x `side` pixels; its luminance, or all three channels."""
    pixels = read(path_of(name)).astype(np.float64)
    if in_colour and pixels.ndim == 2:
        raise ValueError(f"{name} is a grey photograph; those in colour are {', '.join(COLOURED)}.")
    if pixels.ndim == 3 and not in_colour:
        pixels = pixels @ _LUMINANCE
    top, left = (max(0, (length - side) // 2) for length in pixels.shape[:2])
    crop = np.ascontiguousarray(pixels[top : top + side, left : left + side])
    crop.setflags(write=False)
    return crop


def noisy_photograph(
    name: str, sigma: float, draw: int, *, in_colour: bool = False, seed: int = 0, side: int = SIDE
) -> Image:
    """With white Gaussian noise, neither clipped nor rounded: the same for every method, another for every photograph,
    sigma and draw.
    """
    image = photograph(name, in_colour=in_colour, side=side)
    rng = np.random.default_rng([seed, draw, round(1000 * sigma), *name.encode()])
    return image + sigma * rng.standard_normal(image.shape)
