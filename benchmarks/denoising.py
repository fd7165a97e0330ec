"""Denoising of photographs: hrpursuit against BM3D and K-SVD, and with sigma not told.

python benchmarks/denoising.py              # all judged photographs, one draw of the noise: half an hour of CPU time
python benchmarks/denoising.py --draws 3    # of each, which says how much a mean depends on the noise
python benchmarks/denoising.py --quick      # three photographs
python benchmarks/denoising.py --photographs chelsea,coins --jobs 2
python benchmarks/denoising.py --images FOLDER   # any clean images, as the literature reports them: denoising_folder.py

BM3D: pip install ".[peers]". Results are kept in --cache, so that a run that was interrupted goes on; those of a method
are computed anew when its code or its package has changed, and all of them with --fresh, as for figures of time that
are to be quoted. The tables say how many draws there were.
"""

import argparse
import hashlib
import shutil
from pathlib import Path

import denoising_folder
import numpy as np
import pandas as pd
from results import Results

from hrpursuit import baselines, images
from hrpursuit.experiments import denoisers, patch_denoisers, photographs
from hrpursuit.experiments.cache import TrialCache, code_version
from hrpursuit.experiments.catalogue.denoising.differences import differences, over_draws, over_photographs, time_ratio
from hrpursuit.experiments.catalogue.denoising.sentences import BEST_SHARE, FAST_SHARE, MARGIN
from hrpursuit.experiments.denoisers import BEST, BLIND, BM3D, DENOISERS, FAST, KSVD, SIGMAS
from hrpursuit.experiments.machine import machine, versions
from hrpursuit.experiments.photographs import COLOURED, JUDGED
from hrpursuit.experiments.workers import Workers
from hrpursuit.progress import Bars

N_DRAWS = 1
FEW = ("ascent", "chelsea", "coins")
GREY, COLOUR = (BEST, FAST, *BLIND, KSVD, BM3D), (BEST, FAST, BM3D)
BLIND_COST = {10: 0.2, 50: 0.02}  # dB
CACHE = Path("hrpursuit-results") / "cache"


def digest(method):
    """Of what the results of a method depend on; that of others is little, so that they seldom have to run again."""
    if method in BLIND or method in (BEST, FAST):
        return f"{code_version(denoisers.__name__)} {machine()}"
    sources = [Path(denoisers.__file__), Path(photographs.__file__)]
    if method == KSVD:
        sources += [Path(patch_denoisers.__file__), Path(images.__file__).with_name("patches.py")]
        sources += sorted(Path(baselines.__file__).parent.glob("*.py"))
    read = b"".join(path.read_bytes() for path in sources)
    return f"{hashlib.sha256(read).hexdigest()[:16]} {versions('bm3d', 'numpy')} {machine()}"


def plan(images, n_draws, only=None):
    """All methods on one noisy photograph, then on the next."""
    for in_colour, methods in ((False, GREY), (True, COLOUR)):
        if only == ("grey" if in_colour else "colour"):
            continue
        for draw in range(n_draws):
            for image in images:
                for sigma in SIGMAS:
                    for method in methods:
                        is_there = (DENOISERS | BLIND)[method].is_installed
                        if is_there and (image in COLOURED or not in_colour):
                            yield {"method": method, "image": image, "sigma": sigma, "draw": draw,
                                   "in_colour": in_colour, "seed": 0}  # fmt: skip


def measured(configs, folder, n_jobs):
    """Rows of all trials, those in the folder from there."""
    caches = {method: TrialCache(folder, "denoising-benchmark", digest(method)) for method in {*GREY, *COLOUR}}
    rows, missing = [], []
    for config in configs:
        held = caches[config["method"]].get(config)
        if held is None:
            missing.append(config)
        else:
            rows += [config | row for row in held]
    print(f"{len(rows)} results from {folder}, {len(missing)} to compute in {n_jobs} processes of one thread each")
    with Bars() as bars, Workers(n_jobs) as workers:
        trials = workers.perform(denoisers.trial, missing, n_jobs)
        for done in bars.count("denoising", trials, len(rows) + len(missing), len(rows)):
            if done.error is not None:
                raise RuntimeError(f"{done.config}: {done.error}")
            caches[done.config["method"]].put(done.config, done.rows, done.seconds)
            rows += [done.config | row for row in done.rows]
    return pd.DataFrame(rows)


