"""Denoising of photographs: PSNR, SSIM and CPU time of hrpursuit and of others, in grey and in colour."""

from __future__ import annotations

import pandas as pd

from hrpursuit.experiments.catalogue.denoising.pictures import against_time, squares
from hrpursuit.experiments.catalogue.denoising.sentences import in_colour, in_grey
from hrpursuit.experiments.catalogue.denoising.tables import by_photograph, differences_to, means
from hrpursuit.experiments.denoisers import BEST, BM3D, SIGMAS, installed, trial
from hrpursuit.experiments.experiment import Config, Experiment, Findings, Settings
from hrpursuit.experiments.photographs import COLOURED, JUDGED

N_DRAWS = 3
COLOUR = "colour"
#: At quick scale, in grey and in colour.
FEW = {False: ("ascent", "chelsea", "coins"), True: ("chelsea",)}
FEW_SIGMAS = {False: (15, 25, 50), True: (25,)}


def plan(settings: Settings) -> list[Config]:
    """All methods on one noisy photograph, then on the next, so that a change in the machine's speed meets them all."""
    is_quick = settings.is_quick
    configs: list[Config] = []
    for is_colour in (False, True):
        images = [name for name in JUDGED if name in COLOURED or not is_colour]
        if is_quick:
            images = list(FEW[is_colour])
        for draw in range(1 if is_quick else N_DRAWS):
            for image in images:
                for sigma in FEW_SIGMAS[is_colour] if is_quick else SIGMAS:
                    configs += [
                        {"method": name, "image": image, "sigma": sigma, "draw": draw, "in_colour": is_colour}
                        | {"seed": settings.seed}
                        for name in installed(in_colour=is_colour)
                    ]
    return configs


def conclude(records: pd.DataFrame, settings: Settings) -> Findings:
    grey, colour = records[~records.in_colour.astype(bool)], records[records.in_colour.astype(bool)]
    tables, verdicts, figures = [], [], {}
    if not grey.empty:
        tables += [means(grey, "psnr"), *differences_to(grey, BEST), means(grey, "ssim")]
        tables += by_photograph(grey, BEST, BM3D)
        verdicts += in_grey(grey, settings)
        figures[""] = against_time(grey)
        if "square" in grey:
            figures["pictures"] = squares(grey.dropna(subset="square"))
    if not colour.empty:
        tables += [means(colour, "psnr", part=COLOUR), *differences_to(colour, BEST, part=COLOUR)]
        verdicts += in_colour(colour, part=COLOUR)
    return Findings(figures, tables, verdicts)


EXPERIMENT = Experiment(
    "denoising", "Denoising of photographs", "Example 2, image denoising, of which the paper has no figures",
    plan, trial, conclude,
)  # fmt: skip
