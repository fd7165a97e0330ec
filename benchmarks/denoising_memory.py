"""A colour photograph of 12 million pixels: peak memory of each mode, and whether time grows as the pixels do.

python benchmarks/denoising_memory.py [--modes fast,best] [--jobs 1]     (some minutes; exit code 1: some aim is missed)

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
from common import describe_machine, peak_memory, table

from hrpursuit.experiments.photographs import COLOURED, photograph
from hrpursuit.images import denoise
from hrpursuit.images.denoise import MODES

SHAPES = {"3": (1500, 2000), "12": (3000, 4000)}  # by millions of pixels
LIMITS_MB = {"fast": 1500, "best": 2500}
LINEAR = 1.25  # times as many seconds a pixel, at the most
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


def rows(modes, n_jobs, folder, found):
    for size, shape in SHAPES.items():
        clean = mosaic(shape)
        path = folder / "noisy.npy"
        np.save(path, noisy(clean))
        for mode in modes:
            command = [sys.executable, __file__, "--only", mode, "--path", str(path), "--jobs", str(n_jobs)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            wall, cpu, peak = map(float, printed)
            gain = psnr(np.load(folder / "result.npy", mmap_mode="r"), clean) - psnr(
                np.load(path, mmap_mode="r"), clean
            )
            found[mode, size] = cpu, peak
            rate = f"{1e6 * cpu / (shape[0] * shape[1]):.2f}"
            yield mode, size, f"{wall:.1f}", f"{cpu:.1f}", rate, f"{peak:.0f}", f"{gain:+.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="fast,best", help="of best, fast and paper, with commas")
    parser.add_argument("--jobs", type=int, default=1, help="tiles at a time")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        run(options.only, options.path, options.jobs)
        return 0
    modes, found = options.modes.split(","), {}
    if unknown := set(modes) - set(MODES):
        parser.error(f"--modes are of {', '.join(MODES)}; got {', '.join(sorted(unknown))}.")
    describe_machine()
    print(f"\ncolour photographs in 8 bits, noise of {SIGMA} levels, {options.jobs} tiles at a time")
    with tempfile.TemporaryDirectory() as folder:
        header = ["mode", "megapixels", "seconds", "CPU s", "CPU µs a pixel", "peak, MB", "PSNR gained, dB"]
        table(header, rows(modes, options.jobs, Path(folder), found))
    print()
    small, large = SHAPES
    n_times = np.prod(SHAPES[large]) / np.prod(SHAPES[small])
    is_all = True
    for mode in modes:
        growth, peak = found[mode, large][0] / found[mode, small][0] / n_times, found[mode, large][1]
        limit = LIMITS_MB.get(mode, np.inf)  # none for the paper's
        fits, grows = peak < limit, growth <= LINEAR
        is_all = is_all and fits and grows
        print(f"{'PASS' if fits else 'FAIL'}: {mode}, {large} megapixels: {peak:.0f} MB, below {limit}")
        print(f"{'PASS' if grows else 'FAIL'}: {mode}: {growth:.2f} times the seconds a pixel, at most {LINEAR}")
    return 0 if is_all else 1


if __name__ == "__main__":
    sys.exit(main())
