"""Slow columns within a bound: numbers that change as seldom as the bound allows.

A quantiser changes its number whenever a reading crosses the edge of a step, and back when it returns. Any other number
within the bound does as well, so that long constant pieces are possible: the cheapest path through all numbers that are
allowed, where a change costs as many bits as changes of its size took on the cheapest path of some rows.
"""

import numpy as np

from hrpursuit.compression.kernels.steady import cheapest_path

MOST_HALF = 8  # numbers on either side of a reading: time goes with the square
_SLOW = 0.5  # share of rows without a change in steps of the bound, from which on a path is looked for
_ROWS, _ROUNDS = 2048, 3  # to learn the costs of changes on
_FRACTION = 256  # of a bit, in which costs are counted
_BITS_MORE = 4  # of a change: the coder learns slowly what is rare (chosen on made tables of temperature)
_FEWEST_ROWS = 16


def is_slow(numbers: np.ndarray) -> bool:
    """Whether numbers in steps of the bound change seldom."""
    return len(numbers) >= _FEWEST_ROWS and float(np.mean(np.diff(numbers) == 0)) >= _SLOW


def steady_path(least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Numbers from `least` to `most`, row by row, whose changes take few bits."""
    changes = np.abs(np.arange(-4 * MOST_HALF, 4 * MOST_HALF + 1))
    chances = np.where(changes == 0, 1.0, 1 / (changes + 1.0) ** 2 / 64)
    few = min(len(least), _ROWS)
    middle = slice((len(least) - few) // 2, (len(least) + few) // 2)
    for _ in range(_ROUNDS):
        found = _cheapest(least[middle], most[middle], _bits(chances))
        counts = _counts(found, len(changes))
        chances = counts + counts[::-1] + 4 / (changes + 1.0) ** 2
    return _cheapest(least, most, _bits(chances))


def bits_of_changes(numbers: np.ndarray) -> float:
    """About how many bits the changes take, if each came as often at any time."""
    counts = np.unique(np.diff(numbers), return_counts=True)[1]
    return float(-(counts * np.log2(counts / max(counts.sum(), 1))).sum())


def _bits(chances: np.ndarray) -> np.ndarray:
    bits = -np.log2(chances / chances.sum())
    bits[np.arange(len(bits)) != len(bits) // 2] += _BITS_MORE
    return np.rint(bits * _FRACTION).astype(np.int64)


def _counts(numbers: np.ndarray, n: int) -> np.ndarray:
    return np.bincount(np.clip(np.diff(numbers), -(n // 2), n // 2) + n // 2, minlength=n).astype(np.float64)


def _cheapest(least: np.ndarray, most: np.ndarray, costs: np.ndarray) -> np.ndarray:
    n_states = int((most - least).max()) + 1
    totals, before = np.zeros((2, n_states), np.int64), np.zeros((len(least), n_states), np.int16)
    out = np.zeros(len(least), np.int64)
    cheapest_path(least, most, costs, totals, before, out)
    return out
