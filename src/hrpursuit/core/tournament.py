"""The order in which a sweep visits all pairs of atoms.

A sweep is a list of rounds, a round is a list of tasks, and a task is a run of pairs. The tasks of one round share no
atom, so they may run at the same time, in any order, on any number of threads, with the same result.
"""

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

GROUP_SIZE = 16  # at the most: two groups of float32 code columns fit in a core's own cache up to 1,000 features
TASKS_PER_ROUND = 4  # or a multiple, so that two and four threads share a round evenly
SMALLEST_GROUPED = 150  # below this a round is too short to be worth sharing among threads


@dataclass(frozen=True)
class Schedule:
    """All pairs of atoms in the order of a sweep.

    Attributes
    ----------
    pairs : array of shape (n_pairs, 2)
        The smaller atom first.
    rounds : tuple of tuple of (int, int)
        For each round its tasks, each the half-open range of `pairs` that it covers.
    """

    pairs: NDArray[np.int32]
    rounds: tuple[tuple[tuple[int, int], ...], ...]


def round_robin(n_players: int) -> list[list[tuple[int, int]]]:
    """Rounds in which everybody meets everybody once and nobody plays twice in a round (the circle method)."""
    n_seats = n_players + n_players % 2
    seats = list(range(n_seats))
    rounds = []
    for _ in range(n_seats - 1):
        games = [(min(a, b), max(a, b)) for a, b in zip(seats[: n_seats // 2], reversed(seats), strict=False)]
        rounds.append([game for game in games if game[1] < n_players])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds


def _between(left: range, right: range) -> list[tuple[int, int]]:
    """Pairs with one atom of each group; neighbours in the list share no atom as far as the sizes allow."""
    return [(left[i], right[(i + shift) % len(right)]) for shift in range(len(right)) for i in range(len(left))]


@lru_cache(maxsize=16)
def schedule(n_features: int) -> Schedule:
    """Tournament order; from `SMALLEST_GROUPED` features on, a tournament of groups with a tournament inside each."""
    if n_features < SMALLEST_GROUPED:
        tasks_by_round = [[[pair for games in round_robin(n_features) for pair in games]]]
    else:
        n_groups = 2 * TASKS_PER_ROUND * -(-n_features // (2 * TASKS_PER_ROUND * GROUP_SIZE))
        edges = np.linspace(0, n_features, n_groups + 1).astype(int)
        groups = [range(a, b) for a, b in itertools.pairwise(edges)]
        inside = [[(g[i], g[j]) for games in round_robin(len(g)) for i, j in games] for g in groups]
        tasks_by_round = [inside] + [
            [_between(groups[a], groups[b]) for a, b in games] for games in round_robin(n_groups)
        ]
    pairs: list[tuple[int, int]] = []
    rounds = []
    for tasks in tasks_by_round:
        spans = []
        for task in tasks:
            spans.append((len(pairs), len(pairs) + len(task)))
            pairs.extend(task)
        rounds.append(tuple(spans))
    return Schedule(np.array(pairs, dtype=np.int32).reshape(-1, 2), tuple(rounds))
