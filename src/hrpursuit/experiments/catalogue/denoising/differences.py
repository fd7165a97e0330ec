"""Differences of two methods on the same noisy photographs, and how sure their means are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

CONFIDENCE = 0.95


class Mean(NamedTuple):
    """A mean and half of its confidence interval, NaN where there is but one value."""

    value: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.value:+.2f}" + ("" if np.isnan(self.half_width) else f" ± {self.half_width:.2f}")


def mean_of(values: pd.Series) -> Mean:
    n = len(values)
    if n < 2:
        return Mean(float(values.mean()), np.nan)
    quantile = student.ppf(0.5 + CONFIDENCE / 2, n - 1)
    return Mean(float(values.mean()), float(quantile * values.std(ddof=1) / np.sqrt(n)))


def sigmas_of(records: pd.DataFrame) -> list[float]:
    return sorted(records.sigma.unique())


def differences(records: pd.DataFrame, method: str, other: str, column: str = "psnr") -> pd.DataFrame:
    """`method` less `other` on each noisy photograph that both were given: a row a photograph and draw, a column a
    sigma.
    """
    own, their = (
        records[records.method == name].pivot(index=["image", "draw"], columns="sigma", values=column)
        for name in (method, other)
    )
    return own - their


def over_photographs(differences: pd.DataFrame, sigma: float) -> Mean:
    """What to expect of other photographs: the draws of one are averaged first, as they are no independent ones."""
    return mean_of(differences[sigma].dropna().groupby("image").mean())


def over_draws(differences: pd.DataFrame, sigma: float) -> Mean:
    """What to expect of other noise on these photographs."""
    return mean_of(differences[sigma].dropna().groupby("draw").mean())


def time_ratio(records: pd.DataFrame, method: str, other: str) -> pd.Series:
    """CPU seconds of `method` as a share of those of `other`, by sigma."""
    seconds = records.groupby(["method", "sigma"]).seconds.mean()
    return seconds[method] / seconds[other]
