"""Finding the grid of a column: decimals, multiples, a list of values, or the leading part of floats."""

from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.grids import (
    AFFINE,
    DECIMALS,
    FACTOR,
    FLOAT,
    LEAST_EXPONENT,
    MANTISSA,
    MOST_STEP,
    POWERS,
    SHORT,
    VALUES,
    Grid,
    floats_at,
    leading_parts,
    places_of_floats,
)
from hrpursuit.compression.chunks.lists import decimal_parts
from hrpursuit.compression.chunks.numbers import can_be_packed
from hrpursuit.compression.encoding.columns import Way
from hrpursuit.compression.encoding.decimals import FEW_ODD, VERY_ODD
from hrpursuit.compression.encoding.steady import MOST_HALF, bits_of_changes, is_slow, steady_path
from hrpursuit.compression.kernels.table_state import LIMIT

_PROBE = 64  # values that are looked at first
_EXACT = 2.0**53  # floats count whole numbers up to here
#: Decimals are none that have as many digits as any float of that size: whole numbers stay below.
_MOST_DIGITS = {2: 2.0**11, 4: 2.0**23, 8: 2.0**50}
_LARGEST_BOUND = 1 << 26  # in whole numbers
_ON_DECIMALS = 1e-9  # of a unit: a bound that misses a whole number of units by less is meant to reach it
_FINE = 1e-3  # of a unit, up to which rounding does not count
_STEPS_PER_DEVIATION = 32  # of the leading part of floats
_MOST_MULTIPLES = 1 << 24  # of the step of a lattice that are looked for
_NEXT_TO = 64  # units of the last place that a value may be off its decimals, in a list
_CLEARLY = 0.9  # share of the bits, below which the longer of two ways need not be tried
_MOST_SIGNIFICANT = 16  # bits of a mantissa that is short
_BITS_OF_ODD, _BITS_OF_LISTED = 96, 12  # about what a value takes that is an exception, or in a list
_FEW_VALUES = 0.85  # a list of values has at most this share of them


def find_grids(values: np.ndarray, bound: float, n_odd: int) -> list[Way]:
    """Grids on which all but `n_odd` values lie (all of the first one found), the simplest first. None if it is empty.

    Parameters
    ----------
    values : array
        Finite values of one column in the order of the rows, at least one.
    bound : float
        Largest error; 0 for none.
    n_odd : int
        Values that may lie beside the grid.
    """
    if values.dtype.kind in "biu":
        found = _of_whole_numbers(values)
        if found is None:
            return []
        half = int(min(np.floor(bound + _ON_DECIMALS), _LARGEST_BOUND))
        return _with_steady(found, half) if bound > 0 else [_in_steps(found), *_listed(values, _in_steps(found))]
    found = _of_decimals(values, n_odd) or _of_lattice(values)
    if bound > 0:
        ways = _bounded(values, found, bound)
        lists = _merged(values, bound)
        if ways and is_slow(ways[0].numbers):
            lists = [one for one in lists if bits_of_changes(one.numbers) < bits_of_changes(ways[0].numbers)]
        return [*ways[:1], *lists, *ways[1:]]
    if found is not None and found.grid.kind == DECIMALS:
        found = _in_steps(found)
    if found is not None and not found.fits.all():
        whole = _listed(values, None)
        if whole and _rough_bits(whole[0]) < _rough_bits(found):
            found = None  # values of a few digits each, at any number of decimals
    simple = [found] if found is not None and _is_within_limit(found.numbers) else []
    lists = _listed(values, found)
    short = _of_short_floats(values) if found is None or found.grid.kind != DECIMALS else []
    if simple or lists or short:
        return [*simple, *(lists + short if simple else short + lists)]
    leading = _of_floats(values)
    return [leading] if leading is not None else []


