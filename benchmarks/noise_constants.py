"""The constants of the noise estimators of images: derived anew, beside the values in the code.

python benchmarks/noise_constants.py          # or --quick: fewer draws

Those of the Gaussian distribution are computed. What estimates are short of by chance is measured on white noise, what
structure adds to them and what the calmest blocks are short of on the photographs that settings are chosen on. Asked
is that values in the code are within a hundredth of the derived ones, or for measured ones within what one photograph
differs from another.
"""

import numpy as np
from common import command_line
from results import Results
from scipy.ndimage import convolve, gaussian_filter, uniform_filter
from scipy.stats import norm

from hrpursuit.experiments.photographs import TUNING, photograph
from hrpursuit.images import noise, spectrum

SIGMAS = (25, 50)
KERNELS = {
    "white": lambda white: white,
    "box of 2 x 2": lambda white: uniform_filter(white, 2, mode="wrap"),
    "box of 3 x 3": lambda white: uniform_filter(white, 3, mode="wrap"),
    "Gaussian of 0.7": lambda white: gaussian_filter(white, 0.7, mode="wrap"),
    "Gaussian of 1": lambda white: gaussian_filter(white, 1.0, mode="wrap"),
    "bilinear demosaicing": lambda white: convolve(white, np.outer([1, 2, 1], [1, 2, 1]) / 4, mode="wrap"),
}


def gaussian_rows(results):
    inside = norm.cdf(noise._CUT) - norm.cdf(-noise._CUT)
    variance = 1 - 2 * noise._CUT * norm.pdf(noise._CUT) / inside
    derived = {"_RMS_WITHIN_CUT": np.sqrt(variance), "_TENTH": norm.ppf(0.55)}
    for name, value in derived.items():
        used = getattr(noise, name)
        yield name, value, used, results.bar(name, abs(used / value - 1), at_most=0.001)


def by_chance(n_draws):
    """What `_from_patches` is short of on white noise, in roots of the ratio of pixels to patches: least squares."""
    ratios, short = [], []
    for side in (24, 32, 48, 64):
        for size in (3, 4, 5, 6):
            for draw in range(4 * n_draws):
                white = np.random.default_rng([side, size, draw]).standard_normal((side, side))
                patches = np.lib.stride_tricks.sliding_window_view(white, (size, size)).reshape(-1, size * size)
                ratio = np.sqrt(patches.shape[1] / len(patches))
                corrected = noise._from_patches(patches, noise._principal_components(patches)[1])
                ratios.append(ratio)
                short.append(1 - corrected * max(0.5, 1 - noise._BY_CHANCE * ratio))
    return float(np.dot(ratios, short) / np.dot(ratios, ratios))


def leak(n_draws):
    """What structure adds to estimates, before a share is taken off: mean and spread over photographs."""
    used, found = noise._LEAK, []
    noise._LEAK = 0.0
    try:
        for name in TUNING:
            clean = np.asarray(photograph(name), dtype=float)
            ratios = [
                noise.sigma_of((clean + sigma * np.random.default_rng(draw).standard_normal(clean.shape))[None]) / sigma
                for sigma in SIGMAS
                for draw in range(n_draws)
            ]
            found.append(np.mean(ratios) - 1)
    finally:
        noise._LEAK = used
    return float(np.mean(found)), float(np.std(found))


def shortages(n_draws):
    """Variance of the noise in that of the calmest blocks, for each size of blocks: mean and spread."""
    for size in spectrum._BLOCKS:
        found = []
        for name in TUNING:
            clean = np.asarray(photograph(name), dtype=float)
            for smooth in KERNELS.values():
                for draw in range(n_draws):
                    rest = smooth(np.random.default_rng(draw).standard_normal(clean.shape))
                    rest *= 25 / rest.std()
                    blocks = spectrum._blocks(clean + rest, size, spectrum._MOST_BLOCKS)
                    found.append(25**2 / spectrum._of_calm_blocks(spectrum._periodograms(blocks)).mean())
        yield size, float(np.median(found)), float(np.std(found))


def measured_rows(results, n_draws):
    value = by_chance(n_draws)
    yield (
        "_BY_CHANCE",
        value,
        None,
        noise._BY_CHANCE,
        results.bar("_BY_CHANCE", abs(noise._BY_CHANCE - value), at_most=0.05),
    )
    value, spread = leak(n_draws)
    yield "_LEAK", value, spread, noise._LEAK, results.bar("_LEAK", abs(noise._LEAK - value), at_most=max(spread, 0.01))
    for (size, value, spread), used in zip(shortages(n_draws), spectrum._SHORT, strict=True):
        name = f"_SHORT, blocks of {size}"
        yield name, value, spread, used, results.bar(name, abs(used - value), at_most=spread)


def main():
    quick = command_line(__doc__).parse_args().quick
    with Results(__file__, partial=quick) as results:
        results.figures("of the Gaussian distribution", ["constant".rjust(16), "derived", "in the code", "reached"],
                        gaussian_rows(results))  # fmt: skip
        results.figures(
            "measured", ["constant".rjust(20), "derived", "± (photographs)", "in the code", "reached"],
            measured_rows(results, 1 if quick else 5),
        )  # fmt: skip


if __name__ == "__main__":
    main()