def judge(results, records):
    """Tables of each half, and the bars."""
    for in_colour, half in ((False, "grey"), (True, "colour")):
        part = records[records.in_colour == in_colour]
        if part.empty:
            continue
        scope = f"{half}, photographs {part.image.nunique()}, draws of the noise {part.draw.nunique()}"
        results.figures(f"{scope}: PSNR in dB", SUMMARY, summary(part))
        if BM3D in set(part.method):
            against(results, part, scope, BEST, BM3D, 0 if in_colour else MARGIN, BEST_SHARE)
            gains = differences(part, BEST, BM3D).groupby(level="image").mean()
            rows = ((name, *map(float, gains.loc[name, list(SIGMAS)])) for name in gains.index)
            results.figures(f"{scope}: best less BM3D, dB", ["photograph".rjust(20), *NOISES], rows)
        if not in_colour:
            if BM3D in set(part.method):
                similarity = float(differences(part, BEST, BM3D, "ssim").mean().mean())
                results.bar(f"{half}: best less BM3D, mean SSIM", similarity, at_least=0)
            against(results, part, scope, FAST, KSVD, 0, FAST_SHARE)
            blind(results, part, scope)


NOISES = [f"σ = {sigma}" for sigma in SIGMAS]
SUMMARY = ["method".rjust(24), *NOISES, "mean SSIM", "CPU s"]


def summary(records):
    """PSNR at each sigma, SSIM and CPU seconds."""
    means = records.groupby(["method", "sigma"])[["psnr", "ssim", "seconds"]].mean().unstack()
    for name, denoiser in (DENOISERS | BLIND).items():
        if name in means.index:
            own = means.loc[name]
            decibels = (f"{own.psnr[sigma]:.2f}" for sigma in SIGMAS)
            yield denoiser.label, *decibels, f"{own.ssim.mean():.4f}", float(own.seconds.mean())


def against(results, records, scope, method, other, margin, share):
    """Differences and ratios at each sigma."""
    gains, similarity = differences(records, method, other), differences(records, method, other, "ssim").mean()
    ratio, half = time_ratio(records, method, other), scope.partition(",")[0]

    def rows():
        for sigma in SIGMAS:
            gain, time = float(gains[sigma].mean()), float(ratio[sigma])
            pair = f"{method} and {other} at σ = {sigma}"
            is_better = results.bar(f"{half}: {pair}, dB more", gain, at_least=margin)
            is_quicker = results.bar(f"{half}: {pair}, ratio of CPU times", time, at_most=share)
            widths = (each(gains, sigma).half_width for each in (over_photographs, over_draws))
            widths = (None if np.isnan(width) else float(width) for width in widths)
            yield sigma, gain, *widths, float(similarity[sigma]), time, is_better and is_quicker

    header = ["σ", "dB more", "± (photographs)", "± (draws)", "SSIM", "ratio of CPU times", "reached"]
    results.figures(f"{scope}: {method} against {other}", header, rows())


def blind(results, records, scope):
    """What it costs not to know sigma."""
    costs = {name: differences(records, name.removesuffix("-blind"), name).mean() for name in BLIND}

    def rows():
        for sigma in SIGMAS:
            limit, reached = BLIND_COST.get(sigma), None
            if limit is not None:
                named = ((f"{name} at σ = {sigma}, dB that it costs", float(costs[name][sigma])) for name in BLIND)
                judged = [results.bar(name, cost, at_most=limit) for name, cost in named]
                reached = all(judged)
            yield sigma, *(float(costs[name][sigma]) for name in BLIND), limit, reached

    results.figures(f"{scope}: dB that an estimated σ costs", ["σ", *BLIND, "at most", "reached"], rows())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three photographs; writes no results")
    parser.add_argument("--images", type=Path, metavar="FOLDER", help="a folder of clean images in place of all else")
    parser.add_argument("--photographs", help="names with commas; all judged photographs by default")
    parser.add_argument("--only", choices=("grey", "colour"), help="one half; both by default")
    parser.add_argument("--draws", type=int, default=N_DRAWS, help=f"draws of the noise, {N_DRAWS} by default")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side; 1 is best for figures of time")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"folder for results, {CACHE} by default")
    parser.add_argument("--fresh", action="store_true", help="compute all anew")
    options = parser.parse_args()
    has_peer = DENOISERS[BM3D].is_installed
    if options.images:
        denoising_folder.run(options.images, partial=not has_peer)
        return
    images = options.photographs.split(",") if options.photographs else FEW if options.quick else JUDGED
    unknown = set(images) - set(JUDGED)
    if unknown:
        parser.error(f"--photographs are of {', '.join(JUDGED)}; got {', '.join(sorted(unknown))}.")
    if options.draws < 1:
        parser.error(f"--draws must be 1 or more; got {options.draws}.")
    if options.fresh:
        shutil.rmtree(options.cache / "denoising-benchmark", ignore_errors=True)
    partial = options.only is not None or set(images) != set(JUDGED) or not has_peer
    with Results(__file__, partial=partial) as results:
        print(versions("bm3d", "scikit-image"))
        if not has_peer:
            print(f'{DENOISERS[BM3D].label} is not installed: pip install ".[peers]"')
        judge(results, measured(plan(images, options.draws, options.only), options.cache, options.jobs))


if __name__ == "__main__":
    main()