def _of_short_floats(values: np.ndarray) -> list[Way]:
    """Floats with few significant bits, as those of half precision: from one to the next, without the last bits."""
    mantissa = MANTISSA[values.dtype.itemsize]
    together = int(np.bitwise_or.reduce(values.view(f"u{values.dtype.itemsize}")))
    n_zero = min((together & -together).bit_length() - 1, mantissa) if together else mantissa
    if mantissa - n_zero > _MOST_SIGNIFICANT:
        return []
    numbers = places_of_floats(values) >> n_zero
    if int(numbers.max()) - int(numbers.min()) >= LIMIT // 2:
        return []
    grid = Grid(SHORT, decimals=n_zero)
    if not np.array_equal(np.signbit(floats_at(numbers << n_zero, values.dtype)), np.signbit(values)):
        return []  # a negative zero
    return [Way(grid, numbers, np.ones(len(values), bool))]


def _is_within_limit(numbers: np.ndarray) -> bool:
    return bool(len(numbers) == 0 or (int(numbers.max()) - int(numbers.min())) < 2**60)


def _of_whole_numbers(values: np.ndarray) -> Way | None:
    if values.dtype == np.uint64 and int(values.max()) > 2**62:
        return None
    numbers = values.astype(np.int64)
    if values.dtype == np.int64 and max(-int(numbers.min()), int(numbers.max())) > 2**62:
        return None
    return Way(Grid(), numbers, np.ones(len(numbers), bool))


