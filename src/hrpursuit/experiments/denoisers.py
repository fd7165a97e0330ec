"""The ways to denoise an image that are compared, by name, and what one of them makes of one noisy photograph."""

from __future__ import annotations

import base64
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from hrpursuit.experiments import patch_denoisers
from hrpursuit.experiments.photographs import SIDE, Image, noisy_photograph, photograph
from hrpursuit.images import denoise
from hrpursuit.rows.optional import needed

Mode = Literal["best", "fast", "paper"]
Denoise = Callable[[Image, float, int], Image]  # noisy, sigma, seed

#: What scikit-image is told, by sigma, chosen on the tuning images: `python benchmarks/denoising_settings.py`.
SIGMAS = (10, 15, 25, 50)
TV_WEIGHTS = (0.6, 0.7, 0.8, 0.9)  # in sigma
NLM_PATCHES, NLM_STRENGTHS = (5, 5, 5, 7), (0.7, 0.7, 0.6, 0.5)  # the latter in sigma
WAVELETS = ("sym4", "sym4", "sym4", "db2")
_LEVELS = 255.0


@dataclass(frozen=True)
class Denoiser:
    """A way to denoise.

    Attributes
    ----------
    label : str
        In figures and tables.
    run : callable of (noisy, sigma, seed)
        The denoised image, of levels as the noisy one.
    takes_colour : bool
        Whether `run` takes images with three channels too.
    package : str or None
        What has to be installed beside hrpursuit.
    """

    label: str
    run: Denoise
    takes_colour: bool = False
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        return self.package is None or find_spec(self.package) is not None


def _ours(noisy: Image, sigma: float | None, seed: int, *, mode: Mode) -> Image:
    return denoise(noisy, sigma, mode=mode, channel_axis=_channel_axis(noisy), random_state=seed)


def _blindly(noisy: Image, sigma: float, seed: int, *, mode: Mode) -> Image:
    return _ours(noisy, None, seed, mode=mode)


def _channel_axis(image: Image) -> int | None:
    return -1 if image.ndim == 3 else None


def _restoration() -> Any:
    return needed("skimage.restoration", "Comparisons of denoisers", "experiments")


def _nearest(sigma: float) -> int:
    return int(np.argmin(np.abs(np.log(np.array(SIGMAS) / sigma))))


