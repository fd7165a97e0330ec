"""Denoising of any clean images, as the literature reports it: PSNR, SSIM and the share of BM3D's CPU time.

python benchmarks/denoising.py --images FOLDER

Noise of each image from `np.random.default_rng(i)`, i from 0 in the order of the names of the files, not clipped. The
published figures of Set12 stand beside ours for a folder of that name: BM3D (Dabov et al. 2007), WNNM (Gu et al. 2014)
and DnCNN-S (Zhang et al. 2017), as the last has them.
"""

import time
from itertools import product

import numpy as np
import pandas as pd
from results import Results

from hrpursuit.experiments.denoisers import BEST, BM3D, DENOISERS, FAST, psnr, warm_up
from hrpursuit.experiments.photographs import read
from hrpursuit.rows.optional import needed

SIGMAS = (15, 25, 50)
METHODS = (BEST, FAST, BM3D)
PUBLISHED = {
    "set12": {"BM3D": (32.37, 29.97, 26.72), "WNNM": (32.70, 30.26, 27.05), "DnCNN-S": (32.86, 30.44, 27.18)},
}
AT_LEAST = {"set12": (32.72, 30.28, 27.10)}  # dB that `best` is asked for, on average
BEST_SHARE, FAST_SHARE, FAST_LOSS = 0.75, 0.08, 0.02  # of BM3D's CPU time; dB that `fast` may be below


def ssim(image, clean):
    """Structural similarity with the Gaussian window of its paper (Wang et al. 2004)."""
    similarity = needed("skimage.metrics", "SSIM", "experiments").structural_similarity
    return float(
        similarity(
            clean, image, data_range=255, gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
            channel_axis=-1 if clean.ndim == 3 else None,
        )
    )  # fmt: skip


def measured(files, sigmas):
    """A row for each image, noise and method; one method after the other, so that their times can be compared."""
    for sigma, (number, path) in product(sigmas, enumerate(files)):
        clean = read(path).astype(float)
        noisy = clean + sigma * np.random.default_rng(number).standard_normal(clean.shape)
        seconds = {}
        for method in (BM3D, BEST, FAST):
            if DENOISERS[method].is_installed:
                warm_up(method, clean.ndim == 3)
                start = time.process_time()
                result = DENOISERS[method].run(noisy, sigma, 0)
                seconds[method] = time.process_time() - start
                share = seconds[method] / seconds[BM3D] if BM3D in seconds else None
                yield path.name, sigma, method, psnr(result, clean), ssim(result, clean), seconds[method], share


def run(folder, *, partial):
    """Print the tables and judge; exit code 1 if a bar is missed."""
    files = sorted(
        path for path in folder.iterdir() if path.suffix.lower() in (".png", ".jpg", ".jpeg", ".tif", ".bmp")
    )
    if not files:
        raise SystemExit(f"{folder} has no images (PNG, JPEG, TIFF, BMP).")
    name = folder.resolve().name.lower()
    columns = ["image", "sigma", "method", "psnr", "ssim", "seconds", "share"]
    header = ["image".rjust(12), "σ", "method", "PSNR", "SSIM", "CPU s", "of BM3D's"]
    with Results(__file__.replace("_folder", ""), suffix=f"_{name}", partial=partial) as results:
        records = pd.DataFrame(results.figures("images", header, measured(files, SIGMAS)), columns=columns)
        header = [f"{what} {sigma}" for what in ("  PSNR", "  SSIM", "time") for sigma in SIGMAS]
        rows = means(records, PUBLISHED.get(name, {}))
        results.figures("means, and shares of BM3D's CPU time", ["method".rjust(18), *header], rows)
        if BM3D in set(records.method):
            judge(results, records, AT_LEAST.get(name))


def means(records, published):
    """One row per method: PSNR, SSIM, and the mean of the shares of BM3D's CPU time, at each sigma."""
    found = records.groupby(["method", "sigma"])[["psnr", "ssim", "share"]].mean()
    for method in METHODS:
        if method in set(records.method):
            own = found.loc[method].reindex(SIGMAS)
            decibels, similarities = (f"{x:.2f}" for x in own.psnr), (f"{x:.4f}" for x in own.ssim)
            yield DENOISERS[method].label, *decibels, *similarities, *own.share
    for method, decibels in published.items():
        yield f"{method}, published", *(f"{x:.2f}" for x in decibels), *[None] * 6


def judge(results, records, at_least):
    wide = records.pivot_table(index=["sigma", "image"], columns="method", values=["psnr", "share"])
    mean = wide.groupby(level="sigma").mean()
    for place, sigma in enumerate(SIGMAS):
        own, shares = mean.psnr.loc[sigma], mean.share.loc[sigma]
        if at_least is not None:
            results.bar(f"best, mean PSNR at σ = {sigma}", own[BEST], at_least=at_least[place])
        gain = (wide.psnr[BEST] - wide.psnr[BM3D]).loc[sigma]
        results.bar(f"best above BM3D on each image at σ = {sigma}, dB", gain.min(), at_least=0)
        results.bar(f"best, share of BM3D's CPU time at σ = {sigma}", shares[BEST], at_most=BEST_SHARE)
        results.bar(f"fast against BM3D at σ = {sigma}, mean dB", own[FAST] - own[BM3D], at_least=-FAST_LOSS)
        results.bar(f"fast, share of BM3D's CPU time at σ = {sigma}", shares[FAST], at_most=FAST_SHARE)
