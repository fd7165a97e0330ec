"""hrpursuit denoise: remove noise from images."""

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import click
import joblib
import numpy as np
from numpy.typing import NDArray

from hrpursuit.cli.image_formats.picture import Picture, orientation, upright
from hrpursuit.cli.images import check_fits, check_image_output, read_image, write_image
from hrpursuit.cli.interrupt import stop_if_interrupted
from hrpursuit.cli.report import EXIT_SOME_FAILED, check_picture, json_option, print_json
from hrpursuit.images import denoise as denoise_image
from hrpursuit.images.assumed import KINDS, Noise
from hrpursuit.images.stack import LARGEST_PATCH, SMALLEST_PATCH
from hrpursuit.plots import plot_denoised, save_figure
from hrpursuit.progress import Bars
from hrpursuit.rows.optional import needed

EXIT_NONE = 1  # of several images
_MOST_JOBS = 4  # by default: each needs the memory of a tile


def _finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


@click.command()
@click.argument("images", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, metavar="FILE|FOLDER",
              help="Output file, in the format of its suffix; or a folder, in which images keep their names and  "
                   "formats.")  # fmt: skip
@click.option("--sigma", type=click.FloatRange(min=0), callback=_finite, metavar="LEVELS",
              help="Standard deviation of the noise in levels of the file: of 255 with 8 bits, of 65535 with 16, and "
                   "for floats in their own unit. By default it is estimated for each image, and printed.")  # fmt: skip
@click.option("--mode", type=click.Choice(["best", "fast", "paper"]), default="best", show_default=True,
              help="best: the best result; fast: several times faster; paper: the scheme of the paper.")  # fmt: skip
@click.option("--patch-size", type=click.IntRange(SMALLEST_PATCH, LARGEST_PATCH), default=8, show_default=True,
              help="Side of a patch in pixels.")  # fmt: skip
@click.option("--noise", type=click.Choice(list(KINDS)), default="gaussian", show_default=True,
              help="gaussian: white noise. correlated: between pixels; the spectrum is estimated. poisson: of counted "
                   "photons; --sigma is then the readout noise, 0 by default. poisson-gaussian: the same, but  "
                   "gain and readout noise are estimated if they are not given.")  # fmt: skip
@click.option("--gain", type=click.FloatRange(min=0, min_open=True), callback=_finite,
              help="Levels per photon, with --noise poisson (1 by default) and poisson-gaussian.")  # fmt: skip
@click.option(
    "--planes",
    is_flag=True,
    help="The pages of a TIFF file are planes of a volume or frames of a film: denoise them together.",
)
@click.option("--jobs", type=click.IntRange(min=1),
              help=f"Number of tiles or pages at a time; by default one per core, at most {_MOST_JOBS}.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True,
              help="Seed of the random choice of patches to learn from.")  # fmt: skip
@click.option("--compare", type=click.Path(path_type=Path), metavar="PICTURE",
              help="Draw before, after and what was removed, side by side (.png, .svg or .pdf).")  # fmt: skip
@json_option
def denoise(
    images: tuple[Path, ...],
    out: str,
    sigma: float | None,
    mode: str,
    patch_size: int,
    noise: str,
    gain: float | None,
    planes: bool,
    jobs: int | None,
    seed: int,
    compare: Path | None,
    as_json: bool,
) -> int:
    """Remove noise from IMAGES: PNG, JPEG, TIFF, PGM, PPM, BMP or WebP.

    Images may be grey or RGB, with 8 or 16 bits, or floats in TIFF; the output has the same type and size. Alpha
    channel, colour profile, orientation and resolution are kept, and EXIF data except in TIFF. Each page of a TIFF file
    is denoised on its own, unless --planes says that they belong together. Several images are written to a folder,
    under their names: hrpursuit denoise *.png -o clean/

    Needs the extra `images`: pip install "hrpursuit[cli,images]".
    """
    if gain is not None and not noise.startswith("poisson"):
        raise click.UsageError("--gain is of --noise poisson and poisson-gaussian.")
    if compare is not None and len(images) > 1:
        raise click.UsageError(f"--compare draws one image; got {len(images)}.")
    settings: dict[str, Any] = {"mode": mode, "patch_size": patch_size, "noise": noise, "gain": gain}
    settings["plane_axis"] = 0 if planes else None
    settings |= {"n_jobs": jobs or min(_MOST_JOBS, joblib.cpu_count()), "random_state": seed}
    folder = _folder(images, out)
    with nullcontext() if folder is None else _made(folder):
        targets = [Path(out)] if folder is None else [folder / image.name for image in images]
        _check_targets(images, targets)
        if compare is not None:
            _check_compare(compare, images[0], targets[0])
        return _denoise_files(images, targets, sigma, settings, compare, as_json)


def _denoise_files(
    images: Sequence[Path],
    targets: Sequence[Path],
    sigma: float | None,
    settings: dict[str, Any],
    compare: Path | None,
    as_json: bool,
) -> int:
    """One after the other, with a line or an error for each; gives the exit code."""
    reports = []
    n_failed = 0
    for image, target in zip(images, targets, strict=True):
        try:
            reports.append(_denoise_file(image, target, sigma, settings, compare, not as_json))
        except (ValueError, OSError, MemoryError) as error:
            if len(images) == 1:
                raise
            n_failed += 1
            click.echo(f"hrpursuit: error: {' '.join(str(error).split())}", err=True)
        else:
            if not as_json:
                click.echo(_in_words(reports[-1]))
    if as_json:
        print_json({"images": reports, "n_failed": n_failed})
    elif compare is not None:
        click.echo(f"before and after: {compare}")
    if not n_failed:
        return 0
    return EXIT_SOME_FAILED if reports else EXIT_NONE


