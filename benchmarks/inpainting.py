"""Missing pixels of photographs: PSNR on them, beside scikit-image's biharmonic and linear interpolation.

python benchmarks/inpainting.py [--tuning] [--memory 3]

The photographs are those that denoising is judged on.
"""

import argparse
import time

import numpy as np
from common import describe_machine, peak_memory, table, verdict
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
from skimage.restoration import inpaint_biharmonic

from hrpursuit.experiments.photographs import JUDGED, TUNING, photograph
from hrpursuit.images import inpaint


def scratches(shape, rng):
    """25 straight lines, 2 to 6 pixels wide and 30 to 120 long."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    mask = np.zeros(shape, bool)
    for _ in range(25):
        angle, top, left = rng.uniform(0, np.pi), rng.uniform(0, shape[0]), rng.uniform(0, shape[1])
        across = np.abs((y - top) * np.cos(angle) - (x - left) * np.sin(angle))
        along = np.abs((y - top) * np.sin(angle) + (x - left) * np.cos(angle))
        mask |= (across < rng.uniform(1, 3)) & (along < rng.uniform(15, 60))
    return mask


def blocks(shape, rng, size, n_blocks):
    mask = np.zeros(shape, bool)
    for _ in range(n_blocks):
        y, x = rng.integers(0, shape[0] - size), rng.integers(0, shape[1] - size)
        mask[y : y + size, x : x + size] = True
    return mask


MASKS = {
    "25% at random": lambda shape, rng: rng.random(shape) < 0.25,
    "50% at random": lambda shape, rng: rng.random(shape) < 0.5,
    "80% at random": lambda shape, rng: rng.random(shape) < 0.8,
    "scratches": scratches,
    "40 blocks of 8 x 8": lambda shape, rng: blocks(shape, rng, 8, 40),
    "12 blocks of 20 x 20": lambda shape, rng: blocks(shape, rng, 20, 12),
}


def linear(image, mask):
    """Linear between the observed pixels, the nearest one outside of them."""
    known, wanted = np.argwhere(~mask), np.argwhere(mask)
    filled = image.copy()
    filled[mask] = LinearNDInterpolator(known, image[~mask])(wanted)
    outside = np.isnan(filled)
    filled[outside] = NearestNDInterpolator(known, image[~mask])(np.argwhere(outside))
    return filled


METHODS = {"inpaint": inpaint, "biharmonic": inpaint_biharmonic, "linear": linear}


def psnr(image, filled, mask):
    return 10 * np.log10(255**2 / np.mean(np.square((image - filled)[mask])))


def rows(names, means):
    for kind, make in MASKS.items():
        found = {name: [] for name in METHODS}
        for number, name in enumerate(names):
            image = np.asarray(photograph(name), dtype=np.float64)
            mask = make(image.shape, np.random.default_rng(number))
            given = np.where(mask, 0.0, image)
            for method, fill in METHODS.items():
                start = time.process_time()
                filled = fill(given, mask)
                found[method].append((psnr(image, filled, mask), time.process_time() - start))
        decibels = {method: np.array([p for p, _ in each]) for method, each in found.items()}
        gains = {method: decibels["inpaint"] - decibels[method] for method in ("biharmonic", "linear")}
        means[kind] = {method: gain.mean() for method, gain in gains.items()}
        yield (
            kind,
            *(f"{decibels[method].mean():.2f}" for method in METHODS),
            *(f"{gain.mean():+.2f} ({gain.min():+.2f} to {gain.max():+.2f})" for gain in gains.values()),
            *(f"{np.mean([s for _, s in found[method]]):.1f}" for method in METHODS),
            ", ".join(name for name, gain in zip(names, gains["biharmonic"], strict=True) if gain < 0) or "none",
        )


def large(millions):
    """Memory and time of a large photograph: one of 256 x 256 in colour, mirrored side by side."""
    height, width = round(1000 * np.sqrt(0.75 * millions)), round(1000 * np.sqrt(millions / 0.75))
    small = photograph("chelsea", in_colour=True)
    pair = np.concatenate([small, small[:, ::-1]], axis=1)
    four = np.concatenate([pair, pair[::-1]], axis=0)
    n_down, n_across = -(-height // four.shape[0]), -(-width // four.shape[1])
    image = np.tile(four, (n_down, n_across, 1))[:height, :width].astype(np.uint8)
    mask = np.random.default_rng(0).random(image.shape[:2]) < 0.5
    start = time.perf_counter()
    filled = inpaint(image, mask, channel_axis=-1)
    taken = time.perf_counter() - start
    peak = peak_memory()
    every = np.broadcast_to(mask[..., None], image.shape)
    error = psnr(image.astype(np.float32), filled.astype(np.float32), every)
    print(f"{height} x {width} x 3, half missing: {taken:.0f} s, peak {peak:.0f} MB, {error:.2f} dB")
    print("below 1500 MB:", verdict(peak < 1500))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuning", action="store_true", help="the photographs that settings were chosen on")
    parser.add_argument("--memory", type=float, metavar="N", help="a single one in colour, of N million pixels")
    args = parser.parse_args()
    describe_machine()
    warm_up = np.arange(256.0).reshape(16, 16)
    inpaint(warm_up, warm_up % 3 == 0)  # compiles
    if args.memory is not None:
        large(args.memory)
        return
    names, means = TUNING if args.tuning else JUDGED, {}
    print(f"\nPSNR on the missing pixels in dB, mean over {len(names)} photographs ({', '.join(names)});")
    print("what inpaint gains, with the least and most; CPU seconds of an image")
    heads = ["missing".rjust(20), *METHODS, "gain on biharmonic".rjust(27), "gain on linear".rjust(27)]
    table([*heads, *(f"s, {method}" for method in METHODS), "below biharmonic on"], rows(names, means))
    for method in ("biharmonic", "linear"):
        print(f"above {method} in the mean for every kind: {verdict(all(m[method] > 0 for m in means.values()))}")


if __name__ == "__main__":
    main()
