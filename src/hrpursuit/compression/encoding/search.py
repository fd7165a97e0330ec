"""The encoder's choices: which way to code, in which step, at which price of a bit. A decoder knows none of them."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hrpursuit.compression.chunks.settings import CORRECTED, MOST_STEP, SAMPLES, TRANSFORM, GroupSettings
from hrpursuit.compression.encoding.chunk_groups import ChunkGroup, Encoded, encode
from hrpursuit.compression.encoding.whole_numbers import (
    as_samples,
    fits_unit,
    fits_whole,
    for_rmse,
    on_grid,
    unit_of,
    within,
    without_loss,
)
from hrpursuit.compression.jobs import in_order

_PRICE = {TRANSFORM: 0.11, SAMPLES: 0.14}
_OTHER_PRICES = {TRANSFORM: (0.095, 0.125, 0.14, 0.16, 0.08), SAMPLES: (0.12, 0.17, 0.1, 0.2)}
_FIRST_STEP = {TRANSFORM: 2.2, SAMPLES: 3.2}  # in units of the error that is wanted
_RATIOS = (1.1, 1.35, 1.65, 2.0, 2.4, 0.9)  # of the step below a correction to the step of the correction
_SMALLEST_STEP = 4  # units of the coder: below, whole multiples of a unit are as good
_N_FILLS = {"fast": 1, "default": 3, "best": 3}  # of gaps, in transform coding
_LOG_LARGEST = 709.0  # of a float
_ENOUGH_ROWS = 3000  # to choose by


@dataclass(frozen=True)
class Choice:
    """Mode, step in the unit of the table (or ratio to the bound), price of a bit."""

    mode: int
    step: float
    price: float


def lossless(group: ChunkGroup, effort: str = "default") -> Encoded:
    """One group without loss."""
    settings, numbers = without_loss(group.columns)
    return encode(group, _paced(settings, effort), numbers)


def _paced(settings: GroupSettings, effort: str) -> GroupSettings:
    return replace(settings, in_haste=effort == "fast")


def bounded(group: ChunkGroup, max_error: float, choice: Choice, effort: str) -> Encoded:
    """One group within the bound, as chosen; as samples where nothing else is possible."""
    settings, numbers = within(group.columns, max_error)
    settings = _paced(settings, effort)
    if choice.mode == CORRECTED and _can_correct(settings):
        return encode(group, _corrected(settings, choice.step), numbers, choice.price, _N_FILLS[effort])
    return encode(group, settings, numbers)  # at no price: samples are not corrected


def choose_bounded(groups: Sequence[ChunkGroup], effort: str) -> Choice:
    """Samples, or transform and correction in which step: whatever is shortest on a few groups."""
    tried = _few(groups)
    sizes: dict[Choice, int] = {}

    def best_of(choices: list[Choice]) -> Choice:
        """Of these and all before; those left that follow two which are worse are not tried."""
        n_worse = 0
        for choice in choices:
            least = min(sizes.values(), default=sys.maxsize)
            sizes[choice] = sum(len(bounded(group, group.bound, choice, effort).data) for group in tried)
            n_worse += sizes[choice] >= least
            if n_worse == 2:
                break
        return min(sizes, key=lambda choice: sizes[choice])

    samples = Choice(SAMPLES, 1.0, 0.0)
    if not any(_can_correct(within(group.columns, group.bound)[0]) for group in tried):
        return samples
    price = _PRICE[TRANSFORM]
    ratios = _RATIOS[1:4:2] if effort == "fast" else _RATIOS
    best = best_of([samples, *(Choice(CORRECTED, ratio, price) for ratio in ratios)])
    if best.mode == CORRECTED and effort != "fast":
        best = best_of([replace(best, step=best.step * 1.1), replace(best, step=best.step * 0.92)])
        best = best_of([replace(best, price=0.14), replace(best, price=0.08)])
    return best


def _can_correct(settings: GroupSettings) -> bool:
    return (
        not settings.offsets
        and not settings.widths
        and len(settings.decimals) == len(settings.steps) == 1
        and settings.steps[0] >> settings.fraction >= 7
    )


def _corrected(settings: GroupSettings, ratio: float) -> GroupSettings:
    step = settings.steps[0]
    steps = (min(max(round(step * ratio), 1), MOST_STEP),)
    return replace(settings, mode=CORRECTED, bound=step >> settings.fraction, steps=steps)


def _few(groups: Sequence[ChunkGroup]) -> list[ChunkGroup]:
    """All groups, or some that lie evenly, with as many rows as are enough; of one that has more the first rows."""
    n_rows = sum(len(group.columns[0].given) for group in groups)
    n_few = max(1, min(len(groups), math.ceil(len(groups) * _ENOUGH_ROWS / max(n_rows, 1))))
    places = np.linspace(0, len(groups) - 1, n_few + 2)[1:-1] if n_few < len(groups) else range(len(groups))
    return [groups[int(place)].first_rows(_ENOUGH_ROWS) for place in places]


class RmseSearch:
    """Finds the shortest code whose RMSE, over all groups together, is at most `error` (in the unit of the table)."""

    def __init__(self, groups: Sequence[ChunkGroup], error: float, effort: str, n_jobs: int = 1) -> None:
        self.groups, self.error, self.effort, self.n_jobs = groups, error, effort, n_jobs
        self.tried = _few(groups)
        self.n_fills = _N_FILLS[effort]
        self.unit = error

    def run(self, group: ChunkGroup, choice: Choice) -> Encoded | None:
        """One group as chosen; None where the step is too fine for this way."""
        settings, numbers = for_rmse(group.columns)
        step = round(choice.step / unit_of(settings))
        if not _SMALLEST_STEP <= step <= MOST_STEP:
            return None
        settings = replace(settings, steps=(step,))
        if choice.mode == SAMPLES:
            settings = _paced(as_samples(group.columns, settings, numbers), self.effort)
        return encode(group, settings, numbers, choice.price, self.n_fills)

    def measure(self, choice: Choice) -> tuple[int, float] | None:
        """Bytes and error (1 is what is wanted) on the groups that are tried."""
        n_bytes, squares, count = 0, 0.0, 0
        all_coded = in_order(lambda group: self.run(group, choice), self.tried, self.n_jobs)
        for group, encoded in zip(self.tried, all_coded, strict=True):
            if encoded is None:
                return None
            n_bytes += len(encoded.data)
            squares += encoded.squared_error(group, self.unit)
            count += group.n_readings
        return n_bytes, math.sqrt(squares / max(count, 1))

    def is_longer_than_lossless(self, choice: Choice) -> bool:
        """Whether no loss takes fewer bytes, on the groups that are tried: as with few different values."""
        if not all(fits_whole(column) for group in self.tried for column in group.columns):
            return False
        measured = self.measure(choice)
        return measured is None or sum(len(lossless(group, self.effort).data) for group in self.tried) <= measured[0]

    def best_choice(self, first: Choice | None) -> Choice | None:
        """The shortest of all ways that keep the error; with a first choice, from an earlier chunk, only its step is
        sought.
        """
        if first is not None:
            again = self._largest_step(first.mode, first.price, first.step, 4)
            if again is not None:
                return again[1]
        found = {}
        for mode in (TRANSFORM, SAMPLES):
            step = self._largest_step(
                mode, _PRICE[mode], _FIRST_STEP[mode] * self.error, 4 if self.effort == "fast" else 7
            )
            if step is not None:
                found[mode] = step
        if not found:
            return None
        mode = min(found, key=lambda key: found[key][0])
        best = found[mode]
        if self.effort != "fast":
            for price in _OTHER_PRICES[mode]:
                other = self._largest_step(mode, price, best[1].step, 4)
                if other is not None and other[0] < best[0]:
                    best = other
        return best[1]

    def _largest_step(self, mode: int, price: float, step: float, n_runs: int) -> tuple[int, Choice] | None:
        """By regula falsi on log step and log error."""
        best: tuple[int, Choice] | None = None
        below: tuple[float, float] | None = None
        above: tuple[float, float] | None = None
        for _ in range(n_runs):
            choice = Choice(mode, step, price)
            measured = self.measure(choice)
            if measured is None:
                break
            n_bytes, error = measured
            place = math.log(step), math.log(max(error, 1e-9))
            if error <= 1:
                if best is None or n_bytes < best[0]:
                    best = n_bytes, choice
                below = place
                if error > 0.9985:
                    break
            else:
                above = place
            step = math.exp(min(_next_step(below, above, place), _LOG_LARGEST))
        return best


def _next_step(
    below: tuple[float, float] | None, above: tuple[float, float] | None, last: tuple[float, float]
) -> float:
    """Log step where the log error may be just below zero."""
    aim = -0.0005
    if below is None or above is None or above[1] - below[1] < 1e-9 or above[0] <= below[0]:
        return last[0] + 1.25 * (aim - last[1]) + (-0.002 if last[1] > 0 else 0.002)
    share = (aim - below[1]) / (above[1] - below[1])
    return below[0] + min(max(share, 0.1), 0.9) * (above[0] - below[0])


def encode_rmse(search: RmseSearch, first: Choice | None) -> tuple[list[Encoded], Choice | None] | None:
    """All groups, the error kept over all of them, and the choice that did it; in multiples of a unit where steps would
    be too fine. None if neither keeps it, or is shorter than coding without loss.
    """
    choice = search.best_choice(first)
    if choice is not None and choice != first and search.is_longer_than_lossless(choice):
        return None
    for _ in range(5):
        if choice is None:
            break
        encoded = _run_all(search, choice)
        if encoded is None:
            break
        error = _error_of(encoded, search)
        if error <= 1:
            return encoded, choice
        choice = replace(choice, step=choice.step * (0.998 / error) ** 1.2)
    unit = search.error * math.sqrt(12) * 0.995
    for _ in range(3):
        if not all(fits_unit(group.columns, unit) for group in search.groups):
            return None
        encoded = list(in_order(partial(_encode_on_grid, unit, search.effort), search.groups, search.n_jobs))
        if _error_of(encoded, search) <= 1:
            return encoded, None
        unit *= 0.8
    return None


def _run_all(search: RmseSearch, choice: Choice) -> list[Encoded] | None:
    """All groups as chosen; None if the step is too fine for one of them."""
    found = list(in_order(lambda group: search.run(group, choice), search.groups, search.n_jobs))
    encoded = [one for one in found if one is not None]
    return encoded if len(encoded) == len(found) else None


def _encode_on_grid(unit: float, effort: str, group: ChunkGroup) -> Encoded:
    settings, numbers = on_grid(group.columns, unit)
    return encode(group, _paced(settings, effort), numbers)


def _error_of(encoded: list[Encoded], search: RmseSearch) -> float:
    count = sum(group.n_readings for group in search.groups)
    squares = sum(one.squared_error(group, search.unit) for one, group in zip(encoded, search.groups, strict=True))
    return math.sqrt(squares / max(count, 1))