def _in_steps(found: Way, half: int = 0) -> Way:
    """Numbers within `half` of the given ones, in the longest steps: whole numbers often have a common divisor, as
    readings of a converter have that are written as decimals.
    """
    divisor, offset = _divisor(found, half)
    half //= divisor
    numbers = ((found.numbers - offset) // divisor + half) // (2 * half + 1)
    grid = replace(found.grid, offset=offset, step=divisor * (2 * half + 1))
    return replace(found, grid=grid, numbers=np.where(found.fits, numbers, 0))


def _divisor(found: Way, half: int) -> tuple[int, int]:
    """Common divisor of all numbers less an offset; 1 and 0 where it is too large for a step, or the bound is better
    used up in ones.
    """
    inside = found.numbers[found.fits]
    first = int(inside[0]) if len(inside) else 0
    divisor = max(1, int(np.gcd.reduce(inside - first))) if len(inside) else 1
    step = divisor * (2 * (half // divisor) + 1)
    return (divisor, first % divisor) if 2 * half + 1 <= step <= MOST_STEP else (1, 0)


def _with_steady(found: Way, half: int) -> list[Way]:
    """Numbers within `half` of the given ones: in steps, and for slow columns with as few changes as may be; what takes
    fewer bits by a rough count first.
    """
    plain = _in_steps(found, half)
    divisor, offset = _divisor(found, half)
    half //= divisor
    if half == 0 or not is_slow(plain.numbers[plain.fits]):
        return [plain]
    coarse = -(-half // MOST_HALF)
    exact = (found.numbers[found.fits] - offset) // divisor
    grid = replace(found.grid, offset=offset, step=divisor * coarse)
    return _shorter_first(plain, grid, -((half - exact) // coarse), (exact + half) // coarse)


def _shorter_first(plain: Way, grid: Grid, least: np.ndarray, most: np.ndarray) -> list[Way]:
    """A quantised column, and one on this grid with few changes between these numbers; the second alone where it is
    clearly shorter.
    """
    numbers = np.zeros(len(plain.numbers), np.int64)
    numbers[plain.fits] = steady_path(least, most)
    steady = Way(grid, numbers, plain.fits)
    bits = [bits_of_changes(way.numbers[way.fits]) for way in (plain, steady)]
    if bits[1] < _CLEARLY * bits[0]:
        return [steady]
    return [plain, steady] if bits[0] <= bits[1] else [steady, plain]


def _of_decimals(values: np.ndarray, n_odd: int) -> Way | None:
    """Fewest decimals that all but `n_odd` values have; with two more at most, if then all fit. Values may be decimals
    that were rounded to single precision.
    """
    best: Way | None = None
    probe = values[:: max(1, len(values) // _PROBE)][:_PROBE]
    may_be_single = values.dtype.itemsize == 8 and _n_single(probe) > 0.9 * len(probe)
    for decimals in range(len(POWERS)):
        if best is not None and decimals > best.grid.decimals + 2:
            break
        for single in (False, True) if may_be_single else (False,):
            if np.count_nonzero(~nearest_whole(probe, decimals, single)[1]) > min(n_odd, len(probe) // 2):
                continue
            numbers, fits = nearest_whole(values, decimals, single)
            n_left = int(np.count_nonzero(~fits))
            if n_left == 0 or (best is None and n_left <= n_odd):
                is_few = n_left <= max(FEW_ODD, len(values) // VERY_ODD)
                best = Way(Grid(decimals=decimals, single=single), np.where(fits, numbers, 0).astype(np.int64), fits)
                if is_few:
                    return best
    return best


def _n_single(values: np.ndarray) -> int:
    with np.errstate(over="ignore"):
        return int(np.count_nonzero(values.astype(np.float32) == values))


def nearest_whole(values: np.ndarray, decimals: int, single: bool) -> tuple[np.ndarray, np.ndarray]:
    """Nearest whole numbers to values times 10^decimals, and where the way back gives the same value."""
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.rint(values.astype(np.float64) * POWERS[decimals])
        fits = np.abs(numbers) <= _MOST_DIGITS[4 if single else values.dtype.itemsize]
        numbers = np.where(fits, numbers, 0)
        back = numbers / POWERS[decimals]
        if single:
            back = back.astype(np.float32)
        return numbers, fits & (back.astype(values.dtype) == values)


def _of_lattice(values: np.ndarray) -> Way | None:
    """Multiples of a factor, from zero or from the least value: readings of a converter times a scale."""
    distinct = np.unique(values)
    if len(distinct) < 3 or len(distinct) > max(64, len(values) // 2):
        return None
    exact = distinct.astype(np.float64)
    changes = np.diff(exact)
    span, least = float(exact[-1] - exact[0]), float(changes.min())
    rounding = float(np.spacing(np.abs(distinct).max()))
    if not np.isfinite(span) or least <= 8 * rounding or span / least > _MOST_MULTIPLES:
        return None
    step = _refined(changes, least, 4 * rounding)
    if step is None:
        return None
    multiples = max(1.0, float(np.rint(span / step)))
    for factor in dict.fromkeys(_nice_factors(span / multiples, rounding / multiples * 4, exact, step)):
        numbers = np.rint(values.astype(np.float64) / factor)
        found = _if_exact(values, Grid(FACTOR, factor=factor), numbers)
        if found is None:
            first = float(exact[0])
            found = _if_exact(
                values, Grid(AFFINE, factor=factor, first=first), np.rint((values.astype(np.float64) - first) / factor)
            )
        if found is not None:
            return found
    return None


def _refined(changes: np.ndarray, least: float, slack: float) -> float | None:
    """The step of which all changes are multiples, from the smallest to ever longer ones; None if there is none."""
    step = least
    for change in np.sort(changes):
        n = np.rint(change / step)
        if abs(change - n * step) > slack * (1 + n):
            return None
        if n > 0:
            step = change / n
    return float(step)


def _nice_factors(estimate: float, slack: float, exact: np.ndarray, step: float) -> list[float]:
    """Factors near the estimate: with few digits, one over a whole number, and as exact as the largest value tells."""
    found = []
    largest = float(exact[np.argmax(np.abs(exact))])
    n = np.rint(largest / estimate)
    for value in (estimate, step, largest / n if n else estimate):
        for digits in range(1, 16):
            nice = float(f"{value:.{digits}g}")
            if abs(nice - value) <= slack + 1e-15 * abs(value):
                found.append(nice)
                break
        inverse = float(np.rint(1 / value)) if abs(value) > 1e-15 else 0.0
        if inverse and abs(1 / inverse - value) <= slack + 1e-15 * abs(value):
            found.append(1 / inverse)
        found.append(value)
    return found


def _if_exact(values: np.ndarray, grid: Grid, numbers: np.ndarray) -> Way | None:
    if not np.abs(numbers).max() < LIMIT:
        return None
    whole = numbers.astype(np.int64)
    for single in (False, True) if values.dtype.itemsize == 8 else (False,):
        tried = replace(grid, single=single)
        if np.array_equal(tried.to_values(whole, values.dtype), values):
            return Way(tried, whole, np.ones(len(values), bool))
    return None


def _listed(values: np.ndarray, found: Way | None) -> list[Way]:
    """The list of the different values, where they are few for their range."""
    distinct, ranks = np.unique(values, return_inverse=True)
    if len(distinct) > max(2, _FEW_VALUES * len(values)) or (found is not None and not found.fits.all()):
        return []
    if found is not None and (int(found.numbers.max()) - int(found.numbers.min()) + 1) * 0.9 <= len(distinct):
        return []
    return [_list_of(distinct, ranks)]


def _rough_bits(way: Way) -> float:
    """About how many bits values take in this way, to tell a list from decimals that some values have more of."""
    numbers = way.numbers[way.fits].astype(np.float64)
    away = [np.diff(numbers), numbers - np.median(numbers)]
    bits = min(float(np.log2(np.abs(one) + 1.0).sum()) for one in away)
    return bits + _BITS_OF_ODD * np.count_nonzero(~way.fits) + _BITS_OF_LISTED * len(way.grid.values)


def _list_of(distinct: np.ndarray, ranks: np.ndarray) -> Way:
    decimals, single = _inner_decimals(distinct)
    grid = Grid(VALUES, decimals=decimals, values=distinct, single=single)
    return Way(grid, ranks.reshape(-1).astype(np.int64), np.ones(len(ranks.reshape(-1)), bool))


def _inner_decimals(distinct: np.ndarray) -> tuple[int, bool]:
    """Decimals, plus one, that different values are next to, and whether they are in single precision; 0 if none."""
    if distinct.dtype.kind != "f":
        if distinct.dtype.kind == "b" or max(-int(distinct[0]), int(distinct[-1])) > _EXACT:
            return 0, False
        return (1, False) if can_be_packed(np.diff(distinct.astype(np.int64))) else (0, False)
    for decimals in range(len(POWERS)):
        for single in (False, True) if distinct.dtype.itemsize == 8 else (False,):
            if (
                float(np.abs(distinct).max()) * POWERS[decimals]
                > _MOST_DIGITS[4 if single else distinct.dtype.itemsize]
            ):
                continue
            numbers, left, _ = decimal_parts(distinct, decimals, single)
            changes = np.diff(numbers)
            if np.abs(left).max() <= _NEXT_TO and (changes > 0).all() and can_be_packed(changes):
                return decimals + 1, single
    return 0, False


def _merged(values: np.ndarray, bound: float) -> list[Way]:
    """The list of different values, with those that lie within twice the bound as one in their middle."""
    distinct, ranks = np.unique(values, return_inverse=True)
    if len(distinct) > max(2, _FEW_VALUES * len(values)):
        return []
    exact = distinct.astype(np.float64)
    decimals, single = _inner_decimals(distinct)
    reach = bound
    if decimals and _is_fine(distinct, Grid(decimals=decimals - 1, single=single)):  # decimals are judged as such
        reach = bound * (1 + _ON_DECIMALS) + 2 * float(np.spacing(np.abs(exact).max()))
    starts, start = [0], exact[0]
    for i, value in enumerate(exact):
        if value - start > 2 * reach:
            starts.append(i)
            start = value
    firsts = np.array(starts)
    lasts = np.array([*starts[1:], len(exact)]) - 1
    middles = (exact[firsts] + exact[lasts]) / 2
    if decimals:
        middles = np.rint(middles * POWERS[decimals - 1]) / POWERS[decimals - 1]
    middles = np.where(lasts == firsts, exact[firsts], middles)
    with np.errstate(over="ignore"):
        kept = (middles.astype(np.float32) if single else middles).astype(values.dtype)
    cluster = np.searchsorted(firsts, np.arange(len(exact)), side="right") - 1
    off = np.abs(kept.astype(np.float64)[cluster] - exact)
    if not ((off <= reach).all() and (np.diff(kept) > 0).all()):
        return []
    return [_list_of(kept, cluster[ranks.reshape(-1)])]


def _bounded(values: np.ndarray, found: Way | None, bound: float) -> list[Way]:
    """In steps of at most twice the bound, and for slow columns with few changes; decimals and multiples are judged as
    such.
    """
    if found is not None and not _is_fine(values, found.grid):
        found = None  # rounding of the type is no small part of a unit: readings are judged as they are
    if found is not None:
        unit = 1 / POWERS[found.grid.decimals] if found.grid.kind == DECIMALS else abs(found.grid.factor)
        half = bound * POWERS[found.grid.decimals] if found.grid.kind == DECIMALS else bound / unit
        half = np.floor(half + _ON_DECIMALS)
        if half < _LARGEST_BOUND:
            return _with_steady(found, int(half))
    factor = 2 * bound * (1 - 2.0**-20)
    exact = values.astype(np.float64)
    with np.errstate(over="ignore"):
        numbers = np.rint(exact / factor)
    if not (np.abs(numbers).max() < _EXACT and np.isfinite(factor) and factor > 0):
        return []
    grid, whole = Grid(FACTOR, factor=float(factor)), numbers.astype(np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.abs(grid.to_values(whole, values.dtype).astype(np.float64) - exact) <= bound
    plain = Way(grid, np.where(fits, whole, 0), fits)
    if values.dtype.itemsize < 8 or not is_slow(whole[fits]):  # narrow floats round on their own
        return [plain]
    unit, inside = factor / (2 * MOST_HALF), exact[fits]
    least, most = (np.rint((inside + side * factor / 2) / unit - 0.5 * side) for side in (-1, 1))
    if not max(np.abs(least).max(), np.abs(most).max()) < _EXACT:
        return [plain]
    return _shorter_first(plain, Grid(FACTOR, factor=unit), least.astype(np.int64), most.astype(np.int64))


def _is_fine(values: np.ndarray, grid: Grid) -> bool:
    """Whether the type of the values rounds decimals by much less than their unit."""
    unit = 1 / POWERS[grid.decimals] if grid.kind == DECIMALS else abs(grid.factor)
    narrow = np.float32 if grid.single or values.dtype.itemsize == 4 else values.dtype.type
    return float(np.spacing(narrow(np.abs(values).max()))) <= _FINE * unit


def _of_floats(values: np.ndarray) -> Way | None:
    """The leading part in about 32 steps per standard deviation of what cannot be predicted."""
    exact = values.astype(np.float64)
    largest = float(np.abs(exact).max())
    changes = np.abs(np.diff(exact, 2)) / 2.4 if len(exact) > 2 else np.abs(exact)
    deviation = float(np.median(changes)) * 1.5
    if not (0 < deviation < np.inf):
        return None
    exponent = int(np.floor(np.log2(deviation / _STEPS_PER_DEVIATION)))
    exponent = max(exponent, int(np.ceil(np.log2(largest))) - 33, LEAST_EXPONENT[values.dtype.itemsize] + 2)
    numbers = leading_parts(values, exponent)
    return Way(Grid(FLOAT, decimals=exponent), numbers, np.ones(len(values), bool))