def _folder(images: Sequence[Path], out: str) -> Path | None:
    """Where the images go under their names; None where `out` is the name of the only one."""
    target = Path(out)
    is_folder = target.is_dir() or out.endswith(("/", os.sep))
    if len(images) == 1 and not is_folder:
        return None
    if not is_folder and target.suffix:
        raise click.UsageError(f"several images go into a folder; got -o {out}. A new folder ends in /.")
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{target} is a file; give -o a folder for the images.")
    name, n_times = Counter(image.name for image in images).most_common(1)[0]
    if n_times > 1:
        raise ValueError(f"{n_times} of the images are named {name} and would go to the same file; denoise them apart.")
    return target


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; of the new ones, those that stay empty are removed at the end."""
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for one in new:
            with suppress(OSError):
                one.rmdir()


def _check_targets(images: Sequence[Path], targets: Sequence[Path]) -> None:
    """Say before the work what speaks against these names."""
    inputs = {image.resolve(): image for image in images}
    for image, target in zip(images, targets, strict=True):
        read_too = inputs.get(target.resolve(), image)  # of many images each is compared with two, not with all
        check_image_output(target, image, read_too)


def _check_compare(compare: Path, image: Path, target: Path) -> None:
    check_picture(compare, image)
    if compare.resolve() == target.resolve():
        raise ValueError(f"{compare} is where the image itself goes; give --compare another name.")
    needed("matplotlib", "pictures", "plots")


def _denoise_file(
    image: Path, target: Path, sigma: float | None, settings: dict[str, Any], compare: Path | None, bars: bool
) -> dict[str, Any]:
    noisy = read_image(image)
    check_fits(target, noisy)
    height, width = noisy.pixels.shape[1:3]
    _compile_kernels(settings["mode"])
    start = time.perf_counter()
    with Bars(bars, stop_if_interrupted) as shown, shown.tiles(f"denoise {image.name}") as show:
        try:
            pixels, found = _denoise_pages(noisy, sigma, settings, show)
        except ValueError as error:
            raise ValueError(f"{image}: {error}") from error
    seconds = time.perf_counter() - start
    write_image(target, replace(noisy, pixels=pixels))
    report = {
        "image": str(image),
        "denoised": str(target),
        "width": width,
        "height": height,
        "n_pages": len(pixels),
        "layers": noisy.layers,
        "sigma": [np.asarray(one.sigma).tolist() for one in found],
        "estimated": list(found[0].estimated),
        "assumed": _noise_in_words(found),
        **{name: settings[name] for name in ("mode", "patch_size", "noise")},
        "seconds": seconds,
    }
    if found[0].gain is not None:
        report["gain"] = [one.gain for one in found]
    if compare is not None:
        turn = orientation(noisy.exif)
        first, clean = (upright(one[0], turn) for one in (noisy.pixels, pixels))
        save_figure(plot_denoised(first, clean, _title(report)), compare)
    return report


@lru_cache
def _compile_kernels(mode: Literal["best", "fast", "paper"]) -> None:
    """Once a machine, which is said there, and outside the time that is told here."""
    denoise_image(np.random.default_rng(0).standard_normal((32, 32)), 1.0, mode=mode)


def _denoise_pages(
    picture: Picture, sigma: float | None, settings: dict[str, Any], show: Callable[[int, int], None]
) -> tuple[NDArray[Any], list[Noise]]:
    """Pages without noise, and what noise each was taken to have."""
    axis = -1 if picture.has_colour else None
    pixels, noise = denoise_image(
        picture.pixels, sigma, channel_axis=axis, return_noise=True, progress=show, **settings
    )
    return pixels, noise if isinstance(noise, list) else [noise]


def _in_words(report: dict[str, Any]) -> str:
    size = f"{report['width']} x {report['height']}"
    if report["n_pages"] > 1:
        size = f"{report['n_pages']} pages of {size}"
    noise = f"{report['assumed']}, mode {report['mode']}"
    text = f"{report['denoised']}: {size}, {report['layers']}; {noise}; {report['seconds']:.1f} s"
    if "sigma" in report["estimated"] and "gain" not in report and not np.any(report["sigma"]):
        text += "; no noise was found, and nothing changed: --sigma says how much to remove"
    return text


def _noise_in_words(found: list[Noise]) -> str:
    """Of all pages, if they have noise of the same kind and differ in its strength alone."""
    if len(found) == 1 or found[0].kind != "gaussian":
        return str(found[0]) + (", first page" if len(found) > 1 else "")
    return str(replace(found[0], sigma=np.concatenate([np.ravel(one.sigma) for one in found])))


def _title(report: dict[str, Any]) -> str:
    page = ", first page" if report["n_pages"] > 1 else ""
    size = f"{report['width']} x {report['height']}, {report['seconds']:.1f} s"
    return f"{Path(report['image']).name}{page}: {report['assumed']}, mode {report['mode']}; {size}"
