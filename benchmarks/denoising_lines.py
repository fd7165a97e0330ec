"""Faint thin structure: how much of lines and filaments hrpursuit and BM3D keep; and what is left in flat regions.

python benchmarks/denoising_lines.py           # or --quick: one draw of the noise

A line 1.5 pixels wide whose contrast is the standard deviation of the noise is hard to see. What is kept of it is the
projection of the result, without its background, on the clean line: 1 if it is there as it was, 0 if it is gone. For
flat regions, the sky of `camera` among them, the power at the highest frequency of both axes, a checkerboard of single
pixels, in units of that of the noise; and the number of spots that stand out from their surroundings by more than a
quarter of the noise, which are no structure. BM3D: pip install ".[peers]".
"""

import numpy as np
from common import command_line
from results import Results
from scipy.ndimage import gaussian_filter, label
from skimage.data import camera

from hrpursuit.images import denoise

try:
    from bm3d import bm3d
except ImportError:
    bm3d = None

SIGMAS = (25,)
WIDTH = 1.5  # pixels
SIDE = 192
N_DRAWS = 3
CHECKERBOARD = 0.002  # most power that is asked for, in that of the noise
SPOT, AROUND = 0.25, 6  # in that of the noise; pixels, standard deviation of the window of the surroundings


def profile(distance):
    """Share of a pixel that a line covers, by the distance of its middle."""
    return np.clip(WIDTH / 2 + 0.5 - np.abs(distance), 0, 1)


def lines():
    """Straight lines at twelve angles, far enough apart not to share groups by neighbourhood alone."""
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE / 2
    angles = np.pi * (np.arange(3) + 0.2) / 3
    return np.max([profile(x * np.sin(a) + y * np.cos(a) - 30 * (i - 1)) for i, a in enumerate(angles)], axis=0)


def filaments():
    """Curves that wind and cross."""
    y, x = np.mgrid[:SIDE, :SIDE].astype(float)
    curves = [(24, 60, 0.0), (18, 40, 1.0), (12, 90, 2.0)]
    found = [
        profile((y - SIDE * (i + 1) / 4 - high * np.sin(x / long * 2 * np.pi + phase)) /
                np.sqrt(1 + (high * 2 * np.pi / long * np.cos(x / long * 2 * np.pi + phase)) ** 2))
        for i, (high, long, phase) in enumerate(curves)
    ]  # fmt: skip
    return np.max(found, axis=0)


def single():
    """One line in an otherwise empty image."""
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE / 2
    return profile(x * np.sin(0.4) + y * np.cos(0.4))


def methods():
    found = {mode: lambda noisy, sigma, mode=mode: denoise(noisy, sigma, mode=mode) for mode in ("best", "fast")}
    if bm3d is None:
        return found
    return found | {"BM3D": bm3d}


def kept(result, structure, contrast):
    template = structure - structure.mean()
    return float(np.sum((result - result.mean()) * template) / (contrast * np.sum(template**2)))


def checkerboard(result, sigma):
    """Power at the highest frequency of both axes, in a band of a sixteenth around it."""
    sign = (-1.0) ** np.add.outer(*map(np.arange, result.shape))
    band = gaussian_filter(result * sign, 4)
    noise = sigma**2 / (4 * np.pi * 4**2)
    return float(np.mean(band**2) / noise)


def rows(results, n_draws):
    found = methods()
    for name, structure in (("single", single()), ("lines", lines()), ("filaments", filaments())):
        for sigma in SIGMAS:
            clean = 100 + sigma * structure
            shares = {method: [] for method in found}
            for draw in range(n_draws):
                noisy = clean + sigma * np.random.default_rng(draw).standard_normal(clean.shape)
                for method, remove in found.items():
                    shares[method].append(kept(remove(noisy, float(sigma)), structure, sigma))
            means = {method: float(np.mean(one)) for method, one in shares.items()}
            reached = None
            if "BM3D" in means:
                reached = results.bar(f"best keeps of {name}, σ = {sigma}, over BM3D", means["best"] / means["BM3D"],
                                      at_least=1)  # fmt: skip
            yield name, sigma, *means.values(), reached


def n_spots(result, sigma):
    """Places that stand out from their surroundings."""
    rest = result - gaussian_filter(result, AROUND)
    return label(np.abs(rest) > SPOT * sigma, np.ones((3, 3)))[1]


def flat_regions():
    """By name: a clean image, the noise, and where it is flat."""
    everywhere = slice(0, SIDE), slice(0, SIDE)
    yield "nothing", np.full((SIDE, SIDE), 100.0), 25.0, everywhere
    yield "sky", camera()[:SIDE, :SIDE].astype(float), 50.0, (slice(0, SIDE // 2), slice(0, SIDE // 2))


def flat_rows(results, n_draws):
    for name, clean, sigma, where in flat_regions():
        powers, spots = ({method: [] for method in methods()} for _ in range(2))
        for draw in range(n_draws):
            noisy = clean + sigma * np.random.default_rng(draw).standard_normal(clean.shape)
            for method, remove in methods().items():
                result = remove(noisy, sigma)[where] - clean.mean()
                powers[method].append(checkerboard(result, sigma))
                spots[method].append(n_spots(result, sigma))
        power, number = ({method: float(np.mean(one)) for method, one in each.items()} for each in (powers, spots))
        reached = results.bar(f"best leaves a checkerboard, {name}, σ = {sigma:g}", power["best"], at_most=CHECKERBOARD)
        if "BM3D" in number:
            more = number["best"] - number["BM3D"]
            reached &= results.bar(f"spots of best less those of BM3D, {name}, σ = {sigma:g}", more, at_most=0)
        yield name, sigma, *power.values(), *number.values(), reached


def main():
    quick = command_line(__doc__).parse_args().quick
    n_draws = 1 if quick else N_DRAWS
    with Results(__file__, partial=quick or "BM3D" not in methods()) as results:
        header = [method.rjust(6) for method in methods()]
        results.figures(
            f"share of the contrast that is kept, mean of {n_draws} draws; asked: as much as BM3D",
            ["structure".rjust(9), "σ", *header, "reached"],
            rows(results, n_draws),
        )
        results.figures(
            f"flat regions: power of a checkerboard, in that of the noise (at most {CHECKERBOARD} is asked), and spots",
            ["region", "σ", *header, *(f"{method.strip()}, spots" for method in header), "reached"],
            flat_rows(results, n_draws),
        )


if __name__ == "__main__":
    main()
