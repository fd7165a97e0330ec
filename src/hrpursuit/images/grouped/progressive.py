"""The modes `best` and `fast`: a noisy image that is filtered step by step, guided by what each step has found."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hrpursuit.images.grouped.filters import filter_groups
from hrpursuit.images.grouped.lines import faint_lines
from hrpursuit.images.grouped.pilot import threshold_groups, threshold_single_patches
from hrpursuit.images.grouped.scales import halved, merged
from hrpursuit.images.matching import Groups, find_groups

Planes = NDArray[np.float32]  # (n_channels, height, width), channels decorrelated, in units of the noise

_N_STEPS = 6
_FIRST_SHARE = 0.75  # of the noise that would be left before the first step; it falls linearly to none
_N_SCALES = 3
_SMALLEST = 2  # sizes of a patch that the coarsest scale must have
_FAST_STEPS = (0.6, 0.3, 0.0)  # shares of the noise that the steps of `fast` leave


@dataclass(frozen=True)
class Grouping:
    """Patches of one size and the groups they are put in."""

    size: int
    n_members: int
    stride: int
    reach: int = 19

    def groups(self, pilot: Planes, seed: int, n_planes: int) -> Groups:
        return find_groups(
            pilot[0],
            self.size,
            n_members=self.n_members,
            stride=self.stride,
            seed=seed,
            reach=self.reach,
            n_planes=n_planes,
        )


@dataclass(frozen=True)
class Groupings:
    """Those for affine combinations and for the Wiener filter, at the finest scale and at the others."""

    fine: tuple[Grouping, Grouping]
    coarse: tuple[Grouping, Grouping]

    @classmethod
    def of(cls, size: int, *, is_clear: bool) -> "Groupings":
        """For patches of `size`; smaller ones where the structure stands clear of the noise."""

        def part(eighths: int, n_members: int, stride: int) -> Grouping:
            return Grouping(max(2, eighths * size // 8), n_members, stride)

        middling = part(5, 32, 3), part(7, 32, 4)
        if is_clear:
            return cls((part(4, 24, 2), part(6, 32, 3)), middling)
        return cls(middling, (part(6, 32, 3), part(8, 32, 4)))


_CLEAR = 12.0  # range, in standard deviations of the noise, from which the structure of most images stands clear
_RANGE = 0.01, 0.99  # quantiles


def denoise_progressively(planes: Planes, sigma: float, size: int, seed: int, n_planes: int = 1) -> Planes:
    """The mode `best`: six steps at each of three scales.

    Of a volume or film, `n_planes` stand one below the other, and groups reach into neighbouring ones.

    A first guess by thresholds in learned dictionaries; then steps that filter groups of patches of what is left of
    the noisy image, by turns as affine combinations of each other and by a Gaussian model of their pixels, and mix the
    noisy image in again, less each time. The scales, whose errors are not the same ones, share their low frequencies.
    """
    unit = np.float32(sigma)
    levels = [planes / unit]
    while (
        len(levels) < _N_SCALES and min(levels[-1].shape[1] // n_planes, levels[-1].shape[2]) // 2 >= _SMALLEST * size
    ):
        levels.append(halved(levels[-1], n_planes))
    pilots = [_pilot(level, size, seed, n_planes) for level in levels]
    groupings = Groupings.of(size, is_clear=bool(np.ptp(np.quantile(pilots[0][0], _RANGE)) > _CLEAR))
    results = [
        _steps(level, pilot, groupings.coarse if i else groupings.fine, seed, n_planes)
        for i, (level, pilot) in enumerate(zip(levels, pilots, strict=True))
    ]
    result = results.pop()
    while results:
        result = merged(results.pop(), result, n_planes)
    return result * unit


def denoise_in_few_steps(
    planes: Planes, sigma: float, size: int, seed: int, n_planes: int = 1, *, shares: tuple[float, ...] = _FAST_STEPS
) -> Planes:
    """The mode `fast`: single patches, then three steps with the same groups, the Wiener filter first and last.

    `shares` has the part of the noise that each step leaves; affine combinations and the Wiener filter take turns.
    """
    unit = np.float32(sigma)
    noisy = planes / unit
    pilot = np.stack([threshold_single_patches(plane, size, seed, n_planes) for plane in noisy])
    pilot += _lines(noisy - pilot, n_planes)
    groups = Grouping(size, 24 if n_planes == 1 else 48, 5, reach=12)
    found, mixed = groups.groups(pilot, seed, n_planes), noisy
    for step, tau in enumerate(shares):
        pilot, mixed = _filtered(noisy, pilot, mixed, found, size, tau, combine=step % 2 == 1)
    return mixed * unit


def _pilot(noisy: Planes, size: int, seed: int, n_planes: int) -> Planes:
    single = np.stack([threshold_single_patches(plane, size, seed, n_planes) for plane in noisy])
    single += _lines(noisy - single, n_planes)
    pilot = threshold_groups(noisy, single, size, seed, n_planes)
    return pilot + _lines(noisy - pilot, n_planes)


def _lines(rest: Planes, n_planes: int) -> Planes:
    return np.stack([np.concatenate([faint_lines(one) for one in np.split(plane, n_planes)]) for plane in rest])


def _steps(noisy: Planes, pilot: Planes, groupings: tuple[Grouping, Grouping], seed: int, n_planes: int) -> Planes:
    mixed, found = noisy, []
    for step in range(_N_STEPS):
        turn = step % 2
        if step < 2:
            found.append(groupings[turn].groups(mixed if turn else pilot, seed, n_planes))
        tau = _FIRST_SHARE * (1 - (step + 1) / _N_STEPS)
        pilot, mixed = _filtered(noisy, pilot, mixed, found[turn], groupings[turn].size, tau, combine=turn == 0)
    return mixed


def _filtered(
    noisy: Planes, pilot: Planes, mixed: Planes, groups: Groups, size: int, tau: float, *, combine: bool
) -> tuple[Planes, Planes]:
    pairs = [filter_groups(*each, groups, size, tau, combine=combine) for each in zip(noisy, pilot, mixed, strict=True)]
    return np.stack([pilot for pilot, _ in pairs]), np.stack([mixed for _, mixed in pairs])
