"""A colour photograph of 12 million pixels: peak memory of each mode, and whether time grows as the pixels do.

python benchmarks/denoising_memory.py                 # or --quick: fast alone; --modes fast,best,paper; --jobs 2

The photograph is a mosaic of those that scikit-image and scikit-learn ship, with noise, in 8 bits. Each mode and size
runs in a process of its own.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import command_line, peak_memory
from results import Results

from hrpursuit.experiments.photographs import COLOURED, photograph
from hrpursuit.images import denoise
from hrpursuit.images.denoise import MODES

SHAPES = {"3": (1500, 2000), "12": (3000, 4000)}  # by millions of pixels
LIMITS_MB = {"fast": 1500, "best": 2500}
LINEAR = 1.25  # most ratio of the seconds per pixel
SIGMA, SIDE = 15, 400


def mosaic(shape):
    """Photographs side by side, each mirrored at every other turn, until the frame is full."""
    tiles = [photograph(name, in_colour=True, side=SIDE).astype(np.uint8) for name in COLOURED]
    tiles = [tile for tile in tiles if tile.shape[:2] == (SIDE, SIDE)]
    frame = np.empty((*shape, 3), np.uint8)
    for i, top in enumerate(range(0, shape[0], SIDE)):
        for j, left in enumerate(range(0, shape[1], SIDE)):
            tile = tiles[(7 * i + j) % len(tiles)]
            cell = frame[top : top + SIDE, left : left + SIDE]
            cell[:] = tile[:: -1 if i % 2 else 1, :: -1 if j % 2 else 1][: cell.shape[0], : cell.shape[1]]
    return frame


def noisy(frame):
    """Rows of noise at a time."""
    rng = np.random.default_rng(0)
    lines = (line + SIGMA * rng.standard_normal(line.shape, dtype=np.float32) for line in frame)
    return np.stack([np.clip(np.rint(line), 0, 255).astype(np.uint8) for line in lines])


def run(mode, path, n_jobs):
    """In a process of its own: seconds, CPU seconds and peak memory, with the packages and the image in it."""
    denoise(np.zeros((40, 40, 3), np.uint8), SIGMA, mode=mode, channel_axis=-1)  # compiles
    image = np.load(path)
    wall, cpu = time.perf_counter(), time.process_time()
    result = denoise(image, SIGMA, mode=mode, channel_axis=-1, n_jobs=n_jobs)
    print(time.perf_counter() - wall, time.process_time() - cpu, peak_memory())
    np.save(Path(path).with_name("result.npy"), result)


def psnr(first, second):
    """Line by line, as the images are large."""
    squares = [np.mean((a.astype(np.float64) - b) ** 2) for a, b in zip(first, second, strict=True)]
    return 10 * np.log10(255**2 / np.mean(squares))


def rows(results, modes, n_jobs, folder):
    small, large = SHAPES
    n_times, found = np.prod(SHAPES[large]) / np.prod(SHAPES[small]), {}
    for size, shape in SHAPES.items():
        clean = mosaic(shape)
        path = folder / "noisy.npy"
        np.save(path, noisy(clean))
        for mode in modes:
            command = [sys.executable, __file__, "--only", mode, "--path", str(path), "--jobs", str(n_jobs)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            wall, cpu, peak = map(float, printed)
            result, given = (np.load(folder / name, mmap_mode="r") for name in ("result.npy", "noisy.npy"))
            gain = psnr(result, clean) - psnr(given, clean)
            found[mode, size], reached = cpu, None
            if size == large:
                growth = cpu / found[mode, small] / n_times
                fits = mode not in LIMITS_MB or results.bar(
                    f"{mode}, {large} megapixels: peak, MB", peak, at_most=LIMITS_MB[mode]
                )
                grows = results.bar(f"{mode}: time per pixel, ratio of {large} to {small} megapixels", growth,
                                    at_most=LINEAR)  # fmt: skip
                reached = fits and grows
            yield mode, size, wall, cpu, 1e6 * cpu / (shape[0] * shape[1]), peak, gain, reached


def main():
    parser = command_line(__doc__)
    parser.add_argument("--modes", help="of best, fast and paper, with commas; fast,best by default")
    parser.add_argument("--jobs", type=int, default=1, help="tiles at a time")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        run(options.only, options.path, options.jobs)
        return
    modes = options.modes.split(",") if options.modes else ["fast"] if options.quick else list(LIMITS_MB)
    if unknown := set(modes) - set(MODES):
        parser.error(f"--modes are of {', '.join(MODES)}; got {', '.join(sorted(unknown))}.")
    partial = options.jobs != 1 or not set(LIMITS_MB) <= set(modes)
    with Results(__file__, partial=partial) as results, tempfile.TemporaryDirectory() as folder:
        title = f"colour photographs in 8 bits, noise of {SIGMA} levels, {options.jobs} tiles at a time"
        header = ["mode", "megapixels", "seconds", "CPU s", "CPU µs per pixel", "peak, MB", "dB gained", "reached"]
        results.figures(title, header, rows(results, modes, options.jobs, Path(folder)))


if __name__ == "__main__":
    main()
