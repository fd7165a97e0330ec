"""The tables of the denoising experiment."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hrpursuit.experiments.catalogue.denoising.differences import differences, over_draws, over_photographs, sigmas_of
from hrpursuit.experiments.denoisers import DENOISERS
from hrpursuit.experiments.experiment import Table

_COLUMNS = {"psnr": ("PSNR in dB", "{:.2f}"), "ssim": ("SSIM", "{:.4f}")}


def methods_in(records: pd.DataFrame) -> list[str]:
    """In the order of `DENOISERS`."""
    return [name for name in DENOISERS if name in set(records.method)]


def header(sigmas: Sequence[float]) -> list[str]:
    return ["", *(f"σ = {sigma:g}" for sigma in sigmas)]


def means(records: pd.DataFrame, column: str, *, part: str = "") -> Table:
    """PSNR or SSIM of each method at each sigma, with its CPU time beside the former."""
    title, form = _COLUMNS[column]
    sigmas = sigmas_of(records)
    by_sigma = records.groupby(["method", "sigma"])[column].mean().unstack()
    seconds = records.groupby("method").seconds.mean()
    rows = [
        [DENOISERS[name].label, *(form.format(by_sigma.loc[name, s]) for s in sigmas), _seconds(seconds[name])]
        for name in methods_in(records)
    ]
    n_images, n_draws = records.image.nunique(), records.draw.nunique()
    note = f"Mean over {_count(n_images, 'photograph')} with {_count(n_draws, 'draw')} of the noise each"
    if column != "psnr":
        return Table(title, header(sigmas), [row[:-1] for row in rows], f"{note}.", part)
    note += "; CPU seconds per image on one thread; others may have run at the same time."
    return Table(title, [*header(sigmas), "seconds"], rows, note, part)


def differences_to(records: pd.DataFrame, reference: str, *, part: str = "") -> list[Table]:
    """PSNR of the other methods minus that of the reference, pair by pair, with its confidence interval."""
    names, sigmas = methods_in(records), sigmas_of(records)
    if reference not in names or len(names) < 2:
        return []
    rows, moved = [], 0.0
    for name in names:
        if name != reference:
            pairs = differences(records, name, reference)
            rows.append([DENOISERS[name].label, *(f"{over_photographs(pairs, sigma)}" for sigma in sigmas)])
            moved = max([moved, *(over_draws(pairs, sigma).half_width for sigma in sigmas)])
    note = ""
    if records.image.nunique() > 1:
        note = "Mean over photographs, ± half of its 95% confidence interval (Student's, over photographs)."
    if records.draw.nunique() > 1:
        note += f" Other noise on the same photographs would move a mean by {moved:.3f} dB at the most, as surely."
    title = f"PSNR minus that of {DENOISERS[reference].label}, in dB"
    return [Table(title, header(sigmas), rows, note, part)]


def by_photograph(records: pd.DataFrame, method: str, other: str, *, part: str = "") -> list[Table]:
    """PSNR of one method minus that of another on each photograph."""
    if not {method, other} <= set(records.method):
        return []
    pairs = differences(records, method, other).groupby("image").mean()
    rows = [
        [name, *(f"{value:+.2f}" for value in row)] for name, row in zip(pairs.index, pairs.to_numpy(), strict=True)
    ]
    title = f"PSNR of {DENOISERS[method].label} minus that of {DENOISERS[other].label}, by photograph, in dB"
    return [Table(title, header(list(pairs.columns)), rows, part=part)]


def _seconds(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.1f}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")