def wavelet(noisy: Image, sigma: float, seed: int = 0, *, name: str = "") -> Image:
    needed("pywt", "Wavelets", "experiments")
    name = name or WAVELETS[_nearest(sigma)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Level value")  # of small images: they get as many as they have
        return _LEVELS * _restoration().denoise_wavelet(
            noisy / _LEVELS, sigma=sigma / _LEVELS, wavelet=name, method="BayesShrink", mode="soft",
            rescale_sigma=True, channel_axis=_channel_axis(noisy), convert2ycbcr=noisy.ndim == 3,
        )  # fmt: skip


def total_variation(noisy: Image, sigma: float, seed: int = 0, *, weight: float | None = None) -> Image:
    weight = float(np.interp(sigma, SIGMAS, TV_WEIGHTS)) if weight is None else weight
    return _LEVELS * _restoration().denoise_tv_chambolle(
        noisy / _LEVELS, weight=weight * sigma / _LEVELS, channel_axis=_channel_axis(noisy),
        eps=2e-5,  # by default it sometimes stops after a few steps, up to 2 dB short of where it gets to
    )  # fmt: skip


def nonlocal_means(
    noisy: Image, sigma: float, seed: int = 0, *, size: int | None = None, strength: float | None = None
) -> Image:
    size = NLM_PATCHES[_nearest(sigma)] if size is None else size
    strength = float(np.interp(sigma, SIGMAS, NLM_STRENGTHS)) if strength is None else strength
    return _LEVELS * _restoration().denoise_nl_means(
        noisy / _LEVELS, patch_size=size, patch_distance=9, h=strength * sigma / _LEVELS, sigma=sigma / _LEVELS,
        fast_mode=True, channel_axis=_channel_axis(noisy),
    )  # fmt: skip


def bm3d(noisy: Image, sigma: float, seed: int = 0) -> Image:
    """On one thread: with more its result changes from run to run."""
    package = needed("bm3d", "Comparisons with BM3D", "peers")
    profile = package.BM3DProfile()
    profile.num_threads = 1
    run = package.bm3d if noisy.ndim == 2 else package.bm3d_rgb
    return _LEVELS * np.asarray(run(noisy / _LEVELS, sigma / _LEVELS, profile))


BEST: Literal["best"] = "best"
FAST: Literal["fast"] = "fast"
PAPER, BM3D, KSVD = "paper", "bm3d", "ksvd"
#: Ours first, then the others.
DENOISERS: dict[str, Denoiser] = {
    BEST: Denoiser("hrpursuit, best", partial(_ours, mode="best"), takes_colour=True),
    FAST: Denoiser("hrpursuit, fast", partial(_ours, mode="fast"), takes_colour=True),
    PAPER: Denoiser("the paper's recipe", partial(_ours, mode="paper")),
    BM3D: Denoiser("BM3D", bm3d, takes_colour=True, package="bm3d"),
    KSVD: Denoiser("K-SVD, 256 atoms", patch_denoisers.ksvd),
    "dct-twice": Denoiser("DCT, two passes", patch_denoisers.cosines_twice),
    "dct": Denoiser("DCT, one pass", patch_denoisers.cosines),
    "pca": Denoiser("PCA", patch_denoisers.principal_components),
    "nlm": Denoiser("non-local means", nonlocal_means, takes_colour=True),
    "learner": Denoiser("scikit-learn, mini-batches", patch_denoisers.learner),
    "tv": Denoiser("total variation", total_variation, takes_colour=True),
    "wavelet": Denoiser("wavelets", wavelet, takes_colour=True),
}
#: Ours where sigma is not told.
BLIND: dict[str, Denoiser] = {
    f"{mode}-blind": Denoiser(f"hrpursuit, {mode}, blind", partial(_blindly, mode=mode), takes_colour=True)
    for mode in (BEST, FAST)
}


def installed(*, in_colour: bool = False) -> list[str]:
    """Names of those that can run here."""
    return [name for name, one in DENOISERS.items() if one.is_installed and (one.takes_colour or not in_colour)]


def psnr(image: Image, clean: Image) -> float:
    """Peak signal-to-noise ratio in decibels, the peak being 255."""
    return float(10 * np.log10(_LEVELS**2 / np.mean((image - clean) ** 2)))


def ssim(image: Image, clean: Image) -> float:
    """Structural similarity of scikit-image, with its defaults."""
    similarity = needed("skimage.metrics", "Comparisons of denoisers", "experiments").structural_similarity
    return float(similarity(clean, image, data_range=_LEVELS, channel_axis=_channel_axis(clean)))


@cache
def warm_up(name: str, in_colour: bool) -> None:
    """Let a method compile and import what it needs, before it is timed."""
    shape = (40, 40, 3) if in_colour else (40, 40)
    noisy = 128 + 20 * np.random.default_rng(0).standard_normal(shape)
    (DENOISERS | BLIND)[name].run(noisy, 20, 0)


def measure(
    method: str, image: str, sigma: float, draw: int, *, in_colour: bool = False, seed: int = 0, side: int = SIDE
) -> tuple[dict[str, Any], Image]:
    """PSNR, SSIM and CPU seconds of a method on a noisy photograph, and what it made of it."""
    clean = photograph(image, in_colour=in_colour, side=side)
    noisy = noisy_photograph(image, sigma, draw, in_colour=in_colour, seed=seed, side=side)
    warm_up(method, in_colour)
    start = time.process_time()
    result = (DENOISERS | BLIND)[method].run(noisy, sigma, seed)
    seconds = time.process_time() - start
    return {"psnr": psnr(result, clean), "ssim": ssim(result, clean), "seconds": seconds}, result


@dataclass(frozen=True)
class Shown:
    """The square of a denoised photograph that is kept with the results, for a picture."""

    image: str = "chelsea"
    sigma: float = 25
    draw: int = 0
    top: int = 60
    left: int = 20
    side: int = 128

    def cut(self, image: Image) -> Image:
        return image[self.top : self.top + self.side, self.left : self.left + self.side]

    def packed(self, image: Image) -> str:
        """As text, rounded to bytes."""
        levels = np.clip(np.rint(self.cut(image)), 0, _LEVELS).astype(np.uint8)
        return base64.b64encode(zlib.compress(levels.tobytes(), 9)).decode()

    def unpacked(self, text: str) -> np.ndarray:
        return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(self.side, self.side)


SHOWN = Shown()


def trial(method: str, image: str, sigma: float, draw: int, in_colour: bool, seed: int) -> dict[str, Any]:
    """One method on one noisy photograph, with a square of the result where it is the one to be shown."""
    found, result = measure(method, image, sigma, draw, in_colour=in_colour, seed=seed)
    is_shown = (image, sigma, draw, in_colour) == (SHOWN.image, SHOWN.sigma, SHOWN.draw, False)
    return found | ({"square": SHOWN.packed(result)} if is_shown else {})
