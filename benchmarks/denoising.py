"""Denoising of photographs: hrpursuit against BM3D and K-SVD, and with sigma not told; each aim PASS or FAIL.

python benchmarks/denoising.py              # all judged photographs, three draws of the noise: an hour of CPU time
python benchmarks/denoising.py --quick      # three photographs, one draw
python benchmarks/denoising.py --photographs chelsea,coins --jobs 2
python benchmarks/denoising.py --images FOLDER   # any clean images, as the literature reports them: denoising_folder.py

BM3D: pip install ".[peers]". Results are kept in --cache, so that a run that was interrupted goes on; those of a method
are computed anew when its code or its package has changed, and all of them with --fresh, as for figures of time that
are to be quoted. Exit code 1: some aim is missed.
"""

import argparse
import hashlib
import shutil
import sys
from pathlib import Path

import denoising_folder
import pandas as pd
from common import describe_machine, table

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

N_DRAWS = 3
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


def results(configs, folder, n_jobs):
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


def show(records):
    """PSNR at each sigma, SSIM and CPU seconds."""
    means = records.groupby(["method", "sigma"])[["psnr", "ssim", "seconds"]].mean().unstack()
    labels = DENOISERS | BLIND

    def rows():
        for name in labels:
            if name in means.index:
                own = means.loc[name]
                cells = [f"{own.psnr[sigma]:.2f}" for sigma in SIGMAS]
                yield labels[name].label, *cells, f"{own.ssim.mean():.4f}", f"{own.seconds.mean():.2f}"

    heads = [f"σ = {sigma}" for sigma in SIGMAS]
    table(["method".rjust(24), *heads, "mean SSIM", "CPU s"], rows())


def against(records, method, other, margin, share, *, with_ssim):
    """Differences and ratios at each sigma; whether the aim is reached, None where there is nothing to compare with."""
    if other not in set(records.method):
        print(f'{DENOISERS[other].label} is not installed: pip install ".[peers]"')
        return None
    gains = differences(records, method, other)
    similarity = differences(records, method, other, "ssim").mean()
    ratio = time_ratio(records, method, other)
    rows = [
        (
            sigma,
            f"{gains[sigma].mean():+.3f}",
            *(f"{w:.3f}".replace("nan", "-") for w in (over_photographs(gains, sigma)[1], over_draws(gains, sigma)[1])),
            f"{similarity[sigma]:+.4f}",
            f"{ratio[sigma]:.3f}",
        )
        for sigma in SIGMAS
    ]
    table(["σ", "dB more", "± (photographs)", "± (draws)", "SSIM", "of its CPU time"], rows)
    print_losses(gains)
    is_reached = bool((gains.mean() >= margin).all() and (ratio <= share).all())
    return is_reached and (not with_ssim or float(similarity.mean()) >= 0)


def print_losses(gains):
    """The photographs on which the mean over the draws is below."""
    by_image = gains.groupby(level="image").mean()
    for sigma in SIGMAS:
        lost = by_image[sigma][by_image[sigma] < 0].sort_values()
        print(f"below at σ = {sigma}: {', '.join(f'{name} {gain:+.2f}' for name, gain in lost.items()) or 'none'}")


def blind(records):
    """What it costs not to know sigma."""
    costs = {name: differences(records, name.removesuffix("-blind"), name).mean() for name in BLIND}
    table(
        ["σ", *BLIND, "at most"], [(s, *(f"{costs[n][s]:+.3f}" for n in BLIND), BLIND_COST.get(s, "-")) for s in SIGMAS]
    )
    return all(cost[sigma] <= limit for cost in costs.values() for sigma, limit in BLIND_COST.items())


def judged(records):
    """Print each comparison; yield the aim and whether it is reached."""
    grey, colour = records[~records.in_colour], records[records.in_colour]
    for what, part in (("grey", grey), ("colour", colour)):
        if not part.empty:
            print(f"\n{what}: photographs {part.image.nunique()}, draws of the noise {part.draw.nunique()}")
            show(part)
    share, half = f"{BEST_SHARE:.2f}", f"{FAST_SHARE:.2f}"
    aims = [
        (f"best against BM3D: {MARGIN} dB more at every σ, {share} of its CPU time, SSIM no lower on average",
         lambda: None if grey.empty else against(grey, BEST, BM3D, MARGIN, BEST_SHARE, with_ssim=True)),
        (f"best against BM3D in colour: as good at every σ, {share} of its CPU time",
         lambda: None if colour.empty else against(colour, BEST, BM3D, 0, BEST_SHARE, with_ssim=False)),
        (f"fast against K-SVD with 256 atoms: as good at every σ, {half} of its CPU time",
         lambda: None if grey.empty else against(grey, FAST, KSVD, 0, FAST_SHARE, with_ssim=False)),
        ("σ not told: dB that it costs", lambda: None if grey.empty else blind(grey)),
    ]  # fmt: skip
    for aim, check in aims:
        print(f"\n{aim}")
        yield aim, check()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three photographs, one draw")
    parser.add_argument("--images", type=Path, metavar="FOLDER", help="a folder of clean images in place of all else")
    parser.add_argument("--photographs", help="names with commas; all judged photographs by default")
    parser.add_argument("--only", choices=("grey", "colour"), help="one half; both by default")
    parser.add_argument("--draws", type=int, help=f"draws of the noise, {N_DRAWS} by default")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side; 1 is best for figures of time")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"folder for results, {CACHE} by default")
    parser.add_argument("--fresh", action="store_true", help="compute all anew")
    options = parser.parse_args()
    if options.images:
        denoising_folder.run(options.images, partial=not DENOISERS[BM3D].is_installed)
        return 0
    images = options.photographs.split(",") if options.photographs else FEW if options.quick else JUDGED
    unknown = set(images) - set(JUDGED)
    if unknown:
        parser.error(f"--photographs are of {', '.join(JUDGED)}; got {', '.join(sorted(unknown))}.")
    if options.fresh:
        shutil.rmtree(options.cache / "denoising-benchmark", ignore_errors=True)
    describe_machine()
    print(versions("bm3d", "scikit-image"))
    n_draws = options.draws or (1 if options.quick else N_DRAWS)
    found = list(judged(results(list(plan(images, n_draws, options.only)), options.cache, options.jobs)))
    print()
    for aim, is_reached in found:
        print(f"{'not measured' if is_reached is None else 'PASS' if is_reached else 'FAIL'}: {aim}")
    return 0 if all(is_reached for _, is_reached in found) else 1


if __name__ == "__main__":
    sys.exit(main())
