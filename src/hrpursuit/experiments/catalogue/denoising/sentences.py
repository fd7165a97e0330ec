"""What the denoising experiment says, computed from its results."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from hrpursuit.experiments.catalogue.denoising.differences import differences, time_ratio
from hrpursuit.experiments.catalogue.denoising.tables import methods_in
from hrpursuit.experiments.denoisers import BEST, BM3D, DENOISERS, FAST, KSVD, PAPER
from hrpursuit.experiments.experiment import Settings, Verdict

#: Decibels that `best` is to be above BM3D, and its share of the time; that of `fast` against K-SVD.
MARGIN, BEST_SHARE, FAST_SHARE = 0.04, 3 / 4, 1 / 2
_SEEN = 0.02  # dB below which a photograph counts as even


def in_grey(records: pd.DataFrame, settings: Settings) -> list[Verdict]:
    names = set(records.method)
    verdicts = []
    if {BEST, BM3D} <= names:
        verdicts.append(_against(records, BEST, BM3D, MARGIN, BEST_SHARE, with_ssim=True))
    if {FAST, KSVD} <= names:
        verdicts.append(_against(records, FAST, KSVD, 0, FAST_SHARE))
    if BEST in names and len(names) > 1:
        verdicts.append(_best_of_all(records))
        verdicts += _faster(records)
    if {BEST, BM3D} <= names:
        verdicts += _lost(records)
    if {PAPER, BEST} <= names:
        loss = _range(differences(records, PAPER, BEST).mean(), "+.2f")
        verdicts.append(Verdict(None, f"The paper's recipe against {DENOISERS[BEST].label}: {loss} dB."))
    return [*verdicts, *_left_out(settings)]


def in_colour(records: pd.DataFrame, part: str) -> list[Verdict]:
    if not {BEST, BM3D} <= set(records.method):
        return []
    return [_against(records, BEST, BM3D, 0, BEST_SHARE, part=part)]


def _against(
    records: pd.DataFrame,
    method: str,
    other: str,
    margin: float,
    share: float,
    *,
    with_ssim: bool = False,
    part: str = "",
) -> Verdict:
    """Whether a method is better than another by a margin at every sigma, in this share of its time."""
    gain, ratio = differences(records, method, other).mean(), time_ratio(records, method, other)
    agrees = bool((gain >= margin).all() and (ratio <= share).all())
    labels = DENOISERS[method].label, DENOISERS[other].label
    text = f"{labels[0]} against {labels[1]}: {_list(gain)} dB at σ = {_names(gain.index)}, in {_range(ratio)} of its "
    text += "CPU time"
    if with_ssim:
        similarity = float(differences(records, method, other, "ssim").mean().mean())
        agrees = agrees and similarity >= 0
        text += f", SSIM {similarity:+.4f}"
    asked = f"at least {margin:g} dB more at every σ" if margin else "no fewer dB at any σ"
    asked += f", at most {share:.2f} of the time" + (", SSIM no lower on average" if with_ssim else "")
    return Verdict(agrees, f"{text}. Expected: {asked}.", is_paper=False, part=part)


def _best_of_all(records: pd.DataFrame) -> Verdict:
    """Whether no other method has a higher PSNR."""
    better = []
    for name in methods_in(records):
        if name != BEST:
            gain = differences(records, name, BEST).mean()
            where = gain[gain > 0]
            if len(where):
                better.append(f"{DENOISERS[name].label} at σ = {_names(where.index)} ({_list(where)} dB)")
    label = DENOISERS[BEST].label
    text = f"Higher mean PSNR than {label}: {'; '.join(better)}." if better else f"{label} has the highest mean PSNR."
    return Verdict(not better, text, is_paper=False)


def _faster(records: pd.DataFrame) -> list[Verdict]:
    """Methods that take less time, with what they lose."""
    parts = []
    for name in methods_in(records):
        ratio = time_ratio(records, name, BEST).mean()
        if name != BEST and ratio < 1:
            loss = _range(differences(records, name, BEST).mean(), "+.2f")
            parts.append(f"{DENOISERS[name].label} ({ratio:.2g} of the time, {loss} dB)")
    return [Verdict(None, f"Faster than {DENOISERS[BEST].label}: {', '.join(parts)}.")] if parts else []


def _lost(records: pd.DataFrame) -> list[Verdict]:
    """Photographs on which BM3D is better."""
    gain = differences(records, BEST, BM3D).groupby("image").mean()
    lost = gain.min(axis=1)[gain.min(axis=1) < -_SEEN].sort_values()
    if lost.empty:
        return [Verdict(None, f"BM3D is better by more than {_SEEN} dB on no photograph at any σ.")]
    parts = [f"{name} (by {-worst:.2f} dB at σ = {gain.loc[name].idxmin():g})" for name, worst in lost.items()]
    return [Verdict(None, f"BM3D is better by more than {_SEEN} dB at some σ on {', '.join(parts)}.")]


def _left_out(settings: Settings) -> list[Verdict]:
    missing = [one.label for one in DENOISERS.values() if not one.is_installed]
    said = [Verdict(None, f'{name} is left out: pip install "hrpursuit[peers]" installs it.') for name in missing]
    if settings.is_quick:
        said.append(Verdict(None, "Few photographs and one draw of the noise: --scale paper has all, with three."))
    return said


def _names(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _list(values: pd.Series) -> str:
    return ", ".join(f"{value:+.2f}" for value in values)


def _range(values: pd.Series, form: str = ".2f") -> str:
    low, high = f"{values.min():{form}}", f"{values.max():{form}}"
    return low if low == high else f"{low} to {high}"
