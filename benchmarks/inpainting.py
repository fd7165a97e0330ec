"""Missing pixels of photographs: PSNR on them, beside scikit-image's biharmonic and linear interpolation.

python benchmarks/inpainting.py                # or --quick: three photographs
python benchmarks/inpainting.py --tuning       # the photographs that settings were chosen on
python benchmarks/inpainting.py --memory 3     # a single one in colour, of so many million pixels

The photographs are those that denoising is judged on. Asked is to be above the others in the mean, for every kind of
gap.
"""

import time

import numpy as np
from common import command_line, peak_memory
from results import Results
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
from skimage.restoration import inpaint_biharmonic

from hrpursuit.experiments.denoisers import psnr
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
OTHERS = ("biharmonic", "linear")
FEW = 3


def rows(results, names):
    for kind, make in MASKS.items():
        found = {name: [] for name in METHODS}
        for number, name in enumerate(names):
            image = np.asarray(photograph(name), dtype=np.float64)
            mask = make(image.shape, np.random.default_rng(number))
            given = np.where(mask, 0.0, image)
            for method, fill in METHODS.items():
                start = time.process_time()
                filled = fill(given, mask)
                found[method].append((psnr(filled[mask], image[mask]), time.process_time() - start))
        decibels = {method: np.array([p for p, _ in each]) for method, each in found.items()}
        gains = {method: decibels["inpaint"] - decibels[method] for method in OTHERS}
        reached = [results.bar(f"{kind}: above {method}, mean dB", gain.mean(), at_least=0)
                   for method, gain in gains.items()]  # fmt: skip
        yield (
            kind,
            *(f"{decibels[method].mean():.2f}" for method in METHODS),
            *(f"{gain.mean():+.2f} ({gain.min():+.2f} to {gain.max():+.2f})" for gain in gains.values()),
            *(float(np.mean([s for _, s in found[method]])) for method in METHODS),
            ", ".join(f"{name} {gain:+.2f}" for name, gain in zip(names, gains["biharmonic"], strict=True) if gain < 0)
            or "none",
            all(reached),
        )


def large(results, millions):
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
    error = psnr(filled[every].astype(np.float32), image[every].astype(np.float32))
    results.figures(
        "half of the pixels missing", ["pixels".rjust(14), "seconds", "peak, MB", "PSNR"],
        [(f"{height} x {width} x 3", taken, peak, error)],
    )  # fmt: skip
    results.bar("peak, MB", peak, at_most=1500)


def main():
    parser = command_line(__doc__)
    parser.add_argument("--tuning", action="store_true", help="the photographs that settings were chosen on")
    parser.add_argument("--memory", type=float, metavar="N", help="a single one in colour, of N million pixels")
    options = parser.parse_args()
    warm_up = np.arange(256.0).reshape(16, 16)
    inpaint(warm_up, warm_up % 3 == 0)  # compiles
    with Results(__file__, partial=options.quick or options.tuning or options.memory is not None) as results:
        if options.memory is not None:
            large(results, options.memory)
            return
        names = TUNING if options.tuning else JUDGED[:FEW] if options.quick else JUDGED
        title = f"PSNR on the missing pixels in dB, mean over {len(names)} photographs; gains with the least and most"
        heads = ["missing".rjust(20), *METHODS, *(f"gain on {method}".rjust(27) for method in OTHERS),
                 *(f"s, {method}" for method in METHODS), "below biharmonic on", "reached"]  # fmt: skip
        results.figures(title, heads, rows(results, names))


if __name__ == "__main__":
    main()
