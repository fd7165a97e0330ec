"""Settings of the other denoisers, and the steps of `fast`, on the images that settings are chosen on.

The mean PSNR over `camera`, `astronaut` and `coffee`:

python benchmarks/denoising_settings.py     (takes minutes; --method NAME for one of them)
"""

import argparse
import time

import numpy as np
from common import describe_machine, table

from hrpursuit.experiments.denoisers import SIGMAS, nonlocal_means, psnr, total_variation, warm_up, wavelet
from hrpursuit.experiments.patch_denoisers import cosines, cosines_twice, learner, principal_components
from hrpursuit.experiments.photographs import TUNING, noisy_photograph, photograph
from hrpursuit.images.grouped import denoise_in_few_steps


def few_steps(noisy, sigma, *, shares):
    return denoise_in_few_steps(noisy.astype(np.float32)[None], sigma, 8, 0, shares=shares)[0]


GRIDS = {
    "tv": (total_variation, [{"weight": weight} for weight in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]),
    "nlm": (nonlocal_means, [{"size": size, "strength": s} for size in (5, 7) for s in (0.4, 0.5, 0.6, 0.7, 0.8)]),
    "wavelet": (wavelet, [{"name": name} for name in ("db1", "db2", "db4", "sym4", "sym8")]),
    "dct": (cosines, [{"hard": hard} for hard in (2.5, 2.6, 2.7, 2.8)]),
    "dct-twice": (
        cosines_twice,
        [{"hard": hard, "wiener": wiener} for hard in (2.5, 2.7, 2.9) for wiener in (0.8, 0.9, 1.0)],
    ),
    "pca": (principal_components, [{"hard": hard} for hard in (2.4, 2.5, 2.6, 2.7)]),
    "fast": (few_steps, [{"shares": shares} for shares in ((0.4, 0), (0.6, 0.3, 0), (0.6, 0.45, 0.3, 0.15, 0))]),
    "learner": (learner, [{"n_nonzero": n_nonzero} for n_nonzero in (1, 2, 3, 4, 6)]),
}


def rows(names):
    for name in names:
        denoise, grid = GRIDS[name]
        warm_up(name, False)
        for setting in grid:
            start, found = time.process_time(), []
            for sigma in SIGMAS:
                results = [denoise(noisy_photograph(image, sigma, 0), sigma, **setting) for image in TUNING]
                found.append(np.mean([psnr(x, photograph(image)) for x, image in zip(results, TUNING, strict=True)]))
            seconds = (time.process_time() - start) / len(SIGMAS) / len(TUNING)
            text = ", ".join(f"{key} {value}" for key, value in setting.items())
            yield name, text, *(f"{value:.2f}" for value in found), f"{seconds:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=GRIDS)
    method = parser.parse_args().method
    describe_machine()
    heads = [f"σ = {sigma}" for sigma in SIGMAS]
    table(["method", "setting".rjust(22), *heads, "CPU s"], rows([method] if method else GRIDS))


if __name__ == "__main__":
    main()
